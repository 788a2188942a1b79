//! What a prepared write rests on: the branch, its schema and the tables read or written, as they were when it was captured.

use std::collections::BTreeMap;

use omnigraph_catalog::{Precondition, State};
use omnigraph_types::{BranchId, GraphVersion, TableId, TableVersion, TreeId};
use serde::{Deserialize, Serialize};

/// One table of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Member {
    type_name: String,
    tree: Option<TreeId>,
    version: TableVersion,
    content_version: GraphVersion,
}

/// What a prepared write rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    branch_id: BranchId,
    schema_hash: String,
    tables: BTreeMap<TableId, Member>,
}

/// What a token finds in a newer state.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenCheck {
    /// Everything is as captured: staged files and validation hold.
    Equal,
    /// Pins moved, rows did not: stage again, validation holds.
    PinsMoved,
    /// Rows or schema changed.
    Changed(TokenMismatch),
}

/// The first member that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenMismatch {
    /// `branch`, `schema` or `table:<Type>`.
    pub member: String,
    /// As captured.
    pub expected: String,
    /// As it is now.
    pub actual: String,
}

impl Token {
    /// Captures the named tables, empty ones too, with branch and schema.
    pub fn capture(state: &State, tables: &[TableId]) -> Self {
        let member = |id: &TableId| {
            let row = state.tables.get(id)?;
            let member = Member {
                type_name: row.type_name.clone(),
                tree: row.tree,
                version: row.version,
                content_version: row.content_version,
            };
            Some((*id, member))
        };
        Self {
            branch_id: state.branch_id,
            schema_hash: state.schema_hash.clone(),
            tables: tables.iter().filter_map(member).collect(),
        }
    }

    /// Compares with a newer state.
    pub fn compare(&self, state: &State) -> TokenCheck {
        let changed = |member: String, expected: String, actual: String| {
            TokenCheck::Changed(TokenMismatch { member, expected, actual })
        };
        if self.branch_id != state.branch_id {
            return changed("branch".to_owned(), self.branch_id.to_string(), state.branch_id.to_string());
        }
        if self.schema_hash != state.schema_hash {
            return changed("schema".to_owned(), self.schema_hash.clone(), state.schema_hash.clone());
        }
        let mut check = TokenCheck::Equal;
        for (id, member) in &self.tables {
            let name = format!("table:{}", member.type_name);
            let Some(row) = state.tables.get(id) else {
                return changed(name, version_text(member.content_version), "no such table".to_owned());
            };
            if row.content_version != member.content_version {
                return changed(name, version_text(member.content_version), version_text(row.content_version));
            }
            if (row.tree, row.version) != (member.tree, member.version) {
                check = TokenCheck::PinsMoved;
            }
        }
        check
    }

    /// The token as preconditions of a publication.
    pub fn preconditions(&self) -> Vec<Precondition> {
        let pin = |(table, member): (&TableId, &Member)| Precondition::PinIs {
            table: *table,
            tree: member.tree,
            version: member.version,
        };
        let schema = Precondition::SchemaIs(self.schema_hash.clone());
        std::iter::once(schema).chain(self.tables.iter().map(pin)).collect()
    }
}

fn version_text(version: GraphVersion) -> String {
    format!("rows of graph version {version}")
}
