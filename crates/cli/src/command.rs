//! What each command does. Each prints its result on the standard output; everything else goes to the standard error.

mod branch;
mod graph;
mod history;
mod load;
mod maintenance;
mod pages;
mod query;
mod recovery;
mod server;
mod session;

use crate::arguments::{Arguments, Command, GraphCommand, SchemaCommand};
use crate::error::CliError;

pub(crate) use session::{Outcome, Session};

use session::read_text;

/// Runs a command.
pub(crate) async fn run(arguments: Arguments) -> Result<Outcome, CliError> {
    let Arguments { global, command } = arguments;
    let done = match command {
        Command::Check(arguments) => return maintenance::check(&Session::open(&global).await?, &arguments).await,
        Command::Repair(arguments) => return maintenance::repair(&Session::open(&global).await?, arguments).await,
        Command::Serve(arguments) => server::serve(*arguments).await,
        Command::Server => server::show(&Session::open(&global).await?).await,
        Command::Graph(GraphCommand::Create(arguments)) => {
            let schema = read_text(&arguments.schema)?;
            graph::create(&Session::open(&global).await?, arguments, schema).await
        }
        Command::Graph(GraphCommand::List) => graph::list(&Session::open(&global).await?).await,
        Command::Graph(GraphCommand::Delete(arguments)) => {
            graph::delete(&Session::open(&global).await?, arguments).await
        }
        Command::Graph(GraphCommand::Show { name }) => graph::show(&Session::open(&global).await?, &name).await,
        Command::Schema(SchemaCommand::Show { graph, branch }) => {
            graph::schema(&Session::open(&global).await?, &graph, branch).await
        }
        Command::Branch(command) => branch::run(&Session::open(&global).await?, command).await,
        Command::Load(arguments) => load::run(&global, &arguments).await,
        Command::Query(arguments) => query::run(&global, arguments).await,
        Command::Log(arguments) => history::log(&Session::open(&global).await?, &arguments).await,
        Command::Operation(arguments) => history::operation(&Session::open(&global).await?, &arguments).await,
        Command::Recoveries(arguments) => recovery::list(&Session::open(&global).await?, &arguments).await,
        Command::Recover(arguments) => recovery::recover(&Session::open(&global).await?, &arguments).await,
    };
    done.map(|()| Outcome::Done)
}
