//! What the versions of all branches name: tables with their trees and versions, files of states, chains, contracts.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{Hash, Hasher};

use omnigraph_catalog::Snapshot;
use omnigraph_storage::{ObjectPath, Table};
use omnigraph_types::{BranchId, TableId, TableVersion, TreeId};

/// What all versions of all branches name.
pub(super) struct Accounts {
    pub(super) tables: BTreeMap<TableId, Named>,
    pub(super) states: HashSet<u64>,
    pub(super) chains: HashSet<TreeId>,
    pub(super) newest: HashMap<BranchId, TableVersion>,
    contracts: HashSet<String>,
}

/// What commits name of one table.
pub(super) struct Named {
    pub(super) type_name: String,
    pub(super) path: ObjectPath,
    pub(super) trees: HashMap<Option<TreeId>, BTreeSet<TableVersion>>,
}

impl Accounts {
    pub(super) fn new(registry: &Snapshot) -> Self {
        Self {
            tables: BTreeMap::new(),
            states: HashSet::new(),
            chains: registry.state().branches.values().map(|row| row.tree).collect(),
            newest: HashMap::new(),
            contracts: HashSet::new(),
        }
    }

    /// The newest version of a branch.
    pub(super) fn published(&mut self, branch: BranchId, newest: Option<TableVersion>) {
        self.newest.extend(newest.map(|newest| (branch, newest)));
    }

    /// What one version of a branch names.
    pub(super) fn enter(&mut self, snapshot: &Snapshot, manifest: &Table) {
        self.states.extend(manifest.named_files().map(|(path, _)| hash(&path)));
        for row in snapshot.tables() {
            let named = self.tables.entry(row.id).or_insert_with(|| Named {
                type_name: row.type_name.clone(),
                path: row.path.clone(),
                trees: HashMap::new(),
            });
            named.trees.entry(row.tree).or_default().insert(row.version);
        }
    }

    /// Whether a contract was not named before.
    pub(super) fn is_first_use(&mut self, hash: &str) -> bool {
        self.contracts.insert(hash.to_owned())
    }
}

impl Named {
    /// Whether a version is one that commits name, or the one that its tree began with.
    pub(super) fn names(&self, tree: Option<TreeId>, version: TableVersion) -> bool {
        let Some(versions) = self.trees.get(&tree) else { return false };
        let began_at = versions.first().filter(|_| tree.is_some());
        versions.contains(&version) || began_at.is_some_and(|first| version.next() == *first)
    }
}

/// The 64-bit hash that represents a file.
pub(super) fn hash(path: &ObjectPath) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.as_str().hash(&mut hasher);
    hasher.finish()
}
