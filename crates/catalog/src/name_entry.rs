//! What the entries of a graph's name say.

use omnigraph_types::{BranchId, GraphId, OperationId};

/// One entry of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NameEntry {
    Created(NameCreated),
    Deleted(NameDeleted),
}

/// The name means this graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameCreated {
    pub(crate) graph_id: GraphId,
    pub(crate) main_branch_id: BranchId,
    pub(crate) operation_id: OperationId,
    pub(crate) digest: String,
    pub(crate) actor: String,
    pub(crate) created_ms: u64,
}

/// The graph that the name meant is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameDeleted {
    pub(crate) graph_id: GraphId,
    pub(crate) operation_id: OperationId,
    pub(crate) digest: String,
    pub(crate) actor: String,
    pub(crate) deleted_ms: u64,
}

impl NameEntry {
    /// The operation that made the entry, with the digest of its request.
    pub(crate) fn operation(&self) -> (OperationId, &str) {
        match self {
            Self::Created(entry) => (entry.operation_id, &entry.digest),
            Self::Deleted(entry) => (entry.operation_id, &entry.digest),
        }
    }
}
