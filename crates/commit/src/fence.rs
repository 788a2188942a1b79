//! Fencing: the tables of aborted attempts are put out of their owners' reach, and their pins moved onto the fences.
//!
//! A fence is an exact restore of the pinned version after the attempt's own entries, so that no late owner can make an effect any more (I-7).
//! The rows go, and the pins move, by one publication under a ticket. Anybody can repeat or continue it after a crash.

use omnigraph_catalog::{
    Chain, Change, DecidedBy, Operations, PinChange, PlannedTransactions, Precondition, Publication, PublicationKind,
    RecoveryRow, Snapshot, TableTransition, UnsettledRow,
};
use omnigraph_storage::{CommitOutcome, Existence, TransactionKind, TransactionMark};
use omnigraph_types::mutant;
use omnigraph_types::{OperationId, Phase, RequestEffect, TableVersion};
use tokio::time::Instant;

use crate::attempt::{Carried, Guarded, Works};
use crate::context::Context;
use crate::decide::Found;
use crate::effect::{Next, tail};
use crate::error::CommitError;
use crate::failpoint::WriterPoints;
use crate::gate::GateHeld;
use crate::intent::{Intent, Plan};
use crate::rounds::Rounds;

/// The writer of fences, and of the publication that moves pins onto them.
pub(crate) const SETTLE: WriterPoints = WriterPoints::of("settle");
/// Who publishes it.
const RECOVERY_ACTOR: &str = "omnigraph:recovery";

/// Fences the tables of every `unsettled` row and publishes their removal. Returns how many tables were fenced.
///
/// A table that cannot be fenced is left, with its row; if no other row can go, the error is the first such table's.
pub(crate) async fn settle_tables(
    context: &Context,
    gate: &GateHeld,
    chain: &Chain,
    deadline: Instant,
    effect: &RequestEffect,
) -> Result<usize, CommitError> {
    let mut rounds = Rounds::of_rescue();
    loop {
        rounds.begin()?;
        let newest = context.catalog().newest_of(chain).await?;
        let rows = newest.state().unsettled.clone();
        let Some(first) = rows.first() else {
            return Ok(0);
        };
        let first_operation = first.operation_id;
        let plan = plan_fences(context, &newest, rows).await;
        if plan.removed.is_empty() {
            return match plan.refused {
                Some(refused) => Err(refused),
                None => Err(CommitError::Contention { attempts: 1, winner: None }),
            };
        }
        let fenced = plan.pins.len();
        let intent = settling_intent(context, &newest, plan, first_operation);
        let request = context.requests().begin_part(intent.operation_id(), effect);
        let works = Works::default();
        let (request, base, intent) = (&request, &newest, &intent);
        let guarded = Guarded { request, gate, base, writer: SETTLE, intent, works: &works };
        match guarded.carry_out(context, deadline).await? {
            Carried::Published(snapshot) => {
                tracing::info!(branch = %chain.name, version = %snapshot.version(), tables = fenced,
                    "recovery: now the write is undone, and its tables are as they were");
                return Ok(fenced);
            }
            Carried::Lost | Carried::Undone(_) | Carried::Ended => {}
        }
    }
}

/// What one settling publication will say.
#[derive(Default)]
struct FencePlan {
    pins: Vec<Change>,
    preconditions: Vec<Precondition>,
    removed: Vec<Change>,
    transitions: Vec<TableTransition>,
    refused: Option<CommitError>,
}

