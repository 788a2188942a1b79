//! `load`: files into one commit.
//!
//! A thread reads, a task sends, and at most a few batches are between them. A load whose failure says that the same request may be sent
//! again is sent again from the start of its files, under the same operation id; one that reads the standard input cannot be.

mod attempt;
mod choices;
mod enveloped;
mod ndjson;
mod transfer;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use omnigraph_client::{
    Capture, Client, Compression, LoadOptions, OnConflict, Timeout, WriteMode, WriteOutcome, WriteReceipt,
};
use omnigraph_types::{BranchName, CommitId, Effect, GraphName, OperationId};
use serde_json::json;

use super::changes::changes;
use super::values::{Delimiter, parse_id};
use super::{Global, Session};
use crate::error::CliError;
use crate::input::{self, ColumnChoice, Format, ReadOptions, Rename, TypeColumns};
use crate::output::print_record;
use crate::progress::Show;
use crate::report;

use attempt::{Load, Source};
use choices::{Conflict, Mode};

/// Shown below the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  omnigraph load airline --type Airport airports.csv --mode append
  omnigraph load airline --type Route routes.csv --rename origin=src --rename to=dst --mode merge
  omnigraph load airline --type Flight 2008-*.parquet --skip-column carrier --mode overwrite
  omnigraph load airline --type Airport export.csv.gz --delimiter ';' --mode append
  omnigraph load airline everything.ndjson --mode append
  generate | omnigraph load airline - --format ndjson --mode append

