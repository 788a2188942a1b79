//! One graph.

use omnigraph_types::{BranchName, GraphInfo};

use crate::caller::Caller;
use crate::error::Result;
use crate::execute::{Access, Execute};
use crate::graph_info::graph_info;
use crate::open_graphs::GraphHandle;

/// Asks for the graph itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetGraph;

impl Execute for GetGraph {
    type Target = GraphHandle;
    type Answer = GraphInfo;
    const NAME: &'static str = "get_graph";
    const ACCESS: Access = Access::Read;

    async fn execute(&self, on: &GraphHandle, _: &Caller) -> Result<GraphInfo> {
        Ok(graph_info(&on.graph, &on.graph.newest(&BranchName::Main).await?))
    }
}
