//! `load`: files into one commit.
//!
//! A thread reads, a task sends, and at most a few batches are between them. A load whose failure says that the same request may be sent
//! again is sent again from the start of its files, under the same operation id; one that reads the standard input cannot be.

mod choices;
mod ndjson;
mod transfer;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use omnigraph_client::{
    Capture, Client, ClientError, Compression, LoadOptions, LoadTarget, OnConflict, Timeout, WriteMode, WriteOutcome,
    WriteReceipt,
};
use omnigraph_types::{BranchName, CommitId, Effect, Failure, GraphName, OperationId, Problem, Retry};
use serde_json::json;

use super::changes::changes;
use super::values::parse_id;
use super::{Global, Session};
use crate::error::{CliError, FailedLoad, Write};
use crate::input::{
    self, ColumnChoice, Format, Meter, Place, ReadOptions, Rename, TypeColumns, bytes_of, is_standard_input,
};
use crate::output::print_record;
use crate::progress::{Progress, Show};
use crate::report;

use choices::{Conflict, Mode};
use transfer::{Transfer, read_ahead};

/// Shown below the help.
pub(super) const EXAMPLES: &str = "\
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

/// Times that a load is sent in all.
const ATTEMPTS_MAX: u32 = 3;
/// Least pause before a load is sent again.
const PAUSE: Duration = Duration::from_secs(1);

/// `load`
#[derive(Debug, Args)]
pub(crate) struct LoadArguments {
    /// The graph
    graph: GraphName,
    /// The files; '-' is the standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What to do with ids that exist already
    #[arg(long, value_enum)]
    mode: Mode,
    /// The node or edge type of the rows; NDJSON lines name it themselves
    #[arg(long = "type", value_name = "TYPE")]
    type_name: Option<String>,
    /// The branch
    #[arg(long, default_value = "main")]
    branch: BranchName,
    /// The files' format, where their names do not tell it
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Load a column under another name, such as origin=src; may be repeated
    #[arg(long, value_name = "COLUMN=PROPERTY")]
    rename: Vec<Rename>,
    /// Load only these columns, by their names in the files
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    select: Vec<String>,
    /// Leave these columns out, by their names in the files
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    skip_column: Vec<String>,
    /// Texts that mean null in CSV, besides the empty cell
    #[arg(long, value_name = "TEXT", value_delimiter = ',')]
    null_values: Vec<String>,
    /// Rows sent at once
    #[arg(long, value_name = "ROWS", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    batch_rows: u32,
    /// Idempotency key, to send a load again whose answer was lost
    #[arg(long, value_name = "ULID", value_parser = parse_id::<OperationId>)]
    operation_id: Option<OperationId>,
    /// Load only if the branch's head is still this commit
    #[arg(long, value_name = "COMMIT", value_parser = parse_id::<CommitId>)]
    expected_head: Option<CommitId>,
    /// What to do if another writer comes first [default: append and merge retry, overwrite fails]
    #[arg(long, value_enum, value_name = "WHAT")]
    on_conflict: Option<Conflict>,
    /// Check everything and commit nothing
    #[arg(long)]
    validate_only: bool,
    /// Whether progress is shown; auto shows it on a terminal
    #[arg(long, value_enum, default_value_t = Show::Auto)]
    progress: Show,
}

