//! One version of one branch, whole, and the pure step from a version to the next.
//!
//! Invariants: the last operation is the one that published this version; `head` is the newest commit of `commits` unless the window is
//! fresh; two `unsettled` rows never name one table (I-6).

use std::collections::{BTreeMap, BTreeSet};

use omnigraph_types::{BranchId, BranchName, CommitId, GraphId, GraphVersion, OperationId, TableId};

use crate::publication::Publication;
use crate::rows::{
    BranchRow, CommitRow, HistoryRow, OperationRow, PublicationKind, RecoveryRow, RetiredRow, TableRow, UnsettledRow,
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
    /// Recent operations, oldest first; the last is this version's own. Empty only for a branch that has not published yet.
    pub operations: Vec<OperationRow>,
    /// Tables still to be fenced.
    pub unsettled: Vec<UnsettledRow>,
    /// Recent recoveries, oldest first.
    pub recoveries: Vec<RecoveryRow>,
    /// Where older commits and operations lie, oldest first.
    pub history: Vec<HistoryRow>,
    /// Every branch but main that was ever registered, by identity; on main.
    pub branches: BTreeMap<BranchId, BranchRow>,
    /// Present in the last version of a removed branch.
    pub retired: Option<RetiredRow>,
    /// The fragment that holds the rows of tables and branches as they were once, if there are many.
    pub(crate) base: Option<u64>,
    /// Tables whose rows differ from the base's.
    pub(crate) tables_changed: BTreeSet<TableId>,
    /// Branches whose rows differ from the base's.
    pub(crate) branches_changed: BTreeSet<BranchId>,
}

impl State {
    /// The operation that published this version; none for the version that a branch began with.
    pub fn published_by(&self) -> Option<&OperationRow> {
        self.operations.last()
    }

    /// What a fresh branch takes over from the version it was cloned from: schema, tables, head, commits. All else stays the source's.
    pub(crate) fn inherited_by(self, branch_id: BranchId) -> Self {
        Self {
            branch_id,
            operations: Vec::new(),
            unsettled: Vec::new(),
            recoveries: Vec::new(),
            branches: BTreeMap::new(),
            branches_changed: BTreeSet::new(),
            retired: None,
            ..self
        }
    }

    /// The branches that are not removed, but main.
    pub fn live_branches(&self) -> impl Iterator<Item = &BranchRow> {
        self.branches.values().filter(|row| row.removed_ms.is_none())
    }

    /// The live branch of this name.
    pub fn live_branch(&self, name: &BranchName) -> Option<&BranchRow> {
        self.live_branches().find(|row| row.name == *name)
    }

    /// The commit that is the head.
    pub fn head_commit(&self) -> &CommitRow {
        // `format` refuses a state without commits, and spilling keeps the newest ones.
        &self.commits[self.commits.len() - 1]
    }

    /// The recent commit of this operation, if the window holds it.
    pub fn recent_commit_of(&self, operation: OperationId) -> Option<&OperationRow> {
        self.operations.iter().rev().find(|row| row.operation_id == operation && row.kind == PublicationKind::Commit)
    }

    /// Version N+1: this state with the publication's changes. Pure, so the owner and every rescuer write the same.
    pub fn apply(&self, publication: &Publication) -> State {
        let mut next = self.clone();
        next.version = self.version.next();
        for pin in &publication.pins {
            if let Some(row) = next.tables.get_mut(&pin.table) {
                next.tables_changed.insert(pin.table);
                row.tree = pin.tree;
                row.owner = self.branch_id;
                row.version = pin.version;
                row.row_count = pin.row_count;
                if publication.commit.is_some() {
                    row.content_version = next.version;
                }
            }
        }
        if let Some(commit) = &publication.commit {
            next.head = commit.id;
            next.commits.push(commit.clone());
        }
        next.operations.push(OperationRow {
            operation_id: publication.operation_id,
            digest: publication.digest.clone(),
            attempt_id: publication.attempt_id,
            kind: publication.kind,
            branch_id: self.branch_id,
            version: next.version,
            commit_id: publication.commit.as_ref().map(|commit| commit.id),
            subject: match (&publication.branch, &publication.retired) {
                (Some(row), _) => Some(row.branch_id),
                (None, Some(_)) => Some(self.branch_id),
                (None, None) => None,
            },
            reason: match (&publication.recovery, publication.kind) {
                (Some(recovery), PublicationKind::Abort) => Some(recovery.reason.clone()),
                _ => None,
            },
        });
        next.unsettled.retain(|row| !publication.unsettled_removed.contains(&(row.attempt_id, row.table)));
        next.unsettled.extend(publication.unsettled_added.iter().cloned());
        next.recoveries.extend(publication.recovery.iter().cloned());
        let excess = next.recoveries.len().saturating_sub(RECOVERIES_KEPT_MAX);
        next.recoveries.drain(..excess);
        if let Some(row) = &publication.branch {
            next.branches.insert(row.branch_id, row.clone());
            next.branches_changed.insert(row.branch_id);
        }
        next.retired = publication.retired.clone();
        next
    }
}
