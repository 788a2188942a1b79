//! The grammar of the command line, and the help that teaches it.

mod branch;
mod history;
mod values;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use omnigraph_client::{LoadMode, OnConflict, Timeout};
use omnigraph_types::{BranchName, CommitId, GraphName, OperationId};

use crate::input::{Format, Rename};
use crate::output::Output;

pub(crate) use branch::{BranchCommand, CreateBranchArguments, DeleteBranchArguments};
pub(crate) use history::{
    CheckArguments, LogArguments, OperationArguments, RecoverArguments, RecoveriesArguments, RepairArguments,
};
pub(crate) use values::{Moment, Param};

use values::{parse_id, parse_moment, parse_timeout};

/// Heading of the options that every command takes.
const EVERYWHERE: &str = "Options of every command";

/// A graph database whose history branches: the server, and a client for the terminal.
#[derive(Debug, Parser)]
#[command(
    name = "omnigraph",
    version,
    propagate_version = true,
    disable_help_subcommand = true,
    after_help = "\
Begin with:
  omnigraph serve --root ./graphs
  omnigraph graph create airline --schema airline.pg
  omnigraph load airline --type Airport airports.csv --mode append
  omnigraph query airline --text 'query n() { match { $a: Airport } return { count($a) } }'

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

/// What every client command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// The server
    #[arg(long, global = true, help_heading = EVERYWHERE, env = "OMNIGRAPH_URL", default_value = "grpc://127.0.0.1:50051", value_name = "URL")]
    pub(crate) url: String,
    /// How long the request may take, such as 500ms, 30s, 10m or 2h; without it the server decides
    #[arg(long, global = true, env = "OMNIGRAPH_TIMEOUT", value_name = "TIME", value_parser = parse_timeout, hide_env_values = true)]
    pub(crate) timeout: Option<Timeout>,
    /// How results are printed
    #[arg(long, global = true, help_heading = EVERYWHERE, value_enum, default_value_t = Output::Table, value_name = "FORM")]
    pub(crate) output: Output,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a server
    #[command(after_help = "\
Examples:
  omnigraph serve --root ./graphs                      graphs in a folder, for this machine only
  omnigraph serve --root ./graphs --listen 127.0.0.1:0 a free port; the first line of output names it

The server ends at Control-C or SIGTERM, after its running requests.")]
    Serve(Box<omnigraph_server::ServeArgs>),
    /// Make, list, show and delete graphs
    #[command(subcommand)]
    Graph(GraphCommand),
    /// Show the schema of a graph
    #[command(subcommand)]
    Schema(SchemaCommand),
    /// Make, list, show and delete branches
    #[command(subcommand)]
    Branch(BranchCommand),
    /// Load files into a graph, in one commit
    #[command(after_help = LOAD_EXAMPLES)]
    Load(LoadArguments),
    /// Run a query
    #[command(after_help = QUERY_EXAMPLES)]
    Query(QueryArguments),
    /// List the commits of a branch, newest first
    #[command(after_help = "\
Examples:
  omnigraph log airline
  omnigraph log airline --limit 3 --output json")]
    Log(LogArguments),
    /// Tell what became of a write, above all of one whose answer was lost
    #[command(after_help = "\
Example:
  omnigraph operation airline 01JZ8Q6Y3V5B7N9D1F3H5K7M9P

A write whose outcome is not known may always be sent again with the same --operation-id:
it is applied at most once.")]
    Operation(OperationArguments),
    /// List what became of interrupted writes of a branch, newest first
    #[command(after_help = RECOVERIES_EXAMPLES)]
    Recoveries(RecoveriesArguments),
    /// Settle now what interrupted writes left on a branch
    #[command(after_help = "\
Examples:
  omnigraph recover airline
  omnigraph recover airline --branch trial

This is optional: the next write to the branch does the same, and so does a server at its start.
It prints what was decided, as `omnigraph recoveries` does.")]
    Recover(RecoverArguments),
    /// Check a graph, and change nothing
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArguments),
    /// Show what blocks writes and needs a person; with --confirm, repair it
    #[command(after_help = REPAIR_EXAMPLES)]
    Repair(RepairArguments),
    /// Show what the server is: version, limits, features
    Server,
}

const LOAD_EXAMPLES: &str = "\
Examples:
  omnigraph load airline --type Airport airports.csv --mode append
  omnigraph load airline --type Route routes.csv --rename origin=src --rename to=dst --mode merge
  omnigraph load airline --type Flight 2008-*.parquet --skip-column carrier --mode overwrite
  omnigraph load airline everything.ndjson --mode append
  zcat big.ndjson.gz | omnigraph load airline - --format ndjson --mode append

