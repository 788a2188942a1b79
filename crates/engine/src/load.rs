//! A bulk load: any number of rows of any types, one commit.
//!
//! Rows go straight into data files that no manifest names, so memory does not grow with the load; what must be compared over all rows is
//! kept as fingerprints, within one budget per load, spilled to local disk beyond it. `finish` validates the whole and commits it.
//!
//! Invariant: nothing of a load is visible unless `finish` returned it (I-2).

mod cast;
mod check;
mod columns;
mod digest;
mod findings;
mod fingerprint;
mod ids;
mod intake;
mod ndjson;
mod spill;
mod validate;
mod writer;

pub(crate) use digest::hex;
pub(crate) use intake::Intake;
pub(crate) use spill::SpillPool;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::future::try_join_all;
use omnigraph_catalog::{CommitKind, Snapshot, TableRow};
pub use omnigraph_commit::OnConflict;
use omnigraph_commit::{WriteKind, WriteMode, WriteOutcome, WriteRequest};
use omnigraph_storage::{FileWriter, FileWriterOptions};
use omnigraph_types::{BranchName, CommitId, Failure, Limits, OperationId, Problem, Resource, TableId};
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tracing::info;

use crate::deletion::is_graph_gone;
use crate::error::{EngineError, Result};
use crate::graph::{CommitInfo, Graph, TypeCounts, type_counts};
use crate::load::columns::AbsentIds;
use crate::load::digest::DigestHead;
use crate::load::findings::RowNumbers;
use crate::load::intake::TakenBatch;
use crate::load::ndjson::NdjsonReader;
use crate::load::validate::{StagedType, Validator, ValidatorParts};
use crate::load::writer::{CountsSlot, LoadWriter};
use crate::schema::GraphSchema;

/// Rows of a batch below which it is worked on right where it arrives.
const INLINE_ROWS_MAX: usize = 1_024;
/// Bytes of NDJSON worked on before the batches made of it are written.
const NDJSON_PIECE_BYTES: usize = 1024 * 1024;

/// What a load does with rows whose ids exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoadMode {
    /// Refuses them.
    Append,
    /// Replaces the whole row.
    Merge,
    /// Replaces all rows of every type that the load holds rows of.
    Overwrite,
}

impl LoadMode {
    /// The name used in requests and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Append => "append",
            Self::Merge => "merge",
            Self::Overwrite => "overwrite",
        }
    }
}

/// Whether a write commits or only answers whether it could.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ValidateOnly {
    /// Commit.
    #[default]
    No,
    /// Validate, commit nothing.
    Yes,
}

/// A request for a load.
#[derive(Debug, Clone)]
pub struct LoadRequest {
    /// Where to.
    pub branch: BranchName,
    /// The mode; there is no default.
    pub mode: LoadMode,
    /// The idempotency key; minted if none.
    pub operation_id: Option<OperationId>,
    /// Commit only if the branch's head is still this one.
    pub expected_head: Option<CommitId>,
    /// What to do when something read has changed.
    pub on_conflict: OnConflict,
    /// Whether to commit.
    pub validate_only: ValidateOnly,
    /// Who asks.
    pub actor: String,
    /// When to give up.
    pub deadline: Option<Instant>,
}

/// One stream of rows of one type within a load; rows are counted from 1.
#[derive(Debug)]
pub struct TypeStream {
    stream: usize,
    load: OperationId,
}

/// How a load ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadOutcome {
    /// It made a commit.
    Committed,
    /// The same operation had made its commit before.
    Replayed,
    /// It held no rows.
    Unchanged,
    /// It could have been committed.
    Validated,
}

/// The answer to a load.
#[derive(Debug, Clone)]
pub struct LoadReceipt {
    /// The operation.
    pub operation_id: OperationId,
    /// How it ended.
    pub outcome: LoadOutcome,
    /// The commit it made, if any.
    pub commit: Option<CommitInfo>,
    /// The commit it was validated against.
    pub read_from: CommitId,
    /// What it did, or would have done, per type.
    pub counts: Vec<TypeCounts>,
}

/// The version that a load begins at.
#[derive(Debug)]
pub(crate) struct LoadBase {
    pub(crate) snapshot: Snapshot,
    pub(crate) schema: Arc<GraphSchema>,
    /// Whether the snapshot was proven newest, and not only presumed.
    pub(crate) is_proven: bool,
}

