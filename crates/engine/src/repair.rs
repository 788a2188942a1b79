//! Repair of what needs a person: it tells, and does what was confirmed.

use futures::TryFutureExt;
use omnigraph_catalog::Snapshot;
use omnigraph_commit::{RepairOutcome, RepairRequest as Confirmed, RepairView, Standing, TableCondition, Unreadable};
use omnigraph_storage::TransactionKind;
use omnigraph_types::{BranchName, Failure, GraphVersion, OperationId, TableId, TableVersion};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

pub use omnigraph_commit::Damage;

use crate::deletion::on_current;
use crate::error::{EngineError, Result};
use crate::graph::Graph;
use crate::load::hex;

/// Transactions of one table that are told one by one.
const TOLD_MAX: usize = 100;

/// Whether to do it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confirmation {
    /// Tell only.
    None,
    /// Do what an earlier answer told, which had this confirmation.
    Given(String),
}

/// A request to repair a branch.
#[derive(Debug, Clone)]
pub struct RepairRequest {
    /// The branch.
    pub branch: BranchName,
    /// The types; empty means all.
    pub types: Vec<String>,
    /// The idempotency key; minted if none.
    pub operation_id: Option<OperationId>,
    /// Whether to do it.
    pub confirmation: Confirmation,
    /// Who asks.
    pub actor: String,
    /// When to give up.
    pub deadline: Option<Instant>,
}

/// How it came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairState {
    /// Nothing stands in the way.
    Nothing,
    /// Something does, and nothing was done.
    Preview,
    /// What was confirmed is done.
    Done,
    /// Nothing of what stands in the way can be mended from what is stored.
    Impossible,
}

/// A transaction behind a pin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundTransaction {
    /// The version that it made.
    pub version: TableVersion,
    /// Its id.
    pub transaction: String,
    /// What it did, such as `append`.
    pub kind: String,
    /// Rows that it added, or removed where negative.
    pub rows_change: i64,
    /// The operation, if an attempt of the graph made it.
    pub operation_id: Option<OperationId>,
}

/// A table in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableToRepair {
    /// The type.
    pub type_name: String,
    /// The version that is pinned, and restored.
    pub pinned: TableVersion,
    /// The first transactions that are undone, oldest first.
    pub transactions: Vec<FoundTransaction>,
    /// How many there are.
    pub transactions_total: u64,
    /// The version that is damaged, where that makes a repair impossible.
    pub damage: Option<(TableVersion, Damage)>,
}

/// An object where an intent belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableIntent {
    /// The version that it is a ticket for.
    pub version: GraphVersion,
    /// The format of another program that it names.
    pub format: Option<u32>,
}

/// What stands in the way, and what was done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairReport {
    /// The operation.
    pub operation_id: OperationId,
    /// How it came out.
    pub state: RepairState,
    /// The unreadable intent.
    pub intent: Option<UnreadableIntent>,
    /// The tables.
    pub tables: Vec<TableToRepair>,
    /// Further tables that are put out of the reach of the intent's owner.
    pub tables_fenced: usize,
    /// Confirms exactly this, if there is something to do.
    pub confirmation: Option<String>,
    /// The branch's version that was looked at, or that tells of the repair.
    pub version: GraphVersion,
    /// Types whose tables could not be put back.
    pub left: Vec<String>,
}

impl Graph {
    /// Tells what stands in the way on a branch and needs a person, or does what was confirmed.
    pub async fn repair(&self, request: RepairRequest) -> Result<RepairReport, Failure> {
        on_current!(self, graph => graph.repair_branch(request.clone()).map_err(Failure::from))
    }