Files:
  CSV, TSV  need a header line. Cells are read as the types that the schema declares, so `NA`
            in a String column is text. An empty cell is null, and \"\" is the empty text; the
            texts of --null-values are null, quoted or not. A list is written as a JSON array.
            What --output csv prints can be loaded.
  Parquet,  columns are cast only where no value changes.
  Arrow
  NDJSON    lines name their types, which may be mixed:
            {\"type\":\"Airport\",\"data\":{\"iata\":\"OSL\"}}
            {\"edge\":\"Route\",\"from\":\"OSL\",\"to\":\"BGO\",\"data\":{\"count\":1}}
            With --type they are rows of it: {\"iata\":\"OSL\"}, {\"src\":\"OSL\",\"dst\":\"BGO\"}
  CSV, TSV and NDJSON may be compressed by gzip, whatever their names.
  A DateTime has whole milliseconds: a finer one is refused, in every format.
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
    /// The node or edge type of the rows; NDJSON lines may name it themselves
    #[arg(long = "type", value_name = "TYPE")]
    type_name: Option<String>,
    /// The branch
    #[arg(long, default_value = "main")]
    branch: BranchName,
    /// The files' format, where their names do not tell it
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// What separates the cells of CSV, such as ';' or '\t' [default: ',' in CSV, tab in TSV]
    #[arg(long, value_name = "CHARACTER")]
    delimiter: Option<Delimiter>,
    /// Load a column under another name, such as origin=src; may be repeated
    #[arg(long, value_name = "COLUMN=PROPERTY")]
    rename: Vec<Rename>,
    /// Load only these columns, by their names in the files
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    select: Vec<String>,
    /// Leave these columns out, by their names in the files
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    skip_column: Vec<String>,
    /// Texts that mean null in CSV, besides the empty cell; '' makes "" null too
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
    let kind = check_options(arguments, format)?;
    let session = Session::open(global).await?;
    let mut load = Load {
        source: open_source(&session, arguments, kind).await?,
        session,
        graph: arguments.graph.clone(),
        branch: arguments.branch.clone(),
        files: arguments.files.clone(),
        format,
        read: read_options(arguments),
        options: load_options(global, arguments),
        progress: arguments.progress,
    };
    let started = Instant::now();
    let mut attempt = 1;
    let mut effect = Effect::None;
    let receipt = loop {
        let outcome = load.attempt().await.map_err(|error| error.after(effect, load.write()));
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
    print(&load, &receipt)
}

fn load_options(global: &Global, arguments: &LoadArguments) -> LoadOptions {
    LoadOptions {
        mode: arguments.mode.load_mode(),
        operation_id: arguments.operation_id.unwrap_or_else(Client::mint_operation_id),
        expected_head: arguments.expected_head,
        on_conflict: arguments.on_conflict.map_or(OnConflict::ByKind, Conflict::on_conflict),
        capture: Capture::NotWanted,
        write_mode: if arguments.validate_only { WriteMode::ValidateOnly } else { WriteMode::Commit },
        compression: Compression::None,
        timeout: global.timeout.unwrap_or_default(),
    }
}

fn read_options(arguments: &LoadArguments) -> ReadOptions {
    ReadOptions {
        columns: ColumnChoice {
            renames: arguments.rename.clone(),
            select: arguments.select.clone(),
            skip: arguments.skip_column.clone(),
        },
        null_values: arguments.null_values.clone(),
        delimiter: arguments.delimiter.map(|delimiter| delimiter.0),
        batch_rows: usize::try_from(arguments.batch_rows).unwrap_or(usize::MAX),
    }
}

/// What a load reads, as the command line says.
enum Kind {
    /// Rows of this type.
    Table(String),
    /// NDJSON lines that name their types.
    Lines,
    /// NDJSON lines that are rows of this type.
    LinesOf(String),
}

/// Refuses options that do not go with the format.
fn check_options(arguments: &LoadArguments, format: Format) -> Result<Kind, CliError> {
    let columns = [
        ("--rename", !arguments.rename.is_empty()),
        ("--select", !arguments.select.is_empty()),
        ("--skip-column", !arguments.skip_column.is_empty()),
    ];
    let cells = [("--null-values", !arguments.null_values.is_empty()), ("--delimiter", arguments.delimiter.is_some())];
    let (refused, reason): (Vec<_>, _) = match format {
        Format::Csv | Format::Tsv => (Vec::new(), ""),
        Format::Parquet | Format::Arrow => (cells.to_vec(), "is for CSV and TSV: the cells of these files are no text"),
        Format::Ndjson => {
            ([&columns[..], &cells].concat(), "does not go with NDJSON: its lines name properties themselves")
        }
    };
    if let Some((option, _)) = refused.iter().find(|(_, given)| *given) {
        return Err(CliError::usage(format!("{option} {reason}")));
    }
    match (format, &arguments.type_name) {
        (Format::Ndjson, None) => Ok(Kind::Lines),
        (Format::Ndjson, Some(name)) => Ok(Kind::LinesOf(name.clone())),
        (Format::Csv | Format::Tsv | Format::Parquet | Format::Arrow, Some(name)) => Ok(Kind::Table(name.clone())),
        (Format::Csv | Format::Tsv | Format::Parquet | Format::Arrow, None) => {
            Err(CliError::usage("--type is missing: the files do not say which node or edge type their rows are of"))
        }
    }
}

/// Asks the server for the columns of the type.
async fn open_source(session: &Session, arguments: &LoadArguments, kind: Kind) -> Result<Source, CliError> {
    let columns = async |name: String| {
        let schema = session.client.type_schema(&arguments.graph, &arguments.branch, &name).await?;
        Ok::<_, CliError>(TypeColumns { name, schema })
    };
    match kind {
        Kind::Table(name) => Ok(Source::Table(columns(name).await?)),
        Kind::LinesOf(name) => Ok(Source::LinesOf(columns(name).await?)),
        Kind::Lines => Ok(Source::Lines),
    }
}

fn print(load: &Load, receipt: &WriteReceipt) -> Result<(), CliError> {
    let outcome = match receipt.outcome {
        WriteOutcome::Committed => "committed",
        WriteOutcome::Replayed => "committed before, under the same operation id",
        WriteOutcome::Validated => "valid; nothing was to be committed",
        WriteOutcome::Unchanged if load.options.write_mode == WriteMode::ValidateOnly => {
            "valid; nothing was to be committed"
        }
        WriteOutcome::Unchanged => "nothing to change",
        WriteOutcome::Done => "done",
        WriteOutcome::Newer => "an outcome that only a newer program knows",
    };
    let fields = [
        ("outcome", json!(outcome)),
        ("commit", json!(receipt.commit.as_ref().map(|commit| commit.id.to_string()))),
        ("rows", json!(receipt.rows_read)),
        ("changes", changes(&receipt.counts, load.session.output)),
        ("operation", json!(receipt.operation_id.to_string())),
    ];
    load.session.print(|out| print_record(load.session.output, &fields, out))
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
