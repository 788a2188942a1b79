//! One write from request to receipt: look, prepare, and as many rounds as other writers make necessary.
//!
//! Before every round, in this order: the operation's receipt, the expected head, the token. A round runs in a task of its own, so that a
//! caller who disconnects leaves no half of it behind.

use std::sync::Arc;

use omnigraph_catalog::{CatalogError, OperationRow, Snapshot};
use omnigraph_types::mutant;
use omnigraph_types::{CommitId, Moment, WriteMode};
use tokio::time::Instant;

use crate::change_set::{Attempt, ChangeKind, ChangeSet, Staged};
use crate::context::Context;
use crate::error::CommitError;
use crate::receipt::{self, Identity, Receipt};
use crate::request::Request;
use crate::round::{Ready, Round, RoundOutcome};
use crate::rounds::Rounds;
use crate::token::{Token, TokenCheck};
use crate::write_request::{ConflictPolicy, WriteOutcome, WriteRequest, Writer};

/// Rounds that a write may lose before it prepares the next with the branch's gate held: however slow its preparation, writers of this process
/// then wait for it instead of making it void.
const ROUNDS_IN_TURN_AFTER: u32 = 2;

/// A write on its way: the client's request, and the writer that prepares it.
struct Write<'a> {
    context: &'a Context,
    request: Arc<WriteRequest>,
    under_way: Request,
    writer: Box<dyn Writer>,
}

/// Carries a write out.
pub(crate) async fn write(
    context: &Context,
    under_way: Request,
    request: WriteRequest,
    writer: Box<dyn Writer>,
) -> Result<WriteOutcome, CommitError> {
    Write { context, request: Arc::new(request), under_way, writer }.run().await
}

/// What a branch's name leads to.
enum Named {
    Newest(Snapshot),
    Answered(WriteOutcome),
}

/// What a preparation ended with.
enum Stage {
    Ready(Box<Ready>),
    Over(WriteOutcome),
}

