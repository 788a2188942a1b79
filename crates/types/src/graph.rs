//! Graphs: requests and answers.

use crate::{CommitId, GraphId, GraphName, OperationId, WriteMode, WriteReceipt};

/// One graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphInfo {
    /// Its name.
    pub name: GraphName,
    /// Its id; never used again, also when a graph of this name is created anew.
    pub id: GraphId,
    /// When it was created: milliseconds since 1970-01-01T00:00:00Z.
    pub created_ms: u64,
    /// Head of branch `main`.
    pub head: CommitId,
    /// Hash of the schema of branch `main`: SHA-256 in lower-case hexadecimal.
    pub schema_hash: String,
    /// The storage format that it is written in.
    pub storage_format: u32,
}

/// A request for a new graph with a schema and a first commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateGraph {
    /// Its name.
    pub name: GraphName,
    /// The schema's source text. May be empty: a graph without types.
    pub schema_source: String,
    /// The idempotency key; a fresh one is minted if none.
    pub operation_id: Option<OperationId>,
    /// Whether to create it.
    pub mode: WriteMode,
}

impl CreateGraph {
    /// A graph of this name and schema.
    pub fn new(name: GraphName, schema_source: impl Into<String>) -> Self {
        Self { name, schema_source: schema_source.into(), operation_id: None, mode: WriteMode::Commit }
    }
}

/// The answer to a request for a new graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphReceipt {
    /// The graph; none where only validation was asked for.
    pub graph: Option<GraphInfo>,
    /// What the write did; its commit is the graph's first.
    pub receipt: WriteReceipt,
}

/// A request to delete a graph with all its branches and its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteGraph {
    /// Its name.
    pub name: GraphName,
    /// The name once more, as a confirmation.
    pub confirm: String,
    /// The idempotency key; a fresh one is minted if none.
    pub operation_id: Option<OperationId>,
    /// Whether to delete it.
    pub mode: WriteMode,
}

impl DeleteGraph {
    /// The confirmed deletion of a graph.
    pub fn new(name: GraphName) -> Self {
        Self { confirm: name.to_string(), name, operation_id: None, mode: WriteMode::Commit }
    }
}
