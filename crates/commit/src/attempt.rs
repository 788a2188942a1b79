//! One attempt as a chain of values: `Guarded` -> `Armed` -> `Applied` -> published. It carries out any intent, with effects or without.
//!
//! Each arrow consumes the value to its left, so no step is skipped or repeated. From `Armed` on every failure is an `Interrupted`, which is
//! settled here, by the same rescue that anybody else would run. An intent without effects that is found after its owner died is rolled
//! forward by anybody.

use std::borrow::Cow;
use std::time::Duration;

use futures::future::join_all;
use omnigraph_catalog::{PublishOutcome, Snapshot, StagedPublication};
use omnigraph_storage::{CommitOutcome, Table, TransactionInfo, TransactionKind, TransactionMark};
use omnigraph_types::mutant;
use omnigraph_types::{Deciding, Phase, RequestEffect, TableId};
use tokio::time::Instant;

use crate::change_set::StagedEffect;
use crate::context::Context;
use crate::decide::{Decision, Found};
use crate::door::{self, Ticket};
use crate::error::CommitError;
use crate::failpoint::WriterPoints;
use crate::gate::GateHeld;
use crate::intent::Intent;
use crate::request::Request;
use crate::rescue::{settle_own, unsettled, wait_for};

/// Pause between two tries to read a settled publication while the store fails.
const READ_BACK_PAUSE: Duration = Duration::from_millis(200);

/// What an attempt makes besides its publication.
#[derive(Debug, Default)]
pub(crate) struct Works {
    /// Effects, by table.
    pub(crate) effects: Vec<(TableId, StagedEffect)>,
    /// Trees of the attempt's own, complete already.
    pub(crate) private: Vec<Table>,
}

/// An intent that may be armed: the gate of its branch is held.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guarded<'a> {
    /// The request that it works for.
    pub(crate) request: &'a Request,
    /// The gate.
    pub(crate) gate: &'a GateHeld,
    /// Version N. The caller has checked the publication's preconditions on it.
    pub(crate) base: &'a Snapshot,
    /// Whose fail points are passed.
    pub(crate) writer: WriterPoints,
    /// The intent for version N+1.
    pub(crate) intent: &'a Intent,
    /// What the attempt makes.
    pub(crate) works: &'a Works,
}

/// What became of an attempt.
#[must_use]
#[derive(Debug)]
pub(crate) enum Carried {
    /// It is this version.
    Published(Snapshot),
    /// The version went to another attempt before this one took effect.
    Lost,
    /// It was interrupted and is undone, proven.
    Undone(Undone),
    /// It was interrupted, and the branch ended with this version.
    Ended,
}

/// An attempt that was undone.
#[derive(Debug)]
pub(crate) struct Undone {
    /// How it was decided; `SettleTables` if its tables are still to be fenced.
    pub(crate) decision: Decision,
    /// The phase that it was in.
    pub(crate) phase: Phase,
    /// What interrupted it.
    pub(crate) cause: Box<CommitError>,
    /// How long its owner goes on trying to settle it: the branch's gate is held meanwhile.
    pub(crate) until: Instant,
}

impl<'a> Guarded<'a> {
    /// Arms, applies, publishes, and settles its own intent where it is interrupted.
    pub(crate) async fn carry_out(self, context: &Context, deadline: Instant) -> Result<Carried, CommitError> {
        let armed = match self.arm(context, deadline).await? {
            ArmOutcome::Armed(armed) => armed,
            ArmOutcome::Stale => return Ok(Carried::Lost),
            ArmOutcome::Taken => {
                let version = self.intent.version();
                // What becomes of another attempt is no effect of this request.
                let others = RequestEffect::default();
                let decision = wait_for(context, self.gate, self.base.chain(), version, deadline, &others).await?;
                tracing::debug!(%version, ?decision, "the ticket was another attempt's");
                return Ok(Carried::Lost);
            }
        };
        let published = match armed.apply(context).await {
            Ok(applied) => applied.publish(context).await,
            Err(interrupted) => Err(interrupted),
        };
        match published {
            Ok(snapshot) => Ok(Carried::Published(snapshot)),
            Err(interrupted) => interrupted.resolve(context).await,
        }
    }

