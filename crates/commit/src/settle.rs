//! Settling: whatever an interrupted write left is finished or undone, by anybody, from what is stored.
//!
//! One path over effects, not over kinds of writer. Every step can be repeated by anyone after a crash: a decision is a publication at the
//! intent's own version, a fence is an exact restore, and the pins move onto the fences by one more publication under a ticket.
//! The caller holds the branch's gate, which only saves work.

use std::time::Duration;

use futures::future::try_join_all;
use omnigraph_catalog::{
    Chain, PinChange, PlannedTransactions, Precondition, Publication, PublicationKind, PublishOutcome, RecoveryRow,
    Snapshot, TableTransition, UnsettledRow,
};
use omnigraph_storage::{CommitOutcome, Existence, TransactionKind, TransactionMark};
use omnigraph_types::{AttemptId, BranchName, Effect as FailureEffect, GraphVersion, OperationId, Phase, TableVersion};
use tokio::time::Instant;

use crate::branches::finish_removal;
use crate::committer::Committer;
use crate::decide::{Decision, Observation, Owner, PublishedBy, SlotState, decide};
use crate::effect::{Effect, tail};
use crate::error::CommitError;
use crate::failpoint::FailPoint;
use crate::gate::GateHeld;
use crate::intent::{self, Intent, IntentSlot};
use crate::publish::{Points, Published, publish};
use crate::token::Token;

/// Who publishes aborts and settles.
const RECOVERY_ACTOR: &str = "omnigraph:recovery";
/// Times that one rescuer looks again after losing a race.
const ROUNDS_MAX: u32 = 64;
/// First pause while an owner may be alive; doubles up to the last.
const POLL_FIRST: Duration = Duration::from_millis(5);
const POLL_LAST: Duration = Duration::from_millis(100);

pub(crate) const SETTLE_POINTS: Points = Points {
    arm_before: FailPoint::SettleArmBefore,
    arm_after: FailPoint::SettleArmAfter,
    publish_before: FailPoint::SettlePublishBefore,
    publish_after: FailPoint::SettlePublishAfter,
};

/// Pause between two tries to settle one's own intent while the store fails.
const RESOLVE_PAUSE: Duration = Duration::from_millis(200);

/// What settling a branch found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettleReport {
    /// Operations whose intents were decided, with the decision.
    pub decided: Vec<(OperationId, Decision)>,
    /// Tables moved onto a fence.
    pub tables_fenced: usize,
}

/// Settles everything pending on a branch.
pub(crate) async fn settle(
    committer: &Committer,
    chain: &Chain,
    deadline: Instant,
) -> Result<SettleReport, CommitError> {
    let entered = tokio::time::timeout_at(deadline, committer.gate(chain.branch_id).enter()).await;
    let gate = entered.map_err(|_| CommitError::Deadline)?;
    let mut report = SettleReport::default();
    for _ in 0..ROUNDS_MAX {
        let newest = committer.catalog().newest_of(chain).await?;
        if let Some(retired) = &newest.state().retired {
            drop(gate);
            finish_removal(committer, chain, retired, deadline).await?;
            return Ok(report);
        }
        if !newest.state().unsettled.is_empty() {
            report.tables_fenced += settle_tables(committer, &gate, chain, deadline).await?;
            continue;
        }
        match intent::read(committer.catalog(), newest.branch_id(), newest.version().next()).await? {
            IntentSlot::Empty => return Ok(report),
            IntentSlot::Unreadable(found) => {
                return Err(CommitError::IntentUnreadable { site: committer.site(chain), version: found.version });
            }
            IntentSlot::Held { intent, .. } => {
                let (operation, version) = (intent.operation_id, intent.version());
                let decision = wait_for(committer, &gate, chain, version, deadline).await?;
                report.decided.extend(decision.map(|decision| (operation, decision)));
            }
        }
    }
    Err(contention())
}

fn contention() -> CommitError {
    CommitError::Contention { attempts: ROUNDS_MAX, winner: None }
}

