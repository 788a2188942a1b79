//! One write from request to receipt: look, prepare, and as many rounds as other writers make necessary.
//!
//! Before every round, in this order: the operation's receipt, the expected head, the token. A round runs in a task of its own, so that a
//! caller who goes away leaves no half of it behind.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use omnigraph_catalog::{CatalogError, CommitKind, CommitRow, PublicationKind, Snapshot};
use omnigraph_storage::{Pin, StagedChange, Table, TransactionMark};
use omnigraph_types::{AttemptId, BranchName, Clock, CommitId, Failure, Moment, OperationId, TableId, TreeId};
use tokio::time::Instant;

use crate::attempt::{self, Ready, RoundOutcome};
use crate::branches::reused;
use crate::committer::Committer;
use crate::error::CommitError;
use crate::gate::Turn;
use crate::token::{Token, TokenCheck};

/// Rounds that a write may lose before it prepares the next with the branch's gate held: however slow its preparation, writers of this process
/// then wait for it instead of making it void.
const ROUNDS_IN_TURN_AFTER: u32 = 2;

/// What to do when something that the write rests on has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    /// Appends and upserts prepare again; an overwrite is refused.
    ByKind,
    /// Refuse with `ReadSetChanged`.
    Fail,
    /// Prepare again.
    Retry,
}

/// What kind of write it is, as far as conflicts go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    /// Adds rows.
    Append,
    /// Adds or replaces rows.
    Upsert,
    /// Replaces tables; its base was captured before its data.
    Overwrite,
}

/// Whether to commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    /// Validate, stage and commit.
    Commit,
    /// Validate and stage only.
    ValidateOnly,
}

/// What a client asked for.
#[derive(Debug, Clone)]
pub struct WriteRequest {
    /// The idempotency key.
    pub operation_id: OperationId,
    /// Digest of the whole request, in hexadecimal: the same operation with another digest is refused.
    pub digest: String,
    /// Kind, for conflicts.
    pub kind: WriteKind,
    /// Kind, for the commit.
    pub commit_kind: CommitKind,
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
    /// The version that an overwrite captured when its stream began.
    pub captured: Option<Snapshot>,
    /// Whether to commit.
    pub mode: WriteMode,
}

impl WriteRequest {
    fn is_strict(&self) -> bool {
        match self.on_conflict {
            OnConflict::Fail => true,
            OnConflict::Retry => false,
            OnConflict::ByKind => self.kind == WriteKind::Overwrite,
        }
    }

    fn ticket_deadline(&self, ticket_wait: Duration) -> Instant {
        let bound = Instant::now() + ticket_wait;
        self.deadline.map_or(bound, |deadline| deadline.min(bound))
    }
}

/// One try of an operation.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Names everything that this try stages.
    pub id: AttemptId,
    /// The operation.
    pub operation_id: OperationId,
    clock: Arc<dyn Clock>,
}

impl Attempt {
    pub(crate) fn new(operation_id: OperationId, clock: Arc<dyn Clock>) -> Self {
        Self { id: AttemptId(clock.mint()), operation_id, clock }
    }

    /// The name of a tree of this try, fresh each time.
    pub fn tree(&self) -> TreeId {
        TreeId(self.clock.mint())
    }

    /// A mark with a fresh transaction UUID.
    pub fn mark(&self) -> TransactionMark {
        TransactionMark { uuid: self.clock.mint().to_string(), operation_id: self.operation_id, attempt_id: self.id }
    }
}

/// How a change of one table is staged.
#[derive(Debug, Clone)]
pub enum Staged {
    /// An uncommitted transaction on a tree that the branch owns: an effect, made after arm.
    Effect {
        /// The table opened at its pin.
        base: Table,
        /// The transaction on it.
        change: Box<StagedChange>,
    },
    /// A tree of the attempt's own, complete and named by nothing: no effect. The publication names it, and the branch becomes its owner.
    Private(Table),
}

