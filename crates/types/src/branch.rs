//! Branches: requests and answers.

use crate::{BranchId, BranchName, CommitId, GraphName, OperationId, ReadAt, WriteMode};

/// One branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchInfo {
    /// Its name.
    pub name: BranchName,
    /// The graph.
    pub graph: GraphName,
    /// Its id. Another branch may get the name later, never the id.
    pub id: BranchId,
    /// Its head.
    pub head: CommitId,
    /// The branch that it was created from, by the name that the source had; none for `main`.
    pub source: Option<BranchName>,
    /// The commit that it was created from; none for `main`.
    pub source_commit: Option<CommitId>,
    /// When it was created: milliseconds since 1970-01-01T00:00:00Z.
    pub created_ms: u64,
    /// Hash of its schema: SHA-256 in lower-case hexadecimal.
    pub schema_hash: String,
}

/// A request for a new branch. No rows are copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateBranch {
    /// Its name.
    pub name: BranchName,
    /// The state that it starts from.
    pub source: ReadAt,
    /// The idempotency key; a fresh one is minted if none.
    pub operation_id: Option<OperationId>,
    /// Create it only if the source's head is still this commit.
    pub expected_head: Option<CommitId>,
    /// Whether to create it.
    pub mode: WriteMode,
}

impl CreateBranch {
    /// A branch from the head of `main`.
    pub fn new(name: BranchName) -> Self {
        Self {
            name,
            source: ReadAt::Branch(BranchName::Main),
            operation_id: None,
            expected_head: None,
            mode: WriteMode::Commit,
        }
    }
}

/// A request to delete a branch. Branches created from it remain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteBranch {
    /// Its name. `main` cannot be deleted.
    pub name: BranchName,
    /// The idempotency key; a fresh one is minted if none.
    pub operation_id: Option<OperationId>,
    /// Delete it only if its head is still this commit.
    pub expected_head: Option<CommitId>,
    /// Whether to delete it.
    pub mode: WriteMode,
}

impl DeleteBranch {
    /// The deletion of a branch, whatever its head.
    pub fn new(name: BranchName) -> Self {
        Self { name, operation_id: None, expected_head: None, mode: WriteMode::Commit }
    }
}

/// The answer to a request to create or delete a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchReceipt {
    /// The operation.
    pub operation_id: OperationId,
    /// The branch that was created; none for a deletion, and where only validation was asked for.
    pub branch: Option<BranchInfo>,
}
