//! Pinning of one commit for reading.

use omnigraph_types::ReadAt;

use crate::caller::Caller;
use crate::describe;
use crate::error::Result;
use crate::execute::{Access, Execute};
use crate::graph_context::GraphContext;
use crate::open_graphs::GraphHandle;
use crate::snapshot::GraphSnapshot;

/// Pins the commit that a read sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinCommit {
    /// Which commit.
    pub at: ReadAt,
}

impl Execute for PinCommit {
    type Target = GraphHandle;
    type Answer = GraphSnapshot;
    const NAME: &'static str = "pin_commit";
    const ACCESS: Access = Access::Read;

    async fn execute(&self, on: &GraphHandle, _: &Caller) -> Result<GraphSnapshot> {
        pin(&on.graph, &self.at).await
    }
}

/// The commit that a read sees, pinned.
pub(crate) async fn pin(graph: &GraphContext, at: &ReadAt) -> Result<GraphSnapshot> {
    let catalog = graph.catalog();
    let snapshot = match at {
        ReadAt::Branch(branch) => catalog.newest(branch).await?,
        ReadAt::Commit(commit) => catalog.snapshot_of_commit(*commit).await?,
        ReadAt::BranchAtTime { branch, time_ms } => catalog.snapshot_at_time(branch, *time_ms).await?,
    };
    let schema = graph.schema(&snapshot).await?;
    let head = snapshot.head_commit().clone();
    // The head of a branch without a commit of its own was made on another branch, and is shown under that one's name.
    let commit = match head.branch_id == snapshot.branch_id() {
        true => describe::commit(graph.name(), head, snapshot.branch_name().clone()),
        false => graph.describe(head).await?,
    };
    Ok(GraphSnapshot::new(snapshot, schema, commit, graph.context().clone()))
}
