//! What a repair would do, as values: the plan, its confirmation, and the publication that carries it out.
//!
//! Invariants: only transactions that were confirmed, and those of attempts of the graph, are ever undone; a confirmation fits one state of
//! the tables concerned and of the intent, and nothing is done in another.

use omnigraph_catalog::{
    Change, DecidedBy, Operations, PlannedTransactions, Precondition, Publication, PublicationKind, RecoveryRow,
    Snapshot, TableTransition, UnsettledRow, sha256_hex,
};
use omnigraph_types::mutant;
use omnigraph_types::{AttemptId, BranchId, GraphVersion, OperationId, TableId};
use tokio::time::Instant;

use crate::condition::{Standing, TableCondition};
use crate::context::Context;
use crate::error::CommitError;
use crate::failpoint::WriterPoints;
use crate::intent::Unreadable;
use crate::ticket::IntentSlot;

/// The writer that publishes what was confirmed.
pub(crate) const REPAIR: WriterPoints = WriterPoints::of("repair");
/// Characters of a confirmation: it distinguishes states and protects nothing.
const CONFIRMATION_CHARACTERS: usize = 16;

/// What needs repair on a branch, and what a repair would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairView {
    /// The newest version.
    pub version: GraphVersion,
    /// The unreadable intent for the version after it; repair aborts it.
    pub intent: Option<Unreadable>,
    /// Tables that are occupied or damaged. Repair restores the occupied ones.
    pub tables: Vec<TableCondition>,
    /// Further tables that are put out of the reach of the intent's owner, and keep their rows.
    pub tables_fenced: usize,
    /// Confirms exactly this; none where there is nothing that repair can do.
    pub confirmation: Option<String>,
}

/// A confirmed repair.
#[derive(Debug, Clone)]
pub struct RepairRequest {
    /// The idempotency key.
    pub operation_id: OperationId,
    /// Digest of the whole request, in hexadecimal.
    pub digest: String,
    /// Who asks.
    pub actor: String,
    /// The tables; empty means all.
    pub tables: Vec<TableId>,
    /// The confirmation of a view.
    pub confirmation: String,
    /// After this nothing is begun any more.
    pub deadline: Instant,
}

/// A view, with all tables that a repair would touch.
pub(crate) struct RepairPlan {
    pub(crate) view: RepairView,
    pub(crate) touched: Vec<TableCondition>,
}

/// What a repair would do. Pure but for the words of its refusal.
pub(crate) fn plan(
    context: &Context,
    newest: &Snapshot,
    slot: IntentSlot,
    conditions: Vec<TableCondition>,
    chosen: &[TableId],
) -> Result<RepairPlan, CommitError> {
    let unreadable = match slot {
        IntentSlot::Empty | IntentSlot::Held { .. } => None,
        // A newer server's intent is no damage, and only its owner's kind may settle it.
        IntentSlot::Newer(newer) => return Err(CommitError::newer_intent(newest.branch_name(), &newer)),
        IntentSlot::Unreadable(found) => Some(found),
    };
    if mutant!(82, unreadable.is_some() && !chosen.is_empty(), false) {
        return Err(CommitError::EveryTable { site: context.site(newest.chain()) });
    }
    let is_owned = |table: &&TableCondition| table.pinned.owner == newest.branch_id();
    let is_occupied = |table: &&TableCondition| matches!(table.standing, Standing::Occupied(_));
    // A row of an aborted attempt is removed by settling, without a repair.
    let is_unknown = |table: &&TableCondition| mutant!(83, unreadable.is_some() && table.unsettled.is_none(), false);
    let touched: Vec<TableCondition> =
        conditions.iter().filter(is_owned).filter(|table| is_occupied(table) || is_unknown(table)).cloned().collect();
    let needs_repair = |table: &TableCondition| match table.standing {
        Standing::Level | Standing::Pending => false,
        Standing::Occupied(_) | Standing::Damaged { .. } => true,
    };
    let tables: Vec<TableCondition> = conditions.into_iter().filter(needs_repair).collect();
    let repairable = unreadable.is_some() || !touched.is_empty();
    let confirmation = repairable.then(|| confirmation(newest.branch_id(), unreadable.as_ref(), &touched));
    let tables_fenced = touched.iter().filter(|table| !needs_repair(table)).count();
    let view = RepairView { version: newest.version(), intent: unreadable, tables, tables_fenced, confirmation };
    Ok(RepairPlan { view, touched })
}