impl Staged {
    /// Where the publication will pin the table.
    pub(crate) fn pin_after(&self) -> Pin {
        match self {
            Self::Effect { base, .. } => base.pin().tree.at(base.version().next()),
            Self::Private(table) => table.pin(),
        }
    }
}

/// A staged change of one table.
#[derive(Debug, Clone)]
pub struct TableChange {
    /// The table.
    pub table: TableId,
    /// How it is staged.
    pub staged: Staged,
    /// Rows that are new.
    pub inserted: u64,
    /// Rows that are replaced.
    pub updated: u64,
    /// Rows that go.
    pub deleted: u64,
    /// Rows afterwards.
    pub rows_after: u64,
}

/// What a writer staged. No change means that there is nothing to commit.
#[derive(Debug, Clone, Default)]
pub struct Prepared {
    /// At most one change per table.
    pub changes: Vec<TableChange>,
}

/// The part of a write that knows what it writes.
#[async_trait]
pub trait Writer: Send {
    /// Every table that the write reads or writes at `base`, empty ones too.
    fn read_set(&self, base: &Snapshot) -> Vec<TableId>;

    /// Validates everything against `base` and stages it there. Called once per attempt: again when `base` had to become a newer one.
    async fn prepare(&mut self, base: &Snapshot, attempt: &Attempt) -> Result<Prepared, Failure>;
}

/// What became of a write.
#[derive(Debug, Clone)]
pub enum WriteOutcome {
    /// It is this commit.
    Committed(CommitRow),
    /// It had been committed before: this is that commit.
    Replayed(CommitRow),
    /// There was nothing to change at this version.
    Unchanged(Snapshot),
    /// It would have been accepted at this version.
    Validated(Snapshot),
}

pub(crate) async fn write(
    committer: &Committer,
    request: WriteRequest,
    mut writer: Box<dyn Writer>,
) -> Result<WriteOutcome, CommitError> {
    let request = Arc::new(request);
    let rounds_max = u32::try_from(committer.limits().commit_rounds_max).unwrap_or(u32::MAX);
    let mut staged: Option<Ready> = None;
    let (mut lost, mut turn) = (0, None);
    let mut presumed = committer.catalog().presumed_newest(&request.branch);
    let mut newest = match &presumed {
        Some(snapshot) => snapshot.clone(),
        None => match newest_or_answer(committer, &request).await? {
            Named::Newest(snapshot) => snapshot,
            Named::Answered(row) => return Ok(WriteOutcome::Replayed(row)),
        },
    };
    for _ in 0..rounds_max {
        let stage = stage(committer, &request, newest.clone(), staged.take(), writer.as_mut()).await;
        // Arming proves a presumed version newest. An answer that rests on it waits for that proof.
        if !matches!(stage, Ok(Stage::Ready(_) | Stage::Over(WriteOutcome::Replayed(_))))
            && let Some(presumed) = presumed.take()
        {
            let proven = match newest_or_answer(committer, &request).await? {
                Named::Newest(snapshot) => snapshot,
                Named::Answered(row) => return Ok(WriteOutcome::Replayed(row)),
            };
            if (proven.branch_id(), proven.version()) != (presumed.branch_id(), presumed.version()) {
                newest = proven;
                continue;
            }
        }
        presumed = None;
        let ready = match stage? {
            Stage::Ready(ready) => *ready,
            Stage::Over(outcome) => return Ok(outcome),
        };
        let deadline = request.ticket_deadline(committer.limits().ticket_wait());
        if Instant::now() >= deadline {
            return Err(CommitError::Deadline);
        }
        let task = tokio::spawn(attempt::round(committer.clone(), ready, turn.take(), deadline));
        match task.await.map_err(|_| CommitError::TaskLost)?? {
            RoundOutcome::Committed(row) => return Ok(WriteOutcome::Committed(row)),
            RoundOutcome::Replayed(row) => return Ok(WriteOutcome::Replayed(row)),
            RoundOutcome::Lost(ready) => staged = Some(ready),
        }
        lost += 1;
        if lost >= ROUNDS_IN_TURN_AFTER {
            turn = Turn::take(committer, newest.branch_id(), deadline).await;
        }
        newest = match newest_or_answer(committer, &request).await? {
            Named::Newest(snapshot) => snapshot,
            Named::Answered(row) => return Ok(WriteOutcome::Replayed(row)),
        };
    }
    Err(CommitError::Contention { attempts: rounds_max, winner: Some(newest.head()) })
}

