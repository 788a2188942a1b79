//! One branch's chain of versions.

use omnigraph_types::{BranchId, BranchName, TreeId};

use crate::rows::BranchRow;

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

    /// Whether something made at `earliest` or later, and not after `latest`, can have been made on this branch.
    pub(crate) fn lived_within(&self, earliest: u64, latest: u64) -> bool {
        self.created_ms <= latest && self.removed_ms.is_none_or(|removed| removed >= earliest)
    }
}
