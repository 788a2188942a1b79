//! Deleting a graph with everything in it. Sent again under the same operation id, it deletes no other graph of the name.

use omnigraph_catalog::{CatalogError, ToDelete};
use omnigraph_commit::{BranchRequest, GraphOutcome};
use omnigraph_types::{BranchName, DeleteGraph, GraphId, OperationId};

use crate::caller::Caller;
use crate::digest::request_digest;
use crate::error::{EngineError, Result, is_graph_gone};
use crate::execute::{Access, Execute};
use crate::open_graphs::OpenGraphs;

/// Graphs of the name that other operations delete first, before the request gives up.
const GRAPHS_GONE_MAX: usize = 8;

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
        let request = BranchRequest {
            operation_id,
            digest,
            actor: caller.actor.clone(),
            name: BranchName::Main,
            expected_head: None,
            deadline: caller.deadline,
            mode: self.mode,
        };
        let mut gone: Option<GraphId> = None;
        for _ in 0..GRAPHS_GONE_MAX {
            let named = graphs.context().names().to_delete(name, operation_id, &request.digest).await?;
            let graph = match named {
                ToDelete::Deleted => {
                    caller.effect.found_committed();
                    return Ok(operation_id);
                }
                ToDelete::Graph(entry, catalog) => graphs.of_entry(entry, *catalog),
            };
            match graph.committer().answering(&caller.effect).delete_graph(&request).await {
                Ok(GraphOutcome::Ended(retired)) => {
                    // The graph is deleted, whether or not its branches are ended and its name is removed now.
                    if let Err(error) = graphs.finish_deletion(&graph, &retired).await {
                        tracing::warn!(graph = %name, %error, "a deleted graph still has its name");
                        graphs.forget(&graph);
                    }
                    return Ok(operation_id);
                }
                Ok(GraphOutcome::Validated) => return Ok(operation_id),
                // Another operation has ended it. Opening its name completes that, and the name may mean another graph then.
                Err(failure) if is_graph_gone(&failure) && gone != Some(graph.id()) => {
                    graphs.forget(&graph);
                    gone = Some(graph.id());
                    match graphs.open(name).await {
                        Ok(_) | Err(_) => {}
                    }
                }
                Err(failure) => {
                    graphs.forget(&graph);
                    return Err(failure.into());
                }
            }
        }
        Err(CatalogError::GraphDeleted(name.clone()).into())
    }
}
