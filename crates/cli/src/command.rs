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

use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use omnigraph_client::{Client, ClientOptions};

use crate::arguments::{Arguments, Command, Global, GraphCommand, SchemaCommand};
use crate::error::CliError;
use crate::input::{InputError, is_standard_input};
use crate::output::{Output, OutputError};

/// Bytes of the largest query or schema file; the server's own limits are smaller.
const TEXT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What a command that succeeded says by its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is done, and all is well.
    Done,
    /// A check found something that mends itself.
    MendsItself,
    /// A check found, or a repair left, something that needs a person.
    NeedsPerson,
}

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

/// A connection, and how results are printed.
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) output: Output,
}

impl Session {
    /// Connects as the command line says.
    pub(crate) async fn open(global: &Global) -> Result<Self, CliError> {
        let options = ClientOptions { timeout: global.timeout.unwrap_or_default(), ..ClientOptions::default() };
        let client = Client::connect_with(&global.url, options).await?;
        Ok(Self { client, output: global.output })
    }

    /// Prints to the standard output, all at once.
    pub(crate) fn print(&self, print: impl FnOnce(&mut dyn Write) -> Result<(), OutputError>) -> Result<(), CliError> {
        let mut out = BufWriter::new(io::stdout().lock());
        print(&mut out)?;
        out.flush().map_err(OutputError::from)?;
        Ok(())
    }
}

/// The text of a file, or of the standard input.
fn read_text(file: &Path) -> Result<String, CliError> {
    let failed = |source| InputError::Open { file: file.to_owned(), source };
    let reader: Box<dyn Read> = match is_standard_input(file) {
        true => Box::new(io::stdin()),
        false => Box::new(crate::input::open_file(file)?),
    };
    let mut text = String::new();
    reader.take(TEXT_BYTES_MAX + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > TEXT_BYTES_MAX {
        return Err(CliError::usage(format!("{} holds more than {TEXT_BYTES_MAX} bytes of text", file.display())));
    }
    Ok(text)
}
