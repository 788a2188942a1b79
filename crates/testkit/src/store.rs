//! Stores in temporary folders, and tables in them.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use omnigraph_storage::{
    CommitOutcome, FileWriterOptions, ObjectPath, StagedChange, StagedFiles, StorageError, Store, StoreHook,
    StoreOptions, Table, TransactionMark,
};
use omnigraph_types::{AttemptId, OperationId};
use tempfile::TempDir;
use ulid::Ulid;

/// Most rows of one staged file, unless a test says otherwise.
const ROWS_PER_FILE_MAX: u64 = 1_000_000;

/// A store whose folder goes away with it.
#[derive(Debug)]
pub struct TempStore {
    /// The store.
    pub store: Store,
    /// Its folder.
    pub folder: TempDir,
}

impl TempStore {
    /// A store with default options.
    pub async fn open() -> Self {
        Self::with_hooks(Vec::new()).await
    }

    /// A store whose calls these hooks see.
    ///
    /// # Panics
    /// If the machine gives no temporary folder.
    pub async fn with_hooks(hooks: Vec<Arc<dyn StoreHook>>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let store = reopened(&folder, hooks).await.expect("a temporary folder can be opened");
        Self { store, folder }
    }

    /// Another store on the same folder, as another process would open it: nothing is shared but the files.
    ///
    /// # Panics
    /// If the folder is gone.
    pub async fn reopen(&self, hooks: Vec<Arc<dyn StoreHook>>) -> Store {
        reopened(&self.folder, hooks).await.expect("the folder can be opened again")
    }
}

async fn reopened(folder: &TempDir, hooks: Vec<Arc<dyn StoreHook>>) -> Result<Store, StorageError> {
    let root = folder.path().to_string_lossy().into_owned();
    Store::open(&root, StoreOptions { hooks, ..StoreOptions::default() }).await
}

/// A mark of a fresh operation and attempt.
pub fn fresh_mark() -> TransactionMark {
    mark_of(OperationId(Ulid::new()), AttemptId(Ulid::new()))
}

/// A fresh transaction UUID of one attempt.
pub fn mark_of(operation_id: OperationId, attempt_id: AttemptId) -> TransactionMark {
    TransactionMark { uuid: Ulid::new().to_string(), operation_id, attempt_id }
}

/// Stages batches for a table's tree.
///
/// # Panics
/// If there is no batch.
pub async fn staged_rows(
    store: &Store,
    path: &ObjectPath,
    batches: Vec<RecordBatch>,
) -> Result<StagedFiles, StorageError> {
    let schema = batches.first().expect("at least one batch").schema();
    let options = FileWriterOptions { rows_per_file_max: ROWS_PER_FILE_MAX };
    let mut writer = store.write_files(path, None, schema, options);
    for batch in batches {
        writer.write(batch).await?;
    }
    writer.finish().await
}

/// Creates a table with these rows; with none it is empty.
///
/// # Panics
/// If there is a table at `path` already.
pub async fn create_table(
    store: &Store,
    path: &ObjectPath,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
) -> Result<Table, StorageError> {
    let files = if batches.is_empty() { StagedFiles::empty() } else { staged_rows(store, path, batches).await? };
    match store.create_dataset(path, StagedChange::create_with(schema, files, fresh_mark())).await? {
        CommitOutcome::Committed(table) => Ok(table),
        CommitOutcome::Occupied { by } => panic!("there is a table at {path} already, made by {by:?}"),
    }
}
