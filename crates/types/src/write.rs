//! What every write may ask for, and what it returns.

use crate::named::named_enum;
use crate::{Commit, CommitId, OperationId, TypeCounts};

named_enum! {
    /// What a write does when another writer changed something that it had read before it committed.
    #[derive(Default)]
    pub enum OnConflict {
        /// By kind of operation: appends, inserts and upserts prepare again; updates, deletes, overwrites and merges fail.
        #[default]
        ByKind = "by_kind",
        /// Fail with `ReadSetChanged`.
        Fail = "fail",
        /// Prepare again on the new head, within the budget of rounds and the deadline.
        Retry = "retry",
    }
}

named_enum! {
    /// Whether a write commits.
    #[derive(Default)]
    pub enum WriteMode {
        /// Validate and commit.
        #[default]
        Commit = "commit",
        /// Validate everything and commit nothing.
        ValidateOnly = "validate_only",
    }
}

/// What every write of rows may ask for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// The idempotency key; a fresh one is minted if none.
    pub operation_id: Option<OperationId>,
    /// Run only if the branch's head is still this commit.
    pub expected_head: Option<CommitId>,
    /// What to do if another writer changed what was read.
    pub on_conflict: OnConflict,
    /// Whether to commit.
    pub mode: WriteMode,
}

named_enum! {
    /// How a write ended.
    pub enum WriteOutcome {
        /// It made the receipt's commit.
        Committed = "committed",
        /// An earlier request with the same operation id did the work.
        Replayed = "replayed",
        /// There was nothing to change.
        Unchanged = "unchanged",
        /// It was valid, and only validation was asked for.
        Validated = "validated",
        /// It is done, and makes no commit: a branch was created or deleted, or a table repaired.
        Done = "done",
        /// An outcome that only a newer program knows.
        Newer = "newer",
    }
}

/// What a write did. The same request under the same operation id returns the same receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteReceipt {
    /// The operation.
    pub operation_id: OperationId,
    /// How it ended.
    pub outcome: WriteOutcome,
    /// The commit that it made, if any.
    pub commit: Option<Commit>,
    /// The branch's head: that commit, else the head that the write found.
    pub head: CommitId,
    /// Rows changed by type; what a commit would have changed where only validation was asked for.
    pub counts: Vec<TypeCounts>,
    /// For a load: rows read from the client. Else 0.
    pub rows_read: u64,
}
