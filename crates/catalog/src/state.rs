//! One version of one branch, whole, and the pure step from a version to the next.
//!
//! Invariants: the last publication is the one that published this version; `head` is the newest commit of `commits`; two `unsettled` rows
//! never name one table (I-6).

use std::collections::{BTreeMap, BTreeSet};

use omnigraph_types::mutant;
use omnigraph_types::{BranchId, BranchName, CommitId, GraphId, GraphVersion, OperationId, TableId};

use crate::error::CatalogError;
use crate::newer::Newer;
use crate::own_ids::OwnIds;
use crate::publication::{Change, PinChange, Publication};
use crate::rows::{
    BranchRow, CommitRow, HistoryRow, OperationRow, PublicationKind, PublicationRow, RecoveryRow, RetentionRow,
    RetiredRow, TableRow, UnsettledRow,
};

/// Recovery rows kept in a state.
const RECOVERIES_KEPT_MAX: usize = 64;

/// The contents of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The graph.
    pub graph_id: GraphId,
    /// The identity of the graph's main branch.
    pub main_branch_id: BranchId,
    /// The branch whose chain this is.
    pub branch_id: BranchId,
    /// This version.
    pub version: GraphVersion,
    /// The accepted contract, by hash in hexadecimal.
    pub schema_hash: String,
    /// The newest commit.
    pub head: CommitId,
    /// Tables by id.
    pub tables: BTreeMap<TableId, TableRow>,
    /// Recent commits, oldest first; never empty.
    pub commits: Vec<CommitRow>,
    /// Recent publications, oldest first; the last is this version's own. Empty only for a branch that has not published yet.
    pub publications: Vec<PublicationRow>,
    /// Tables still to be fenced.
    pub unsettled: Vec<UnsettledRow>,
    /// Recent recoveries, oldest first.
    pub recoveries: Vec<RecoveryRow>,
    /// The fragments that hold older commits and publications, oldest first.
    pub history: Vec<HistoryRow>,
    /// The ids that the chain itself has published.
    pub own_ids: OwnIds,
    /// Every branch but main that was ever registered, by identity; on main.
    pub branches: BTreeMap<BranchId, BranchRow>,
    /// Present in the last version of a removed branch.
    pub retired: Option<RetiredRow>,
    /// What cleanup may delete; none before the first cleanup; on main.
    pub retention: Option<RetentionRow>,
    /// What this version holds that only a newer program knows, and that is left out here: nothing may be published onto it.
    pub newer: Option<Newer>,
    /// The fragment that holds the rows of tables and branches as they were once, if there are many.
    pub(crate) base: Option<u64>,
    /// Tables whose rows differ from the base's.
    pub(crate) tables_changed: BTreeSet<TableId>,
    /// Branches whose rows differ from the base's.
    pub(crate) branches_changed: BTreeSet<BranchId>,
}

impl State {
    /// The publication of this version; none for the version that a branch began with.
    pub fn published_by(&self) -> Option<&PublicationRow> {
        self.publications.last()
    }

    /// `Newer` for a state of which this program does not know every part.
    pub(crate) fn refuse_newer(&self) -> Result<(), CatalogError> {
        match &self.newer {
            Some(newer) => Err(CatalogError::Newer(newer.clone())),
            None => Ok(()),
        }
    }

    /// What a fresh branch inherits from the version it was cloned from: schema, tables, head, commits. All else stays the source's.
    pub(crate) fn inherited_by(self, branch_id: BranchId) -> Self {
        Self {
            branch_id,
            publications: Vec::new(),
            unsettled: mutant!(96, Vec::new(), self.unsettled),
            recoveries: Vec::new(),
            own_ids: OwnIds::default(),
            branches: BTreeMap::new(),
            branches_changed: BTreeSet::new(),
            retired: None,
            retention: None,
            ..self
        }
    }

    /// The branches that are not removed, but main.
    pub fn live_branches(&self) -> impl Iterator<Item = &BranchRow> {
        self.branches.values().filter(|row| row.is_live())
    }

    /// The live branch of this name.
    pub fn live_branch(&self, name: &BranchName) -> Option<&BranchRow> {
        self.live_branches().find(|row| row.name == *name)
    }

