//! Repair: what settling refuses, because it needs a person. Without a confirmation it tells, with one it does.
//!
//! It touches no table. It publishes what the person confirmed, as `unsettled` rows; then the tables are settled as after any abort, by
//! this process or by whoever comes next. For an unreadable intent that publication is the abort at the intent's own version, which races
//! with its owner and with a removal of the branch for one object; every table that the branch owns is fenced then, because nobody knows
//! what was planned (I-7). Else it goes under a ticket, like any.
//!
//! Invariants: only transactions that were confirmed, and those of attempts of the graph, are ever undone; a confirmation fits one state of
//! the tables concerned and of the intent, and nothing is done in another.

use omnigraph_catalog::{
    Chain, OperationRow, PlannedTransactions, Precondition, Publication, PublicationKind, PublishOutcome, RecoveryRow,
    Snapshot, TableTransition, UnsettledRow, sha256_hex,
};
use omnigraph_storage::Certainty;
use omnigraph_types::{AttemptId, BranchId, GraphVersion, OperationId, TableId};
use tokio::time::Instant;

use crate::branches::reused;
use crate::committer::Committer;
use crate::condition::{Looked, Standing, TableCondition, examine, look};
use crate::error::CommitError;
use crate::failpoint::FailPoint;
use crate::gate::GateHeld;
use crate::intent::{self, Intent, IntentSlot, Unreadable};
use crate::publish::{Published, publish};
use crate::settle::{SETTLE_POINTS, settle_tables, wait_for};
use crate::token::Token;
use crate::write::check_age;

/// Times that one repair looks again after losing a race.
const ROUNDS_MAX: u32 = 64;
/// Characters of a confirmation: it tells states apart and guards nothing.
const CONFIRMATION_CHARACTERS: usize = 16;
/// The kind of writer that logs, intents and recoveries name.
const WRITER: &str = "repair";

/// What stands in the way on a branch, and what repair would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairView {
    /// The newest version.
    pub version: GraphVersion,
    /// The unreadable intent behind it; repair aborts it.
    pub intent: Option<Unreadable>,
    /// Tables that are occupied or damaged. Repair puts back the occupied ones.
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

/// What became of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairOutcome {
    /// What was repaired; none if an earlier request of the same operation did it.
    pub view: Option<RepairView>,
    /// The version that published it.
    pub version: GraphVersion,
    /// Types whose tables could not be put back: something new stands behind them, or their pinned version is missing.
    pub left: Vec<String>,
}

/// A view, with all tables that a repair would touch.
struct Plan {
    view: RepairView,
    touched: Vec<TableCondition>,
}

/// Looks, and changes nothing.
pub(crate) async fn preview(
    committer: &Committer,
    chain: &Chain,
    chosen: &[TableId],
) -> Result<RepairView, CommitError> {
    let Looked { newest, slot, tables } = look(committer.catalog(), chain, chosen).await?;
    Ok(plan(committer, &newest, slot, tables, chosen)?.view)
}

/// What a repair would do. Pure but for the words of its refusal.
fn plan(
    committer: &Committer,
    newest: &Snapshot,
    slot: IntentSlot,
    conditions: Vec<TableCondition>,
    chosen: &[TableId],
) -> Result<Plan, CommitError> {
    let unreadable = match slot {
        IntentSlot::Empty | IntentSlot::Held { .. } => None,
        IntentSlot::Unreadable(found) => Some(found),
    };
    if unreadable.is_some() && !chosen.is_empty() {
        return Err(CommitError::EveryTable { site: committer.site(newest.chain()) });
    }
    let is_owned = |table: &&TableCondition| table.pinned.owner == newest.branch_id();
    let is_occupied = |table: &&TableCondition| matches!(table.standing, Standing::Occupied(_));
    // An aborted attempt's row that settling can do away with needs nobody.
    let is_unknown = |table: &&TableCondition| unreadable.is_some() && table.unsettled.is_none();
    let touched: Vec<TableCondition> =
        conditions.iter().filter(is_owned).filter(|table| is_occupied(table) || is_unknown(table)).cloned().collect();
    let in_the_way = |table: &TableCondition| match table.standing {
        Standing::Level | Standing::Pending => false,
        Standing::Occupied(_) | Standing::Damaged { .. } => true,
    };
    let tables: Vec<TableCondition> = conditions.into_iter().filter(in_the_way).collect();
    let something = unreadable.is_some() || !touched.is_empty();
    let confirmation = something.then(|| confirmation(newest.branch_id(), unreadable.as_ref(), &touched));
    let tables_fenced = touched.iter().filter(|table| !in_the_way(table)).count();
    let view = RepairView { version: newest.version(), intent: unreadable, tables, tables_fenced, confirmation };
    Ok(Plan { view, touched })
}

