//! Tables and their pins.

use omnigraph_storage::{ObjectPath, TreeRef};
use omnigraph_types::{BranchId, CommitId, TableId, TableVersion, TreeId};
use serde::{Deserialize, Serialize};

use super::kinds::TableKind;
use crate::newer::Noticed;
use crate::rows;

/// One tree of one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    path: ObjectPath,
    tree: Option<TreeId>,
}

impl From<&TreeRef> for Tree {
    fn from(tree: &TreeRef) -> Self {
        Self { path: tree.path.clone(), tree: tree.tree }
    }
}

impl From<Tree> for TreeRef {
    fn from(tree: Tree) -> Self {
        Self { path: tree.path, tree: tree.tree }
    }
}

/// A row `table`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableBody {
    id: TableId,
    kind: TableKind,
    type_name: String,
    path: ObjectPath,
    tree: Option<TreeId>,
    owner: BranchId,
    version: TableVersion,
    row_count: u64,
    content_commit: CommitId,
}

impl From<&rows::TableRow> for TableBody {
    fn from(row: &rows::TableRow) -> Self {
        let rows::TableRow { id, kind, type_name, path, tree, owner, version, row_count, content_commit } = row;
        Self {
            id: *id,
            kind: (*kind).into(),
            type_name: type_name.clone(),
            path: path.clone(),
            tree: *tree,
            owner: *owner,
            version: *version,
            row_count: *row_count,
            content_commit: *content_commit,
        }
    }
}

impl TableBody {
    /// The row; none for a table of a newer kind.
    pub(super) fn read(self, noticed: &mut Noticed) -> Option<rows::TableRow> {
        let Self { id, kind, type_name, path, tree, owner, version, row_count, content_commit } = self;
        let kind = kind.read(noticed)?;
        Some(rows::TableRow { id, kind, type_name, path, tree, owner, version, row_count, content_commit })
    }
}

/// What a commit did to one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CountsBody {
    table: TableId,
    kind: TableKind,
    type_name: String,
    inserted: u64,
    updated: u64,
    deleted: u64,
    row_count: u64,
}

impl From<&rows::TableCounts> for CountsBody {
    fn from(row: &rows::TableCounts) -> Self {
        let rows::TableCounts { table, kind, type_name, inserted, updated, deleted, row_count } = row;
        Self {
            table: *table,
            kind: (*kind).into(),
            type_name: type_name.clone(),
            inserted: *inserted,
            updated: *updated,
            deleted: *deleted,
            row_count: *row_count,
        }
    }
}

impl CountsBody {
    /// The counts; none for a table of a newer kind.
    pub(super) fn read(self, noticed: &mut Noticed) -> Option<rows::TableCounts> {
        let Self { table, kind, type_name, inserted, updated, deleted, row_count } = self;
        let kind = kind.read(noticed)?;
        Some(rows::TableCounts { table, kind, type_name, inserted, updated, deleted, row_count })
    }
}
