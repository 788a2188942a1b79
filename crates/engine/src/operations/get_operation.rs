//! What became of a write.

use omnigraph_commit::OperationState as Stored;
use omnigraph_types::{
    BranchName, Commit, Effect, Failure, Operation, OperationId, OperationState, Phase, Problem, WriteOutcome,
    WriteReceipt, WriterName,
};

use crate::caller::Caller;
use crate::error::Result;
use crate::execute::{Access, Execute};
use crate::open_graphs::GraphHandle;
use crate::vouched::acknowledged;

/// Asks what became of an operation on a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetOperation {
    /// The branch that it was sent for.
    pub branch: BranchName,
    /// The operation.
    pub id: OperationId,
}

impl Execute for GetOperation {
    type Target = GraphHandle;
    type Answer = Operation;
    const NAME: &'static str = "get_operation";
    const ACCESS: Access = Access::Read;

    async fn execute(&self, on: &GraphHandle, caller: &Caller) -> Result<Operation> {
        let graph = &on.graph;
        let state = match graph.committer().operation(&self.branch, self.id).await? {
            Stored::Unknown => OperationState::Unknown,
            Stored::InProgress => OperationState::InProgress,
            Stored::Committed(row) => OperationState::Committed(Box::new(receipt(graph.describe(*row).await?))),
            Stored::Done { head, .. } => OperationState::Committed(Box::new(WriteReceipt {
                operation_id: self.id,
                outcome: WriteOutcome::Done,
                commit: None,
                head,
                counts: Vec::new(),
                rows_read: 0,
            })),
            Stored::RolledBack { reason } => OperationState::RolledBack(Box::new(self.rolled_back(reason))),
            Stored::InDoubt { reason } => OperationState::InDoubt(Box::new(self.in_doubt(reason))),
        };
        let state = match state {
            // What is in place may be lost yet: asked for, it counts as acknowledged.
            OperationState::Committed(receipt) => {
                OperationState::Committed(acknowledged(on.graphs.context().store(), &caller.effect, receipt).await?)
            }
            OperationState::Unknown
            | OperationState::InProgress
            | OperationState::RolledBack(_)
            | OperationState::InDoubt(_) => state,
        };
        Ok(Operation { id: self.id, graph: graph.name().clone(), branch: self.branch.clone(), state })
    }
}

/// The receipt of the write that made a commit.
pub(crate) fn receipt(commit: Commit) -> WriteReceipt {
    WriteReceipt {
        operation_id: commit.operation_id,
        outcome: WriteOutcome::Committed,
        head: commit.id,
        counts: commit.counts.clone(),
        commit: Some(commit),
        rows_read: 0,
    }
}

impl GetOperation {
    fn rolled_back(&self, reason: String) -> Failure {
        let message = format!("operation {} was interrupted and undone: {reason}", self.id);
        Failure::new(Problem::OperationRolledBack { operation_id: self.id, reason }, message)
    }

    fn in_doubt(&self, reason: String) -> Failure {
        let message = format!("operation {} was interrupted and is not settled: {reason}", self.id);
        let problem = Problem::RecoveryRequired {
            operation_id: self.id,
            branch: self.branch.clone(),
            writer: WriterName::known("operation"),
            phase: Phase::Apply,
            reason,
        };
        Failure::new(problem, message).with_effect(Effect::Unknown)
    }
}
