//! The rows of a `__manifest` version, as the program holds them.
//!
//! What is stored is described in `format`; these types may change without a change of the format.

use omnigraph_storage::{ObjectPath, Pin, TreeRef};
use omnigraph_types::{
    AttemptId, BranchId, BranchName, CommitId, GraphVersion, OperationId, TableId, TableVersion, TreeId,
};
use serde::{Deserialize, Serialize};

/// Node table or edge table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableKind {
    /// Rows are nodes.
    Node,
    /// Rows are edges.
    Edge,
}

/// What a branch pins for one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRow {
    /// The table's id; stable across renames.
    pub id: TableId,
    /// Node or edge table.
    pub kind: TableKind,
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
    /// The publication that last changed the table's rows. Settling moves a pin and leaves this alone, so a token can tell a change of
    /// rows from a change of place.
    pub content_version: GraphVersion,
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

/// What kind of request made a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitKind {
    /// The birth of the graph.
    CreateGraph,
    /// A bulk load.
    Load,
}

impl CommitKind {
    /// The name used in logs, fail points and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CreateGraph => "create_graph",
            Self::Load => "load",
        }
    }
}

/// What one commit did to one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableCounts {
    /// The table.
    pub table: TableId,
    /// Node or edge table.
    pub kind: TableKind,
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

/// One commit: a publication that moved the head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitRow {
    /// The commit.
    pub id: CommitId,
    /// The heads it follows; none for the first.
    pub parents: Vec<CommitId>,
    /// The branch it was made on.
    pub branch_id: BranchId,
    /// The publication that is the commit.
    pub version: GraphVersion,
    /// Who asked for it.
    pub actor: String,
    /// Milliseconds since 1970-01-01T00:00:00Z; strictly greater than the parent's.
    pub time_ms: u64,
    /// What kind of request made it.
    pub kind: CommitKind,
    /// The operation it answers.
    pub operation_id: OperationId,
    /// Hash of the contract in force at this commit, in hexadecimal.
    pub schema_hash: String,
    /// What it did, per table.
    pub counts: Vec<TableCounts>,
}

/// What kind of publication a version is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// Took a retired branch's name away, on main.
    BranchDelete,
    /// What a person confirmed: an unreadable intent lost its version, or commits that are nobody's may be undone; head and pins unchanged.
    Repair,
}

/// Which operation and attempt made one publication. There is one of these for every version of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationRow {
    /// The operation. An abort records the operation that it aborted.
    pub operation_id: OperationId,
    /// Digest of the request, in hexadecimal; of the aborted request for an abort.
    pub digest: String,
    /// The attempt that made, or whose intent held, this version.
    pub attempt_id: AttemptId,
    /// Kind of publication.
    pub kind: PublicationKind,
    /// The branch.
    pub branch_id: BranchId,
    /// The version it published.
    pub version: GraphVersion,
    /// The commit it made, for a commit.
    pub commit_id: Option<CommitId>,
    /// The branch it registered, retired or took the name of.
    pub subject: Option<BranchId>,
    /// Why, for an abort.
    pub reason: Option<String>,
}

/// One branch other than main, as main registers it. After its removal the row stays, and frees the name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchRow {
    /// Its identity.
    pub branch_id: BranchId,
    /// Its name, which another branch may bear after its removal.
    pub name: BranchName,
    /// Its chain: a tree of the manifest dataset.
    pub chain: TreeId,
    /// What it was made from.
    pub source: BranchId,
    /// The commit it began at.
    pub source_commit: CommitId,
    /// Hash of the contract it carries, in hexadecimal.
    pub schema_hash: String,
    /// When it was registered, in milliseconds since 1970-01-01T00:00:00Z.
    pub created_ms: u64,
    /// When it was removed, by the same clock; none while it lives.
    pub removed_ms: Option<u64>,
}

/// The last version of a branch: it takes no further publication.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetiredRow {
    /// The operation that removes the branch.
    pub operation_id: OperationId,
    /// Digest of its request, in hexadecimal.
    pub digest: String,
    /// The attempt.
    pub attempt_id: AttemptId,
    /// Who asked for it.
    pub actor: String,
    /// When, in milliseconds since 1970-01-01T00:00:00Z.
    pub time_ms: u64,
}

/// Which transactions behind the expected version a restore undoes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PlannedTransactions {
    /// Those that the aborted attempt had planned, at `expected + 1`, `expected + 2`, ….
    Listed(Vec<String>),
    /// Nobody knows what was planned. Those that a person confirmed, wherever they stand, and those of any attempt of the graph itself.
    Confirmed {
        /// What the person saw.
        confirmed: Vec<String>,
    },
}

/// A table on which an aborted attempt could still make its effect, until a restore stands in its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableTransition {
    /// The table.
    pub table: TableId,
    /// Pinned before.
    pub from: TableVersion,
    /// Pinned after.
    pub to: TableVersion,
}

/// One decision about an interrupted write, stored with the publication that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

/// One immutable fragment of older commits and operations, and what is inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryRow {
    /// Lance fragment id.
    pub fragment: u64,
    /// How often its rows were merged: 0 when spilled from a state.
    pub level: u32,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planned_transactions_keep_their_stored_form() {
        let listed = PlannedTransactions::Listed(vec!["a".to_owned()]);
        assert_eq!(serde_json::to_string(&listed).unwrap(), r#"["a"]"#);
        let confirmed = PlannedTransactions::Confirmed { confirmed: Vec::new() };
        for planned in [listed, confirmed] {
            let text = serde_json::to_string(&planned).unwrap();
            assert_eq!(serde_json::from_str::<PlannedTransactions>(&text).unwrap(), planned, "{text}");
        }
    }
}
