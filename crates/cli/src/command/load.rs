//! `load`: files into one commit.
//!
//! A thread reads, a task sends, and at most a few batches are between them. A load whose failure says that the same request may be sent
//! again is sent again from the start of its files, under the same operation id; one that reads the standard input cannot be.

mod ndjson;
mod transfer;

use std::sync::Arc;
use std::time::{Duration, Instant};

use omnigraph_client::{
    Capture, Client, ClientError, Compression, LoadOptions, LoadTarget, OnConflict, Timeout, WriteMode, WriteOutcome,
    WriteReceipt,
};
use omnigraph_types::{Effect, Failure, Problem, Retry};
use serde_json::json;

use super::Session;
use super::history::changes;
use crate::arguments::{Conflict, Global, LoadArguments};
use crate::error::{CliError, FailedLoad, Write};
use crate::input::{self, ColumnChoice, Format, Meter, Place, ReadOptions, TypeColumns, bytes_of, is_standard_input};
use crate::output::print_record;
use crate::progress::Progress;
use crate::report;

use transfer::{Transfer, read_ahead};

/// Times that a load is sent in all.
const ATTEMPTS_MAX: u32 = 3;
/// Least pause before a load is sent again.
const PAUSE: Duration = Duration::from_secs(1);

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