impl LoadBase {
    fn table(&self, table: TableId) -> Result<&TableRow> {
        self.snapshot.table(table).ok_or(EngineError::Defect("a type of the schema has no table"))
    }
}

/// What a load is begun with.
pub(crate) struct LoadParts {
    pub(crate) request: LoadRequest,
    pub(crate) operation_id: OperationId,
    pub(crate) graph: Graph,
    pub(crate) base: LoadBase,
    pub(crate) limits: Arc<Limits>,
    pub(crate) intake: Intake,
    pub(crate) permit: OwnedSemaphorePermit,
}

/// A load in progress. Dropping it before `finish` leaves nothing visible and frees its permit, memory and spill files.
#[derive(Debug)]
pub struct Load {
    request: LoadRequest,
    operation_id: OperationId,
    graph: Graph,
    base: LoadBase,
    limits: Arc<Limits>,
    /// Gone while a batch is worked on, and for good once one failed.
    intake: Option<Box<Intake>>,
    ndjson: Option<NdjsonReader>,
    writers: BTreeMap<TableId, FileWriter>,
    rows: u64,
    _permit: OwnedSemaphorePermit,
}

impl Load {
    pub(crate) fn new(parts: LoadParts) -> Self {
        let LoadParts { request, operation_id, graph, base, limits, intake, permit } = parts;
        Self {
            request,
            operation_id,
            graph,
            base,
            limits,
            intake: Some(Box::new(intake)),
            ndjson: None,
            writers: BTreeMap::new(),
            rows: 0,
            _permit: permit,
        }
    }

    /// The operation.
    pub fn operation_id(&self) -> OperationId {
        self.operation_id
    }

    /// For an overwrite, the head that was captured when the load began.
    pub fn captured(&self) -> Option<CommitId> {
        (self.request.mode == LoadMode::Overwrite).then(|| self.base.snapshot.head())
    }

    /// Checks names and types of a stream's columns before its data: `LoadInvalid` naming the column and the columns there are.
    pub async fn accept_schema(&mut self, type_name: &str, schema: &SchemaRef) -> Result<TypeStream, Failure> {
        match self.open_stream(type_name, schema) {
            Err(_) if !self.base.is_proven => {
                self.prove_base().await?;
                Ok(self.open_stream(type_name, schema)?)
            }
            opened => Ok(opened?),
        }
    }

    fn open_stream(&mut self, type_name: &str, schema: &SchemaRef) -> Result<TypeStream> {
        let plan = self.base.schema.by_name(type_name)?.clone();
        let intake = self.intake.as_mut().ok_or_else(failed_before)?;
        let stream = intake.open(&plan, schema, AbsentIds::Refused)?;
        Ok(TypeStream { stream, load: self.operation_id })
    }

    /// Nothing is refused on the ground of a version that was only presumed newest. Once rows were taken the base stays: they have its columns.
    async fn prove_base(&mut self) -> Result<()> {
        if self.base.is_proven || self.rows > 0 {
            return Ok(());
        }
        self.base = match self.graph.proven_base(&self.request.branch).await.map_err(EngineError::failure) {
            Err(failure) if is_graph_gone(&failure) => {
                self.graph = self.graph.reopened(failure).await?;
                self.graph.proven_base(&self.request.branch).await?
            }
            base => base?,
        };
        Ok(())
    }

    /// Adds rows of one stream. Casts only where no value changes; waits for the disk.
    pub async fn write(&mut self, stream: &mut TypeStream, batch: RecordBatch) -> Result<(), Failure> {
        if stream.load != self.operation_id {
            let reason = "the stream was opened by another load".to_owned();
            return Err(EngineError::InvalidRequest { field: "stream", reason }.failure());
        }
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let stream = stream.stream;
        let inline = if batch.num_rows() <= INLINE_ROWS_MAX { Place::Here } else { Place::Background };
        let taken = self
            .with_intake(inline, move |intake| {
                let rows = RowNumbers::From(intake.stream_rows(stream) + 1);
                intake.take(stream, &batch, &rows)
            })
            .await?;
        Ok(self.store(vec![taken]).await?)
    }

