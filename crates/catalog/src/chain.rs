//! One branch's chain of versions.

use omnigraph_types::{BranchId, BranchName, TreeId};

use crate::rows::{BranchRow, Removal, RetiredRow};

/// One branch's chain of versions: which branch it is, whatever its name means today.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Chain {
    /// The branch.
    pub branch_id: BranchId,
    /// The name under which it was found.
    pub name: BranchName,
    /// Its tree of the manifest dataset; none for main.
    pub tree: Option<TreeId>,
}

impl BranchRow {
    /// The branch's chain.
    pub fn chain(&self) -> Chain {
        Chain { branch_id: self.branch_id, name: self.name.clone(), tree: Some(self.tree) }
    }

    /// Whether the branch is not removed.
    pub fn is_live(&self) -> bool {
        self.removed.is_none()
    }

    /// The row that the registry keeps once the branch's chain has ended.
    pub fn removed_by(&self, retired: &RetiredRow) -> Self {
        let removal = Removal { time_ms: retired.time_ms, own_ids: retired.own_ids };
        Self { removed: Some(removal), ..self.clone() }
    }
}