Files:
  CSV, TSV  need a header line. Cells are read as the types that the schema declares, so `NA`
            in a String column is text. An empty cell is null, as are the texts of
            --null-values. A list is written as a JSON array.
  Parquet,  columns are cast by the server, and only where no value changes.
  Arrow
  NDJSON    lines name their types, which may be mixed:
            {\"type\":\"Airport\",\"data\":{\"iata\":\"OSL\"}}
            {\"edge\":\"Route\",\"from\":\"OSL\",\"to\":\"BGO\",\"data\":{\"count\":1}}
  A column that the type does not have is an error: rename it or skip it. `id` may be left
  out; edges need `src` and `dst`.

All files of one command are one commit: all of their rows are stored, or none.
If an id exists already:
  append     the load fails, and nothing is stored
  merge      the whole row is replaced
  overwrite  no matter: all rows of the type are replaced by those of the files
A type without a row in the files stays as it is, in overwrite as well.";

const QUERY_EXAMPLES: &str = "\
Examples:
  omnigraph query airline --text 'query n() { match { $a: Airport } return { count($a) } }'
  omnigraph query airline -f airline.gq --name in_state --param state='\"CA\"'
  omnigraph query airline -f airline.gq --name busy --param least=100 --output json > busy.json
  omnigraph query airline < one.gq

A parameter's value is JSON: a text is written in quotes, within the shell's quotes.
In JSON output integers beyond 2^53-1 are strings, so that no reader rounds them.";

const RECOVERIES_EXAMPLES: &str = "\
Examples:
  omnigraph recoveries airline
  omnigraph recoveries airline --branch trial --limit 3 --output json

A server that dies within a write leaves it to be settled. Outcomes:
  completed  the write had got far enough: it is stored
  undone     nothing of it is stored; it may be sent again under the same operation id
  put back   tables that an undone write had touched are as before";

const CHECK_EXAMPLES: &str = "\
Examples:
  omnigraph check airline
  omnigraph check airline --branch trial --output json

It reads every version of the branches, and compares pins with tables, commits with files.
Exit codes: 0 no findings, 3 the next write or a server repairs what was found, 4 something needs a person;
1 and 2 as for every command. Files that nothing names take space and do no harm: their
data files, table versions, states, intents and whole trees are counted, by kind and age;
transactions, indexes and contracts are not. What is younger than an hour may belong to a
write that is under way.";

const REPAIR_EXAMPLES: &str = "\
Examples:
  omnigraph repair airline                                what blocks writes, and a confirmation
  omnigraph repair airline --confirm 0123456789abcdef     do exactly that
  omnigraph repair airline --branch trial --table Airport only one table

Interrupted writes need no repair: they settle themselves. Two things do need a person:
  an intent that cannot be read   its write is undone, and may be sent again
  commits of a table that are     they are undone by a restore of the version that the graph
  not the graph's own             names; rows of the graph itself are never lost
A confirmation fits what was shown and nothing else: if something changed since, nothing is
done. Nothing brings undone rows back into the graph.";

/// `graph ...`
#[derive(Debug, Subcommand)]
pub(crate) enum GraphCommand {
    /// Make a graph with a schema
    #[command(after_help = "\
Example:
  omnigraph graph create airline --schema airline.pg

A schema declares node and edge types:
  node Airport { iata: String @key  name: String? }
  edge Route: Airport -> Airport { count: I64  @key(src, dst) }")]
    Create(CreateArguments),
    /// List the graphs of the server
    List,
    /// Show one graph
    Show {
        /// Its name
        name: GraphName,
    },
    /// Delete a graph with all of its branches and commits
    #[command(after_help = "\
Example:
  omnigraph graph delete airline --confirm airline

Its name is free afterwards. Nothing brings the graph back.")]
    Delete(DeleteGraphArguments),
}

/// `graph delete`
#[derive(Debug, Args)]
pub(crate) struct DeleteGraphArguments {
    /// Its name
    pub(crate) name: GraphName,
    /// Its name once more
    #[arg(long, value_name = "NAME")]
    pub(crate) confirm: GraphName,
    /// Idempotency key, to send a request again whose answer was lost
    #[arg(long, value_name = "ULID", value_parser = parse_id::<OperationId>)]
    pub(crate) operation_id: Option<OperationId>,
}

/// `graph create`
#[derive(Debug, Args)]
pub(crate) struct CreateArguments {
    /// Its name: a-z, 0-9, '_' and '-'
    pub(crate) name: GraphName,
    /// The schema's file; '-' is the standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: PathBuf,
    /// Idempotency key, to send a request again whose answer was lost
    #[arg(long, value_name = "ULID", value_parser = parse_id::<OperationId>)]
    pub(crate) operation_id: Option<OperationId>,
}

/// `schema ...`
#[derive(Debug, Subcommand)]
pub(crate) enum SchemaCommand {
    /// Print the schema as it was accepted
    Show {
        /// The graph
        graph: GraphName,
        /// The branch
        #[arg(long, default_value = "main")]
        branch: BranchName,
    },
}

/// `load`
#[derive(Debug, Args)]
pub(crate) struct LoadArguments {
    /// The graph
    pub(crate) graph: GraphName,
    /// The files; '-' is the standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// What to do with ids that exist already
    #[arg(long, value_enum)]
    pub(crate) mode: Mode,
    /// The node or edge type of the rows; NDJSON lines name it themselves
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) type_name: Option<String>,
    /// The branch
    #[arg(long, default_value = "main")]
    pub(crate) branch: BranchName,
    /// The files' format, where their names do not tell it
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// Load a column under another name, such as origin=src; may be repeated
    #[arg(long, value_name = "COLUMN=PROPERTY")]
    pub(crate) rename: Vec<Rename>,
    /// Load only these columns, by their names in the files
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// Leave these columns out, by their names in the files
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub(crate) skip_column: Vec<String>,
    /// Texts that mean null in CSV, besides the empty cell
    #[arg(long, value_name = "TEXT", value_delimiter = ',')]
    pub(crate) null_values: Vec<String>,
    /// Rows sent at once
    #[arg(long, value_name = "ROWS", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) batch_rows: u32,
    /// Idempotency key, to send a load again whose answer was lost
    #[arg(long, value_name = "ULID", value_parser = parse_id::<OperationId>)]
    pub(crate) operation_id: Option<OperationId>,
    /// Load only if the branch's head is still this commit
    #[arg(long, value_name = "COMMIT", value_parser = parse_id::<CommitId>)]
    pub(crate) expected_head: Option<CommitId>,
    /// What to do if another writer comes first [default: append and merge retry, overwrite fails]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) on_conflict: Option<Conflict>,
    /// Check everything and commit nothing
    #[arg(long)]
    pub(crate) validate_only: bool,
    /// Whether progress is shown; auto shows it on a terminal
    #[arg(long, value_enum, default_value_t = Progress::Auto)]
    pub(crate) progress: Progress,
}

/// What a load does with ids that exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// The load fails
    Append,
    /// The whole row is replaced
    Merge,
    /// All rows of the type are replaced
    Overwrite,
}