/// Waits until `version` is published, rescuing its intent once its owner counts as gone. Returns the decision, if it was ours to make.
///
/// Past the deadline: `RecoveryRequired`, naming the operation that stands in the way.
pub(crate) async fn wait_for(
    committer: &Committer,
    gate: &GateHeld,
    chain: &Chain,
    version: GraphVersion,
    deadline: Instant,
) -> Result<Option<Decision>, CommitError> {
    let mut pause = POLL_FIRST;
    loop {
        let newest = committer.catalog().newest_of(chain).await?;
        if newest.version() >= version {
            return Ok(None);
        }
        let (intent, etag) = match intent::read(committer.catalog(), newest.branch_id(), version).await? {
            IntentSlot::Held { intent, etag } => (intent, etag),
            IntentSlot::Empty => return Ok(None),
            IntentSlot::Unreadable(_) => {
                return Err(CommitError::IntentUnreadable { site: committer.site(chain), version });
            }
        };
        let least = committer.limits().recovery_grace();
        let owner = committer.liveness().owner(&intent, etag.as_deref(), least, committer.clock(), gate);
        if owner == Owner::Gone {
            tracing::warn!(graph = %committer.graph_name(), branch = %chain.name, version = %version, writer = %intent.writer,
                operation = %intent.operation_id, actor = %intent.actor, "recovery: found an interrupted write");
            let decision = rescue(committer, chain, &intent, owner).await?;
            committer.liveness().forget(intent.attempt_id);
            return Ok(Some(decision));
        }
        if Instant::now() >= deadline {
            return Err(pending(&chain.name, &intent));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(POLL_LAST);
    }
}

/// An interrupted write stands in the way, and it is too early to settle it.
fn pending(branch: &BranchName, intent: &Intent) -> CommitError {
    CommitError::RecoveryRequired {
        operation_id: intent.operation_id,
        branch: branch.clone(),
        writer: intent.writer.clone(),
        phase: Phase::Apply,
        reason: "its owner may still be alive".to_owned(),
        effect: FailureEffect::None,
    }
}

/// Why a gate was not free in time: an interrupted write of another process that its holder waits for, or just other writers.
pub(crate) async fn kept_waiting(committer: &Committer, chain: &Chain) -> CommitError {
    let contention = CommitError::Contention { attempts: 1, winner: None };
    let Ok(newest) = committer.catalog().newest_of(chain).await else { return contention };
    match intent::read(committer.catalog(), newest.branch_id(), newest.version().next()).await {
        Ok(IntentSlot::Held { intent, .. }) if !committer.liveness().is_own(intent.attempt_id) => {
            pending(&chain.name, &intent)
        }
        _ => contention,
    }
}

/// Settles an own armed attempt that cannot simply go on, as a rescuer would, until the decision is made.
pub(crate) async fn settle_own(
    committer: &Committer,
    chain: &Chain,
    intent: &Intent,
    phase: Phase,
    until: Instant,
) -> Result<Decision, CommitError> {
    loop {
        let error = match rescue(committer, chain, intent, Owner::Gone).await {
            Ok(decision) => return Ok(decision),
            Err(error) => error,
        };
        if error.is_lasting() {
            return Err(CommitError::InDoubt { cause: Box::new(error) });
        }
        if Instant::now() >= until {
            tracing::error!(operation = %intent.operation_id, error = %error, "a write could not be settled by its owner");
            return Err(CommitError::unsettled(intent, &chain.name, phase));
        }
        tokio::time::sleep(RESOLVE_PAUSE).await;
    }
}

/// Decides about one intent and publishes the decision. Returns the first decision that publishes nothing.
pub(crate) async fn rescue(
    committer: &Committer,
    chain: &Chain,
    intent: &Intent,
    owner: Owner,
) -> Result<Decision, CommitError> {
    for _ in 0..ROUNDS_MAX {
        let newest = committer.catalog().newest_of(chain).await?;
        let slot = slot_state(committer, &newest, intent).await?;
        let observations = match slot {
            SlotState::Free | SlotState::Published(PublishedBy::Another) => observe(committer, &intent.effects).await?,
            SlotState::Published(_) => Vec::new(),
        };
        let decision = decide(slot, &observations, owner);
        let publication = match decision {
            Decision::RollForward => rolled_forward(committer, intent),
            Decision::Abort => abort(committer, intent, &observations),
            Decision::Violation => {
                return Err(CommitError::Violation {
                    object: format!("attempt {} of operation {}", intent.attempt_id, intent.operation_id),
                    expected: format!("no effects, because version {} is another attempt's", intent.version()),
                });
            }
            Decision::Finished
            | Decision::RolledBack
            | Decision::SettleTables
            | Decision::NeverUsed
            | Decision::Orphaned
            | Decision::Wait => {
                if let Some(now) = now(decision) {
                    tracing::info!(operation = %intent.operation_id, version = %intent.version(), "recovery: now {now}");
                }
                return Ok(decision);
            }
        };
        let deed = if decision == Decision::RollForward { "complete" } else { "undo" };
        tracing::warn!(operation = %intent.operation_id, version = %intent.version(), ?observations,
            "recovery: decided to {deed} the write, which has changed {} of its {} tables", made(&observations), observations.len());
        committer.hit(FailPoint::RecoverPublishBefore).await?;
        let staged = match committer.catalog().stage(&newest, &publication).await.map_err(CommitError::from) {
            // What does not fit the version it was armed for may not be published; its abort always may.
            Err(error) if error.is_unmet() && decision == Decision::RollForward => {
                committer.catalog().stage(&newest, &abort(committer, intent, &observations)).await?
            }
            staged => staged?,
        };
        // Won or lost, the next round looks at what is there.
        match committer.catalog().publish(staged).await? {
            PublishOutcome::Published(_) | PublishOutcome::Lost => {}
        }
        committer.hit(FailPoint::RecoverPublishAfter).await?;
    }
    Err(contention())
}

/// How many effects are wholly there.
fn made(observations: &[Observation]) -> usize {
    observations.iter().filter(|seen| **seen == Observation::Ours).count()
}

/// How a decision that publishes nothing leaves an intent, for the log; of tables that are still to be fenced their fencing tells.
fn now(decision: Decision) -> Option<&'static str> {
    match decision {
        Decision::Finished => Some("the write is published"),
        Decision::RolledBack => Some("the write is undone"),
        Decision::NeverUsed => Some("nothing is left of the write: it lost its version before it changed anything"),
        Decision::Orphaned => Some("the write is gone with its branch"),
        Decision::SettleTables | Decision::Wait | Decision::RollForward | Decision::Abort | Decision::Violation => None,
    }
}