/// What a branch's name leads to.
enum Named {
    Newest(Snapshot),
    Answered(CommitRow),
}

/// The newest version of the branch; or, of a branch that is removed, what the operation did there before.
async fn newest_or_answer(committer: &Committer, request: &WriteRequest) -> Result<Named, CommitError> {
    match committer.catalog().newest(&request.branch).await {
        Ok(newest) => Ok(Named::Newest(newest)),
        Err(missing @ CatalogError::BranchNotFound(_)) => match answered_on_removed(committer, request).await? {
            Some(row) => Ok(Named::Answered(row)),
            None => Err(missing.into()),
        },
        Err(error) => Err(error.into()),
    }
}

/// From the news at `newest` to an attempt that can be armed there, or to an answer.
async fn stage(
    committer: &Committer,
    request: &Arc<WriteRequest>,
    newest: Snapshot,
    staged: Option<Ready>,
    writer: &mut dyn Writer,
) -> Result<Stage, CommitError> {
    let aborts = match look(committer, request, &newest).await? {
        Looked::Answered(row) => return Ok(Stage::Over(WriteOutcome::Replayed(row))),
        Looked::Open { aborts } => aborts,
    };
    match staged.map(|ready| (ready.token().compare(newest.state()), ready)) {
        Some((TokenCheck::Equal, ready)) if ready.is_young(committer) => Ok(Stage::Ready(Box::new(ready.onto(newest)))),
        Some((TokenCheck::Changed(mismatch), _)) if request.is_strict() => {
            Err(CommitError::ReadSetChanged { branch: request.branch.clone(), mismatch })
        }
        Some((TokenCheck::Equal | TokenCheck::PinsMoved | TokenCheck::Changed(_), _)) | None => {
            prepare(committer, request, newest, aborts, writer).await
        }
    }
}

enum Looked {
    Answered(CommitRow),
    Open { aborts: u32 },
}

/// The receipt, then the expected head.
async fn look(committer: &Committer, request: &WriteRequest, newest: &Snapshot) -> Result<Looked, CommitError> {
    let rows = committer.catalog().operation_rows(newest, request.operation_id).await?;
    if let Some(row) = rows.iter().find(|row| row.kind == PublicationKind::Commit) {
        return receipt(committer, request, row.digest.clone(), row.commit_id).await.map(Looked::Answered);
    }
    if let Some(row) = rows.iter().rev().find(|row| row.kind != PublicationKind::Abort) {
        return Err(reused(row.clone()));
    }
    if rows.is_empty() {
        check_age(committer, request.operation_id)?;
        if let Some(row) = answered_on_removed(committer, request).await? {
            return Ok(Looked::Answered(row));
        }
    }
    if let Some(expected) = request.expected_head.filter(|expected| *expected != newest.head()) {
        return Err(CommitError::HeadMismatch { expected, actual: newest.head() });
    }
    Ok(Looked::Open { aborts: u32::try_from(rows.len()).unwrap_or(u32::MAX) })
}

/// The receipt of an operation that was sent to a branch of this name which has been removed since (I-8).
async fn answered_on_removed(committer: &Committer, request: &WriteRequest) -> Result<Option<CommitRow>, CommitError> {
    let Some(last) = committer.catalog().removed_with(&request.branch, request.operation_id).await? else {
        return Ok(None);
    };
    match committer.catalog().committed(&last, request.operation_id).await? {
        Some(row) => receipt(committer, request, row.digest, row.commit_id).await.map(Some),
        None => Ok(None),
    }
}

