//! The rows of a `__manifest` version, as the program holds them.
//!
//! How they are stored is described in `format`; these types may change without a change of the format.

use std::collections::BTreeMap;

use omnigraph_storage::{ObjectPath, Pin, TreeRef};
use omnigraph_types::{
    AttemptId, BranchId, BranchName, CommitId, CommitKind, GraphVersion, OperationId, TableId, TableVersion, TreeId,
    TypeKind,
};

use crate::operations::Operations;
use crate::own_ids::OwnIds;

/// What a branch pins for one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRow {
    /// The table's id; stable across renames.
    pub id: TableId,
    /// Node or edge table.
    pub kind: TypeKind,
    /// The type's name now.
    pub type_name: String,
    /// Folder of the Lance dataset.
    pub path: ObjectPath,
    /// The pinned tree: `None` is the dataset's main chain.
    pub tree: Option<TreeId>,
    /// The only branch that writes this tree (I-3).
    pub owner: BranchId,
    /// The pinned version of the tree.
    pub version: TableVersion,
    /// Rows at that version.
    pub row_count: u64,
    /// The commit that last changed the table's rows. Settling, indexing and optimizing move a pin and keep it, and a branch inherits it: only
    /// equal values prove equal rows, between versions and between branches.
    pub content_commit: CommitId,
}

impl TableRow {
    /// The pinned tree.
    pub fn tree_ref(&self) -> TreeRef {
        TreeRef { path: self.path.clone(), tree: self.tree }
    }

    /// The pinned tree and version.
    pub fn pin(&self) -> Pin {
        Pin { tree: self.tree_ref(), version: self.version }
    }
}

/// What one commit did to one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableCounts {
    /// The table.
    pub table: TableId,
    /// Node or edge table.
    pub kind: TypeKind,
    /// The type's name at the time.
    pub type_name: String,
    /// Rows that did not exist before.
    pub inserted: u64,
    /// Rows replaced.
    pub updated: u64,
    /// Rows removed.
    pub deleted: u64,
    /// Rows after the commit.
    pub row_count: u64,
}

/// The actor of a commit whose operations have several.
pub const GROUP_ACTOR: &str = "omnigraph:group";

/// One operation of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitOperation {
    /// The operation.
    pub operation_id: OperationId,
    /// Who asked for it.
    pub actor: String,
    /// What kind of request it is.
    pub kind: CommitKind,
    /// What it did, per table. Empty for the only operation of a commit, whose counts are the commit's.
    pub counts: Vec<TableCounts>,
}

/// One commit: a publication that moved the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRow {
    /// The commit.
    pub id: CommitId,
    /// The heads it follows, the branch's own first; none for the first commit of a graph, several for a merge.
    pub parents: Vec<CommitId>,
    /// The branch it was made on.
    pub branch_id: BranchId,
    /// The publication that is the commit.
    pub version: GraphVersion,
    /// The operations' actor if they have one, else `GROUP_ACTOR`.
    pub actor: String,
    /// Milliseconds since 1970-01-01T00:00:00Z; strictly greater than the parent's.
    pub time_ms: u64,
    /// The kind of its only operation, or `Group`.
    pub kind: CommitKind,
    /// Hash of the contract in force at this commit, in hexadecimal.
    pub schema_hash: String,
    /// The operations it answers; at least one.
    pub operations: Vec<CommitOperation>,
    /// What it did, per table.
    pub counts: Vec<TableCounts>,
}

impl CommitRow {
    /// The actor of a commit of these operations.
    pub fn actor_of(operations: &[CommitOperation]) -> &str {
        match operations {
            [first, rest @ ..] if rest.iter().all(|other| other.actor == first.actor) => &first.actor,
            _ => GROUP_ACTOR,
        }
    }

    /// The kind of a commit of these operations.
    pub fn kind_of(operations: &[CommitOperation]) -> CommitKind {
        match operations {
            [only] => only.kind,
            _ => CommitKind::Group,
        }
    }

    /// The operation that names the commit where only one can be named.
    pub fn first_operation(&self) -> &CommitOperation {
        // `format` refuses a commit without operations, and `stage` refuses to publish one.
        &self.operations[0]
    }

    /// What one operation of the commit did, per table.
    pub fn counts_of(&self, operation_id: OperationId) -> Option<&[TableCounts]> {
        let found = self.operations.iter().find(|operation| operation.operation_id == operation_id)?;
        Some(if self.operations.len() == 1 { &self.counts } else { &found.counts })
    }
}

