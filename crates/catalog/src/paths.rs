//! The paths of a graph's objects, relative to the root.

use omnigraph_storage::ObjectPath;
use omnigraph_types::{BranchId, GraphId, GraphName, GraphVersion, TableId, TypeKind};

/// Digits of a SHA-256 in hexadecimal.
const HASH_DIGITS: usize = 64;

/// Folder of the graph names.
pub(crate) fn names() -> ObjectPath {
    ObjectPath::new("__graphs")
}

/// Folder of one name's entries.
pub(crate) fn name_entries(name: &GraphName) -> ObjectPath {
    names().child(name.as_str())
}

/// One entry of a name.
pub(crate) fn name_entry(name: &GraphName, sequence: u64) -> ObjectPath {
    name_entries(name).child(format!("{sequence:010}.json"))
}

/// The paths of one graph.
#[derive(Debug, Clone)]
pub struct GraphPaths {
    root: ObjectPath,
}

impl GraphPaths {
    /// The paths of `graph`.
    pub fn new(graph: GraphId) -> Self {
        Self { root: ObjectPath::new(graph.to_string()) }
    }

    /// Folder of everything that the graph has.
    pub(crate) fn root(&self) -> &ObjectPath {
        &self.root
    }

    /// The dataset of the graph's versions.
    pub fn manifest(&self) -> ObjectPath {
        self.root.child("__manifest")
    }

    /// An accepted contract, by its hash: 64 hexadecimal digits. There is no place for any other text.
    pub fn contract(&self, hash: &str) -> Option<ObjectPath> {
        let is_hash = hash.len() == HASH_DIGITS && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| self.root.child("__schema").child(format!("{hash}.json")))
    }

    /// Folder of a branch's intents.
    pub fn intents(&self, branch: BranchId) -> ObjectPath {
        self.root.child("__recovery").child(branch.to_string())
    }

    /// The one intent that can ever exist for this version of this branch.
    pub fn intent(&self, branch: BranchId, version: GraphVersion) -> ObjectPath {
        self.intents(branch).child(format!("{:020}.json", version.0))
    }

    /// Folder of a table's dataset.
    pub fn table(&self, kind: TypeKind, table: TableId) -> ObjectPath {
        let folder = match kind {
            TypeKind::Node => "nodes",
            TypeKind::Edge => "edges",
        };
        self.root.child("tables").child(folder).child(table.to_string())
    }
}
