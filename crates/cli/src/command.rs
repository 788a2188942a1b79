//! The commands: the grammar of the command line with the help that teaches it, and what each command does.
//!
//! A command is one file: its arguments, what it does, and how its result is printed on the standard output. Everything else that is said
//! goes to the standard error.

mod branch;
mod changes;
mod check;
mod completions;
mod global;
mod graph;
mod load;
mod log;
mod man;
mod operation;
mod pages;
mod query;
mod recover;
mod recoveries;
mod repair;
mod schema;
mod serve;
mod server;
mod server_queries;
mod session;
mod table;
mod values;

use std::ffi::OsStr;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::error::CliError;

pub(crate) use global::Global;
pub(crate) use session::{Outcome, Session};

/// The version, and the commit that it was built from where that is known.
const VERSION: &str = env!("OMNIGRAPH_VERSION");

/// A graph database whose history branches: the server, and a client for the terminal.
#[derive(Debug, Parser)]
#[command(
    name = "omnigraph",
    version = VERSION,
    propagate_version = true,
    after_help = "\
Begin with:
  omnigraph serve --root ./graphs --init
  omnigraph graph create airline --schema airline.pg
  omnigraph load airline --type Airport airports.csv --mode append
  omnigraph query airline 'query n() { match { $a: Airport } return { count($a) } }'

Exit codes: 0 done, 1 the request failed, 2 the command line is wrong; `check` has more."
)]
pub(crate) struct Arguments {
    /// How to reach the server, and how to print.
    #[command(flatten)]
    pub(crate) global: Global,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a server
    #[command(after_help = serve::EXAMPLES)]
    Serve(Box<omnigraph_server::ServeArgs>),
    /// Make, list, show and delete graphs
    #[command(subcommand)]
    Graph(graph::GraphCommand),
    /// Show the schema of a graph
    #[command(subcommand)]
    Schema(schema::SchemaCommand),
    /// Show where the rows of the types are stored, for readers of Lance
    #[command(subcommand)]
    Table(table::TableCommand),
    /// Make, list, show and delete branches
    #[command(subcommand)]
    Branch(branch::BranchCommand),
    /// Load files into a graph, in one commit
    #[command(after_help = load::EXAMPLES)]
    Load(load::LoadArguments),
    /// Run a query
    #[command(after_help = query::EXAMPLES)]
    Query(query::QueryArguments),
    /// List the commits of a branch, newest first
    #[command(after_help = log::EXAMPLES)]
    Log(log::LogArguments),
    /// Report what became of a write, above all of one whose answer was lost
    #[command(after_help = operation::EXAMPLES)]
    Operation(operation::OperationArguments),
    /// List what became of interrupted writes of a branch, newest first
    #[command(after_help = recoveries::EXAMPLES)]
    Recoveries(recoveries::RecoveriesArguments),
    /// Settle now what interrupted writes left on a branch
    #[command(after_help = recover::EXAMPLES)]
    Recover(recover::RecoverArguments),
    /// Check a graph, and change nothing
    #[command(after_help = check::EXAMPLES)]
    Check(check::CheckArguments),
    /// Show what blocks writes and needs a person; with --confirm, repair it
    #[command(after_help = repair::EXAMPLES)]
    Repair(repair::RepairArguments),
    /// Show what the server is: version, limits, features; list and cancel its queries
    #[command(after_help = server::EXAMPLES)]
    Server(server::ServerArguments),
    /// Print the script that completes commands in a shell
    #[command(after_help = completions::EXAMPLES)]
    Completions(completions::CompletionsArguments),
    /// Write the manual's pages into a folder
    #[command(after_help = man::EXAMPLES)]
    Man(man::ManArguments),
}

impl Arguments {
    /// Reads the command line and the environment. An empty variable counts as one that is not set: that is how scripts leave one out.
    pub(crate) fn read() -> Self {
        let matches = without_empty_variables(Self::command()).get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

fn without_empty_variables(command: clap::Command) -> clap::Command {
    let empty = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    let unset = |argument: clap::Arg| match argument.get_env().is_some_and(empty) {
        true => argument.env(None),
        false => argument,
    };
    command.mut_args(unset).mut_subcommands(without_empty_variables)
}

/// Runs a command.
pub(crate) async fn run(arguments: Arguments) -> Result<Outcome, CliError> {
    let Arguments { global, command } = arguments;
    let done = match command {
        Command::Check(arguments) => return check::run(&Session::open(&global).await?, &arguments).await,
        Command::Repair(arguments) => return repair::run(&Session::open(&global).await?, arguments).await,
        Command::Serve(arguments) => serve::run(&global, *arguments).await,
        Command::Completions(arguments) => completions::run(&arguments, Arguments::command()),
        Command::Man(arguments) => man::run(&arguments, Arguments::command()),
        Command::Server(arguments) => server::run(&Session::open(&global).await?, arguments).await,
        Command::Graph(command) => graph::run(&global, command).await,
        Command::Schema(command) => schema::run(&Session::open(&global).await?, command).await,
        Command::Table(command) => table::run(&Session::open(&global).await?, command).await,
        Command::Branch(command) => branch::run(&Session::open(&global).await?, command).await,
        Command::Load(arguments) => load::run(&global, &arguments).await,
        Command::Query(arguments) => query::run(&global, arguments).await,
        Command::Log(arguments) => log::run(&Session::open(&global).await?, &arguments).await,
        Command::Operation(arguments) => operation::run(&Session::open(&global).await?, &arguments).await,
        Command::Recoveries(arguments) => recoveries::run(&Session::open(&global).await?, &arguments).await,
        Command::Recover(arguments) => recover::run(&Session::open(&global).await?, &arguments).await,
    };
    done.map(|()| Outcome::Done)
}

#[cfg(test)]
mod tests;