/// What kind of publication a version is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PublicationKind {
    /// Moved the head.
    Commit,
    /// Took an interrupted attempt's version away from it; head and pins unchanged.
    Abort,
    /// Moved pins onto restores and removed `unsettled` rows; no change of rows.
    Settle,
    /// Registered a branch, on main.
    BranchCreate,
    /// Made the last version of a branch, on its own chain.
    Retire,
    /// Removed a retired branch's name, on main.
    BranchDelete,
    /// What a person confirmed: an unreadable intent lost its version, or foreign commits may be undone; head and pins unchanged.
    Repair,
    /// Built or extended indexes; no change of rows.
    Index,
    /// Rewrote files of tables; no change of rows.
    Optimize,
    /// Raised the floors below which versions may be deleted, on main.
    Retention,
    /// Recorded that a load in parts was aborted by its client.
    LoadAbort,
    /// A kind that only a newer program knows.
    Newer,
}

/// Who decided that a version is what it is. Several may have competed for it, and one has won.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DecidedBy {
    /// The attempt itself, or a rescuer that completed it: what it had planned is published.
    Own,
    /// A rescuer that aborted the attempt.
    Abort,
    /// The removal of the branch.
    Retire,
    /// A repair that took the version from an attempt whose intent could not be read.
    Repair,
    /// A way that only a newer program knows.
    Newer,
}

impl DecidedBy {
    /// This decision about an attempt.
    pub fn about(self, attempt_id: AttemptId) -> Decision {
        Decision { by: self, attempt_id }
    }
}

/// The one decision about a version, apart from the operations that it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decision {
    /// Who decided.
    pub by: DecidedBy,
    /// The attempt that made the version; for an abort, the attempt that was aborted.
    pub attempt_id: AttemptId,
}

/// What a publication means for its operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublicationResult {
    /// They are this commit.
    Commit(CommitId),
    /// It registered, retired or removed the name of this branch.
    Branch(BranchId),
    /// The attempt was undone, for this reason.
    Undone(String),
    /// The branch's rows and its registry stay as they were.
    Nothing,
}

impl PublicationResult {
    /// The commit that the operations are.
    pub fn commit(&self) -> Option<CommitId> {
        match self {
            Self::Commit(id) => Some(*id),
            Self::Branch(_) | Self::Undone(_) | Self::Nothing => None,
        }
    }
}

/// One publication as its chain remembers it. There is one of these for every version of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicationRow {
    /// The version it published.
    pub version: GraphVersion,
    /// The branch.
    pub branch_id: BranchId,
    /// Kind.
    pub kind: PublicationKind,
    /// Who decided, and for which attempt.
    pub decision: Decision,
    /// What it means for its operations.
    pub result: PublicationResult,
    /// Its operations.
    pub operations: Operations,
}

impl PublicationRow {
    /// What the publication records of one of its operations.
    pub fn operation(&self, operation_id: OperationId) -> Option<OperationRow> {
        let found = self.operations.iter().find(|entry| entry.operation_id == operation_id)?;
        Some(OperationRow {
            operation_id,
            digest: found.digest.clone(),
            kind: self.kind,
            decision: self.decision,
            branch_id: self.branch_id,
            version: self.version,
            result: self.result.clone(),
        })
    }
}

/// What one publication records of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationRow {
    /// The operation.
    pub operation_id: OperationId,
    /// Digest of the request, in hexadecimal.
    pub digest: String,
    /// Kind of publication.
    pub kind: PublicationKind,
    /// Who decided, and for which attempt.
    pub decision: Decision,
    /// The branch.
    pub branch_id: BranchId,
    /// The version it published.
    pub version: GraphVersion,
    /// What became of the operation.
    pub result: PublicationResult,
}

impl OperationRow {
    /// Whether the row says that an attempt of the operation was undone. Any other row is the operation's end.
    pub fn is_undone(&self) -> bool {
        self.decision.by == DecidedBy::Abort
    }

    /// The commit that the operation is.
    pub fn commit_id(&self) -> Option<CommitId> {
        self.result.commit()
    }

    /// The branch that the operation registered or removed.
    pub fn branch(&self) -> Option<BranchId> {
        match self.result {
            PublicationResult::Branch(id) => Some(id),
            PublicationResult::Commit(_) | PublicationResult::Undone(_) | PublicationResult::Nothing => None,
        }
    }

    /// Why an attempt of the operation was undone.
    pub fn reason(&self) -> Option<&str> {
        match &self.result {
            PublicationResult::Undone(reason) => Some(reason),
            PublicationResult::Commit(_) | PublicationResult::Branch(_) | PublicationResult::Nothing => None,
        }
    }
}