async fn plan_fences(context: &Context, newest: &Snapshot, rows: Vec<UnsettledRow>) -> FencePlan {
    let mut plan = FencePlan::default();
    for row in rows {
        let pinned =
            newest.table(row.table).filter(|table| table.tree_ref() == row.tree && table.version == row.expected);
        if let Some(table) = pinned {
            match fence(context, newest.chain(), &row, &table.type_name).await {
                Ok(version) => {
                    plan.pins.push(Change::Pin(PinChange::same_rows(table, version)));
                    plan.preconditions.push(Precondition::PinIs {
                        table: row.table,
                        tree: row.tree.tree,
                        version: row.expected,
                    });
                    plan.transitions.push(TableTransition { table: row.table, from: row.expected, to: version });
                }
                // One table's trouble is not another's: the sound ones are settled whatever this one meets.
                Err(error) => {
                    tracing::error!(table = %table.type_name, error = %error, "recovery: a table cannot be settled");
                    plan.refused.get_or_insert(error);
                    continue;
                }
            }
        }
        plan.removed.push(Change::UnsettledRemoved { attempt_id: row.attempt_id, table: row.table });
    }
    plan
}

/// Writes a restore of the expected version after the attempt's own entries, so that nothing of it can land any more.
async fn fence(
    context: &Context,
    chain: &Chain,
    row: &UnsettledRow,
    type_name: &str,
) -> Result<TableVersion, CommitError> {
    let store = context.catalog().store();
    let expected = match &row.transactions {
        PlannedTransactions::Listed(listed) => listed.join(" "),
        PlannedTransactions::Confirmed { .. } => format!("a restore of version {}", row.expected),
    };
    let occupied = |found: Found| CommitError::Occupied {
        site: context.site(chain),
        table: type_name.to_owned(),
        expected: expected.clone(),
        found,
    };
    let mut rounds = Rounds::of_rescue();
    loop {
        rounds.begin()?;
        let tail = tail(store, &row.tree, row.expected, &row.transactions).await?;
        match tail.next {
            Next::Transaction(found)
                if mutant!(
                    48,
                    found.kind == TransactionKind::Restore(row.expected),
                    matches!(found.kind, TransactionKind::Restore(_))
                ) =>
            {
                return Ok(tail.slot);
            }
            Next::Transaction(found) => return Err(occupied(Found::Transaction(found.uuid))),
            Next::Unreadable => return Err(occupied(Found::Unreadable)),
            Next::Nothing => {}
        }
        if mutant!(
            49,
            tail.ours == 0 && store.version_exists(&row.tree, row.expected).await? == Existence::Absent,
            false
        ) {
            return Err(occupied(Found::Nothing));
        }
        context.hit(SETTLE.before(Phase::Apply)).await?;
        let mark = TransactionMark {
            uuid: context.clock().mint().to_string(),
            operation_id: row.operation_id,
            attempt_id: row.attempt_id,
        };
        let outcome = store.restore_exact(&row.tree, row.expected, tail.slot, &mark).await?;
        context.hit(SETTLE.after(Phase::Apply)).await?;
        match outcome {
            CommitOutcome::Committed(_) => return Ok(tail.slot),
            CommitOutcome::Occupied { .. } => {}
        }
    }
}

fn settling_intent(context: &Context, newest: &Snapshot, plan: FencePlan, first_operation: OperationId) -> Intent {
    let (attempt_id, operation_id) = (context.mint_attempt(), context.mint_operation());
    let recovery = RecoveryRow {
        version: newest.version().next(),
        kind: PublicationKind::Settle,
        writer: SETTLE.as_str().to_owned(),
        operation_id: first_operation,
        attempt_id,
        original_actor: RECOVERY_ACTOR.to_owned(),
        time_ms: context.clock().wall_ms(),
        reason: "tables of an aborted attempt were fenced".to_owned(),
        tables: plan.transitions,
    };
    let publication = Publication {
        kind: PublicationKind::Settle,
        decision: DecidedBy::Own.about(attempt_id),
        preconditions: plan.preconditions,
        changes: plan.pins.into_iter().chain(plan.removed).chain([Change::Recovery(recovery)]).collect(),
        operations: Operations::one(operation_id, String::new()),
    };
    let plan = Plan::without_effects(SETTLE, RECOVERY_ACTOR.to_owned(), newest, publication);
    Intent::mint(plan, newest, context.clock())
}
