//! Settling of one branch on request.

use omnigraph_types::{BranchName, Recovery};

use crate::caller::Caller;
use crate::describe;
use crate::error::Result;
use crate::execute::{Access, Execute};
use crate::open_graphs::GraphHandle;

/// Settles what interrupted writes left on a branch, and returns what was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recover {
    /// The branch.
    pub branch: BranchName,
}

impl Execute for Recover {
    type Target = GraphHandle;
    type Answer = Vec<Recovery>;
    const NAME: &'static str = "recover";
    const ACCESS: Access = Access::Write;

    async fn execute(&self, on: &GraphHandle, caller: &Caller) -> Result<Vec<Recovery>> {
        let graph = &on.graph;
        let before = graph.newest(&self.branch).await?;
        graph.settle(before.chain(), caller).await?;
        let after = graph.catalog().newest_of(before.chain()).await?;
        let rows = after.state().recoveries.iter().rev().filter(|row| row.version > before.version());
        Ok(rows.map(|row| describe::recovery(&after, row)).collect())
    }
}
