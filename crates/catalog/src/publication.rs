//! A publication as data: everything that turns version N of a branch into version N+1, and what must hold at N.
//!
//! An intent stores one of these whole, so that whoever rolls it forward publishes exactly what its owner would have.

use omnigraph_types::{AttemptId, BranchId, BranchName, CommitId, OperationId, TableId, TableVersion, TreeId};
use serde::{Deserialize, Serialize};

use crate::rows::{BranchRow, CommitRow, PublicationKind, RecoveryRow, RetiredRow, UnsettledRow};
use crate::state::State;

/// Something that must hold at version N for the publication to be written as N+1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// No publication of the branch has committed this operation.
    OperationUnseen(OperationId),
    /// No live branch bears this name; on main.
    NameFree(BranchName),
    /// The branch is registered and not removed; on main.
    BranchLive(BranchId),
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinChange {
    /// The table.
    pub table: TableId,
    /// The tree pinned from now on; the publishing branch is its owner.
    pub tree: Option<TreeId>,
    /// The version pinned from now on.
    pub version: TableVersion,
    /// Rows at that version.
    pub row_count: u64,
}

/// Everything that one version changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publication {
    /// Kind.
    pub kind: PublicationKind,
    /// The operation; for an abort the aborted one.
    pub operation_id: OperationId,
    /// Digest of the request, in hexadecimal.
    pub digest: String,
    /// The attempt; for an abort the aborted one.
    pub attempt_id: AttemptId,
    /// Checked on the state at N.
    pub preconditions: Vec<Precondition>,
    /// The commit, where the head moves.
    pub commit: Option<CommitRow>,
    /// New pins.
    pub pins: Vec<PinChange>,
    /// Rows added for an aborted attempt's planned effects.
    pub unsettled_added: Vec<UnsettledRow>,
    /// Rows removed: the attempt whose effects are fenced, with the table.
    pub unsettled_removed: Vec<(AttemptId, TableId)>,
    /// The decision, where this is one.
    pub recovery: Option<RecoveryRow>,
    /// A branch registered, or its row after removal; on main.
    pub branch: Option<BranchRow>,
    /// Makes this the branch's last version.
    pub retired: Option<RetiredRow>,
}

impl Publication {
    /// A publication that changes nothing yet.
    pub fn new(kind: PublicationKind, operation_id: OperationId, digest: String, attempt_id: AttemptId) -> Self {
        Self {
            kind,
            operation_id,
            digest,
            attempt_id,
            preconditions: Vec::new(),
            commit: None,
            pins: Vec::new(),
            unsettled_added: Vec::new(),
            unsettled_removed: Vec::new(),
            recovery: None,
            branch: None,
            retired: None,
        }
    }
}

/// Checks every precondition on the state at N: the one function that does.
pub(crate) fn check(
    state: &State,
    preconditions: &[Precondition],
    operation_seen: &dyn Fn(OperationId) -> Option<String>,
) -> Result<(), Unmet> {
    for precondition in preconditions {
        let found = match precondition {
            Precondition::ExactHead(head) => (state.head != *head).then(|| state.head.to_string()),
            Precondition::SchemaIs(hash) => (state.schema_hash != *hash).then(|| state.schema_hash.clone()),
            Precondition::PinIs { table, tree, version } => match state.tables.get(table) {
                Some(row) if row.tree == *tree && row.version == *version => None,
                Some(row) => Some(format!("version {}", row.version)),
                None => Some("no such table".to_owned()),
            },
            Precondition::OperationUnseen(operation) => operation_seen(*operation),
            Precondition::NameFree(name) => state.live_branch(name).map(|row| format!("branch {}", row.branch_id)),
            Precondition::BranchLive(branch) => {
                let lives = *branch == state.main_branch_id
                    || state.branches.get(branch).is_some_and(|row| row.removed_ms.is_none());
                (!lives).then(|| "no such branch".to_owned())
            }
        };
        if let Some(found) = found {
            return Err(Unmet { precondition: precondition.clone(), found });
        }
    }
    Ok(())
}