/// One branch other than main, as main registers it. After its removal the row stays, and frees the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchRow {
    /// Its identity.
    pub branch_id: BranchId,
    /// Its name, which another branch may have after its removal.
    pub name: BranchName,
    /// The tree of the manifest dataset that holds its versions.
    pub tree: TreeId,
    /// What it was made from.
    pub source: BranchId,
    /// The commit it began at.
    pub source_commit: CommitId,
    /// Hash of the contract it carries, in hexadecimal.
    pub schema_hash: String,
    /// When it was registered, in milliseconds since 1970-01-01T00:00:00Z; strictly greater than the time of the commit it began at.
    pub created_ms: u64,
    /// Its removal; none while it lives.
    pub removed: Option<Removal>,
}

/// What the registry keeps of a removed branch. The row stays while any of the branch's operations may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removal {
    /// When its chain ended, in milliseconds since 1970-01-01T00:00:00Z; strictly greater than the time of its head.
    pub time_ms: u64,
    /// What the chain published before it ended.
    pub own_ids: OwnIds,
}

/// The last version of a branch: it takes no further publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetiredRow {
    /// The operation that removes the branch.
    pub operation_id: OperationId,
    /// Digest of its request, in hexadecimal.
    pub digest: String,
    /// The attempt.
    pub attempt_id: AttemptId,
    /// Who asked for it.
    pub actor: String,
    /// When, in milliseconds since 1970-01-01T00:00:00Z; strictly greater than the time of the branch's head.
    pub time_ms: u64,
    /// What the chain published before.
    pub own_ids: OwnIds,
}

/// Which transactions behind the expected version a restore undoes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlannedTransactions {
    /// Those that the aborted attempt had planned, at `expected + 1`, `expected + 2`, ….
    Listed(Vec<String>),
    /// The plan is unknown: those that a person confirmed, at any version, and those of any attempt of the graph itself.
    Confirmed {
        /// What the person saw.
        confirmed: Vec<String>,
    },
}

/// A table on which an aborted attempt could still make its effect, until a restore fences it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsettledRow {
    /// The aborted attempt.
    pub attempt_id: AttemptId,
    /// Its operation.
    pub operation_id: OperationId,
    /// The table.
    pub table: TableId,
    /// The tree that the effect was planned on.
    pub tree: TreeRef,
    /// The version pinned when the attempt was aborted.
    pub expected: TableVersion,
    /// What a restore undoes.
    pub transactions: PlannedTransactions,
}

/// From where to where a recovery moved one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableTransition {
    /// The table.
    pub table: TableId,
    /// Pinned before.
    pub from: TableVersion,
    /// Pinned after.
    pub to: TableVersion,
}

/// One decision about an interrupted write, stored with the publication that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryRow {
    /// The publication that decided.
    pub version: GraphVersion,
    /// `abort`, `settle`, `repair`, or the kind of the interrupted publication, which was completed.
    pub kind: PublicationKind,
    /// The kind of writer that was interrupted, such as `load`.
    pub writer: String,
    /// The operation that was interrupted.
    pub operation_id: OperationId,
    /// The attempt that was interrupted.
    pub attempt_id: AttemptId,
    /// Who had asked for it.
    pub original_actor: String,
    /// When, in milliseconds since 1970-01-01T00:00:00Z.
    pub time_ms: u64,
    /// Why.
    pub reason: String,
    /// Per table, from and to.
    pub tables: Vec<TableTransition>,
}

/// Which versions a cleanup may delete: those below the floor of their branch, and every version of a branch without one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionRow {
    /// When, in milliseconds since 1970-01-01T00:00:00Z.
    pub time_ms: u64,
    /// The oldest version that is kept, for every branch that was live then; main too.
    pub floors: BTreeMap<BranchId, GraphVersion>,
}

/// One immutable fragment of older commits and publications, with the ranges of what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRow {
    /// Lance fragment id.
    pub fragment: u64,
    /// How often its rows were merged: 0 when spilled from a state.
    pub level: u32,
    /// Number of operations inside.
    pub operations: u64,
    /// Smallest version inside.
    pub version_min: GraphVersion,
    /// Largest version inside.
    pub version_max: GraphVersion,
    /// Smallest operation id inside.
    pub operation_min: OperationId,
    /// Largest operation id inside.
    pub operation_max: OperationId,
    /// Smallest and largest commit id inside; none if it holds no commit.
    pub commits: Option<(CommitId, CommitId)>,
}
