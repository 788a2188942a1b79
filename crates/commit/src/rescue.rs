//! Rescue: an interrupted attempt's version is decided by anybody, from what is stored.
//!
//! One path over effects, not over kinds of writer. A decision is a publication at the intent's own version, without a ticket, so the owner
//! and every rescuer race for one object, and anyone can repeat it after a crash. What an abort leaves to be fenced is `fence`'s.

use std::time::Duration;

use futures::future::try_join_all;
use omnigraph_catalog::{
    CatalogError, Chain, Change, DecidedBy, Newer, Operations, PlannedTransactions, Publication, PublicationKind,
    RecoveryRow, Snapshot, TableTransition, UnsettledRow,
};
use omnigraph_storage::StorageError;
use omnigraph_types::mutant;
use omnigraph_types::{AttemptId, BranchName, GraphVersion, Phase, RequestEffect};
use tokio::time::Instant;

use crate::context::Context;
use crate::decide::{Decision, Observation, Owner, PublishedBy, SlotState, decide};
use crate::door::{Points, Put, publish_without_ticket};
use crate::effect::Effect;
use crate::error::CommitError;
use crate::failpoint::WriterPoints;
use crate::gate::GateHeld;
use crate::intent::Intent;
use crate::liveness::Sighted;
use crate::request::Request;
use crate::rounds::Rounds;
use crate::ticket::{self, IntentSlot};

/// The writer of decisions about other attempts.
pub(crate) const RECOVER: WriterPoints = WriterPoints::of("recover");
/// First pause while an owner may be alive; doubles up to the last.
const POLL_FIRST: Duration = Duration::from_millis(5);
const POLL_LAST: Duration = Duration::from_millis(100);
/// Pause between two tries to settle one's own intent while the store fails.
const RESOLVE_PAUSE: Duration = Duration::from_millis(200);

