//! One attempt as a chain of values: `Ready` -> `Guarded` -> `Armed` -> `Applied` -> `Published`.
//!
//! Each arrow consumes the value to its left, so no step is skipped or repeated. From `Armed` on every failure is an `Interrupted`, which
//! still owns the intent and is resolved here, by the same rescue that anybody else would run.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use omnigraph_catalog::{
    CommitRow, PinChange, Precondition, Publication, PublicationKind, PublishOutcome, Snapshot, StagedPublication,
    TableCounts,
};
use omnigraph_storage::{CommitOutcome, StagedChange, Table, TransactionInfo, TransactionKind};
use omnigraph_types::{CommitId, Moment, Phase, TableId};
use tokio::time::Instant;

use crate::committer::Committer;
use crate::decide::Decision;
use crate::effect::Effect;
use crate::error::CommitError;
use crate::failpoint::FailPoint;
use crate::gate::{GateHeld, Turn};
use crate::intent::{self, Intent, TicketOutcome};
use crate::settle::{kept_waiting, settle_own, settle_tables, wait_for};
use crate::token::Token;
use crate::write::{Attempt, Prepared, Staged, TableChange, WriteRequest};

/// Pause between two tries to read what was settled while the store fails.
const READ_BACK_PAUSE: Duration = Duration::from_millis(200);

/// Validated and staged; invisible, and armed by nothing.
#[derive(Debug)]
pub(crate) struct Ready {
    request: Arc<WriteRequest>,
    base: Snapshot,
    attempt: Attempt,
    token: Token,
    changes: Vec<TableChange>,
    commit_id: CommitId,
    aborts: u32,
    staged: Moment,
}

/// What one round came to.
#[must_use]
#[derive(Debug)]
pub(crate) enum RoundOutcome {
    /// The attempt is this commit.
    Committed(CommitRow),
    /// Another attempt of the same operation is this commit.
    Replayed(CommitRow),
    /// The version went to somebody else before this attempt took effect.
    Lost(Ready),
}

impl Ready {
    /// With the commit id minted for the attempt, how often its operation was aborted before, and when it had staged everything.
    pub(crate) fn new(
        request: Arc<WriteRequest>,
        base: Snapshot,
        attempt: Attempt,
        token: Token,
        prepared: Prepared,
        (commit_id, aborts, staged): (CommitId, u32, Moment),
    ) -> Self {
        Self { request, base, attempt, token, changes: prepared.changes, commit_id, aborts, staged }
    }

    pub(crate) fn token(&self) -> &Token {
        &self.token
    }

    /// Whether what is staged may still be armed. Nothing names it before the intent does, so cleanup would take it once it is old, and
    /// proving another base newest makes it no younger.
    pub(crate) fn is_young(&self, committer: &Committer) -> bool {
        self.staged.age(committer.clock()) <= committer.catalog().proof_age_max()
    }

    /// The same staged files onto a newer version in which the token holds.
    pub(crate) fn onto(self, base: Snapshot) -> Self {
        Self { base, ..self }
    }

    fn touches_unsettled(&self) -> bool {
        let rows = &self.base.state().unsettled;
        rows.iter().any(|row| self.changes.iter().any(|change| change.table == row.table))
    }

    /// The whole publication: everything a roll forward needs.
    fn publication(&self, committer: &Committer) -> Publication {
        let head = self.base.head_commit();
        let version = self.base.version().next();
        let counts = |change: &TableChange| {
            self.base.table(change.table).map(|row| TableCounts {
                table: change.table,
                kind: row.kind,
                type_name: row.type_name.clone(),
                inserted: change.inserted,
                updated: change.updated,
                deleted: change.deleted,
                row_count: change.rows_after,
            })
        };
        let pin = |change: &TableChange| {
            let pin = change.staged.pin_after();
            PinChange { table: change.table, tree: pin.tree.tree, version: pin.version, row_count: change.rows_after }
        };
        let mut preconditions = self.token.preconditions();
        preconditions.push(Precondition::OperationUnseen(self.request.operation_id));
        preconditions.extend(self.request.expected_head.map(Precondition::ExactHead));
        let (operation_id, digest) = (self.request.operation_id, self.request.digest.clone());
        Publication {
            preconditions,
            commit: Some(CommitRow {
                id: self.commit_id,
                parents: vec![head.id],
                branch_id: self.base.branch_id(),
                version,
                actor: self.request.actor.clone(),
                time_ms: committer.clock().wall_ms().max(head.time_ms + 1),
                kind: self.request.commit_kind,
                operation_id: self.request.operation_id,
                schema_hash: self.base.schema_hash().to_owned(),
                counts: self.changes.iter().filter_map(counts).collect(),
            }),
            pins: self.changes.iter().map(pin).collect(),
            ..Publication::new(PublicationKind::Commit, operation_id, digest, self.attempt.id)
        }
    }

