//! Deleting a graph with everything in it. Sent again under the same operation id, it deletes no other graph of the name.

use omnigraph_commit::{BranchRequest, GraphOutcome};
use omnigraph_types::{BranchName, DeleteGraph, OperationId};

use crate::caller::Caller;
use crate::digest::request_digest;
use crate::error::{EngineError, Result};
use crate::execute::{Access, Execute};
use crate::open_graphs::OpenGraphs;

impl Execute for DeleteGraph {
    type Target = OpenGraphs;
    type Answer = OperationId;
    const NAME: &'static str = "delete_graph";
    const ACCESS: Access = Access::Write;

    async fn execute(&self, graphs: &OpenGraphs, caller: &Caller) -> Result<OperationId> {
        let name = &self.name;
        if self.confirm != name.as_str() {
            return Err(EngineError::NotConfirmed { name: name.clone() });
        }
        let operation_id = graphs.context().operation_id(self.operation_id);
        let digest = request_digest(Self::NAME, &[name.as_str()]);
        if graphs.context().names().was_deleted_by(name, operation_id, &digest).await? {
            return Ok(operation_id);
        }
        let graph = graphs.open(name).await?;
        let request = BranchRequest {
            operation_id,
            digest,
            actor: caller.actor.clone(),
            name: BranchName::Main,
            expected_head: None,
            deadline: caller.deadline,
            mode: self.mode,
        };
        match graph.committer().delete_graph(&request).await {
            Ok(GraphOutcome::Ended(retired)) => {
                // The graph is deleted, whether or not its branches are ended and its name is removed now.
                if let Err(error) = graphs.finish_deletion(&graph, &retired).await {
                    tracing::warn!(graph = %name, %error, "a deleted graph still has its name");
                    graphs.forget(&graph);
                }
                Ok(operation_id)
            }
            Ok(GraphOutcome::Validated) => Ok(operation_id),
            Err(failure) => {
                graphs.forget(&graph);
                Err(failure.into())
            }
        }
    }
}
