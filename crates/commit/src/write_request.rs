//! What a client asks of a write, what a writer contributes to it, and what it becomes.

use async_trait::async_trait;
use omnigraph_catalog::{CommitRow, PublicationKind, Snapshot};
use omnigraph_types::{BranchName, CommitId, Failure, GraphVersion, OnConflict, OperationId, WriteMode};
use tokio::time::Instant;

use crate::change_set::{Attempt, ChangeKind, ChangeSet};
use crate::failpoint::WriterPoints;
use crate::receipt::Identity;
use crate::token::ReadSet;

/// What a writer declares to do when something that it read has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictPolicy {
    /// Prepare again: what it adds can be validated against whatever is there.
    PrepareAgain,
    /// Refuse: somebody decided on rows that have changed.
    Refuse,
}

/// What a client asked for.
#[derive(Debug, Clone)]
pub struct WriteRequest {
    /// The idempotency key.
    pub operation_id: OperationId,
    /// Digest of the whole request, in hexadecimal: the same operation with another digest is refused.
    pub digest: String,
    /// Who asks.
    pub actor: String,
    /// The branch.
    pub branch: BranchName,
    /// Run only if the head is still this commit.
    pub expected_head: Option<CommitId>,
    /// What to do on conflict.
    pub on_conflict: OnConflict,
    /// After this nothing is begun any more; `None` is bounded by the limits alone.
    pub deadline: Option<Instant>,
    /// Whether to commit.
    pub mode: WriteMode,
}

impl WriteRequest {
    /// What makes it the same request.
    pub(crate) fn identity(&self, kind: PublicationKind) -> Identity<'_> {
        Identity { operation_id: self.operation_id, digest: &self.digest, kind }
    }

    /// What this request wants done, where the writer declares a policy.
    pub(crate) fn policy(&self, declared: ConflictPolicy) -> ConflictPolicy {
        match self.on_conflict {
            OnConflict::Fail => ConflictPolicy::Refuse,
            OnConflict::Retry => ConflictPolicy::PrepareAgain,
            OnConflict::ByKind => declared,
        }
    }
}

/// The part of a write that knows what it writes.
#[async_trait]
pub trait Writer: Send {
    /// Its name, in fail points, logs and intents.
    fn name(&self) -> WriterPoints;

    /// What kind of publication it makes.
    fn kind(&self) -> ChangeKind;

    /// What it does by itself when something that it read has changed.
    fn conflict_policy(&self) -> ConflictPolicy;

    /// The version on which its base was captured before its first preparation, if it decided on rows of that version.
    fn captured(&self) -> Option<&Snapshot>;

    /// What the write reads or writes at `base`.
    fn read_set(&self, base: &Snapshot) -> ReadSet;

    /// Validates everything against `base` and stages it there. Called once per attempt: again when `base` had to become a newer one.
    async fn prepare(&mut self, base: &Snapshot, attempt: &Attempt) -> Result<ChangeSet, Failure>;
}

/// What became of a write.
#[derive(Debug, Clone)]
pub enum WriteOutcome {
    /// It is this commit.
    Committed(CommitRow),
    /// It had been committed before: this is that commit.
    Replayed(CommitRow),
    /// It is this version, which keeps the head; now, or since an earlier request of the operation.
    Kept(GraphVersion),
    /// There was nothing to change at this version.
    Unchanged(Snapshot),
    /// It would have been accepted at this version.
    Validated(Snapshot),
}