    fn intent(&self, committer: &Committer) -> Intent {
        let effect = |change: &TableChange| match &change.staged {
            Staged::Effect { base, change: staged } => Some(Effect {
                table: change.table,
                type_name: self.base.table(change.table).map_or_else(String::new, |row| row.type_name.clone()),
                tree: base.pin().tree,
                expected: base.version(),
                transactions: vec![staged.mark().uuid.clone()],
            }),
            Staged::Private(_) => None,
        };
        Intent {
            format: Intent::FORMAT,
            operation_id: self.request.operation_id,
            attempt_id: self.attempt.id,
            writer: self.request.commit_kind.as_str().to_owned(),
            actor: self.request.actor.clone(),
            branch_id: self.base.branch_id(),
            base: self.base.version(),
            token: self.token.clone(),
            aborts: self.aborts,
            armed_ms: committer.clock().wall_ms(),
            effects: self.changes.iter().filter_map(effect).collect(),
            publication: self.publication(committer),
        }
    }
}

/// One round: from `Ready` to a commit, or to the news that somebody else has the version. With a turn, no other writer of this process came
/// in between since it was taken.
pub(crate) async fn round(
    committer: Committer,
    ready: Ready,
    turn: Option<Turn>,
    deadline: Instant,
) -> Result<RoundOutcome, CommitError> {
    let _busy = committer.liveness().serve(ready.request.operation_id);
    let chain = ready.base.chain().clone();
    let branch = ready.base.branch_id();
    let held = match turn.and_then(|turn| turn.of(branch)) {
        Some(gate) => Some(gate),
        None => Turn::take(&committer, branch, deadline).await.and_then(|turn| turn.of(branch)),
    };
    let Some(gate) = held else { return Err(kept_waiting(&committer, &chain).await) };
    let known = committer.catalog().known(ready.base.branch_id());
    let stale = known.is_some_and(|known| known.version() > ready.base.version());
    if stale || !is_fresh(&committer, &ready.base) {
        return Ok(RoundOutcome::Lost(ready));
    }
    if ready.touches_unsettled() {
        settle_tables(&committer, &gate, &chain, deadline).await?;
        return Ok(RoundOutcome::Lost(ready));
    }
    match (Guarded { ready, gate }).arm(&committer, deadline).await? {
        ArmOutcome::Armed(armed) => {
            let published = match armed.apply(&committer).await {
                Ok(applied) => applied.publish(&committer).await,
                Err(interrupted) => Err(interrupted),
            };
            match published {
                Ok(row) => Ok(RoundOutcome::Committed(row)),
                Err(interrupted) => interrupted.resolve(&committer).await,
            }
        }
        ArmOutcome::Taken(guarded) => {
            let Guarded { ready, gate } = *guarded;
            let version = ready.base.version().next();
            let decision = wait_for(&committer, &gate, &chain, version, deadline).await?;
            tracing::debug!(%version, ?decision, "the ticket was another's");
            Ok(RoundOutcome::Lost(ready))
        }
    }
}

/// Whether `base` was proven newest recently enough to go on.
fn is_fresh(committer: &Committer, base: &Snapshot) -> bool {
    base.proof_age(committer.clock()) <= committer.catalog().proof_age_max()
}

/// Ready, with the branch's gate held.
struct Guarded {
    ready: Ready,
    gate: GateHeld,
}

#[must_use]
enum ArmOutcome {
    Armed(Box<Armed>),
    Taken(Box<Guarded>),
}

impl Guarded {
    /// A: puts the intent. The next state's file is written meanwhile; nothing names it yet.
    async fn arm(self, committer: &Committer, deadline: Instant) -> Result<ArmOutcome, CommitError> {
        let intent = self.ready.intent(committer);
        committer.hit(FailPoint::LoadArmBefore).await?;
        committer.liveness().begin(intent.attempt_id);
        let started = committer.clock().monotonic();
        let catalog = committer.catalog();
        let (ticket, staged) = tokio::join!(
            intent::take_ticket(catalog, self.ready.base.branch_name(), &intent, deadline),
            catalog.stage(&self.ready.base, &intent.publication),
        );
        committer.liveness().record_put(committer.clock().monotonic().saturating_sub(started));
        match ticket {
            Ok(TicketOutcome::Taken) => {}
            Ok(TicketOutcome::Lost) => {
                committer.liveness().end(intent.attempt_id);
                return Ok(ArmOutcome::Taken(Box::new(self)));
            }
            Err(error) => {
                if error.is_certainly_unarmed() {
                    committer.liveness().end(intent.attempt_id);
                }
                return Err(error);
            }
        }
        Ok(ArmOutcome::Armed(Box::new(Armed { ready: self.ready, gate: self.gate, intent, staged })))
    }
}

