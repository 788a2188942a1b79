//! Trees and pins: which chain of versions of which table, and which version of it.

use std::fmt;

use object_store::path::Path;
use omnigraph_types::{TableVersion, TreeId};
use serde::{Deserialize, Serialize};

use crate::ObjectPath;
use crate::manifest::manifest_path;

/// One chain of Lance versions of one table.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TreeRef {
    /// The dataset's folder, relative to the root.
    pub path: ObjectPath,
    /// The private tree; none is the dataset's main chain.
    pub tree: Option<TreeId>,
}

impl TreeRef {
    /// The main chain of the dataset at `path`.
    pub fn main(path: ObjectPath) -> Self {
        Self { path, tree: None }
    }

    /// This tree at `version`.
    pub fn at(&self, version: TableVersion) -> Pin {
        Pin { tree: self.clone(), version }
    }

    /// The folder that holds this chain's versions and new data files.
    pub(crate) fn folder(&self) -> ObjectPath {
        match self.tree {
            None => self.path.clone(),
            Some(tree) => self.path.child(format!("tree/{tree}")),
        }
    }
}

impl fmt::Display for TreeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.folder().fmt(f)
    }
}

/// One exact version of one tree.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pin {
    /// The tree.
    pub tree: TreeRef,
    /// The version.
    pub version: TableVersion,
}

impl Pin {
    /// The object that makes the version: the version exists as long as it does.
    pub fn manifest(&self) -> ObjectPath {
        let place = manifest_path(&Path::default(), self.version.0);
        self.tree.folder().child(place)
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.tree, self.version)
    }
}

/// Whether a version exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Existence {
    /// It exists.
    Exists,
    /// It does not exist.
    Absent,
}