    /// Adds NDJSON text in any chunking, types mixed; rows are the 1-based line numbers.
    pub async fn write_ndjson(&mut self, chunk: &[u8]) -> Result<(), Failure> {
        self.prove_base().await?;
        for piece in chunk.chunks(NDJSON_PIECE_BYTES) {
            let mut reader = self.ndjson.take().unwrap_or_else(|| NdjsonReader::new(&self.limits));
            let (schema, piece) = (self.base.schema.clone(), piece.to_vec());
            let (reader, batches) = self
                .with_intake(Place::Background, move |intake| {
                    let mut batches = Vec::new();
                    reader.feed(&piece, &schema, intake, &mut batches)?;
                    Ok((reader, batches))
                })
                .await?;
            self.ndjson = Some(reader);
            self.store(batches).await?;
        }
        Ok(())
    }

    /// Rows taken so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Validates the whole load, commits it and returns the receipt.
    pub async fn finish(mut self) -> Result<LoadReceipt, Failure> {
        if let Some(reader) = self.ndjson.take() {
            let schema = self.base.schema.clone();
            let batches = self
                .with_intake(Place::Background, move |intake| {
                    let mut batches = Vec::new();
                    reader.finish(&schema, intake, &mut batches)?;
                    Ok(batches)
                })
                .await?;
            self.store(batches).await?;
        }
        let intake = self.intake.take().ok_or_else(failed_before)?;
        let head =
            DigestHead { graph: self.base.snapshot.graph_id(), branch: &self.request.branch, mode: self.request.mode };
        let digest = intake.digest(head);
        let counts = CountsSlot::default();
        let writer = self.stage(*intake, counts.clone()).await?;
        let outcome = self.graph.committer().write(self.write_request(digest), Box::new(writer)).await;
        let outcome = match outcome {
            Err(failure) if !self.base.is_proven && is_another(&failure) => {
                // A ticket does not race with the end of a chain, so a load on presumed ground learns of it last. The next one begins anew.
                let reason = "its branch, or its graph, was deleted or made anew by another server".to_owned();
                let message = format!("operation {} was not committed ({reason}): send it again", self.operation_id);
                let problem = Problem::OperationRolledBack { operation_id: self.operation_id, reason };
                return Err(Failure::new(problem, message).with_source(failure));
            }
            outcome => outcome?,
        };
        let receipt = self.receipt(outcome, &counts)?;
        let commit = receipt.commit.as_ref().map(|commit| commit.id.to_string());
        info!(operation = %self.operation_id, rows = self.rows, outcome = ?receipt.outcome, commit, "load finished");
        Ok(receipt)
    }

