//! Deleting a graph, and what a server does whose open graph was deleted by another.
//!
//! A graph is deleted when main's chain has ended: a publication that races with every writer of main. Then its branches end, and its name is
//! taken away. Whoever meets a graph that has ended and still has its name finishes that.

use omnigraph_catalog::{NameRemoval, RetiredRow};
use omnigraph_commit::{BranchRequest, GraphOutcome, WriteMode};
use omnigraph_types::{BranchName, Failure, GraphName, OperationId, Problem, Resource};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::graph::Graph;
use crate::load::{ValidateOnly, hex};

/// A request to delete a graph, with everything in it.
#[derive(Debug, Clone)]
pub struct DeleteGraph {
    /// Its name.
    pub name: GraphName,
    /// Its name once more.
    pub confirm: String,
    /// The idempotency key; minted if none.
    pub operation_id: Option<OperationId>,
    /// Whether to do it.
    pub validate_only: ValidateOnly,
    /// Who asks.
    pub actor: String,
    /// When to give up.
    pub deadline: Option<Instant>,
}

/// Whether a failure says that the graph it was asked of is no more.
pub(crate) fn is_graph_gone(failure: &Failure) -> bool {
    matches!(failure.problem, Problem::NotFound { resource: Resource::Graph, .. })
}

/// Does something with a graph; where it was deleted meanwhile, with the graph that bears its name now.
macro_rules! on_current {
    ($handle:expr, $graph:ident => $work:expr) => {{
        let $graph: &$crate::graph::Graph = $handle;
        match $work.await {
            Err(failure) if $crate::deletion::is_graph_gone(&failure) => {
                let next = $graph.reopened(failure).await?;
                let $graph: &$crate::graph::Graph = &next;
                $work.await
            }
            outcome => outcome,
        }
    }};
}
pub(crate) use on_current;

impl Engine {
    /// Deletes a graph. Sent again under the same operation id, it deletes no other graph of the name.
    pub async fn delete_graph(&self, request: DeleteGraph) -> Result<OperationId, Failure> {
        Ok(self.delete(request).await?)
    }

    async fn delete(&self, request: DeleteGraph) -> Result<OperationId> {
        let DeleteGraph { name, confirm, operation_id, validate_only, actor, deadline } = request;
        if confirm != name.as_str() {
            let reason = format!("deleting a graph needs its name once more, {name}, as a confirmation");
            return Err(EngineError::InvalidRequest { field: "confirm", reason });
        }
        let operation_id = operation_id.unwrap_or_else(|| OperationId(self.shared().clock.mint()));
        let digest = delete_digest(&name);
        if self.shared().graphs.was_deleted_by(&name, operation_id, &digest).await? {
            return Ok(operation_id);
        }
        let graph = self.open_graph(&name).await?;
        let mode = match validate_only {
            ValidateOnly::No => WriteMode::Commit,
            ValidateOnly::Yes => WriteMode::ValidateOnly,
        };
        let main = BranchName::Main;
        let request = BranchRequest { operation_id, digest, actor, name: main, expected_head: None, deadline, mode };
        match graph.committer().delete_graph(&request).await {
            Ok(GraphOutcome::Ended(retired)) => {
                // The graph is gone, whoever ends its branches and takes its name away.
                if let Err(error) = self.finish_deletion(&graph, &retired).await {
                    tracing::warn!(graph = %name, %error, "a deleted graph still has its name");
                    self.forget(&graph);
                }
            }
            Ok(GraphOutcome::Validated) => {}
            Err(failure) => {
                self.forget(&graph);
                return Err(failure.into());
            }
        }
        Ok(operation_id)
    }

    /// Ends the branches of a graph that has ended, takes its name away, and forgets it.
    pub(crate) async fn finish_deletion(&self, graph: &Graph, retired: &RetiredRow) -> Result<()> {
        graph.committer().end_branches(retired).await?;
        let removal = NameRemoval {
            graph_id: graph.id(),
            operation_id: retired.operation_id,
            digest: retired.digest.clone(),
            actor: retired.actor.clone(),
        };
        self.shared().graphs.remove_name(graph.name(), &removal).await?;
        self.forget(graph);
        Ok(())
    }
}

impl Graph {
    /// The graph that bears this one's name now; the failure, if there is none.
    pub(crate) async fn reopened(&self, failure: Failure) -> Result<Graph, Failure> {
        let engine = self.whole_engine();
        engine.forget(self);
        match engine.open_graph(self.name()).await {
            Ok(next) if next.id() != self.id() => Ok(next),
            Ok(_) => Err(failure),
            Err(error) => Err(error.failure()),
        }
    }
}

/// What makes a request to delete a graph the same request.
fn delete_digest(name: &GraphName) -> String {
    let mut out = Sha256::new();
    out.update(b"omnigraph delete_graph 1\0");
    out.update(name.as_str().as_bytes());
    hex(&out.finalize())
}
