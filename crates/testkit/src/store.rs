//! Stores in temporary folders and in emulated clouds, and tables in them.

use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use omnigraph_storage::{
    CommitOutcome, FileWriterOptions, ObjectPath, StagedChange, StagedFiles, StorageError, Store, StoreHook, StoreKind,
    StoreOptions, Table, TransactionMark,
};
use omnigraph_types::{AttemptId, OperationId};
use tempfile::TempDir;
use ulid::Ulid;

use crate::Emulators;

/// Most rows of one staged file, unless a test says otherwise.
const ROWS_PER_FILE_MAX: u64 = 1_000_000;

/// Every kind of store that is served.
pub const EVERY_STORE: [StoreKind; 3] = [StoreKind::Local, StoreKind::S3, StoreKind::Azure];

/// A store that no other test uses. Its folder is removed with it, an emulated store ends with the process.
#[derive(Debug)]
pub struct TempStore {
    /// The store.
    pub store: Store,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Folder(TempDir),
    Emulated(String),
}

impl TempStore {
    /// A store in a folder, with default options.
    pub async fn open() -> Self {
        Self::with_hooks(Vec::new()).await
    }

    /// A store in a folder whose calls these hooks see.
    pub async fn with_hooks(hooks: Vec<Arc<dyn StoreHook>>) -> Self {
        Self::of_kind(StoreKind::Local, hooks).await
    }

    /// A store of this kind whose calls these hooks see. It has proven that it honours put-if-absent.
    ///
    /// # Panics
    /// If the machine gives no temporary folder, or the emulated store does not run.
    pub async fn of_kind(kind: StoreKind, hooks: Vec<Arc<dyn StoreHook>>) -> Self {
        let place = match kind {
            StoreKind::Local => Place::Folder(tempfile::tempdir().expect("a temporary folder can be made")),
            StoreKind::S3 => Place::Emulated(Emulators::running().s3_root()),
            StoreKind::Azure => Place::Emulated(Emulators::running().azure_root()),
        };
        let proven = place.open(Vec::new()).await.expect("a fresh store can be opened");
        proven.prove_put_if_absent().await.expect("the store honours put-if-absent");
        let store = place.open(hooks).await.expect("a fresh store can be opened");
        Self { store, place }
    }

    /// Another store on the same root, as another process would open it: nothing is shared but the objects.
    ///
    /// # Panics
    /// If the folder no longer exists.
    pub async fn reopen(&self, hooks: Vec<Arc<dyn StoreHook>>) -> Store {
        self.place.open(hooks).await.expect("the root can be opened again")
    }

    /// The folder of a local store.
    ///
    /// # Panics
    /// If the store is not local.
    pub fn folder(&self) -> &Path {
        match &self.place {
            Place::Folder(folder) => folder.path(),
            Place::Emulated(root) => panic!("{root} is no folder"),
        }
    }
}

impl Place {
    async fn open(&self, hooks: Vec<Arc<dyn StoreHook>>) -> Result<Store, StorageError> {
        let options = StoreOptions { hooks, ..StoreOptions::default() };
        match self {
            Self::Folder(folder) => Store::open(&folder.path().to_string_lossy(), options).await,
            Self::Emulated(root) => {
                let variables = Emulators::running().variables().clone();
                Store::open(root, StoreOptions { variables, ..options }).await
            }
        }
    }
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
/// If `path` has a table already.
pub async fn create_table(
    store: &Store,
    path: &ObjectPath,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
) -> Result<Table, StorageError> {
    let files = if batches.is_empty() { StagedFiles::empty() } else { staged_rows(store, path, batches).await? };
    match store.create_dataset(path, StagedChange::create_with(schema, files, fresh_mark())).await? {
        CommitOutcome::Committed(table) => Ok(table),
        CommitOutcome::Occupied { by } => panic!("{path} has a table already, made by {by:?}"),
    }
}
