//! What recoveries did on a branch, page by page.

use omnigraph_types::{BranchName, GraphVersion, Recovery};

use crate::caller::Caller;
use crate::describe;
use crate::error::Result;
use crate::execute::{Access, Execute};
use crate::open_graphs::GraphHandle;

/// Asks for recoveries of a branch, newest first. The newest 64 are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRecoveries {
    /// The branch.
    pub branch: BranchName,
    /// Only recoveries that earlier versions decided, if given.
    pub before: Option<GraphVersion>,
    /// Most recoveries.
    pub most: usize,
}

impl Execute for ListRecoveries {
    type Target = GraphHandle;
    type Answer = Vec<Recovery>;
    const NAME: &'static str = "list_recoveries";
    const ACCESS: Access = Access::Read;

    async fn execute(&self, on: &GraphHandle, _: &Caller) -> Result<Vec<Recovery>> {
        let newest = on.graph.newest(&self.branch).await?;
        let rows = newest.state().recoveries.iter().rev();
        let rows = rows.filter(|row| self.before.is_none_or(|before| row.version < before));
        Ok(rows.take(self.most).map(|row| describe::recovery(&newest, row)).collect())
    }
}
