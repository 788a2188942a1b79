//! A bulk load: any number of rows of any types, one commit.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use omnigraph_types::{BranchName, CommitId, Failure, OperationId};
use tokio::time::Instant;

use crate::{CommitInfo, TypeCounts};

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

/// Whether a write commits or only answers whether it could.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ValidateOnly {
    /// Commit.
    #[default]
    No,
    /// Validate, commit nothing.
    Yes,
}

/// What a write does when something it read has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnConflict {
    /// As the protocol says for the kind of write.
    #[default]
    ByKind,
    /// Fail.
    Fail,
    /// Prepare again on the new state.
    Retry,
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
pub struct TypeStream {}

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

/// A load in progress. Dropping it before `finish` leaves nothing visible and frees its permit, memory and spill files.
#[derive(Debug)]
pub struct Load {}

impl Load {
    /// The operation.
    pub fn operation_id(&self) -> OperationId {
        todo!()
    }

    /// For an overwrite, the head that was captured when the load began.
    pub fn captured(&self) -> Option<CommitId> {
        todo!()
    }

    /// Checks names and types of a stream's columns before its data: `LoadInvalid` naming the column and the columns there are.
    pub fn accept_schema(&mut self, _type_name: &str, _schema: &SchemaRef) -> Result<TypeStream, Failure> {
        todo!()
    }

    /// Adds rows of one stream. Casts only where no value changes; waits for the disk.
    pub async fn write(&mut self, _stream: &mut TypeStream, _batch: RecordBatch) -> Result<(), Failure> {
        todo!()
    }

    /// Adds NDJSON text in any chunking, types mixed; rows are the 1-based line numbers.
    pub async fn write_ndjson(&mut self, _chunk: &[u8]) -> Result<(), Failure> {
        todo!()
    }

    /// Rows taken so far.
    pub fn rows(&self) -> u64 {
        todo!()
    }

    /// Validates the whole load, commits it and returns the receipt.
    pub async fn finish(self) -> Result<LoadReceipt, Failure> {
        todo!()
    }
}
