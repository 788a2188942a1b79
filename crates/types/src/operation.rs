//! What became of an operation.

use crate::{BranchName, Failure, GraphName, OperationId, WriteReceipt};

/// What is known about an operation.
#[derive(Debug, Clone)]
pub enum OperationState {
    /// No trace of it: it never arrived, it failed before it could store anything, or it is older than the record.
    Unknown,
    /// It is running.
    InProgress,
    /// It is committed, or had nothing to change.
    Committed(Box<WriteReceipt>),
    /// It was interrupted and undone.
    RolledBack(Box<Failure>),
    /// It was interrupted and is not settled yet.
    InDoubt(Box<Failure>),
}

/// One operation.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Its id.
    pub id: OperationId,
    /// The graph.
    pub graph: GraphName,
    /// The branch that it was sent for.
    pub branch: BranchName,
    /// What is known about it.
    pub state: OperationState,
}
