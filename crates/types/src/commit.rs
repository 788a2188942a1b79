//! Commits: publications that changed rows or schema.

use crate::named::named_enum;
use crate::{BranchName, CommitId, GraphName, GraphVersion, OperationId};

named_enum! {
    /// Whether a type's rows are nodes or edges.
    pub enum TypeKind {
        /// Rows have an id and properties.
        Node = "node",
        /// Rows have an id, `src`, `dst` and properties.
        Edge = "edge",
    }
}

named_enum! {
    /// What kind of publication made a commit.
    pub enum CommitKind {
        /// The first commit of a graph.
        CreateGraph = "create_graph",
        /// A load.
        Load = "load",
        /// A mutation query.
        Mutate = "mutate",
        /// A merge of another branch.
        Merge = "merge",
        /// A schema change.
        SchemaApply = "schema_apply",
        /// Several writes that share one publication.
        Group = "group",
        /// A kind that only a newer program knows.
        Newer = "newer",
    }
}

/// What one commit did to one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeCounts {
    /// The type.
    pub type_name: String,
    /// Nodes or edges; none for a kind that only a newer program knows.
    pub kind: Option<TypeKind>,
    /// Rows added.
    pub inserted: u64,
    /// Rows whose id existed and that were written again.
    pub updated: u64,
    /// Rows removed.
    pub deleted: u64,
    /// Rows that the type holds after the commit.
    pub row_count: u64,
}

/// One commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub id: CommitId,
    /// The graph.
    pub graph: GraphName,
    /// The name that the branch had when the commit was made. Another branch may have that name today.
    pub branch: BranchName,
    /// Parents: none for a graph's first commit, two for a merge, else one.
    pub parents: Vec<CommitId>,
    /// Who made it, as the server identified them.
    pub actor: String,
    /// When: milliseconds since 1970-01-01T00:00:00Z, always later than the parents'.
    pub time_ms: u64,
    /// The operation that made it.
    pub operation_id: OperationId,
    /// What kind of publication made it.
    pub kind: CommitKind,
    /// The version of the branch's chain that published it.
    pub version: GraphVersion,
    /// Hash of the schema in force: SHA-256 in lower-case hexadecimal.
    pub schema_hash: String,
    /// What it changed: one entry for each type that it changed, sorted by type name.
    pub counts: Vec<TypeCounts>,
}