/// Loads the files and prints the receipt.
pub(crate) async fn run(global: &Global, arguments: &LoadArguments) -> Result<(), CliError> {
    input::check_files(&arguments.files)?;
    let format = arguments.format.map_or_else(|| Format::of_all(&arguments.files), Ok)?;
    let source = check_options(arguments, format)?;
    let session = Session::open(global).await?;
    let options = LoadOptions {
        mode: arguments.mode.load_mode(),
        operation_id: arguments.operation_id.unwrap_or_else(Client::mint_operation_id),
        expected_head: arguments.expected_head,
        on_conflict: arguments.on_conflict.map_or(OnConflict::ByKind, Conflict::on_conflict),
        capture: Capture::NotWanted,
        write_mode: if arguments.validate_only { WriteMode::ValidateOnly } else { WriteMode::Commit },
        compression: Compression::None,
        timeout: global.timeout.unwrap_or_default(),
    };
    let mut load = Load { session, arguments, format, source: Source::Lines, options };
    if let Kind::Table(type_name) = source {
        load.source = load.open_type(type_name).await?;
    }
    let started = Instant::now();
    let mut attempt = 1;
    let mut effect = Effect::None;
    let receipt = loop {
        let outcome = load.attempt().await.map_err(|error| error.after(effect));
        if let Err(CliError::Load(failed)) = &outcome {
            effect = failed.error.effect();
        }
        match outcome {
            Ok(receipt) => break receipt,
            Err(CliError::Load(failed)) if attempt < ATTEMPTS_MAX && load.may_repeat(&failed.error) => {
                let pause = failed.error.retry_after().max(PAUSE);
                // The time given is for all attempts together.
                if let Some(Timeout::After(whole)) = global.timeout {
                    let Some(left) = whole.checked_sub(started.elapsed() + pause) else {
                        return Err(CliError::Load(failed));
                    };
                    load.options.timeout = Timeout::After(left);
                }
                attempt += 1;
                eprintln!(
                    "{}; sending the load again, attempt {attempt} of {ATTEMPTS_MAX}",
                    report::headline(&failed.error)
                );
                tokio::time::sleep(pause).await;
            }
            Err(error) => return Err(error),
        }
    };
    load.print(&receipt)
}

/// What a load reads, as the command line says.
enum Kind {
    /// Rows of this type.
    Table(String),
    /// NDJSON lines.
    Lines,
}

/// Refuses options that do not go with the format.
fn check_options(arguments: &LoadArguments, format: Format) -> Result<Kind, CliError> {
    if format != Format::Ndjson {
        return match &arguments.type_name {
            Some(name) => Ok(Kind::Table(name.clone())),
            None => Err(CliError::usage(
                "--type is missing: the files do not say which node or edge type their rows are of",
            )),
        };
    }
    let given = [
        ("--type", arguments.type_name.is_some()),
        ("--rename", !arguments.rename.is_empty()),
        ("--select", !arguments.select.is_empty()),
        ("--skip-column", !arguments.skip_column.is_empty()),
        ("--null-values", !arguments.null_values.is_empty()),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(Kind::Lines),
        Some((option, _)) => Err(CliError::usage(format!(
            "{option} does not go with NDJSON: its lines name types and properties themselves"
        ))),
    }
}

/// What a load reads.
enum Source {
    /// Rows of a type whose columns the server returned.
    Table(TypeColumns),
    /// NDJSON lines.
    Lines,
}

/// One load, which may be sent more than once.
struct Load<'a> {
    session: Session,
    arguments: &'a LoadArguments,
    format: Format,
    source: Source,
    options: LoadOptions,
}

