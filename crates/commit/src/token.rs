//! What a prepared write rests on: the branch, its schema and the tables read or written, as they were when it was captured.

use std::collections::BTreeMap;

use omnigraph_catalog::{Precondition, State};
use omnigraph_types::mutant;
use omnigraph_types::{BranchId, CommitId, ReadSetMember, TableId, TableVersion, TreeId};

/// One table of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) type_name: String,
    pub(crate) tree: Option<TreeId>,
    pub(crate) version: TableVersion,
    pub(crate) content_commit: CommitId,
}

/// What a write reads, or writes, of the version that it is prepared on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSet {
    /// Tables, empty ones too.
    pub tables: Vec<TableId>,
    /// The head.
    pub head: HeadRead,
}

/// Whether a write rests on the branch's head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HeadRead {
    /// No: it fits any head under which its tables are as captured.
    #[default]
    No,
    /// Yes, like a merge or a change of the schema.
    Yes,
}

impl ReadSet {
    /// Tables alone.
    pub fn of_tables(tables: Vec<TableId>) -> Self {
        Self { tables, head: HeadRead::No }
    }
}

/// What a prepared write rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub(crate) branch_id: BranchId,
    pub(crate) schema_hash: String,
    pub(crate) head: Option<CommitId>,
    pub(crate) tables: BTreeMap<TableId, Member>,
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
    /// What changed.
    pub member: ReadSetMember,
    /// As captured.
    pub expected: String,
    /// As it is now.
    pub actual: String,
}

impl Token {
    /// Captures what is read, with branch and schema.
    pub fn capture(state: &State, read: &ReadSet) -> Self {
        let member = |id: &TableId| {
            let row = state.tables.get(id)?;
            let member = Member {
                type_name: row.type_name.clone(),
                tree: row.tree,
                version: row.version,
                content_commit: row.content_commit,
            };
            Some((*id, member))
        };
        Self {
            branch_id: state.branch_id,
            schema_hash: state.schema_hash.clone(),
            head: match read.head {
                HeadRead::No => None,
                HeadRead::Yes => Some(state.head),
            },
            tables: read.tables.iter().filter_map(member).collect(),
        }
    }

    /// Compares with a newer state.
    pub fn compare(&self, state: &State) -> TokenCheck {
        let changed = |member: ReadSetMember, expected: String, actual: String| {
            TokenCheck::Changed(TokenMismatch { member, expected, actual })
        };
        if mutant!(52, self.branch_id != state.branch_id, false) {
            return changed(ReadSetMember::Branch, self.branch_id.to_string(), state.branch_id.to_string());
        }
        if mutant!(14, self.schema_hash != state.schema_hash, false) {
            return changed(ReadSetMember::Schema, self.schema_hash.clone(), state.schema_hash.clone());
        }
        if let Some(head) = self.head.filter(|head| mutant!(51, *head != state.head, false)) {
            return changed(ReadSetMember::Head, head.to_string(), state.head.to_string());
        }
        let mut check = TokenCheck::Equal;
        for (id, member) in &self.tables {
            let name = ReadSetMember::Table(member.type_name.clone());
            let Some(row) = state.tables.get(id) else {
                return changed(name, content_text(member.content_commit), "no such table".to_owned());
            };
            if mutant!(13, row.content_commit != member.content_commit, false) {
                return changed(name, content_text(member.content_commit), content_text(row.content_commit));
            }
            if mutant!(15, (row.tree, row.version) != (member.tree, member.version), false) {
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
        let schema = mutant!(53, Some(Precondition::SchemaIs(self.schema_hash.clone())), None);
        let head = self.head.map(Precondition::ExactHead);
        schema.into_iter().chain(head).chain(self.tables.iter().map(pin)).collect()
    }
}

fn content_text(commit: CommitId) -> String {
    format!("rows of commit {commit}")
}
