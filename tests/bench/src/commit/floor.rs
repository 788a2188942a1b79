//! The floor: a table without a graph around it.

use std::path::Path;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use omnigraph_storage::{
    CommitOutcome, Durability, FileWriterOptions, ObjectPath, StagedChange, Store, StoreOptions, Table, TransactionMark,
};
use omnigraph_types::{AttemptId, OperationId};
use ulid::Ulid;

use super::ours::stored_row;
use crate::error::BenchError;

/// Rows of a data file; one is written.
const ROWS_PER_FILE: u64 = 1_024;

/// A table that only this program writes, one row per version.
#[derive(Debug)]
pub(crate) struct BareTable {
    store: Store,
    path: ObjectPath,
    table: Table,
}

impl BareTable {
    pub(crate) async fn create(root: &Path, name: &str, durability: Durability) -> Result<Self, BenchError> {
        let options = StoreOptions { durability, ..StoreOptions::default() };
        let store = Store::open(&root.to_string_lossy(), options).await;
        let store = store.map_err(BenchError::storage("open the floor's root"))?;
        let path = ObjectPath::new(name);
        let empty = StagedChange::create_empty(stored_row(0)?.schema(), mark());
        let created = store.create_dataset(&path, empty).await.map_err(BenchError::storage("make the bare table"))?;
        Ok(Self { store, path, table: committed(created)? })
    }

    /// Stages one row and commits it at the next version.
    pub(crate) async fn append(&mut self, number: u64) -> Result<Duration, BenchError> {
        let row: RecordBatch = stored_row(number)?;
        let started = Instant::now();
        let options = FileWriterOptions { rows_per_file_max: ROWS_PER_FILE };
        let mut writer = self.store.write_files(&self.path, None, row.schema(), options);
        writer.write(row).await.map_err(BenchError::storage("write the floor's row"))?;
        let files = writer.finish().await.map_err(BenchError::storage("finish the floor's file"))?;
        let change = self.table.stage_append(files, mark());
        let outcome = self.store.commit_exact(&self.table, &change).await;
        self.table = committed(outcome.map_err(BenchError::storage("commit the floor's row"))?)?;
        Ok(started.elapsed())
    }
}

fn committed(outcome: CommitOutcome) -> Result<Table, BenchError> {
    match outcome {
        CommitOutcome::Committed(table) => Ok(table),
        CommitOutcome::Occupied { .. } => Err(BenchError::FloorOccupied),
    }
}

fn mark() -> TransactionMark {
    TransactionMark {
        uuid: Ulid::new().to_string(),
        operation_id: OperationId(Ulid::new()),
        attempt_id: AttemptId(Ulid::new()),
    }
}
