//! The graphs of a root, page by page.

use futures::{StreamExt, TryStreamExt, stream};
use omnigraph_types::{GraphInfo, GraphName};

use crate::caller::Caller;
use crate::error::{EngineError, Result, is_damaged, is_graph_gone};
use crate::execute::{Access, Execute, run};
use crate::open_graphs::OpenGraphs;
use crate::operations::get_graph::GetGraph;

/// Graphs read at once.
const CONCURRENCY: usize = 8;

/// Asks for the graphs that can be read, sorted by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListGraphs {
    /// Only graphs whose names follow this text, if given.
    pub after: Option<String>,
    /// Most graphs.
    pub most: usize,
}

impl Execute for ListGraphs {
    type Target = OpenGraphs;
    type Answer = Vec<GraphInfo>;
    const NAME: &'static str = "list_graphs";
    const ACCESS: Access = Access::Read;

    async fn execute(&self, graphs: &OpenGraphs, caller: &Caller) -> Result<Vec<GraphInfo>> {
        let mut names: Vec<GraphName> =
            graphs.context().names().list().await?.into_iter().map(|entry| entry.name).collect();
        names.retain(|name| self.after.as_deref().is_none_or(|after| name.as_str() > after));
        let infos = stream::iter(names).map(|name| async move { readable_info(graphs, caller, &name).await });
        let infos = infos.buffered(CONCURRENCY).try_filter_map(|info| async move { Ok::<_, EngineError>(info) });
        infos.take(self.most).try_collect().await
    }
}

/// A graph, unless it was deleted since it was listed or cannot be read: one that cannot be read hides no other, and its own calls report why.
async fn readable_info(graphs: &OpenGraphs, caller: &Caller, name: &GraphName) -> Result<Option<GraphInfo>> {
    let info = match graphs.handle(name).await.map_err(EngineError::failure) {
        Ok(handle) => run(&handle, caller, &GetGraph).await,
        Err(failure) => Err(failure),
    };
    match info {
        Ok(info) => Ok(Some(info)),
        Err(failure) if is_graph_gone(&failure) => Ok(None),
        Err(failure) if is_damaged(&failure) => {
            tracing::error!(graph = %name, message = %failure.message, "skip a graph that cannot be read");
            Ok(None)
        }
        Err(failure) => Err(failure.into()),
    }
}