    /// Works on the intake; a failure, or dropping the future, ends the load.
    async fn with_intake<R: Send + 'static>(
        &mut self,
        place: Place,
        work: impl FnOnce(&mut Intake) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        if self.request.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            let message = "the deadline passed before the load was complete: nothing of it is stored";
            let failure = Failure::new(Problem::DeadlineExceeded, message);
            return Err(failure.with_effect(omnigraph_types::Effect::None).into());
        }
        let mut intake = self.intake.take().ok_or_else(failed_before)?;
        let (intake, result) = match place {
            Place::Here => {
                let result = work(&mut intake);
                (intake, result)
            }
            Place::Background => {
                let worked = tokio::task::spawn_blocking(move || {
                    let result = work(&mut intake);
                    (intake, result)
                });
                worked.await?
            }
        };
        let result = result?;
        self.intake = Some(intake);
        Ok(result)
    }

    /// Puts batches into the files of their types. The intake is put back only when all are there: otherwise its fingerprints would speak
    /// of rows that no file has.
    async fn store(&mut self, batches: Vec<TakenBatch>) -> Result<()> {
        let intake = self.intake.take().ok_or_else(failed_before)?;
        for TakenBatch { table, batch } in batches {
            self.rows += batch.num_rows() as u64;
            if self.request.mode == LoadMode::Merge && self.rows > self.limits.merge_rows_max {
                return Err(EngineError::Limit {
                    limit: "merge_rows_max",
                    value: self.limits.merge_rows_max,
                    asked: self.rows,
                    advice: "split the merge into several loads, or append what is new",
                });
            }
            self.writer(table)?.write(batch).await?;
        }
        self.intake = Some(intake);
        Ok(())
    }

    /// The writer of a type's files, opened with its first rows.
    fn writer(&mut self, table: TableId) -> Result<&mut FileWriter> {
        Ok(match self.writers.entry(table) {
            Entry::Occupied(writer) => writer.into_mut(),
            Entry::Vacant(vacant) => {
                let row = self.base.table(table)?;
                let options = FileWriterOptions { rows_per_file_max: self.limits.data_file_rows_max };
                let schema = self.base.schema.by_id(table)?.arrow.clone();
                let store = self.graph.committer().catalog().store();
                vacant.insert(store.write_files(&row.path, row.tree, schema, options))
            }
        })
    }

    /// Completes the files.
    async fn stage(&mut self, intake: Intake, counts: CountsSlot) -> Result<LoadWriter> {
        let writers = std::mem::take(&mut self.writers);
        let finished = writers.into_iter().map(|(table, writer)| async move { Ok((table, writer.finish().await?)) });
        let mut files: BTreeMap<_, _> =
            try_join_all(finished).await.map_err(|error: EngineError| error)?.into_iter().collect();
        let taken = intake.finish();
        let mut types = BTreeMap::new();
        for (table, intake) in taken.types {
            let files = files.remove(&table).ok_or(EngineError::Defect("rows were taken and not stored"))?;
            types.insert(table, StagedType { plan: intake.plan, rows: intake.rows, sets: intake.sets, files });
        }
        let validator = Validator::new(ValidatorParts {
            schema: self.base.schema.clone(),
            mode: self.request.mode,
            limits: self.limits.clone(),
            hasher: taken.hasher,
            pool: taken.pool,
            types,
        });
        let store = self.graph.committer().catalog().store().clone();
        Ok(LoadWriter::new(store, self.base.snapshot.branch_id(), validator, counts))
    }

    fn write_request(&self, digest: String) -> WriteRequest {
        let (kind, captured) = match self.request.mode {
            LoadMode::Append => (WriteKind::Append, None),
            LoadMode::Merge => (WriteKind::Upsert, None),
            LoadMode::Overwrite => (WriteKind::Overwrite, Some(self.base.snapshot.clone())),
        };
        WriteRequest {
            operation_id: self.operation_id,
            digest,
            kind,
            commit_kind: CommitKind::Load,
            actor: self.request.actor.clone(),
            branch: self.request.branch.clone(),
            expected_head: self.request.expected_head,
            on_conflict: self.request.on_conflict,
            deadline: self.request.deadline,
            captured,
            mode: match self.request.validate_only {
                ValidateOnly::No => WriteMode::Commit,
                ValidateOnly::Yes => WriteMode::ValidateOnly,
            },
        }
    }

    fn receipt(&self, outcome: WriteOutcome, counts: &CountsSlot) -> Result<LoadReceipt> {
        let committed = |outcome, row: omnigraph_catalog::CommitRow| LoadReceipt {
            operation_id: self.operation_id,
            outcome,
            read_from: row.parents.first().copied().unwrap_or(row.id),
            counts: type_counts(&row.counts),
            commit: Some(CommitInfo::new(row, self.base.snapshot.branch_name().clone())),
        };
        let without = |outcome, read: Snapshot, counts| LoadReceipt {
            operation_id: self.operation_id,
            outcome,
            commit: None,
            read_from: read.head(),
            counts,
        };
        Ok(match outcome {
            WriteOutcome::Committed(row) => committed(LoadOutcome::Committed, row),
            WriteOutcome::Replayed(row) => committed(LoadOutcome::Replayed, row),
            WriteOutcome::Unchanged(read) => without(LoadOutcome::Unchanged, read, Vec::new()),
            WriteOutcome::Validated(read) => {
                let counts = std::mem::take(&mut *counts.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
                without(LoadOutcome::Validated, read, counts)
            }
        })
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let writers = std::mem::take(&mut self.writers);
        // Without a runtime the files stay as what they are, named by nothing.
        if let (false, Ok(runtime)) = (writers.is_empty(), Handle::try_current()) {
            runtime.spawn(async move {
                for writer in writers.into_values() {
                    writer.abort().await;
                }
            });
        }
    }
}

/// Whether a write was refused because its branch or graph is not the one that it was.
fn is_another(failure: &Failure) -> bool {
    match &failure.problem {
        Problem::NotFound { resource, .. } => matches!(resource, Resource::Graph | Resource::Branch),
        Problem::ReadSetChanged { member, .. } => member == "branch",
        _ => false,
    }
}

/// Where work on a batch is done.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// In this task.
    Here,
    /// In a thread for blocking work.
    Background,
}

fn failed_before() -> EngineError {
    let reason = "the load has failed or was interrupted before: begin a new one".to_owned();
    EngineError::InvalidRequest { field: "load", reason }
}