async fn observe(committer: &Committer, effects: &[Effect]) -> Result<Vec<Observation>, CommitError> {
    let store = committer.catalog().store();
    Ok(try_join_all(effects.iter().map(|effect| effect.observe(store))).await?)
}

/// What is at the intent's version, told by the newest version.
async fn slot_state(committer: &Committer, newest: &Snapshot, intent: &Intent) -> Result<SlotState, CommitError> {
    if newest.version() < intent.version() {
        return Ok(SlotState::Free);
    }
    let at_version = if newest.version() == intent.version() {
        newest.clone()
    } else {
        committer.catalog().at_version(newest.chain(), intent.version()).await?
    };
    let row = at_version.state().published_by().ok_or_else(|| CommitError::Violation {
        object: format!("version {} of branch {}", intent.version(), newest.branch_name()),
        expected: "an operation of its own".to_owned(),
    })?;
    let by = if row.kind == PublicationKind::Retire {
        PublishedBy::Retirement
    } else if row.attempt_id == intent.attempt_id && row.kind == intent.publication.kind {
        PublishedBy::ThisAttempt
    } else if row.attempt_id != intent.attempt_id && row.kind != PublicationKind::Repair {
        PublishedBy::Another
    } else if newest.state().unsettled.iter().any(|unsettled| unsettled.attempt_id == row.attempt_id) {
        // By its own abort, or by a repair for which its intent could not be read.
        PublishedBy::AbortUnsettled
    } else {
        PublishedBy::AbortSettled
    };
    Ok(SlotState::Published(by))
}