async fn receipt(
    committer: &Committer,
    request: &WriteRequest,
    first_digest: String,
    commit: Option<CommitId>,
) -> Result<CommitRow, CommitError> {
    let operation_id = request.operation_id;
    if first_digest != request.digest {
        let reused = omnigraph_catalog::CatalogError::OperationIdReused { operation_id, first_digest, commit };
        return Err(reused.into());
    }
    let commit = commit.ok_or_else(|| CommitError::Violation {
        object: format!("operation {operation_id}"),
        expected: "a commit id in its row".to_owned(),
    })?;
    Ok(committer.catalog().commit(commit).await?)
}

/// An unknown id can be vouched for only inside the range in which operation rows are kept.
pub(crate) fn check_age(committer: &Committer, operation_id: OperationId) -> Result<(), CommitError> {
    let now = committer.clock().wall_ms();
    let limits = committer.limits();
    let earliest = now.saturating_sub(limits.operation_id_behind_ms);
    let latest = now.saturating_add(limits.operation_id_ahead_ms);
    if (earliest..=latest).contains(&operation_id.timestamp_ms()) {
        Ok(())
    } else {
        Err(CommitError::OperationIdOutOfRange { operation_id })
    }
}

enum Stage {
    Ready(Box<Ready>),
    Over(WriteOutcome),
}

async fn prepare(
    committer: &Committer,
    request: &Arc<WriteRequest>,
    newest: Snapshot,
    aborts: u32,
    writer: &mut dyn Writer,
) -> Result<Stage, CommitError> {
    let read_set = writer.read_set(&newest);
    if let Some(captured) = request.captured.as_ref().filter(|_| request.is_strict()) {
        let token = Token::capture(captured.state(), &read_set);
        if let TokenCheck::Changed(mismatch) = token.compare(newest.state()) {
            return Err(CommitError::ReadSetChanged { branch: request.branch.clone(), mismatch });
        }
    }
    let token = Token::capture(newest.state(), &read_set);
    let attempt = Attempt::new(request.operation_id, committer.shared_clock());
    let prepared = writer.prepare(&newest, &attempt).await.map_err(CommitError::Refused)?;
    if prepared.changes.is_empty() {
        return Ok(Stage::Over(WriteOutcome::Unchanged(newest)));
    }
    if request.mode == WriteMode::ValidateOnly {
        return Ok(Stage::Over(WriteOutcome::Validated(newest)));
    }
    check_ownership(&newest, &prepared)?;
    let identity = (CommitId(committer.clock().mint()), aborts, Moment::now(committer.clock()));
    Ok(Stage::Ready(Box::new(Ready::new(request.clone(), newest, attempt, token, prepared, identity))))
}

/// I-3: a tree is written only by its owner branch, and a change must be staged on the very pin that the token holds. Where the branch owns no
/// tree, the attempt has made one.
fn check_ownership(base: &Snapshot, prepared: &Prepared) -> Result<(), CommitError> {
    for change in &prepared.changes {
        let row = base.table(change.table);
        let holds = row.is_some_and(|row| match &change.staged {
            Staged::Effect { base: opened, .. } => row.owner == base.branch_id() && row.pin() == opened.pin(),
            Staged::Private(table) => {
                let tree = table.pin().tree;
                row.owner != base.branch_id() && tree.path == row.path && tree.tree.is_some() && tree.tree != row.tree
            }
        });
        if !holds {
            return Err(CommitError::Violation {
                object: format!("a change staged for table {}", change.table),
                expected: "the pinned version of a tree that the branch owns, or a tree of the attempt's own"
                    .to_owned(),
            });
        }
    }
    Ok(())
}
