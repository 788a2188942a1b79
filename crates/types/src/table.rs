//! Where the rows of a type are stored: the dataset that any reader of Lance opens.

use crate::{Commit, Page, PageRequest, ReadAt, TableVersion, TreeId, TypeKind};

/// Which types are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeChoice {
    /// Every type.
    All,
    /// The type of this name.
    Named(String),
}

/// A request for the tables of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListTables {
    /// Which commit.
    pub at: ReadAt,
    /// Which types.
    pub types: TypeChoice,
    /// Which page.
    pub page: PageRequest,
}

/// The table of one type at a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableInfo {
    /// The type's name.
    pub type_name: String,
    /// What its rows are.
    pub kind: TypeKind,
    /// Members of the key, in its order; empty for a type without a key.
    pub key: Vec<String>,
    /// Rows at the commit.
    pub row_count: u64,
    /// The Lance dataset: an absolute path, or the URL of a store.
    pub dataset: String,
    /// The Lance branch that holds the version.
    pub branch: LanceBranch,
    /// The version.
    pub version: TableVersion,
    /// Whether the version can be opened.
    pub state: TableState,
}

/// A branch of a Lance dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LanceBranch {
    /// The dataset's main chain.
    Main,
    /// The branch of this name.
    Named(TreeId),
}

/// Whether a version of a table can be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableState {
    /// It can.
    Sound {
        /// URIs of the other folders that its data files lie in.
        base_paths: Vec<String>,
    },
    /// It cannot.
    Damaged {
        /// Why.
        reason: String,
    },
}

/// A page of tables, and the commit that they belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TablePage {
    /// The tables, nodes before edges, each by name.
    pub page: Page<TableInfo>,
    /// The commit.
    pub commit: Commit,
}