/// The attempt's own publication, with the news that it was completed.
fn rolled_forward(committer: &Committer, intent: &Intent) -> Publication {
    let moved = |effect: &Effect| TableTransition {
        table: effect.table,
        from: effect.expected,
        to: TableVersion(effect.expected.0 + effect.transactions.len() as u64),
    };
    let recovery = RecoveryRow {
        version: intent.version(),
        kind: intent.publication.kind,
        writer: intent.writer.clone(),
        operation_id: intent.operation_id,
        attempt_id: intent.attempt_id,
        original_actor: intent.actor.clone(),
        time_ms: committer.clock().wall_ms(),
        reason: "interrupted with all its changes made".to_owned(),
        tables: intent.effects.iter().map(moved).collect(),
    };
    Publication { recovery: Some(recovery), ..intent.publication.clone() }
}

/// The abort of an attempt: head and pins unchanged, every planned effect still to be fenced.
fn abort(committer: &Committer, intent: &Intent, observations: &[Observation]) -> Publication {
    let unsettled = |effect: &Effect| UnsettledRow {
        attempt_id: intent.attempt_id,
        operation_id: intent.operation_id,
        table: effect.table,
        tree: effect.tree.clone(),
        expected: effect.expected,
        transactions: effect.planned(),
    };
    let reason = format!("interrupted with {} of {} tables changed", made(observations), intent.effects.len());
    let still = |effect: &Effect| TableTransition { table: effect.table, from: effect.expected, to: effect.expected };
    let digest = intent.publication.digest.clone();
    Publication {
        unsettled_added: intent.effects.iter().map(unsettled).collect(),
        recovery: Some(RecoveryRow {
            version: intent.version(),
            kind: PublicationKind::Abort,
            writer: intent.writer.clone(),
            operation_id: intent.operation_id,
            attempt_id: intent.attempt_id,
            original_actor: intent.actor.clone(),
            time_ms: committer.clock().wall_ms(),
            reason,
            tables: intent.effects.iter().map(still).collect(),
        }),
        ..Publication::new(PublicationKind::Abort, intent.operation_id, digest, intent.attempt_id)
    }
}

/// Fences the tables of every `unsettled` row and publishes their removal. Returns how many tables were fenced.
///
/// A table with a commit that is nobody's is left, with its row; if no other row can go, `Occupied` names it.
pub(crate) async fn settle_tables(
    committer: &Committer,
    gate: &GateHeld,
    chain: &Chain,
    deadline: Instant,
) -> Result<usize, CommitError> {
    for _ in 0..ROUNDS_MAX {
        let newest = committer.catalog().newest_of(chain).await?;
        let rows = newest.state().unsettled.clone();
        let Some(first) = rows.first() else {
            return Ok(0);
        };
        let first_operation = first.operation_id;
        let plan = plan_fences(committer, &newest, rows).await?;
        if plan.removed.is_empty() {
            return Err(plan.refused.unwrap_or_else(contention));
        }
        let fenced = plan.pins.len();
        let intent = settling_intent(committer, &newest, plan, first_operation);
        match publish(committer, gate, &newest, &intent, SETTLE_POINTS, deadline).await? {
            Published::Done(snapshot) => {
                tracing::info!(branch = %chain.name, version = %snapshot.version(), tables = fenced,
                    "recovery: now the write is undone, and its tables are as they were");
                return Ok(fenced);
            }
            Published::Lost => {}
        }
    }
    Err(contention())
}

/// What one settling publication will say.
#[derive(Default)]
struct FencePlan {
    pins: Vec<PinChange>,
    preconditions: Vec<Precondition>,
    removed: Vec<(AttemptId, omnigraph_types::TableId)>,
    transitions: Vec<TableTransition>,
    refused: Option<CommitError>,
}