    /// A: takes the ticket.
    async fn arm(self, context: &Context, deadline: Instant) -> Result<ArmOutcome<'a>, CommitError> {
        context.hit(self.writer.before(Phase::Arm)).await?;
        // Held up for so long, `base` proves nothing: the intent that held the next version may have been swept.
        if mutant!(4, !context.is_fresh(self.base), false) {
            return Ok(ArmOutcome::Stale);
        }
        Ok(match door::arm(context, self.request, self.base, self.intent, deadline).await? {
            door::Armed::Ours(ticket) => {
                let Ticket { staged, deciding } = *ticket;
                ArmOutcome::Armed(Box::new(Armed { plan: self, staged, deciding }))
            }
            door::Armed::Taken => ArmOutcome::Taken,
        })
    }

    fn interrupted(self, phase: Phase, cause: CommitError, deciding: Deciding) -> Interrupted<'a> {
        Interrupted { plan: self, phase, cause, deciding }
    }

    fn undone_by_another(self) -> CommitError {
        let reason = "another process settled it".to_owned();
        CommitError::RolledBack { operation_id: self.intent.operation_id(), reason }
    }

    /// After a long hold-up no effect is made and nothing is published or acknowledged: what it rests on may be deleted.
    fn check_age(self, context: &Context) -> Result<(), CommitError> {
        if mutant!(5, context.is_fresh(self.base), true) {
            return Ok(());
        }
        let reason = "the process was held up too long to go on safely".to_owned();
        Err(CommitError::RolledBack { operation_id: self.intent.operation_id(), reason })
    }

    /// Commits the transactions of one effect, in order.
    async fn make(self, context: &Context, table: TableId, effect: &StagedEffect) -> Result<Table, CommitError> {
        let mut made = effect.base.clone();
        for change in effect.transactions() {
            context.hit(self.writer.before(Phase::Apply)).await?;
            self.check_age(context)?;
            let change = match made.version() == change.read_version() {
                true => Cow::Borrowed(change),
                false => Cow::Owned(change.after(&made)),
            };
            let outcome = context.catalog().store().commit_exact(&made, &change).await?;
            context.hit(self.writer.after(Phase::Apply)).await?;
            made = match outcome {
                CommitOutcome::Committed(made) => made,
                CommitOutcome::Occupied { by } => return Err(self.occupied(context, table, change.mark(), by).await),
            };
        }
        Ok(made)
    }

    /// A restore, or a published N+1, proves that somebody settled this attempt; any other transaction in the slot is foreign.
    async fn occupied(
        self,
        context: &Context,
        table: TableId,
        expected: &TransactionMark,
        by: TransactionInfo,
    ) -> CommitError {
        let settled = match context.catalog().newest_of(self.base.chain()).await {
            Ok(newest) => newest.version() > self.base.version(),
            Err(_) => false,
        };
        if settled || mutant!(19, matches!(by.kind, TransactionKind::Restore(_)), false) {
            return self.undone_by_another();
        }
        let row = self.base.table(table);
        CommitError::Occupied {
            site: context.site(self.base.chain()),
            table: row.map_or_else(|| table.to_string(), |row| row.type_name.clone()),
            expected: expected.uuid.clone(),
            found: Found::Transaction(by.uuid),
        }
    }
}

#[must_use]
enum ArmOutcome<'a> {
    Armed(Box<Armed<'a>>),
    /// Another attempt has the ticket.
    Taken,
    /// The base is too old to be armed on.
    Stale,
}

/// The intent is durable and the ticket ours.
struct Armed<'a> {
    plan: Guarded<'a>,
    staged: Result<StagedPublication, CommitError>,
    deciding: Deciding,
}

impl<'a> Armed<'a> {
    /// B: commits every effect at exactly its place, tables in parallel. All of them have ended when this returns.
    async fn apply(self, context: &Context) -> Result<Applied<'a>, Interrupted<'a>> {
        let Self { plan, staged, deciding } = self;
        if let Err(cause) = context.hit(plan.writer.after(Phase::Arm)).await {
            return Err(plan.interrupted(Phase::Arm, cause, deciding));
        }
        let staged = match staged {
            Ok(staged) => staged,
            Err(cause) => return Err(plan.interrupted(Phase::Arm, cause, deciding)),
        };
        let making = plan.works.effects.iter().map(|(table, effect)| plan.make(context, *table, effect));
        let made: Result<Vec<Table>, CommitError> = join_all(making).await.into_iter().collect();
        match made {
            Ok(mut tables) => {
                tables.extend(plan.works.private.iter().cloned());
                Ok(Applied { plan, staged, tables, deciding })
            }
            Err(cause) => Err(plan.interrupted(Phase::Apply, cause, deciding)),
        }
    }
}

