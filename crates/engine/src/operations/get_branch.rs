//! One branch by name.

use omnigraph_types::{BranchInfo, BranchName};

use crate::caller::Caller;
use crate::error::Result;
use crate::execute::{Access, Execute};
use crate::graph_info::{branch_info, main_info};
use crate::open_graphs::GraphHandle;

/// Asks for one branch; `NotFound` if there is none of the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetBranch {
    /// Its name.
    pub name: BranchName,
}

impl Execute for GetBranch {
    type Target = GraphHandle;
    type Answer = BranchInfo;
    const NAME: &'static str = "get_branch";
    const ACCESS: Access = Access::Read;

    async fn execute(&self, on: &GraphHandle, _: &Caller) -> Result<BranchInfo> {
        let newest = on.graph.newest(&self.name).await?;
        match self.name {
            BranchName::Main => Ok(main_info(&on.graph, &newest)),
            BranchName::Named(_) => branch_info(&on.graph, &newest).await,
        }
    }
}