async fn plan_fences(
    committer: &Committer,
    newest: &Snapshot,
    rows: Vec<UnsettledRow>,
) -> Result<FencePlan, CommitError> {
    let mut plan = FencePlan::default();
    for row in rows {
        let pinned =
            newest.table(row.table).filter(|table| table.tree_ref() == row.tree && table.version == row.expected);
        if let Some(table) = pinned {
            match fence(committer, newest.chain(), &row, &table.type_name).await {
                Ok(version) => {
                    plan.pins.push(PinChange {
                        table: row.table,
                        tree: row.tree.tree,
                        version,
                        row_count: table.row_count,
                    });
                    plan.preconditions.push(Precondition::PinIs {
                        table: row.table,
                        tree: row.tree.tree,
                        version: row.expected,
                    });
                    plan.transitions.push(TableTransition { table: row.table, from: row.expected, to: version });
                }
                Err(error @ CommitError::Occupied { .. }) => {
                    tracing::error!(table = %table.type_name, error = %error, "recovery: a table needs repair");
                    plan.refused = Some(error);
                    continue;
                }
                Err(error) => return Err(error),
            }
        }
        plan.removed.push((row.attempt_id, row.table));
    }
    Ok(plan)
}

/// Writes a restore of the expected version behind the attempt's own entries, so that nothing of it can land any more.
async fn fence(
    committer: &Committer,
    chain: &Chain,
    row: &UnsettledRow,
    type_name: &str,
) -> Result<TableVersion, CommitError> {
    let store = committer.catalog().store();
    let expected = match &row.transactions {
        PlannedTransactions::Listed(listed) => listed.join(" "),
        PlannedTransactions::Confirmed { .. } => format!("a restore of version {}", row.expected),
    };
    let occupied = |found: String| CommitError::Occupied {
        site: committer.site(chain),
        table: type_name.to_owned(),
        expected: expected.clone(),
        found,
    };
    for _ in 0..ROUNDS_MAX {
        let tail = tail(store, &row.tree, row.expected, &row.transactions).await?;
        match tail.next {
            Some(found) if found.kind == TransactionKind::Restore(row.expected) => return Ok(tail.slot),
            Some(found) => return Err(occupied(found.uuid)),
            None => {}
        }
        if tail.ours == 0 && store.version_exists(&row.tree, row.expected).await? == Existence::Absent {
            return Err(occupied(format!("nothing at version {}", row.expected)));
        }
        committer.hit(FailPoint::SettleApplyBefore).await?;
        let mark = TransactionMark {
            uuid: committer.clock().mint().to_string(),
            operation_id: row.operation_id,
            attempt_id: row.attempt_id,
        };
        let outcome = store.restore_exact(&row.tree, row.expected, tail.slot, &mark).await?;
        committer.hit(FailPoint::SettleApplyAfter).await?;
        match outcome {
            CommitOutcome::Committed(_) => return Ok(tail.slot),
            CommitOutcome::Occupied { .. } => {}
        }
    }
    Err(contention())
}

fn settling_intent(committer: &Committer, newest: &Snapshot, plan: FencePlan, first_operation: OperationId) -> Intent {
    let attempt_id = AttemptId(committer.clock().mint());
    let operation_id = OperationId(committer.clock().mint());
    let time_ms = committer.clock().wall_ms();
    let recovery = RecoveryRow {
        version: newest.version().next(),
        kind: PublicationKind::Settle,
        writer: "settle".to_owned(),
        operation_id: first_operation,
        attempt_id,
        original_actor: RECOVERY_ACTOR.to_owned(),
        time_ms,
        reason: "tables of an aborted attempt were fenced".to_owned(),
        tables: plan.transitions,
    };
    Intent {
        format: Intent::FORMAT,
        operation_id,
        attempt_id,
        writer: "settle".to_owned(),
        actor: RECOVERY_ACTOR.to_owned(),
        branch_id: newest.branch_id(),
        base: newest.version(),
        token: Token::capture(newest.state(), &[]),
        aborts: 0,
        armed_ms: time_ms,
        effects: Vec::new(),
        publication: Publication {
            preconditions: plan.preconditions,
            pins: plan.pins,
            unsettled_removed: plan.removed,
            recovery: Some(recovery),
            ..Publication::new(PublicationKind::Settle, operation_id, String::new(), attempt_id)
        },
    }
}
