//! One exact version of one tree, opened.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use omnigraph_types::TableVersion;

use crate::{BatchStream, Pin, Predicate, ScanRequest, StagedChange, StagedFiles, StorageError, TransactionMark};

/// One fragment of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentInfo {
    /// Its id, unique in the dataset's history.
    pub id: u64,
    /// Rows written, deleted ones included.
    pub physical_rows: u64,
    /// Rows deleted since.
    pub deletions: u64,
}

/// One exact version, opened. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Table {
    pin: Arc<Pin>,
}

impl Table {
    /// Which version this is.
    pub fn pin(&self) -> Pin {
        Pin::clone(&self.pin)
    }

    /// The version.
    pub fn version(&self) -> TableVersion {
        self.pin.version
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        todo!()
    }

    /// Rows, from metadata.
    pub async fn count_rows(&self) -> Result<u64, StorageError> {
        todo!()
    }

    /// The fragments, in order.
    pub fn fragments(&self) -> Vec<FragmentInfo> {
        todo!()
    }

    /// Reads rows.
    pub async fn scan(&self, _request: ScanRequest) -> Result<BatchStream, StorageError> {
        todo!()
    }

    /// Reads rows of some fragments only.
    pub async fn scan_fragments(
        &self,
        _fragment_ids: &[u64],
        _request: ScanRequest,
    ) -> Result<BatchStream, StorageError> {
        todo!()
    }

    /// Reads rows of staged files as if they were this table's only fragments.
    pub async fn scan_staged(&self, _files: &StagedFiles, _request: ScanRequest) -> Result<BatchStream, StorageError> {
        todo!()
    }

    /// This version for DataFusion, with projection and filter pushdown.
    pub fn provider(&self) -> Arc<dyn TableProvider> {
        todo!()
    }

    /// Stages adding the files' rows.
    pub fn stage_append(&self, _files: StagedFiles, _mark: TransactionMark) -> StagedChange {
        todo!()
    }

    /// Stages replacing all rows by the files', which may be none. The schema stays.
    pub fn stage_overwrite(&self, _files: StagedFiles, _mark: TransactionMark) -> StagedChange {
        todo!()
    }

    /// Stages replacing some fragments by the files, keeping all others with their ids. New fragments get ascending ids in the files' order.
    pub fn stage_replace(
        &self,
        _removed_fragment_ids: &[u64],
        _files: StagedFiles,
        _mark: TransactionMark,
    ) -> StagedChange {
        todo!()
    }

    /// Stages updating the rows whose key exists and inserting the others. Joins in memory: bound the rows.
    pub async fn stage_upsert(
        &self,
        _rows: BatchStream,
        _key_column: &str,
        _mark: TransactionMark,
    ) -> Result<StagedChange, StorageError> {
        todo!()
    }

    /// Stages removing rows; none if the predicate matches nothing.
    pub async fn stage_delete(
        &self,
        _predicate: &Predicate,
        _mark: TransactionMark,
    ) -> Result<Option<StagedChange>, StorageError> {
        todo!()
    }
}