impl Load<'_> {
    async fn open_type(&self, name: String) -> Result<Source, CliError> {
        let arguments = self.arguments;
        let schema = self.session.client.type_schema(&arguments.graph, &arguments.branch, &name).await?;
        Ok(Source::Table(TypeColumns { name, schema }))
    }

    /// Sends the files once.
    async fn attempt(&self) -> Result<WriteReceipt, CliError> {
        let meter = Arc::new(Meter::default());
        let outcome = match &self.source {
            Source::Table(of) => self.send_table(of, &meter).await,
            Source::Lines => self.send_lines(&meter).await,
        };
        outcome.map_err(|error| match error {
            transfer::Error::Client(error) => {
                let places = places(&error.failure(), &meter);
                CliError::Load(Box::new(FailedLoad { error, write: self.write(), places }))
            }
            transfer::Error::Input(error) => CliError::Input(error),
            transfer::Error::Interrupted => CliError::Interrupted,
            transfer::Error::InterruptedCommit => CliError::InterruptedCommit(Box::new(self.write())),
        })
    }

    async fn send_table(&self, of: &TypeColumns, meter: &Arc<Meter>) -> Result<WriteReceipt, transfer::Error> {
        let arguments = self.arguments;
        let read = ReadOptions {
            columns: ColumnChoice {
                renames: arguments.rename.clone(),
                select: arguments.select.clone(),
                skip: arguments.skip_column.clone(),
            },
            null_values: arguments.null_values.clone(),
            batch_rows: usize::try_from(arguments.batch_rows).unwrap_or(usize::MAX),
        };
        let table = input::open(&arguments.files, self.format, of, &read, meter)?;
        let target =
            LoadTarget { graph: arguments.graph.clone(), branch: arguments.branch.clone(), type_name: of.name.clone() };
        let loader = self.session.client.load(target, table.schema, self.options.clone()).await?;
        let items = read_ahead(table.batches);
        Transfer { sink: loader, items, progress: self.progress(meter) }.run().await
    }

    async fn send_lines(&self, meter: &Arc<Meter>) -> Result<WriteReceipt, transfer::Error> {
        let arguments = self.arguments;
        let chunks = ndjson::open(&arguments.files, meter)?;
        let loader = self.session.client.load_ndjson(&arguments.graph, &arguments.branch, self.options.clone()).await?;
        Transfer { sink: loader, items: read_ahead(chunks), progress: self.progress(meter) }.run().await
    }

    fn progress(&self, meter: &Arc<Meter>) -> Progress {
        let bytes = self.arguments.files.iter().map(|file| bytes_of(file)).sum();
        Progress::begin(self.arguments.progress, meter, bytes)
    }

    /// Whether the failure says that the same load may be sent again, and its files can be read again.
    fn may_repeat(&self, error: &ClientError) -> bool {
        error.retry() == Retry::SameRequest
            && !matches!(error.problem(), Some(Problem::DeadlineExceeded | Problem::Cancelled))
            && !self.arguments.files.iter().any(|file| is_standard_input(file))
    }

    fn write(&self) -> Write {
        Write {
            graph: self.arguments.graph.clone(),
            branch: self.arguments.branch.clone(),
            operation_id: self.options.operation_id,
        }
    }

    fn print(&self, receipt: &WriteReceipt) -> Result<(), CliError> {
        let outcome = match receipt.outcome {
            WriteOutcome::Committed => "committed",
            WriteOutcome::Replayed => "committed before, under the same operation id",
            WriteOutcome::Validated => "valid; nothing was to be committed",
            WriteOutcome::Unchanged if self.options.write_mode == WriteMode::ValidateOnly => {
                "valid; nothing was to be committed"
            }
            WriteOutcome::Unchanged => "nothing to change",
        };
        let fields = [
            ("outcome", json!(outcome)),
            ("commit", json!(receipt.commit.as_ref().map(|commit| commit.id.to_string()))),
            ("rows", json!(receipt.rows_read)),
            ("changes", changes(&receipt.counts, self.session.output)),
            ("operation", json!(receipt.operation_id.to_string())),
        ];
        self.session.print(|out| print_record(self.session.output, &fields, out))
    }
}

/// Where the rows that a failure names came from.
fn places(failure: &Failure, meter: &Meter) -> Vec<(u64, Place)> {
    let rows: Vec<u64> = match &failure.problem {
        Problem::LoadInvalid { row, .. } => row.iter().copied().collect(),
        Problem::KeyConflict { source_row, .. } => source_row.iter().copied().collect(),
        Problem::ConstraintViolation { violations, .. } => {
            violations.iter().filter_map(|violation| violation.source_row).collect()
        }
        _ => Vec::new(),
    };
    rows.into_iter().filter_map(|row| Some((row, meter.place(row)?))).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        load: LoadArguments,
    }

    fn parse(line: &str) -> LoadArguments {
        Line::parse_from(line.split_whitespace()).load
    }

    #[test]
    fn load_takes_files_renames_and_columns() {
        let arguments =
            parse("load g a.csv b.csv --type R --mode merge --rename o=src --rename d=dst --skip-column x,y");
        assert_eq!(arguments.files, [PathBuf::from("a.csv"), PathBuf::from("b.csv")]);
        assert_eq!(arguments.rename[1], Rename { from: "d".to_owned(), to: "dst".to_owned() });
        assert_eq!(arguments.skip_column, ["x", "y"]);
        assert_eq!((arguments.mode, arguments.branch), (Mode::Merge, BranchName::Main));
    }
}