impl Mode {
    /// The mode of the vocabulary.
    pub(crate) fn load_mode(self) -> LoadMode {
        match self {
            Self::Append => LoadMode::Append,
            Self::Merge => LoadMode::Merge,
            Self::Overwrite => LoadMode::Overwrite,
        }
    }
}

/// What a load does if another writer comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Conflict {
    /// The load fails
    Fail,
    /// The load is validated again on the new state
    Retry,
}

impl Conflict {
    /// The choice of the vocabulary.
    pub(crate) fn on_conflict(self) -> OnConflict {
        match self {
            Self::Fail => OnConflict::Fail,
            Self::Retry => OnConflict::Retry,
        }
    }
}

/// Whether progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Progress {
    /// On a terminal
    Auto,
    /// Never
    Never,
}

/// `query`
#[derive(Debug, Args)]
pub(crate) struct QueryArguments {
    /// The graph
    pub(crate) graph: GraphName,
    /// The query's text; without it and -f the standard input is read
    #[arg(long, conflicts_with = "file")]
    pub(crate) text: Option<String>,
    /// A file of queries
    #[arg(short, long)]
    pub(crate) file: Option<PathBuf>,
    /// Which query of the text to run, where there are several
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// A parameter and its value as JSON, such as n=5 or code='"OSL"'; may be repeated
    #[arg(long, value_name = "NAME=JSON")]
    pub(crate) param: Vec<Param>,
    /// The branch
    #[arg(long, default_value = "main", conflicts_with = "at_commit")]
    pub(crate) branch: BranchName,
    /// Read an older commit
    #[arg(long, value_name = "COMMIT", value_parser = parse_id::<CommitId>)]
    pub(crate) at_commit: Option<CommitId>,
    /// Read the branch as it was at a moment, such as 2026-05-01T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_moment, conflicts_with = "at_commit")]
    pub(crate) at_time: Option<Moment>,
}

#[cfg(test)]
mod tests;
