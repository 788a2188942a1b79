//! Data files that no manifest names.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use omnigraph_types::TreeId;
use serde::{Deserialize, Serialize};

use crate::{ObjectPath, StorageError, Store};

/// Bounds of a file writer.
#[derive(Debug, Clone, Copy)]
pub struct FileWriterOptions {
    /// Most rows of one data file.
    pub rows_per_file_max: u64,
}

/// Written data files, in order, that may be staged into a change of the tree that they were written for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StagedFiles {}

impl StagedFiles {
    /// No files.
    pub fn empty() -> Self {
        Self {}
    }

    /// Rows in all files.
    pub fn rows(&self) -> u64 {
        todo!()
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        todo!()
    }

    /// These files, then the others.
    pub fn concat(self, _other: Self) -> Self {
        todo!()
    }

    /// Whether there are no files.
    pub fn is_empty(&self) -> bool {
        todo!()
    }
}

/// Streams batches into data files. Dropping it unfinished stops its task and leaves unreferenced files.
#[derive(Debug)]
pub struct FileWriter {}

impl Store {
    /// A writer of data files for the dataset at `path`, which need not exist yet, in its main chain or private tree.
    pub fn write_files(
        &self,
        _path: &ObjectPath,
        _tree: Option<TreeId>,
        _schema: SchemaRef,
        _options: FileWriterOptions,
    ) -> FileWriter {
        todo!()
    }
}

impl FileWriter {
    /// Adds rows; waits while the writer is behind. After a failure of the writer the next call returns it.
    pub async fn write(&mut self, _batch: RecordBatch) -> Result<(), StorageError> {
        todo!()
    }

    /// Completes the files.
    pub async fn finish(self) -> Result<StagedFiles, StorageError> {
        todo!()
    }

    /// Stops and removes what was written, as far as the store lets it.
    pub async fn abort(self) {
        todo!()
    }
}
