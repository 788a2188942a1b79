//! One load, which may be sent more than once: from files to the server's answer.

use std::path::PathBuf;
use std::sync::Arc;

use omnigraph_client::{ClientError, LoadOptions, LoadTarget, WriteReceipt};
use omnigraph_types::{BranchName, Failure, GraphName, Problem, Retry};

use super::enveloped::{self, RowKind};
use super::ndjson;
use super::transfer::{self, Transfer, read_ahead};
use crate::command::Session;
use crate::error::{CliError, FailedLoad, Write};
use crate::input::{self, Format, Meter, Place, ReadOptions, TypeColumns, bytes_of, is_standard_input};
use crate::progress::{Progress, Show};

/// What a load reads.
pub(super) enum Source {
    /// Rows of a type whose columns the server returned.
    Table(TypeColumns),
    /// NDJSON lines that name their types.
    Lines,
    /// NDJSON lines that are rows of this type.
    LinesOf(TypeColumns),
}

/// A load.
pub(super) struct Load {
    pub(super) session: Session,
    pub(super) graph: GraphName,
    pub(super) branch: BranchName,
    pub(super) files: Vec<PathBuf>,
    pub(super) format: Format,
    pub(super) source: Source,
    pub(super) read: ReadOptions,
    pub(super) options: LoadOptions,
    pub(super) progress: Show,
}

impl Load {
    /// Sends the files once.
    pub(super) async fn attempt(&self) -> Result<WriteReceipt, CliError> {
        let meter = Arc::new(Meter::default());
        let outcome = match &self.source {
            Source::Table(of) => self.send_table(of, &meter).await,
            Source::Lines => self.send_lines(ndjson::open(&self.files, &meter), &meter).await,
            Source::LinesOf(of) => {
                let kind = if of.schema.column_with_name("src").is_some() { RowKind::Edges } else { RowKind::Nodes };
                self.send_lines(enveloped::open(&self.files, &of.name, kind, &meter), &meter).await
            }
        };
        outcome.map_err(|error| match error {
            transfer::Error::Client(error) => {
                let places = self.places(&error.failure(), &meter);
                CliError::Load(Box::new(FailedLoad { error, write: self.write(), places }))
            }
            transfer::Error::Input(error) => CliError::Input(error),
            transfer::Error::Interrupted => CliError::Interrupted,
            transfer::Error::InterruptedCommit => CliError::InterruptedCommit(Box::new(self.write())),
        })
    }

    async fn send_table(&self, of: &TypeColumns, meter: &Arc<Meter>) -> Result<WriteReceipt, transfer::Error> {
        let table = input::open(&self.files, self.format, of, &self.read, meter)?;
        let target = LoadTarget { graph: self.graph.clone(), branch: self.branch.clone(), type_name: of.name.clone() };
        let loader = self.session.client.load(target, table.schema, self.options.clone()).await?;
        let items = read_ahead(table.batches);
        Transfer { sink: loader, items, progress: self.show(meter) }.run().await
    }

    async fn send_lines(
        &self,
        pieces: Result<
            impl Iterator<Item = Result<bytes::Bytes, input::InputError>> + Send + 'static,
            input::InputError,
        >,
        meter: &Arc<Meter>,
    ) -> Result<WriteReceipt, transfer::Error> {
        let pieces = pieces?;
        let loader = self.session.client.load_ndjson(&self.graph, &self.branch, self.options.clone()).await?;
        Transfer { sink: loader, items: read_ahead(pieces), progress: self.show(meter) }.run().await
    }

    fn show(&self, meter: &Arc<Meter>) -> Progress {
        let bytes = self.files.iter().map(|file| bytes_of(file)).sum();
        Progress::begin(self.progress, meter, bytes)
    }

    /// Whether the failure says that the same load may be sent again, and its files can be read again.
    pub(super) fn may_repeat(&self, error: &ClientError) -> bool {
        error.retry() == Retry::SameRequest
            && !matches!(error.problem(), Some(Problem::DeadlineExceeded | Problem::Cancelled))
            && !self.files.iter().any(|file| is_standard_input(file))
    }

    pub(super) fn write(&self) -> Write {
        Write { graph: self.graph.clone(), branch: self.branch.clone(), operation_id: self.options.operation_id }
    }

    /// Where the rows that a failure names came from, with the lines of text files, which are read once more for them.
    fn places(&self, failure: &Failure, meter: &Meter) -> Vec<(u64, Place)> {
        let mut rows: Vec<u64> = match &failure.problem {
            Problem::LoadInvalid { row, .. } => row.iter().copied().collect(),
            Problem::KeyConflict { source_row, .. } => source_row.iter().copied().collect(),
            Problem::ConstraintViolation { violations, .. } => {
                violations.iter().filter_map(|violation| violation.source_row).collect()
            }
            _ => Vec::new(),
        };
        rows.sort_unstable();
        rows.dedup();
        let mut places: Vec<(u64, Place)> = rows.into_iter().filter_map(|row| Some((row, meter.place(row)?))).collect();
        let Some(delimiter) = self.read.delimiter.or(self.format.delimiter()) else { return places };
        for file in self.files.iter().filter(|file| !is_standard_input(file)) {
            let mut of_file: Vec<&mut Place> =
                places.iter_mut().map(|(_, place)| place).filter(|place| place.file == *file).collect();
            let rows: Vec<u64> = of_file.iter().map(|place| place.row).collect();
            if rows.is_empty() {
                continue;
            }
            let lines = input::lines_of(file, delimiter, &rows);
            of_file.iter_mut().zip(lines).for_each(|(place, line)| place.line = Some(line));
        }
        places
    }
}