/// Identifies this state. The branch's version is no part of it: writes to other tables go on meanwhile.
fn confirmation(branch: BranchId, intent: Option<&Unreadable>, touched: &[TableCondition]) -> String {
    let mut text = format!("omnigraph repair 1\n{branch}\n");
    if let Some(intent) = intent {
        text.push_str(&format!("{} {}\n", intent.version, intent.content));
    }
    for table in touched {
        text.push_str(&format!("{} {}\n", table.pinned.id, table.pinned.pin()));
        for found in table.undone() {
            text.push_str(&format!("  {} {}\n", found.version, found.transaction.uuid));
        }
    }
    let mut digest = sha256_hex(text.as_bytes());
    digest.truncate(CONFIRMATION_CHARACTERS);
    digest
}

/// Refuses a confirmation of any other state.
pub(crate) fn check(
    context: &Context,
    newest: &Snapshot,
    view: &RepairView,
    request: &RepairRequest,
) -> Result<(), CommitError> {
    if mutant!(81, view.confirmation.as_ref() == Some(&request.confirmation), view.confirmation.is_some()) {
        return Ok(());
    }
    if let (None, Some(table)) = (&view.confirmation, view.tables.first())
        && let Standing::Damaged { version, .. } = table.standing
    {
        return Err(CommitError::VersionMissing { table: table.pinned.type_name.clone(), version });
    }
    Err(CommitError::ConfirmationOutdated {
        site: context.site(newest.chain()),
        confirmed: request.confirmation.clone(),
        actual: view.confirmation.clone().unwrap_or_else(|| "nothing needs repair".to_owned()),
    })
}

/// What was confirmed, as a publication: head and pins unchanged, an `unsettled` row for every table touched.
pub(crate) fn publication(
    context: &Context,
    newest: &Snapshot,
    plan: &RepairPlan,
    request: &RepairRequest,
    attempt_id: AttemptId,
) -> Publication {
    let row = |table: &TableCondition| {
        Change::UnsettledAdded(UnsettledRow {
            attempt_id,
            operation_id: request.operation_id,
            table: table.pinned.id,
            tree: table.pinned.tree_ref(),
            expected: table.pinned.version,
            transactions: PlannedTransactions::Confirmed {
                confirmed: table.undone().iter().map(|found| found.transaction.uuid.clone()).collect(),
            },
        })
    };
    let pin = |table: &TableCondition| Precondition::PinIs {
        table: table.pinned.id,
        tree: table.pinned.tree,
        version: table.pinned.version,
    };
    let replaced = |table: &TableCondition| {
        let attempt_id = table.unsettled.as_ref()?.attempt_id;
        Some(Change::UnsettledRemoved { attempt_id, table: table.pinned.id })
    };
    let still = |table: &TableCondition| TableTransition {
        table: table.pinned.id,
        from: table.pinned.version,
        to: table.pinned.version,
    };
    let reason = match &plan.view.intent {
        Some(intent) => format!("the intent of version {} could not be read", intent.version),
        None => "tables held commits that were not the graph's own".to_owned(),
    };
    let recovery = RecoveryRow {
        version: newest.version().next(),
        kind: PublicationKind::Repair,
        writer: REPAIR.as_str().to_owned(),
        operation_id: request.operation_id,
        attempt_id,
        original_actor: request.actor.clone(),
        time_ms: context.clock().wall_ms(),
        reason,
        tables: plan.touched.iter().map(still).collect(),
    };
    let by = match plan.view.intent {
        Some(_) => DecidedBy::Repair,
        None => DecidedBy::Own,
    };
    let replaced = plan.touched.iter().filter_map(replaced);
    Publication {
        kind: PublicationKind::Repair,
        decision: by.about(attempt_id),
        preconditions: plan.touched.iter().map(pin).collect(),
        changes: replaced.chain(plan.touched.iter().map(row)).chain([Change::Recovery(recovery)]).collect(),
        operations: Operations::one(request.operation_id, request.digest.clone()),
    }
}
