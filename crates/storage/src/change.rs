//! Changes that are staged and not committed, and what a committed transaction says of itself.

use arrow::datatypes::SchemaRef;
use omnigraph_types::{AttemptId, OperationId, TableVersion};
use serde::{Deserialize, Serialize};

use crate::StagedFiles;

/// Whose a transaction is. Stored in the Lance transaction: the UUID as its own, the ids as properties.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionMark {
    /// Lance's transaction UUID, minted by the attempt.
    pub uuid: String,
    /// The operation.
    pub operation_id: OperationId,
    /// The attempt.
    pub attempt_id: AttemptId,
}

/// What a transaction does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionKind {
    /// Adds rows.
    Append,
    /// Replaces all rows, or creates the table.
    Overwrite,
    /// Removes rows.
    Delete,
    /// Changes rows or replaces fragments.
    Update,
    /// Goes back to the content of a version.
    Restore(TableVersion),
    /// Anything else, by Lance's name.
    Other(String),
}

/// A committed transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionInfo {
    /// Lance's transaction UUID.
    pub uuid: String,
    /// What it does.
    pub kind: TransactionKind,
    /// The operation, if one of ours wrote it.
    pub operation_id: Option<OperationId>,
    /// The attempt, if one of ours wrote it.
    pub attempt_id: Option<AttemptId>,
}

/// A change of one table, bound to the version that it was staged on. Invisible until committed.
#[derive(Debug, Clone)]
pub struct StagedChange {
    mark: TransactionMark,
    read_version: TableVersion,
}

impl StagedChange {
    /// The creation of an empty table. Field metadata `lance-schema:unenforced-primary-key` = `true` marks the key.
    pub fn create_empty(schema: SchemaRef, mark: TransactionMark) -> StagedChange {
        Self::create_with(schema, StagedFiles::empty(), mark)
    }

    /// The creation of a table with rows.
    pub fn create_with(_schema: SchemaRef, _files: StagedFiles, mark: TransactionMark) -> StagedChange {
        Self { mark, read_version: TableVersion(0) }
    }

    /// For a creation: rows are addressed by place and no stable row ids are kept, which makes each version's fragments smaller.
    pub fn without_stable_row_ids(self) -> StagedChange {
        self
    }

    /// Whose the change is.
    pub fn mark(&self) -> &TransactionMark {
        &self.mark
    }

    /// The version that the change was staged on; 0 for a creation.
    pub fn read_version(&self) -> TableVersion {
        self.read_version
    }
}