/// Every effect is made; nothing is visible.
struct Applied<'a> {
    plan: Guarded<'a>,
    staged: StagedPublication,
    tables: Vec<Table>,
    deciding: Deciding,
}

impl<'a> Applied<'a> {
    /// C and D: the one put that decides, then the reply.
    async fn publish(self, context: &Context) -> Result<Snapshot, Interrupted<'a>> {
        let Self { plan, staged, tables, deciding } = self;
        let publishing = async {
            context.hit(plan.writer.before(Phase::Publish)).await?;
            plan.check_age(context)?;
            door::publish(context, plan.request, staged).await
        };
        let snapshot = match publishing.await {
            Ok(PublishOutcome::Published(snapshot)) => snapshot,
            Ok(PublishOutcome::Lost) => {
                return Err(plan.interrupted(Phase::Publish, plan.undone_by_another(), deciding));
            }
            Err(cause) => return Err(plan.interrupted(Phase::Publish, cause, deciding)),
        };
        snapshot.adopt(tables);
        let replying = async {
            context.hit(plan.writer.after(Phase::Publish)).await?;
            context.hit(plan.writer.before(Phase::Reply)).await?;
            context.hit(plan.writer.after(Phase::Reply)).await?;
            mutant!(36, plan.check_age(context), Ok(()))
        };
        if let Err(cause) = replying.await {
            return Err(plan.interrupted(Phase::Reply, cause, deciding));
        }
        deciding.landed();
        context.liveness().end(plan.intent.attempt_id());
        Ok(snapshot)
    }
}

/// An armed attempt that cannot simply go on. It still owns its intent.
struct Interrupted<'a> {
    plan: Guarded<'a>,
    phase: Phase,
    cause: CommitError,
    deciding: Deciding,
}

impl Interrupted<'_> {
    /// Settles the own intent as a rescuer would.
    async fn resolve(self, context: &Context) -> Result<Carried, CommitError> {
        let Self { plan: Guarded { base, intent, .. }, phase, cause, deciding } = self;
        tracing::warn!(operation = %intent.operation_id(), phase = phase.letter(), %cause, "a write was interrupted");
        let until = Instant::now() + context.limits().ticket_wait();
        let decision = settle_own(context, base.chain(), intent, phase, until).await?;
        let carried = match decision {
            Decision::Finished => {
                // It is in the chain, and perhaps not on the disk: an earlier sync may have failed.
                context.catalog().store().vouch().await?;
                deciding.landed();
                Carried::Published(read_back(context, base, intent, phase, until).await?)
            }
            Decision::Orphaned => {
                deciding.refuted();
                Carried::Ended
            }
            Decision::RolledBack | Decision::SettleTables | Decision::NeverUsed => {
                deciding.refuted();
                Carried::Undone(Undone { decision, phase, cause: Box::new(cause), until })
            }
            // `rescue` returns none of these: each publishes, waits for an owner that is gone, or is an error.
            Decision::Wait | Decision::RollForward | Decision::Abort | Decision::Violation => {
                return Err(unsettled(intent, base.branch_name(), phase, &cause));
            }
        };
        context.liveness().end(intent.attempt_id());
        Ok(carried)
    }
}

/// Reads the version that the attempt is.
async fn read_back(
    context: &Context,
    base: &Snapshot,
    intent: &Intent,
    phase: Phase,
    until: Instant,
) -> Result<Snapshot, CommitError> {
    loop {
        match context.catalog().at_version(base.chain(), intent.version()).await {
            Ok(snapshot) => return Ok(snapshot),
            Err(error) if Instant::now() >= until => {
                tracing::error!(operation = %intent.operation_id(), %error, "a published write could not be read back");
                return Err(unsettled(intent, base.branch_name(), phase, &error.into()));
            }
            Err(_) => tokio::time::sleep(READ_BACK_PAUSE).await,
        }
    }
}