impl Write<'_> {
    async fn run(&mut self) -> Result<WriteOutcome, CommitError> {
        let mut rounds = Rounds::of_request(self.context.limits());
        let mut staged: Option<Ready> = None;
        let (mut lost, mut turn) = (0, None);
        let mut presumed = self.presumed_newest();
        let mut newest = match &presumed {
            Some(snapshot) => snapshot.clone(),
            None => match self.newest_or_answer().await? {
                Named::Newest(snapshot) => snapshot,
                Named::Answered(outcome) => return Ok(outcome),
            },
        };
        loop {
            rounds.begin()?;
            let stage = self.stage(newest.clone(), staged.take()).await;
            // Arming proves a presumed version newest. An answer that rests on it waits for that proof.
            if !matches!(stage, Ok(Stage::Ready(_) | Stage::Over(WriteOutcome::Replayed(_) | WriteOutcome::Kept(_))))
                && let Some(presumed) = presumed.take()
            {
                let proven = match self.newest_or_answer().await? {
                    Named::Newest(snapshot) => snapshot,
                    Named::Answered(outcome) => return Ok(outcome),
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
            let deadline = self.context.ticket_deadline(self.request.deadline);
            if mutant!(27, Instant::now() >= deadline, false) {
                return Err(CommitError::Deadline);
            }
            let round = Round { request: self.under_way.clone(), ready, turn: turn.take(), deadline };
            let context = self.context.clone();
            let task = tokio::spawn(async move { round.run(&context).await });
            match task.await.map_err(|_| CommitError::TaskLost)?? {
                RoundOutcome::Published(snapshot) => return Ok(self.outcome(&snapshot)),
                RoundOutcome::Replayed(row) => return self.replayed(&row).await,
                RoundOutcome::Lost(ready) => staged = Some(*ready),
            }
            lost += 1;
            if mutant!(70, lost >= ROUNDS_IN_TURN_AFTER, false) {
                turn = self.context.enter(newest.branch_id(), deadline).await;
            }
            newest = match self.newest_or_answer().await? {
                Named::Newest(snapshot) => snapshot,
                Named::Answered(outcome) => return Ok(outcome),
            };
            rounds.lost_to(newest.head());
        }
    }

    /// The version to begin at without a look at the store. None for a write that is refused for any change since it began: what was
    /// acknowledged before belongs to its base.
    fn presumed_newest(&self) -> Option<Snapshot> {
        match mutant!(67, self.request.policy(self.writer.conflict_policy()), ConflictPolicy::PrepareAgain) {
            ConflictPolicy::PrepareAgain => self.context.catalog().presumed_newest(&self.request.branch),
            ConflictPolicy::Refuse => None,
        }
    }

    fn identity(&self) -> Identity<'_> {
        self.request.identity(self.writer.kind().publication())
    }

    fn outcome(&self, published: &Snapshot) -> WriteOutcome {
        match self.writer.kind() {
            ChangeKind::Commit(_) => WriteOutcome::Committed(published.head_commit().clone()),
            ChangeKind::KeepsHead(_) => WriteOutcome::Kept(published.version()),
        }
    }

    /// The answer to a request whose operation is done.
    async fn replayed(&mut self, row: &OperationRow) -> Result<WriteOutcome, CommitError> {
        self.under_way.effect().found_committed();
        Ok(match self.writer.kind() {
            ChangeKind::Commit(_) => WriteOutcome::Replayed(receipt::commit_of(self.context, row).await?),
            ChangeKind::KeepsHead(_) => WriteOutcome::Kept(row.version),
        })
    }

    /// The newest version of the branch; or, of a branch that is removed, what the operation did there before.
    async fn newest_or_answer(&mut self) -> Result<Named, CommitError> {
        match self.context.catalog().newest(&self.request.branch).await {
            Ok(newest) => Ok(Named::Newest(newest)),
            Err(missing @ CatalogError::BranchNotFound(_)) => {
                match receipt::on_removed(self.context, &self.request.branch, self.identity()).await? {
                    Some(row) => self.replayed(&row).await.map(Named::Answered),
                    None => Err(missing.into()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// From the news at `newest` to an attempt that can be armed there, or to an answer.
    async fn stage(&mut self, newest: Snapshot, staged: Option<Ready>) -> Result<Stage, CommitError> {
        let aborts = match self.look(&newest).await? {
            Looked::Answered(outcome) => return Ok(Stage::Over(outcome)),
            Looked::Open { aborts } => aborts,
        };
        let policy = self.request.policy(self.writer.conflict_policy());
        match staged.map(|ready| (ready.token().compare(newest.state()), ready)) {
            Some((TokenCheck::Equal, ready)) if ready.is_young(self.context) => {
                Ok(Stage::Ready(Box::new(ready.onto(newest))))
            }
            Some((TokenCheck::Changed(mismatch), _)) if mutant!(68, policy == ConflictPolicy::Refuse, false) => {
                Err(CommitError::ReadSetChanged { branch: self.request.branch.clone(), mismatch })
            }
            Some((TokenCheck::Equal | TokenCheck::PinsMoved | TokenCheck::Changed(_), _)) | None => {
                self.prepare(newest, aborts, policy).await
            }
        }
    }

    /// The receipt, then the expected head.
    async fn look(&mut self, newest: &Snapshot) -> Result<Looked, CommitError> {
        let identity = self.identity();
        let aborts = match receipt::find(self.context, newest, identity).await? {
            Receipt::Done(row) => return self.replayed(&row).await.map(Looked::Answered),
            Receipt::Open { aborts } => aborts,
        };
        if mutant!(66, aborts == 0, false)
            && let Some(row) = receipt::on_removed(self.context, &self.request.branch, identity).await?
        {
            return self.replayed(&row).await.map(Looked::Answered);
        }
        if let Some(expected) =
            self.request.expected_head.filter(|expected| mutant!(28, *expected != newest.head(), false))
        {
            return Err(CommitError::HeadMismatch { expected, actual: newest.head() });
        }
        Ok(Looked::Open { aborts })
    }

    async fn prepare(&mut self, newest: Snapshot, aborts: u32, policy: ConflictPolicy) -> Result<Stage, CommitError> {
        let read_set = self.writer.read_set(&newest);
        if let Some(captured) = self.writer.captured().filter(|_| mutant!(69, policy == ConflictPolicy::Refuse, false))
        {
            let token = Token::capture(captured.state(), &read_set);
            if let TokenCheck::Changed(mismatch) = token.compare(newest.state()) {
                return Err(CommitError::ReadSetChanged { branch: self.request.branch.clone(), mismatch });
            }
        }
        let token = Token::capture(newest.state(), &read_set);
        let attempt = Attempt::new(self.request.operation_id, self.context.shared_clock());
        let prepared = self.writer.prepare(&newest, &attempt).await.map_err(CommitError::Refused)?;
        if prepared.is_empty() {
            return Ok(Stage::Over(WriteOutcome::Unchanged(newest)));
        }
        match self.request.mode {
            WriteMode::ValidateOnly => return Ok(Stage::Over(WriteOutcome::Validated(newest))),
            WriteMode::Commit => {}
        }
        prepared.check_kind(self.writer.kind())?;
        check_ownership(&newest, &prepared)?;
        Ok(Stage::Ready(Box::new(Ready {
            request: self.request.clone(),
            writer: self.writer.name(),
            kind: self.writer.kind(),
            base: newest,
            attempt,
            token,
            changes: prepared,
            commit_id: CommitId(self.context.clock().mint()),
            aborts,
            staged: Moment::now(self.context.clock()),
        })))
    }
}

enum Looked {
    Answered(WriteOutcome),
    Open { aborts: u32 },
}

/// I-3: a tree is written only by its owner branch, and a change must be staged on the very pin that the token holds. Where the branch owns no
/// tree, the attempt has made one, or takes over the pin of a branch that keeps owning its tree.
fn check_ownership(base: &Snapshot, prepared: &ChangeSet) -> Result<(), CommitError> {
    for change in &prepared.tables {
        let added = prepared.schema.iter().flat_map(|schema| &schema.added).any(|row| row.id == change.table);
        let holds = match (base.table(change.table), &change.staged) {
            (Some(row), Staged::Effect(effect)) => row.owner == base.branch_id() && row.pin() == effect.base.pin(),
            (Some(row), Staged::Private(table)) => {
                let tree = table.pin().tree;
                row.owner != base.branch_id() && tree.path == row.path && tree.tree.is_some() && tree.tree != row.tree
            }
            // A pin never moves back to a tree that the branch itself owns.
            (Some(row), Staged::TakenOver(taken)) => taken.path == row.path && taken.owner != base.branch_id(),
            (None, Staged::Private(_)) => added,
            (None, Staged::Effect(_) | Staged::TakenOver(_)) => false,
        };
        if mutant!(12, !holds, false) {
            return Err(CommitError::Violation {
                object: format!("a change staged for table {}", change.table),
                expected:
                    "the pinned version of a tree that the branch owns, a tree of the attempt's own, or a pin of \
                           another branch"
                        .to_owned(),
            });
        }
    }
    Ok(())
}