/// The intent is durable and the ticket ours.
struct Armed {
    ready: Ready,
    gate: GateHeld,
    intent: Intent,
    staged: Result<StagedPublication, omnigraph_catalog::CatalogError>,
}

impl Armed {
    fn interrupted(self, phase: Phase, cause: CommitError) -> Interrupted {
        Interrupted { ready: self.ready, gate: self.gate, intent: self.intent, phase, cause }
    }

    /// B: commits every effect at exactly its place, tables in parallel. All of them have ended when this returns.
    async fn apply(mut self: Box<Self>, committer: &Committer) -> Result<Applied, Interrupted> {
        if let Err(cause) = committer.hit(FailPoint::LoadArmAfter).await {
            return Err(self.interrupted(Phase::Arm, cause));
        }
        let staged = match std::mem::replace(&mut self.staged, Err(consumed())) {
            Ok(staged) => staged,
            Err(cause) => return Err(self.interrupted(Phase::Arm, cause.into())),
        };
        let ready = &self.ready;
        let applied = join_all(ready.changes.iter().map(|change| apply_one(committer, ready, change))).await;
        let tables: Result<Vec<Table>, CommitError> = applied.into_iter().collect();
        match tables {
            Ok(tables) => Ok(Applied { armed: self, staged, tables }),
            Err(cause) => Err(self.interrupted(Phase::Apply, cause)),
        }
    }
}

/// Stands where a staged publication has been taken out.
fn consumed() -> omnigraph_catalog::CatalogError {
    omnigraph_catalog::CatalogError::Corrupt {
        object: "a staged publication".to_owned(),
        expected: "to be published once".to_owned(),
    }
}

async fn apply_one(committer: &Committer, ready: &Ready, change: &TableChange) -> Result<Table, CommitError> {
    let (base, staged) = match &change.staged {
        Staged::Effect { base, change } => (base, change.as_ref()),
        Staged::Private(table) => return Ok(table.clone()),
    };
    committer.hit(FailPoint::LoadApplyBefore).await?;
    if !is_fresh(committer, &ready.base) {
        return Err(too_old(ready));
    }
    let outcome = committer.catalog().store().commit_exact(base, staged).await?;
    committer.hit(FailPoint::LoadApplyAfter).await?;
    match outcome {
        CommitOutcome::Committed(table) => Ok(table),
        CommitOutcome::Occupied { by } => Err(occupied(committer, ready, (change.table, staged), by).await),
    }
}

/// A restore, or a published N+1, says that somebody settled this attempt; anything else in the slot is nobody's.
async fn occupied(
    committer: &Committer,
    ready: &Ready,
    (table, staged): (TableId, &StagedChange),
    by: TransactionInfo,
) -> CommitError {
    let settled = match committer.catalog().newest_of(ready.base.chain()).await {
        Ok(newest) => newest.version() > ready.base.version(),
        Err(_) => false,
    };
    if settled || matches!(by.kind, TransactionKind::Restore(_)) {
        return CommitError::RolledBack {
            operation_id: ready.request.operation_id,
            reason: "another process settled it".to_owned(),
        };
    }
    let row = ready.base.table(table);
    CommitError::Occupied {
        site: committer.site(ready.base.chain()),
        table: row.map_or_else(|| table.to_string(), |row| row.type_name.clone()),
        expected: staged.mark().uuid.clone(),
        found: by.uuid,
    }
}

fn too_old(ready: &Ready) -> CommitError {
    CommitError::RolledBack {
        operation_id: ready.request.operation_id,
        reason: "the process was held up too long to go on safely".to_owned(),
    }
}

/// Every effect is made; nothing is visible.
struct Applied {
    armed: Box<Armed>,
    staged: StagedPublication,
    tables: Vec<Table>,
}

