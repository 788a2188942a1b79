//! A publication as data: everything that turns version N of a branch into version N+1, and what must hold at N.
//!
//! An intent stores one of these whole, so that a rescuer publishes exactly what its owner would have.

use omnigraph_types::mutant;
use omnigraph_types::{
    AttemptId, BranchId, BranchName, CommitId, GraphVersion, OperationId, TableId, TableVersion, TreeId,
};

use crate::operations::Operations;
use crate::rows::{
    BranchRow, CommitRow, Decision, PublicationKind, PublicationResult, RecoveryRow, RetentionRow, RetiredRow,
    TableRow, UnsettledRow,
};

/// Something that must hold at version N for the publication to be written as N+1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Precondition {
    /// The head is still this commit.
    ExactHead(CommitId),
    /// The schema is still the one of this hash.
    SchemaIs(String),
    /// The table is still pinned there.
    PinIs {
        /// The table.
        table: TableId,
        /// Its tree.
        tree: Option<TreeId>,
        /// Its version.
        version: TableVersion,
    },
    /// No publication of the branch has ended this operation; aborts have not.
    OperationUnseen(OperationId),
    /// No live branch has this name; on main.
    NameFree(BranchName),
    /// The branch is registered and not removed; on main.
    BranchLive(BranchId),
    /// No branch but main is live; on main.
    NoOtherBranches,
    /// No cleanup was permitted to delete the version of this commit; on main.
    CommitRetained {
        /// The commit.
        commit: CommitId,
        /// The branch it was made on.
        branch_id: BranchId,
        /// The version that is the commit.
        version: GraphVersion,
    },
}

impl Precondition {
    /// The operation that must be unseen, if that is what it demands.
    pub(crate) fn unseen(&self) -> Option<OperationId> {
        match self {
            Self::OperationUnseen(operation) => Some(*operation),
            Self::ExactHead(_)
            | Self::SchemaIs(_)
            | Self::PinIs { .. }
            | Self::NameFree(_)
            | Self::BranchLive(_)
            | Self::NoOtherBranches
            | Self::CommitRetained { .. } => None,
        }
    }
}

/// A precondition that does not hold, with what was found instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    /// The precondition.
    pub precondition: Precondition,
    /// What the state says.
    pub found: String,
}

/// A new pin for one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinChange {
    /// The table.
    pub table: TableId,
    /// The tree pinned from now on.
    pub tree: Option<TreeId>,
    /// The only branch that writes this tree: the publishing branch, or another whose tree is taken over.
    pub owner: BranchId,
    /// The version pinned from now on.
    pub version: TableVersion,
    /// Rows at that version.
    pub row_count: u64,
    /// The commit that last changed the rows: this publication's own, or the one that the pin had before.
    pub content_commit: CommitId,
}

impl PinChange {
    /// The pin of `row`, moved to another version of the same tree that holds the same rows.
    pub fn same_rows(row: &TableRow, version: TableVersion) -> Self {
        Self {
            table: row.id,
            tree: row.tree,
            owner: row.owner,
            version,
            row_count: row.row_count,
            content_commit: row.content_commit,
        }
    }
}

/// One thing that a version changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Moves the head to this commit.
    Commit(CommitRow),
    /// Puts the contract of this hash in force.
    Schema {
        /// Hash of the contract, in hexadecimal.
        hash: String,
    },
    /// Adds a table.
    TableAdded(TableRow),
    /// Drops a table.
    TableDropped {
        /// The table.
        table: TableId,
    },
    /// Gives a table's type another name.
    TableRenamed {
        /// The table.
        table: TableId,
        /// The type's name from now on.
        type_name: String,
    },
    /// Moves a table's pin.
    Pin(PinChange),
    /// Records a table on which an aborted attempt could still make its effect.
    UnsettledAdded(UnsettledRow),
    /// Removes such a row, because the table is fenced.
    UnsettledRemoved {
        /// The aborted attempt.
        attempt_id: AttemptId,
        /// The table.
        table: TableId,
    },
    /// Records a decision about an interrupted write.
    Recovery(RecoveryRow),
    /// Registers a branch, or replaces its row by the one that it keeps after its removal; on main.
    Branch(BranchRow),
    /// Makes this the branch's last version.
    Retired(RetiredRow),
    /// Replaces the floors below which versions may be deleted; on main.
    Retention(RetentionRow),
}

/// Everything that one version changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// Kind.
    pub kind: PublicationKind,
    /// Who decides, and for which attempt.
    pub decision: Decision,
    /// Checked on the state at N.
    pub preconditions: Vec<Precondition>,
    /// What it changes, in order.
    pub changes: Vec<Change>,
    /// The operations it answers; for an abort those that it aborts.
    pub operations: Operations,
}

/// A publication whose parts contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incoherent {
    /// What every publication has.
    pub expected: &'static str,
}

impl Publication {
    /// Checks that the parts fit together: at most one commit, whose operations are the publication's own in the same order.
    pub(crate) fn check_coherent(&self) -> Result<(), Incoherent> {
        let is_commit = |change: &&Change| matches!(change, Change::Commit(_));
        if self.changes.iter().filter(is_commit).count() > 1 {
            return Err(Incoherent { expected: "at most one commit" });
        }
        let is_recovery = |change: &&Change| matches!(change, Change::Recovery(_));
        if self.changes.iter().filter(is_recovery).count() > 1 {
            return Err(Incoherent { expected: "at most one recovery" });
        }
        let own = self.operations.iter().map(|entry| entry.operation_id);
        match self.commit() {
            Some(commit)
                if mutant!(114, !commit.operations.iter().map(|operation| operation.operation_id).eq(own), false) =>
            {
                Err(Incoherent { expected: "the operations of its commit, in the same order" })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The commit, where the head moves.
    pub fn commit(&self) -> Option<&CommitRow> {
        self.changes.iter().find_map(|change| match change {
            Change::Commit(row) => Some(row),
            Change::Schema { .. }
            | Change::TableAdded(_)
            | Change::TableDropped { .. }
            | Change::TableRenamed { .. }
            | Change::Pin(_)
            | Change::UnsettledAdded(_)
            | Change::UnsettledRemoved { .. }
            | Change::Recovery(_)
            | Change::Branch(_)
            | Change::Retired(_)
            | Change::Retention(_) => None,
        })
    }

    /// What it means for its operations on `branch`.
    pub(crate) fn result(&self, branch: BranchId) -> PublicationResult {
        let mut result = PublicationResult::Nothing;
        for change in &self.changes {
            result = match change {
                Change::Commit(row) => return PublicationResult::Commit(row.id),
                Change::Branch(row) => PublicationResult::Branch(row.branch_id),
                Change::Retired(_) => PublicationResult::Branch(branch),
                Change::Recovery(row) if row.kind == PublicationKind::Abort => {
                    PublicationResult::Undone(row.reason.clone())
                }
                Change::Recovery(_)
                | Change::Schema { .. }
                | Change::TableAdded(_)
                | Change::TableDropped { .. }
                | Change::TableRenamed { .. }
                | Change::Pin(_)
                | Change::UnsettledAdded(_)
                | Change::UnsettledRemoved { .. }
                | Change::Retention(_) => continue,
            };
        }
        result
    }
}
