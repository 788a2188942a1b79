//! A load in progress: it takes rows in any number of batches, and `finish` commits them all or none.
//!
//! Invariant: nothing of a load is visible unless `finish` returned it (I-2).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::future::join_all;
use omnigraph_catalog::{CommitRow, Snapshot};
use omnigraph_commit::{WriteOutcome as Outcome, WriteRequest};
use omnigraph_storage::{FileWriter, FileWriterOptions, StagedFiles};
use omnigraph_types::{
    CommitId, Failure, Limits, LoadMode, LoadRequest, OperationId, Problem, ReadSetMember, Resource, TableId,
    WriteOutcome, WriteReceipt, mutant,
};
use tokio::runtime::Handle;
use tokio::time::Instant;
use tracing::info;

use crate::caller::Caller;
use crate::cause::{Defect, LoadMisuse};
use crate::describe;
use crate::error::{EngineError, Result, is_graph_gone};
use crate::execute::Target;
use crate::load::base::LoadBase;
use crate::load::columns::AbsentIds;
use crate::load::digest::DigestHead;
use crate::load::findings::RowNumbers;
use crate::load::intake::{Intake, TakenBatch};
use crate::load::left_behind::{LeftBehind, Written};
use crate::load::ndjson::NdjsonReader;
use crate::load::spill::SpillPool;
use crate::load::turns::Turn;
use crate::load::validate::{StagedType, Validator, ValidatorParts};
use crate::load::writer::{CountsSlot, LoadWriter};
use crate::open_graphs::GraphHandle;
use crate::vouched::{acknowledged, explained};

/// Rows of a batch up to which it is processed in the task that received it.
const INLINE_ROWS_MAX: usize = 1_024;
/// Bytes of NDJSON processed before their batches are written.
const NDJSON_PIECE_BYTES: usize = 1024 * 1024;

/// One stream of rows of one type within a load; rows are counted from 1.
#[derive(Debug)]
pub struct TypeStream {
    stream: usize,
    load: OperationId,
}

/// The parts of a new load.
pub(crate) struct LoadParts {
    pub(crate) request: LoadRequest,
    pub(crate) operation_id: OperationId,
    pub(crate) caller: Caller,
    pub(crate) graph: GraphHandle,
    pub(crate) base: LoadBase,
}

/// A load in progress. Dropping it before `finish` leaves nothing visible and ends its turn and frees its memory and spill files.
#[derive(Debug)]
pub struct Load {
    request: LoadRequest,
    operation_id: OperationId,
    caller: Caller,
    graph: GraphHandle,
    base: LoadBase,
    limits: Arc<Limits>,
    /// `None` while a batch is processed, and for good after one failed.
    intake: Option<Box<Intake>>,
    ndjson: Option<NdjsonReader>,
    writers: BTreeMap<TableId, FileWriter>,
    rows: u64,
    /// None until the load takes rows.
    turn: Option<Turn>,
}