    async fn repair_branch(&self, request: RepairRequest) -> Result<RepairReport> {
        let operation_id = request.operation_id.unwrap_or_else(|| OperationId(self.engine().clock.mint()));
        let newest = self.catalog().newest(&request.branch).await?;
        let tables = chosen(&newest, &request.types)?;
        let chain = newest.chain();
        let Confirmation::Given(confirmation) = &request.confirmation else {
            let view = self.committer().preview_repair(chain, &tables).await?;
            let state = match (&view.confirmation, view.tables.is_empty()) {
                (Some(_), _) => RepairState::Preview,
                (None, true) => RepairState::Nothing,
                (None, false) => RepairState::Impossible,
            };
            return Ok(report(operation_id, state, view));
        };
        let bound = Instant::now() + self.engine().limits.ticket_wait();
        let confirmed = Confirmed {
            operation_id,
            digest: self.repair_digest(&request.branch, &request.types, confirmation),
            actor: request.actor,
            tables,
            confirmation: confirmation.clone(),
            deadline: request.deadline.map_or(bound, |deadline| deadline.min(bound)),
        };
        let RepairOutcome { view, version, left } = self.committer().repair(chain, confirmed).await?;
        let view = view.unwrap_or(RepairView {
            version,
            intent: None,
            tables: Vec::new(),
            tables_fenced: 0,
            confirmation: None,
        });
        let report = report(operation_id, RepairState::Done, RepairView { version, confirmation: None, ..view });
        Ok(RepairReport { left, ..report })
    }

    /// What makes a request to repair the same request.
    fn repair_digest(&self, branch: &BranchName, types: &[String], confirmation: &str) -> String {
        let mut out = Sha256::new();
        let graph = self.id().to_string();
        let fixed = ["omnigraph repair 1", &graph, branch.as_str(), confirmation];
        for part in fixed.into_iter().chain(types.iter().map(String::as_str)) {
            out.update((part.len() as u64).to_be_bytes());
            out.update(part.as_bytes());
        }
        hex(&out.finalize())
    }
}

fn chosen(newest: &Snapshot, types: &[String]) -> Result<Vec<TableId>> {
    let find = |name: &String| {
        let row = newest.tables().find(|row| row.type_name == *name);
        row.map(|row| row.id).ok_or_else(|| EngineError::TypeNotFound {
            name: name.clone(),
            defined: newest.tables().map(|row| row.type_name.clone()).collect(),
        })
    };
    types.iter().map(find).collect()
}

fn report(operation_id: OperationId, state: RepairState, view: RepairView) -> RepairReport {
    let intent = |found: Unreadable| UnreadableIntent { version: found.version, format: found.format };
    RepairReport {
        operation_id,
        state,
        intent: view.intent.map(intent),
        tables: view.tables.iter().map(table).collect(),
        tables_fenced: view.tables_fenced,
        confirmation: view.confirmation,
        version: view.version,
        left: Vec::new(),
    }
}

fn table(table: &TableCondition) -> TableToRepair {
    let damage = match table.standing {
        Standing::Damaged { version, damage } => Some((version, damage)),
        Standing::Level | Standing::Pending | Standing::Occupied(_) => None,
    };
    TableToRepair {
        type_name: table.pinned.type_name.clone(),
        pinned: table.pinned.version,
        transactions: found_transactions(table),
        transactions_total: table.undone().len() as u64,
        damage,
    }
}

/// The first transactions behind a pin, with what each changed.
pub(crate) fn found_transactions(table: &TableCondition) -> Vec<FoundTransaction> {
    let mut rows_before = table.pinned.row_count;
    let mut told = Vec::new();
    for found in table.undone().iter().take(TOLD_MAX) {
        told.push(FoundTransaction {
            version: found.version,
            transaction: found.transaction.uuid.clone(),
            kind: kind(&found.transaction.kind),
            rows_change: i64::try_from(i128::from(found.rows) - i128::from(rows_before)).unwrap_or_default(),
            operation_id: found.transaction.operation_id,
        });
        rows_before = found.rows;
    }
    told
}

fn kind(kind: &TransactionKind) -> String {
    match kind {
        TransactionKind::Append => "append".to_owned(),
        TransactionKind::Overwrite => "overwrite".to_owned(),
        TransactionKind::Delete => "delete".to_owned(),
        TransactionKind::Update => "update".to_owned(),
        TransactionKind::Restore(version) => format!("restore of version {version}"),
        TransactionKind::Other(name) => name.to_lowercase(),
    }
}