/// Tells this state from every other. The branch's version is no part of it: writes to other tables go on meanwhile.
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

/// Does what was confirmed, or refuses because something else is there by now.
pub(crate) async fn repair(
    committer: &Committer,
    chain: &Chain,
    request: RepairRequest,
) -> Result<RepairOutcome, CommitError> {
    let (committer, chain) = (committer.clone(), chain.clone());
    // What is begun must end, whatever becomes of the caller.
    let task = tokio::spawn(async move { run(&committer, &chain, &request).await });
    task.await.map_err(|_| CommitError::TaskLost)?
}

/// Whether a publication of the request may have been made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tried {
    No,
    Perhaps,
}

async fn run(committer: &Committer, chain: &Chain, request: &RepairRequest) -> Result<RepairOutcome, CommitError> {
    let entered = tokio::time::timeout_at(request.deadline, committer.gate(chain.branch_id).enter()).await;
    let gate = entered.map_err(|_| CommitError::Deadline)?;
    let mut tried = Tried::No;
    for _ in 0..ROUNDS_MAX {
        match round(committer, &gate, chain, request, &mut tried).await {
            Ok(Some(outcome)) => return Ok(outcome),
            Ok(None) => {}
            Err(error) if tried == Tried::Perhaps => return Err(CommitError::InDoubt { cause: Box::new(error) }),
            Err(error) => return Err(error),
        }
    }
    Err(CommitError::Contention { attempts: ROUNDS_MAX, winner: None })
}

/// One look, and what follows from it. None: something changed, look again.
async fn round(
    committer: &Committer,
    gate: &GateHeld,
    chain: &Chain,
    request: &RepairRequest,
    tried: &mut Tried,
) -> Result<Option<RepairOutcome>, CommitError> {
    let catalog = committer.catalog();
    let newest = catalog.newest_of(chain).await?;
    if newest.state().retired.is_some() {
        return Err(catalog.ended(&chain.name).into());
    }
    if let Some(row) = receipt(committer, &newest, request).await? {
        *tried = Tried::Perhaps;
        let left = settle_rest(committer, gate, chain, row.attempt_id, request.deadline).await?;
        return Ok(Some(RepairOutcome { view: None, version: row.version, left }));
    }
    let version = newest.version().next();
    let slot = intent::read(catalog, newest.branch_id(), version).await?;
    if let IntentSlot::Held { .. } = slot {
        wait_for(committer, gate, chain, version, request.deadline).await?;
        return Ok(None);
    }
    let tables = examine(catalog.store(), &newest, None, &request.tables).await?;
    let plan = plan(committer, &newest, slot, tables, &request.tables)?;
    check(committer, chain, &plan.view, request)?;
    let attempt_id = AttemptId(committer.clock().mint());
    let publication = publication(committer, &newest, &plan, request, attempt_id);
    tracing::warn!(graph = %committer.graph_name(), branch = %chain.name, %version, actor = %request.actor,
        operation = %request.operation_id, intent = ?plan.view.intent, tables = plan.touched.len(), "repair: confirmed");
    *tried = Tried::Perhaps;
    let made = match &plan.view.intent {
        Some(_) => take_version(committer, &newest, &publication).await?,
        None => {
            let intent = intent(committer, &newest, publication, request);
            publish(committer, gate, &newest, &intent, SETTLE_POINTS, request.deadline).await?
        }
    };
    match made {
        Published::Done(_) => {}
        Published::Lost => {
            *tried = Tried::No;
            return Ok(None);
        }
    }
    let left = settle_rest(committer, gate, chain, attempt_id, request.deadline).await?;
    Ok(Some(RepairOutcome { view: Some(plan.view), version, left }))
}

/// What the same operation did before, or the refusal of its id.
async fn receipt(
    committer: &Committer,
    newest: &Snapshot,
    request: &RepairRequest,
) -> Result<Option<OperationRow>, CommitError> {
    let rows = committer.catalog().operation_rows(newest, request.operation_id).await?;
    if rows.is_empty() {
        check_age(committer, request.operation_id)?;
    }
    match rows.into_iter().rev().find(|row| row.kind != PublicationKind::Abort) {
        Some(row) if row.kind == PublicationKind::Repair && row.digest == request.digest => Ok(Some(row)),
        Some(row) => Err(reused(row)),
        None => Ok(None),
    }
}

