//! The branches of a graph, page by page.

use futures::{StreamExt, TryStreamExt, stream};
use omnigraph_catalog::{BranchRow, Chain};
use omnigraph_types::{BranchInfo, BranchName};

use crate::caller::Caller;
use crate::error::{EngineError, Result, is_damaged};
use crate::execute::{Access, Execute};
use crate::graph_context::GraphContext;
use crate::graph_info::{branch_info, main_info};
use crate::open_graphs::GraphHandle;

/// Branches read at once.
const CONCURRENCY: usize = 8;

/// Asks for live branches: main first, then by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListBranches {
    /// Only branches whose names follow this one, if given.
    pub after: Option<BranchName>,
    /// Most branches.
    pub most: usize,
}

impl Execute for ListBranches {
    type Target = GraphHandle;
    type Answer = Vec<BranchInfo>;
    const NAME: &'static str = "list_branches";
    const ACCESS: Access = Access::Read;

    async fn execute(&self, on: &GraphHandle, _: &Caller) -> Result<Vec<BranchInfo>> {
        let (graph, after) = (&on.graph, self.after.as_ref());
        let registry = graph.catalog().registry().await?;
        let live = registry.state().live_branches();
        let mut rows: Vec<&BranchRow> = live.filter(|row| after.is_none_or(|after| row.name > *after)).collect();
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        let chains = rows.into_iter().map(BranchRow::chain).collect::<Vec<Chain>>();
        let main = after.is_none().then(|| main_info(graph, &registry));
        let rest = stream::iter(chains).map(|chain| async move { readable_info(graph, &chain).await });
        let rest = rest.buffered(CONCURRENCY).try_filter_map(|info| async move { Ok::<_, EngineError>(info) });
        let rest = rest.take(self.most.saturating_sub(main.iter().len()));
        let rest: Vec<BranchInfo> = rest.try_collect().await?;
        Ok(main.into_iter().chain(rest).take(self.most).collect())
    }
}

/// A branch, unless it has ended or cannot be read: one that cannot be read hides no other, and a check reports it.
async fn readable_info(graph: &GraphContext, chain: &Chain) -> Result<Option<BranchInfo>> {
    let newest = match graph.catalog().newest_of(chain).await.map_err(|error| error.failure()) {
        Ok(newest) => newest,
        Err(failure) if is_damaged(&failure) => {
            tracing::error!(branch = %chain.name, message = %failure.message, "skip a branch that cannot be read");
            return Ok(None);
        }
        Err(failure) => return Err(failure.into()),
    };
    match newest.state().retired {
        Some(_) => Ok(None),
        None => branch_info(graph, &newest).await.map(Some),
    }
}