impl Applied {
    /// C and D: the one put that decides, then the reply.
    async fn publish(self, committer: &Committer) -> Result<CommitRow, Interrupted> {
        let Self { armed, staged, tables } = self;
        if let Err(cause) = committer.hit(FailPoint::LoadPublishBefore).await {
            return Err(armed.interrupted(Phase::Publish, cause));
        }
        if !is_fresh(committer, &armed.ready.base) {
            let cause = too_old(&armed.ready);
            return Err(armed.interrupted(Phase::Publish, cause));
        }
        let snapshot = match committer.catalog().publish(staged).await {
            Ok(PublishOutcome::Published(snapshot)) => snapshot,
            Ok(PublishOutcome::Lost) => {
                let cause = CommitError::RolledBack {
                    operation_id: armed.ready.request.operation_id,
                    reason: "another process settled it".to_owned(),
                };
                return Err(armed.interrupted(Phase::Publish, cause));
            }
            Err(cause) => return Err(armed.interrupted(Phase::Publish, cause.into())),
        };
        snapshot.adopt(tables);
        for point in [FailPoint::LoadPublishAfter, FailPoint::LoadReplyBefore, FailPoint::LoadReplyAfter] {
            if let Err(cause) = committer.hit(point).await {
                return Err(armed.interrupted(Phase::Reply, cause));
            }
        }
        if !is_fresh(committer, &armed.ready.base) {
            let cause = too_old(&armed.ready);
            return Err(armed.interrupted(Phase::Reply, cause));
        }
        committer.liveness().end(armed.intent.attempt_id);
        Ok(snapshot.head_commit().clone())
    }
}

/// An armed attempt that cannot simply go on. It still owns its intent.
struct Interrupted {
    ready: Ready,
    gate: GateHeld,
    intent: Intent,
    phase: Phase,
    cause: CommitError,
}

impl Interrupted {
    /// Settles the own intent as a rescuer would, and says what it came to.
    async fn resolve(self, committer: &Committer) -> Result<RoundOutcome, CommitError> {
        let operation = self.intent.operation_id;
        tracing::warn!(%operation, phase = self.phase.letter(), cause = %self.cause, "a write was interrupted");
        let until = Instant::now() + committer.limits().ticket_wait();
        let chain = self.ready.base.chain();
        loop {
            let told = match settle_own(committer, chain, &self.intent, self.phase, until).await? {
                Decision::Finished => self.finished(committer).await.map(Ok),
                Decision::Orphaned => {
                    committer.liveness().end(self.intent.attempt_id);
                    return Err(committer.catalog().ended(&chain.name).into());
                }
                decision => self.undone(committer, decision, until).await,
            };
            match told {
                Ok(outcome) => return outcome,
                Err(error) if Instant::now() >= until => {
                    tracing::error!(%operation, error = %error, "a settled write could not be read back");
                    return Err(CommitError::unsettled(&self.intent, &chain.name, self.phase));
                }
                Err(_) => tokio::time::sleep(READ_BACK_PAUSE).await,
            }
        }
    }

    async fn finished(&self, committer: &Committer) -> Result<RoundOutcome, CommitError> {
        let snapshot = committer.catalog().at_version(self.ready.base.chain(), self.intent.version()).await?;
        committer.liveness().end(self.intent.attempt_id);
        Ok(RoundOutcome::Committed(snapshot.head_commit().clone()))
    }

    /// The attempt is undone, proven. Its tables are fenced now if the store lets us, else by whoever comes next.
    async fn undone(
        &self,
        committer: &Committer,
        decision: Decision,
        until: Instant,
    ) -> Result<Result<RoundOutcome, CommitError>, CommitError> {
        let chain = self.ready.base.chain();
        let newest = committer.catalog().newest_of(chain).await?;
        let elsewhere = committer.catalog().committed(&newest, self.intent.operation_id).await?;
        let commit = match elsewhere.and_then(|row| row.commit_id) {
            Some(id) => Some(committer.catalog().commit(id).await?),
            None => None,
        };
        if decision == Decision::SettleTables
            && let Err(error) = settle_tables(committer, &self.gate, chain, until).await
        {
            tracing::warn!(error = %error, "tables of an undone write are left to the next writer");
        }
        committer.liveness().end(self.intent.attempt_id);
        if let Some(row) = commit {
            return Ok(Ok(RoundOutcome::Replayed(row)));
        }
        Ok(Err(match &self.cause {
            CommitError::Occupied { site, table, expected, found } => CommitError::Occupied {
                site: site.clone(),
                table: table.clone(),
                expected: expected.clone(),
                found: found.clone(),
            },
            cause => CommitError::RolledBack { operation_id: self.intent.operation_id, reason: cause.reason() },
        }))
    }
}