fn check(committer: &Committer, chain: &Chain, view: &RepairView, request: &RepairRequest) -> Result<(), CommitError> {
    if view.confirmation.as_ref() == Some(&request.confirmation) {
        return Ok(());
    }
    if let (None, Some(table)) = (&view.confirmation, view.tables.first())
        && let Standing::Damaged { version, .. } = table.standing
    {
        return Err(CommitError::VersionMissing { table: table.pinned.type_name.clone(), version });
    }
    Err(CommitError::ConfirmationOutdated {
        site: committer.site(chain),
        confirmed: request.confirmation.clone(),
        actual: view.confirmation.clone().unwrap_or_else(|| "nothing stands in the way".to_owned()),
    })
}

/// The abort of an attempt that nobody can read, at its own version: its owner, a removal of the branch and other repairers race for it.
async fn take_version(
    committer: &Committer,
    newest: &Snapshot,
    publication: &Publication,
) -> Result<Published, CommitError> {
    committer.hit(FailPoint::RecoverPublishBefore).await?;
    let staged = committer.catalog().stage(newest, publication).await?;
    let made = match committer.catalog().publish(staged).await.map_err(CommitError::from) {
        Ok(PublishOutcome::Published(snapshot)) => Published::Done(snapshot),
        Ok(PublishOutcome::Lost) => Published::Lost,
        Err(error) if error.certainty() == Certainty::NotApplied => return Err(error),
        // The next look finds it, if it was made.
        Err(_) => Published::Lost,
    };
    committer.hit(FailPoint::RecoverPublishAfter).await?;
    Ok(made)
}

/// What was confirmed, as a publication: head and pins unchanged, an `unsettled` row for every table touched.
fn publication(
    committer: &Committer,
    newest: &Snapshot,
    plan: &Plan,
    request: &RepairRequest,
    attempt_id: AttemptId,
) -> Publication {
    let row = |table: &TableCondition| UnsettledRow {
        attempt_id,
        operation_id: request.operation_id,
        table: table.pinned.id,
        tree: table.pinned.tree_ref(),
        expected: table.pinned.version,
        transactions: PlannedTransactions::Confirmed {
            confirmed: table.undone().iter().map(|found| found.transaction.uuid.clone()).collect(),
        },
    };
    let pin = |table: &TableCondition| Precondition::PinIs {
        table: table.pinned.id,
        tree: table.pinned.tree,
        version: table.pinned.version,
    };
    let replaced = |table: &TableCondition| Some((table.unsettled.as_ref()?.attempt_id, table.pinned.id));
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
        writer: WRITER.to_owned(),
        operation_id: request.operation_id,
        attempt_id,
        original_actor: request.actor.clone(),
        time_ms: committer.clock().wall_ms(),
        reason,
        tables: plan.touched.iter().map(still).collect(),
    };
    Publication {
        preconditions: plan.touched.iter().map(pin).collect(),
        unsettled_removed: plan.touched.iter().filter_map(replaced).collect(),
        unsettled_added: plan.touched.iter().map(row).collect(),
        recovery: Some(recovery),
        ..Publication::new(PublicationKind::Repair, request.operation_id, request.digest.clone(), attempt_id)
    }
}

fn intent(committer: &Committer, newest: &Snapshot, publication: Publication, request: &RepairRequest) -> Intent {
    Intent {
        format: Intent::FORMAT,
        operation_id: publication.operation_id,
        attempt_id: publication.attempt_id,
        writer: WRITER.to_owned(),
        actor: request.actor.clone(),
        branch_id: newest.branch_id(),
        base: newest.version(),
        token: Token::capture(newest.state(), &[]),
        aborts: 0,
        armed_ms: committer.clock().wall_ms(),
        effects: Vec::new(),
        publication,
    }
}

/// Fences what was confirmed. Returns the types that could not be.
async fn settle_rest(
    committer: &Committer,
    gate: &GateHeld,
    chain: &Chain,
    attempt_id: AttemptId,
    deadline: Instant,
) -> Result<Vec<String>, CommitError> {
    match settle_tables(committer, gate, chain, deadline).await {
        Ok(_) | Err(CommitError::Occupied { .. }) => {}
        Err(error) => return Err(error),
    }
    let newest = committer.catalog().newest_of(chain).await?;
    let rows = newest.state().unsettled.iter().filter(|row| row.attempt_id == attempt_id);
    Ok(rows.filter_map(|row| newest.table(row.table)).map(|table| table.type_name.clone()).collect())
}