impl Load {
    pub(crate) fn new(parts: LoadParts) -> Self {
        let LoadParts { request, operation_id, caller, graph, base } = parts;
        let context = graph.graph.context();
        let limits = context.limits().clone();
        let pool = SpillPool::new(context.spill_directory().map(Path::to_owned), limits.load_memory_bytes_max);
        let intake = Intake::new(context.clock().clone(), limits.clone(), pool);
        Self {
            request,
            operation_id,
            caller,
            graph,
            base,
            limits,
            intake: Some(Box::new(intake)),
            ndjson: None,
            writers: BTreeMap::new(),
            rows: 0,
            turn: None,
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
            Err(_) if mutant!(168, !self.base.is_proven, false) => {
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

    /// Proves the base newest, before anything is refused because of it. After the first rows the base stays: they have its columns.
    async fn prove_base(&mut self) -> Result<()> {
        if self.base.is_proven || self.rows > 0 {
            return Ok(());
        }
        self.base = match LoadBase::proven(&self.graph.graph, &self.request.branch).await.map_err(EngineError::failure)
        {
            Err(failure) if is_graph_gone(&failure) => {
                self.graph = self.graph.reopened(failure).await?;
                LoadBase::proven(&self.graph.graph, &self.request.branch).await?
            }
            base => base?,
        };
        Ok(())
    }

    /// Takes the load's turn, if it has none yet: waits until fewer than `loads_concurrent_max` loads take rows, in the order of asking.
    /// `ResourceLimit`, to be sent again, if too many wait or if it takes too long. Rows take the turn by themselves; a caller that is about
    /// to hold much for the load takes it before.
    pub async fn take_turn(&mut self) -> Result<(), Failure> {
        Ok(self.take_its_turn().await?)
    }

    async fn take_its_turn(&mut self) -> Result<()> {
        if self.turn.is_none() {
            self.turn = Some(self.graph.graph.context().turns().take(self.caller.deadline).await?);
        }
        Ok(())
    }

    /// Waits for what the load's client sends next; `bytes` is the size of it. While other loads wait for a turn, a client that sends too
    /// little for too long ends with `ResourceLimit`.
    pub async fn next_of_client<T>(
        &mut self,
        next: impl Future<Output = Result<T, Failure>>,
        bytes: impl Fn(&T) -> u64,
    ) -> Result<T, Failure> {
        let Some(turn) = &mut self.turn else { return next.await };
        let turns = self.graph.graph.context().turns();
        let next = turns.next_of(turn, next).await.map_err(|error| error.failure())??;
        turns.received(turn, bytes(&next));
        Ok(next)
    }

    /// Adds rows of one stream. Casts only where no value changes; waits for the load's turn and for the disk.
    pub async fn write(&mut self, stream: &mut TypeStream, batch: RecordBatch) -> Result<(), Failure> {
        if mutant!(172, stream.load != self.operation_id, false) {
            return Err(EngineError::from(LoadMisuse::StreamOfAnotherLoad).failure());
        }
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.take_its_turn().await?;
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
        self.take_its_turn().await?;
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
    pub async fn finish(self) -> Result<WriteReceipt, Failure> {
        let store = self.graph.graph.committer().catalog().store().clone();
        let effect = self.caller.effect.clone();
        match self.commit().await {
            Ok(receipt) => acknowledged(&store, &effect, receipt).await,
            Err(failure) => Err(explained(&store, failure.with_effect(effect.now())).await),
        }
    }

    /// Commits, and removes what is certainly named by nothing afterwards; also where the caller goes meanwhile.
    async fn commit(self) -> Result<WriteReceipt, Failure> {
        let store = self.graph.graph.committer().catalog().store().clone();
        let left_behind = LeftBehind::new(store, self.caller.effect.clone());
        let outcome = self.publish(left_behind.written()).await;
        left_behind.end(&outcome).await;
        outcome
    }

    async fn publish(mut self, written: &Written) -> Result<WriteReceipt, Failure> {
        self.take_its_turn().await?;
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
        let writer = self.stage(*intake, counts.clone(), written).await?;
        let committer = self.graph.graph.committer().answering(&self.caller.effect);
        let outcome = committer.write(self.write_request(digest), Box::new(writer)).await;
        let outcome = match outcome {
            Err(failure) if mutant!(167, !self.base.is_proven && is_another(&failure), false) => {
                // Deleting a branch does not compete for the ticket, so a load that started from a cached head discovers the deletion
                // only here. The next load starts from a fresh head.
                let reason = "its branch, or its graph, was deleted or made anew by another server".to_owned();
                let message = format!("operation {} was not committed ({reason}): send it again", self.operation_id);
                let problem = Problem::OperationRolledBack { operation_id: self.operation_id, reason };
                return Err(Failure::new(problem, message).with_source(failure));
            }
            outcome => outcome?,
        };
        let receipt = self.receipt(outcome, &counts)?;
        let commit = receipt.commit.as_ref().map(|commit| commit.id.to_string());
        info!(operation = %self.operation_id, rows = self.rows, outcome = %receipt.outcome, commit, "load finished");
        Ok(receipt)
    }

    /// Runs work on the intake. A failure, or dropping the future, ends the load.
    async fn with_intake<R: Send + 'static>(
        &mut self,
        place: Place,
        work: impl FnOnce(&mut Intake) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        if self.caller.deadline.is_some_and(|deadline| mutant!(166, Instant::now() >= deadline, false)) {
            return Err(EngineError::LoadDeadline);
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

    /// Writes batches to the files of their types. The intake is put back only when all are written: otherwise its fingerprints would
    /// include rows that no file has.
    async fn store(&mut self, batches: Vec<TakenBatch>) -> Result<()> {
        let intake = self.intake.take().ok_or_else(failed_before)?;
        for TakenBatch { table, batch } in batches {
            self.rows += batch.num_rows() as u64;
            if self.request.mode == LoadMode::Merge && mutant!(165, self.rows > self.limits.merge_rows_max, false) {
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
                let store = self.graph.graph.committer().catalog().store();
                vacant.insert(store.write_files(&row.path, row.tree, schema, options))
            }
        })
    }

    /// Completes the files.
    async fn stage(&mut self, intake: Intake, counts: CountsSlot, written: &Written) -> Result<LoadWriter> {
        let writers = std::mem::take(&mut self.writers);
        let finished = writers.into_iter().map(|(table, writer)| async move { (table, writer.finish().await) });
        // All of them: what one has completed must be known even if another fails.
        let finished = join_all(finished).await;
        written.files(finished.iter().filter_map(|(_, files)| files.as_ref().ok()).flat_map(StagedFiles::paths));
        let mut files = BTreeMap::new();
        for (table, of_table) in finished {
            files.insert(table, of_table?);
        }
        let taken = intake.finish();
        let mut types = BTreeMap::new();
        for (table, intake) in taken.types {
            let files = files.remove(&table).ok_or(EngineError::from(Defect::RowsNotStored))?;
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
        let store = self.graph.graph.committer().catalog().store().clone();
        Ok(LoadWriter::new(store, self.base.snapshot.clone(), validator, counts, written.clone()))
    }

    fn write_request(&self, digest: String) -> WriteRequest {
        WriteRequest {
            operation_id: self.operation_id,
            digest,
            actor: self.caller.actor.clone(),
            branch: self.request.branch.clone(),
            expected_head: self.request.options.expected_head,
            on_conflict: self.request.options.on_conflict,
            deadline: self.caller.deadline,
            mode: self.request.options.mode,
        }
    }

    fn receipt(&self, outcome: Outcome, counts: &CountsSlot) -> Result<WriteReceipt> {
        let committed = |outcome, row: CommitRow| {
            let branch = self.base.snapshot.branch_name().clone();
            let commit = describe::commit(self.graph.graph.name(), row, branch);
            WriteReceipt {
                operation_id: self.operation_id,
                outcome,
                head: commit.id,
                counts: commit.counts.clone(),
                commit: Some(commit),
                rows_read: self.rows,
            }
        };
        let without = |outcome, read: Snapshot, counts| WriteReceipt {
            operation_id: self.operation_id,
            outcome,
            commit: None,
            head: read.head(),
            counts,
            rows_read: self.rows,
        };
        Ok(match outcome {
            Outcome::Committed(row) => committed(WriteOutcome::Committed, row),
            Outcome::Replayed(row) => committed(WriteOutcome::Replayed, row),
            Outcome::Kept(_) => return Err(EngineError::from(Defect::LoadWithoutCommit)),
            Outcome::Unchanged(read) => without(WriteOutcome::Unchanged, read, Vec::new()),
            Outcome::Validated(read) => {
                let counts = std::mem::take(&mut *counts.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
                without(WriteOutcome::Validated, read, counts)
            }
        })
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let writers = std::mem::take(&mut self.writers);
        // Without a runtime the files stay in the store, and nothing refers to them.
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
        Problem::ReadSetChanged { member, .. } => *member == ReadSetMember::Branch,
        _ => false,
    }
}

/// Where a batch is processed.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// In this task.
    Here,
    /// In a thread for blocking work.
    Background,
}

fn failed_before() -> EngineError {
    LoadMisuse::Over.into()
}
