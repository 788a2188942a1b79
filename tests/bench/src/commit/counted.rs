//! The store requests of one keyless one-row commit through the write protocol.

use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use async_trait::async_trait;
use bytes::Bytes;
use omnigraph_catalog::{CatalogError, CommitKind, Graphs, NewGraph, NewTable, Snapshot, TableKind};
use omnigraph_commit::{
    Attempt, CommitOptions, Committer, FailPoints, OnConflict, Prepared, TableChange, WriteKind, WriteMode,
    WriteRequest, Writer,
};
use omnigraph_storage::{Durability, FileWriterOptions, StorageError, Store, StoreOptions};
use omnigraph_types::{BranchName, Failure, GraphName, Limits, OperationId, SystemClock, TableId};
use ulid::Ulid;

use super::ours::stored_row;
use super::trace::{CallTrace, Requests};
use crate::error::BenchError;

/// The only table.
const TABLE: TableId = TableId(1);
/// Commits before the one that is counted.
const COMMITS_BEFORE: u64 = 20;
/// A contract that nothing reads, and its SHA-256.
const CONTRACT: &[u8] = b"{}";
const CONTRACT_HASH: &str = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
/// Characters of a digest.
const DIGEST_CHARS: usize = 64;

/// Counts the requests of one commit of a graph that has had a few.
pub(crate) async fn count(root: &Path, durability: Durability) -> Result<Requests, BenchError> {
    let trace = CallTrace::new();
    let options = StoreOptions { durability, hooks: vec![Arc::new(trace.clone())], ..StoreOptions::default() };
    let store = Store::open(&root.to_string_lossy(), options).await;
    let store = store.map_err(BenchError::storage("open the root of the counted graph"))?;
    let (clock, limits) = (Arc::new(SystemClock), Arc::new(Limits::default()));
    let graph_name: GraphName = "counted".parse().map_err(BenchError::name)?;
    let table =
        NewTable { id: TABLE, kind: TableKind::Node, type_name: "Event".to_owned(), schema: stored_row(0)?.schema() };
    let new = NewGraph {
        name: graph_name.clone(),
        contract: Bytes::from_static(CONTRACT),
        contract_hash: CONTRACT_HASH.to_owned(),
        tables: vec![table],
        operation_id: OperationId(Ulid::new()),
        digest: "0".repeat(DIGEST_CHARS),
        actor: "bench".to_owned(),
    };
    let created = Graphs::new(store, clock.clone(), limits.clone()).create(new).await;
    let catalog = created.map_err(CatalogError::failure).map_err(BenchError::engine("make the counted graph"))?;
    let options = CommitOptions { graph_name, limits, clock, failpoints: FailPoints::default() };
    let committer = Committer::new(catalog, options);
    for number in 0..COMMITS_BEFORE {
        append(&committer, number).await?;
    }
    trace.start();
    append(&committer, COMMITS_BEFORE).await?;
    Ok(trace.finish())
}

async fn append(committer: &Committer, number: u64) -> Result<(), BenchError> {
    let request = WriteRequest {
        operation_id: OperationId(Ulid::new()),
        digest: format!("{number:064x}"),
        kind: WriteKind::Append,
        commit_kind: CommitKind::Load,
        actor: "bench".to_owned(),
        branch: BranchName::Main,
        expected_head: None,
        on_conflict: OnConflict::ByKind,
        deadline: None,
        captured: None,
        mode: WriteMode::Commit,
    };
    let writer = OneRow { row: stored_row(number)?, store: committer.catalog().store().clone() };
    committer.write(request, Box::new(writer)).await.map_err(BenchError::engine("commit a counted row"))?;
    Ok(())
}

/// Stages one row.
struct OneRow {
    row: RecordBatch,
    store: Store,
}

#[async_trait]
impl Writer for OneRow {
    fn read_set(&self, _base: &Snapshot) -> Vec<TableId> {
        vec![TABLE]
    }

    async fn prepare(&mut self, base: &Snapshot, attempt: &Attempt) -> Result<Prepared, Failure> {
        let opened = base.open_table(TABLE).await.map_err(CatalogError::failure)?;
        let pin = opened.pin();
        let options = FileWriterOptions { rows_per_file_max: 1_024 };
        let mut writer = self.store.write_files(&pin.tree.path, pin.tree.tree, self.row.schema(), options);
        writer.write(self.row.clone()).await.map_err(StorageError::failure)?;
        let files = writer.finish().await.map_err(StorageError::failure)?;
        let staged = opened.stage_append(files, attempt.mark());
        let rows_before = base.table(TABLE).map_or(0, |row| row.row_count);
        let change = TableChange {
            table: TABLE,
            base: opened,
            staged,
            inserted: 1,
            updated: 0,
            deleted: 0,
            rows_after: rows_before + 1,
        };
        Ok(Prepared { changes: vec![change] })
    }
}