/// Waits until `version` is published, rescuing its intent once its owner counts as gone. Returns the decision, if it was ours to make.
/// `effect` is that of the request which asked for the rescue.
///
/// Past the deadline: `RecoveryRequired`, naming the operation whose intent holds the version.
pub(crate) async fn wait_for(
    context: &Context,
    gate: &GateHeld,
    chain: &Chain,
    version: GraphVersion,
    deadline: Instant,
    effect: &RequestEffect,
) -> Result<Option<Decision>, CommitError> {
    let mut pause = POLL_FIRST;
    loop {
        let newest = context.catalog().newest_of(chain).await?;
        if newest.version() >= version {
            return Ok(None);
        }
        let (intent, etag) = match ticket::read(context.catalog(), newest.branch_id(), version).await? {
            IntentSlot::Held { intent, etag } => (intent, etag),
            IntentSlot::Empty => return Ok(None),
            IntentSlot::Newer(newer) => return Err(CommitError::newer_intent(&chain.name, &newer)),
            IntentSlot::Unreadable(_) => {
                return Err(CommitError::IntentUnreadable { site: context.site(chain), version });
            }
        };
        let sighted = Sighted { attempt_id: intent.attempt_id(), aborts: intent.aborts, etag: etag.as_deref() };
        let owner = context.liveness().owner(sighted, context.limits(), context.clock(), gate);
        if mutant!(37, owner == Owner::Gone, true) {
            tracing::warn!(graph = %context.graph_name(), branch = %chain.name, version = %version, writer = %intent.writer,
                operation = %intent.operation_id(), actor = %intent.actor, "recovery: found an interrupted write");
            let decision = rescue(context, chain, &intent, owner, effect).await?;
            context.liveness().forget(intent.attempt_id());
            return Ok(Some(decision));
        }
        if Instant::now() >= deadline {
            return Err(pending(&chain.name, &intent));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(POLL_LAST);
    }
}

/// An interrupted write holds the next version, and it is too early to settle it.
fn pending(branch: &BranchName, intent: &Intent) -> CommitError {
    CommitError::RecoveryRequired {
        operation_id: intent.operation_id(),
        branch: branch.clone(),
        writer: intent.writer.clone(),
        phase: Phase::Apply,
        reason: "its owner may still be alive".to_owned(),
    }
}

/// An armed attempt that its owner could not settle, because of this error.
pub(crate) fn unsettled(intent: &Intent, branch: &BranchName, phase: Phase, cause: &CommitError) -> CommitError {
    CommitError::RecoveryRequired {
        operation_id: intent.operation_id(),
        branch: branch.clone(),
        writer: intent.writer.clone(),
        phase,
        reason: cause.reason_unsettled(),
    }
}

/// Why a gate was not free in time: an interrupted write of another process that its holder waits for, or just other writers.
pub(crate) async fn kept_waiting(context: &Context, chain: &Chain) -> CommitError {
    let contention = CommitError::Contention { attempts: 1, winner: None };
    let Ok(newest) = context.catalog().newest_of(chain).await else { return contention };
    match ticket::read(context.catalog(), newest.branch_id(), newest.version().next()).await {
        Ok(IntentSlot::Held { intent, .. }) if mutant!(38, !context.liveness().is_own(intent.attempt_id()), false) => {
            pending(&chain.name, &intent)
        }
        Ok(IntentSlot::Held { .. } | IntentSlot::Empty | IntentSlot::Newer(_) | IntentSlot::Unreadable(_)) | Err(_) => {
            contention
        }
    }
}

/// Settles an own armed attempt that cannot simply go on, as a rescuer would, until the decision is made.
pub(crate) async fn settle_own(
    context: &Context,
    chain: &Chain,
    intent: &Intent,
    phase: Phase,
    until: Instant,
) -> Result<Decision, CommitError> {
    loop {
        // The owner's own request knows that it is open; a decision about it is no second effect.
        let error = match rescue(context, chain, intent, Owner::Gone, &RequestEffect::default()).await {
            Ok(decision) => return Ok(decision),
            Err(error) => error,
        };
        if error.is_lasting() {
            return Err(error);
        }
        // A root that takes no writes refuses the decision too, so waiting settles nothing.
        let is_hopeless = error.of_store().is_some_and(StorageError::is_refused_by_the_root);
        if is_hopeless || Instant::now() >= until {
            tracing::error!(operation = %intent.operation_id(), error = %error, "a write could not be settled by its owner");
            return Err(unsettled(intent, &chain.name, phase, &error));
        }
        tokio::time::sleep(RESOLVE_PAUSE).await;
    }
}

/// Decides about one intent and publishes the decision. Returns the first decision that publishes nothing.
pub(crate) async fn rescue(
    context: &Context,
    chain: &Chain,
    intent: &Intent,
    owner: Owner,
    effect: &RequestEffect,
) -> Result<Decision, CommitError> {
    let mut rounds = Rounds::of_rescue();
    loop {
        rounds.begin()?;
        let newest = context.catalog().newest_of(chain).await?;
        let slot = slot_state(context, &newest, intent).await?;
        let observations = match slot {
            SlotState::Free | SlotState::Published(PublishedBy::Another) => observe(context, &intent.effects).await?,
            SlotState::Published(
                PublishedBy::ThisAttempt
                | PublishedBy::AbortUnsettled
                | PublishedBy::AbortSettled
                | PublishedBy::Retirement,
            ) => Vec::new(),
        };
        let decision = decide(slot, &observations, owner);
        let deed = match decision {
            Decision::RollForward => "complete",
            Decision::Abort => "undo",
            Decision::Violation => {
                return Err(CommitError::Violation {
                    object: format!("attempt {} of operation {}", intent.attempt_id(), intent.operation_id()),
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
                    tracing::info!(operation = %intent.operation_id(), version = %intent.version(), "recovery: now {now}");
                }
                return Ok(decision);
            }
        };
        tracing::warn!(operation = %intent.operation_id(), version = %intent.version(), ?observations,
            "recovery: decided to {deed} the write, which has changed {} of its {} tables", made(&observations), observations.len());
        let request = context.requests().begin_part(intent.operation_id(), effect);
        publish_decision(context, &request, &newest, (intent, decision, &observations)).await?;
    }
}

/// Publishes a decision. Won or lost, the next round reads who has the version.
async fn publish_decision(
    context: &Context,
    request: &Request,
    newest: &Snapshot,
    (intent, decision, observations): (&Intent, Decision, &[Observation]),
) -> Result<(), CommitError> {
    let abort = || abort(context, intent, observations);
    let publication = if decision == Decision::RollForward { rolled_forward(context, intent) } else { abort() };
    let publish = |publication| async move {
        publish_without_ticket(context, request, newest, &publication, Points::of(RECOVER)).await
    };
    let put = match publish(publication).await {
        // What does not fit the version it was armed for may not be published; its abort always may.
        Err(CommitError::Catalog(CatalogError::Unmet(_))) if mutant!(10, decision == Decision::RollForward, false) => {
            publish(abort()).await?
        }
        put => put?,
    };
    match put {
        Put::Published | Put::Lost => Ok(()),
        Put::Unknown(put) => Err(*put.cause),
    }
}

/// How many effects are wholly there.
fn made(observations: &[Observation]) -> usize {
    observations.iter().filter(|seen| **seen == Observation::Ours).count()
}

/// How a decision that publishes nothing leaves an intent, for the log. Where tables are still to be fenced, fencing them logs the end.
fn now(decision: Decision) -> Option<&'static str> {
    match decision {
        Decision::Finished => Some("the write is published"),
        Decision::RolledBack => Some("the write is undone"),
        Decision::NeverUsed => Some("nothing is left of the write: it lost its version before it changed anything"),
        Decision::Orphaned => Some("the write is gone with its branch"),
        Decision::SettleTables | Decision::Wait | Decision::RollForward | Decision::Abort | Decision::Violation => None,
    }
}

async fn observe(context: &Context, effects: &[Effect]) -> Result<Vec<Observation>, CommitError> {
    let store = context.catalog().store();
    Ok(try_join_all(effects.iter().map(|effect| effect.observe(store))).await?)
}

/// Who published the intent's version, read from the chain.
async fn slot_state(context: &Context, newest: &Snapshot, intent: &Intent) -> Result<SlotState, CommitError> {
    if newest.version() < intent.version() {
        return Ok(SlotState::Free);
    }
    let at_version = if newest.version() == intent.version() {
        newest.clone()
    } else {
        context.catalog().at_version(newest.chain(), intent.version()).await?
    };
    let row = at_version.state().published_by().ok_or_else(|| CommitError::Violation {
        object: format!("version {} of branch {}", intent.version(), newest.branch_name()),
        expected: "an operation of its own".to_owned(),
    })?;
    let decided = row.decision;
    let is_of_this_attempt = decided.attempt_id == intent.attempt_id();
    let by = match decided.by {
        DecidedBy::Retire => PublishedBy::Retirement,
        DecidedBy::Own if mutant!(39, is_of_this_attempt, true) => PublishedBy::ThisAttempt,
        DecidedBy::Abort if mutant!(40, is_of_this_attempt, true) => aborted(newest, decided.attempt_id),
        DecidedBy::Own | DecidedBy::Abort => PublishedBy::Another,
        DecidedBy::Repair => mutant!(41, aborted(newest, decided.attempt_id), PublishedBy::Another),
        DecidedBy::Newer => {
            return Err(CatalogError::Newer(Newer::of_this_format("the decision about a version")).into());
        }
    };
    Ok(SlotState::Published(by))
}

/// An abort, or a repair that could not read the intent, by whether tables are still to be fenced.
fn aborted(newest: &Snapshot, attempt_id: AttemptId) -> PublishedBy {
    match newest.state().unsettled.iter().any(|unsettled| mutant!(17, unsettled.attempt_id == attempt_id, false)) {
        true => PublishedBy::AbortUnsettled,
        false => PublishedBy::AbortSettled,
    }
}

/// The attempt's own publication, with a row that says that it was completed.
fn rolled_forward(context: &Context, intent: &Intent) -> Publication {
    let moved = |effect: &Effect| TableTransition { table: effect.table, from: effect.expected, to: effect.made() };
    let recovery = RecoveryRow {
        version: intent.version(),
        kind: intent.publication.kind,
        writer: intent.writer.to_string(),
        operation_id: intent.operation_id(),
        attempt_id: intent.attempt_id(),
        original_actor: intent.actor.clone(),
        time_ms: context.clock().wall_ms(),
        reason: "interrupted with all its changes made".to_owned(),
        tables: intent.effects.iter().map(moved).collect(),
    };
    let mut publication = intent.publication.clone();
    // A version has one row of this kind: a settling or a repair has planned its own, which names the tables.
    let planned = publication.changes.iter_mut().find_map(|change| match change {
        Change::Recovery(row) => Some(row),
        Change::Commit(_)
        | Change::Schema { .. }
        | Change::TableAdded(_)
        | Change::TableDropped { .. }
        | Change::TableRenamed { .. }
        | Change::Pin(_)
        | Change::UnsettledAdded(_)
        | Change::UnsettledRemoved { .. }
        | Change::Branch(_)
        | Change::Retired(_)
        | Change::Retention(_) => None,
    });
    match planned {
        Some(row) => row.reason = recovery.reason,
        None => publication.changes.push(Change::Recovery(recovery)),
    }
    publication
}

/// The abort of an attempt: head and pins unchanged, every planned effect still to be fenced. It undoes every operation of the attempt.
fn abort(context: &Context, intent: &Intent, observations: &[Observation]) -> Publication {
    let unsettled = |effect: &Effect| {
        Change::UnsettledAdded(UnsettledRow {
            attempt_id: intent.attempt_id(),
            operation_id: intent.operation_id(),
            table: effect.table,
            tree: effect.tree.clone(),
            expected: effect.expected,
            transactions: mutant!(42, effect.planned(), PlannedTransactions::Listed(Vec::new())),
        })
    };
    let still = |effect: &Effect| TableTransition { table: effect.table, from: effect.expected, to: effect.expected };
    let recovery = Change::Recovery(RecoveryRow {
        version: intent.version(),
        kind: PublicationKind::Abort,
        writer: intent.writer.to_string(),
        operation_id: intent.operation_id(),
        attempt_id: intent.attempt_id(),
        original_actor: intent.actor.clone(),
        time_ms: context.clock().wall_ms(),
        reason: format!("interrupted with {} of {} tables changed", made(observations), intent.effects.len()),
        tables: intent.effects.iter().map(still).collect(),
    });
    Publication {
        kind: PublicationKind::Abort,
        decision: DecidedBy::Abort.about(intent.attempt_id()),
        preconditions: Vec::new(),
        changes: intent.effects.iter().map(unsettled).chain([recovery]).collect(),
        operations: mutant!(
            43,
            intent.publication.operations.clone(),
            Operations::one(intent.operation_id(), String::new())
        ),
    }
}