    /// Whether the branch is main, or registered and not removed; on main.
    pub fn is_live(&self, branch: BranchId) -> bool {
        branch == self.main_branch_id || self.branches.get(&branch).is_some_and(BranchRow::is_live)
    }

    /// The commit that is the head.
    pub fn head_commit(&self) -> &CommitRow {
        // `format` refuses a state without commits, and spilling keeps the newest ones.
        &self.commits[self.commits.len() - 1]
    }

    /// The recent commit of this operation, if the window holds it.
    pub fn recent_commit_of(&self, operation: OperationId) -> Option<OperationRow> {
        let commits = self.publications.iter().rev().filter(|row| row.kind == PublicationKind::Commit);
        commits.filter_map(|row| row.operation(operation)).next()
    }

    /// Version N+1: this state with the publication's changes. Pure, so the owner and every rescuer write the same.
    pub fn apply(&self, publication: &Publication) -> State {
        let mut next = self.clone();
        next.version = self.version.next();
        for change in &publication.changes {
            next.change(change);
        }
        let row = PublicationRow {
            version: next.version,
            branch_id: self.branch_id,
            kind: publication.kind,
            decision: publication.decision,
            result: publication.result(self.branch_id),
            operations: publication.operations.clone(),
        };
        next.own_ids = own_ids_with(next.own_ids, &row);
        next.publications.push(row);
        let excess = next.recoveries.len().saturating_sub(RECOVERIES_KEPT_MAX);
        next.recoveries.drain(..excess);
        next
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Commit(row) => {
                self.head = row.id;
                self.commits.push(row.clone());
            }
            Change::Schema { hash } => self.schema_hash.clone_from(hash),
            Change::TableAdded(row) => {
                self.tables.insert(row.id, row.clone());
                self.tables_changed.insert(row.id);
            }
            Change::TableDropped { table } => {
                if mutant!(97, self.tables.remove(table).is_some(), self.tables.remove(table).is_none()) {
                    self.leave_base();
                }
            }
            Change::TableRenamed { table, type_name } => {
                self.change_table(*table, |row| row.type_name.clone_from(type_name))
            }
            Change::Pin(pin) => self.change_table(pin.table, |row| move_pin(row, pin)),
            Change::UnsettledAdded(row) => self.unsettled.push(row.clone()),
            Change::UnsettledRemoved { attempt_id, table } => {
                self.unsettled.retain(|row| mutant!(95, row.attempt_id != *attempt_id, false) || row.table != *table);
            }
            Change::Recovery(row) => self.recoveries.push(row.clone()),
            Change::Branch(row) => {
                self.branches.insert(row.branch_id, row.clone());
                self.branches_changed.insert(row.branch_id);
            }
            Change::Retired(row) => self.retired = Some(row.clone()),
            Change::Retention(row) => self.retention = Some(row.clone()),
        }
    }

    fn change_table(&mut self, table: TableId, change: impl FnOnce(&mut TableRow)) {
        if let Some(row) = self.tables.get_mut(&table) {
            change(row);
            self.tables_changed.insert(table);
        }
    }

    /// A base cannot say that one of its rows is gone, so the next version does without it.
    fn leave_base(&mut self) {
        self.base = None;
        self.tables_changed.clear();
        self.branches_changed.clear();
    }
}

/// The ids that a chain has published with another publication. The end of a chain is no operation of it: main records it.
pub(crate) fn own_ids_with(own_ids: OwnIds, row: &PublicationRow) -> OwnIds {
    match row.kind {
        // A version with a kind that only a newer program knows is read, and nothing is published onto it.
        PublicationKind::Retire | PublicationKind::Newer => own_ids,
        PublicationKind::Commit
        | PublicationKind::Abort
        | PublicationKind::Settle
        | PublicationKind::BranchCreate
        | PublicationKind::BranchDelete
        | PublicationKind::Repair
        | PublicationKind::Index
        | PublicationKind::Optimize
        | PublicationKind::Retention
        | PublicationKind::LoadAbort => own_ids.with(&row.operations, row.result.commit()),
    }
}

fn move_pin(row: &mut TableRow, pin: &PinChange) {
    row.tree = pin.tree;
    row.owner = pin.owner;
    row.version = pin.version;
    row.row_count = pin.row_count;
    row.content_commit = mutant!(22, pin.content_commit, CommitId(ulid::Ulid::from_parts(pin.version.0, 0)));
}
