//! Settling of every branch of every graph: when a server starts, and at intervals.

use futures::{StreamExt, stream};
use omnigraph_catalog::{BranchRow, CatalogError, Chain};
use omnigraph_commit::SettleReport;
use omnigraph_types::{BranchName, Failure, GraphName, Problem};

use crate::caller::Caller;
use crate::error::{EngineError, Result, is_graph_gone};
use crate::execute::{Access, Execute};
use crate::open_graphs::{GraphHandle, OpenGraphs};

/// Graphs, and branches of each, settled at once.
const CONCURRENCY: usize = 8;

/// Reads every branch of every graph once and settles what an interrupted write left there. A failure of one branch is reported with it and stops
/// no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettleAll;

/// What settling one branch did.
#[derive(Debug)]
pub struct BranchSettled {
    /// The graph.
    pub graph: GraphName,
    /// The branch.
    pub branch: BranchName,
    /// What was found and done.
    pub report: Result<SettleReport, Failure>,
}

impl Execute for SettleAll {
    type Target = OpenGraphs;
    type Answer = Vec<BranchSettled>;
    const NAME: &'static str = "settle_all";
    const ACCESS: Access = Access::Write;

    async fn execute(&self, graphs: &OpenGraphs, caller: &Caller) -> Result<Vec<BranchSettled>> {
        let entries = graphs.context().names().list().await?;
        let settled = stream::iter(entries).map(|entry| settle_named(graphs, caller, entry.name));
        Ok(settled.buffered(CONCURRENCY).collect::<Vec<_>>().await.into_iter().flatten().collect())
    }
}

async fn settle_named(graphs: &OpenGraphs, caller: &Caller, name: GraphName) -> Vec<BranchSettled> {
    match graphs.handle(&name).await.map_err(EngineError::failure) {
        Ok(handle) => {
            let caller = caller.clone();
            // In a task of its own: a panic there ends neither the server nor the settling of other graphs.
            let settled = tokio::spawn(async move { settle_graph(&handle, &caller).await }).await;
            settled.unwrap_or_else(|error| {
                let failure = Failure::new(Problem::Internal, "settling of the graph's interrupted writes broke off");
                vec![on_main(&name, failure.with_source(error))]
            })
        }
        // It was deleted, and its name was just removed.
        Err(failure) if is_graph_gone(&failure) => Vec::new(),
        Err(failure) => vec![on_main(&name, failure)],
    }
}

async fn settle_graph(on: &GraphHandle, caller: &Caller) -> Vec<BranchSettled> {
    let GraphHandle { graphs, graph } = on;
    let registry = match graph.catalog().registry().await {
        Ok(registry) => registry,
        Err(CatalogError::GraphDeleted(_)) => {
            // Opening the name again completes the deletion.
            graphs.forget(graph);
            return match graphs.open(graph.name()).await.map_err(EngineError::failure) {
                Err(failure) if !is_graph_gone(&failure) => vec![on_main(graph.name(), failure)],
                Ok(_) | Err(_) => Vec::new(),
            };
        }
        Err(error) => return vec![on_main(graph.name(), error.failure())],
    };
    let live = registry.state().live_branches();
    let mut chains: Vec<Chain> = live.map(BranchRow::chain).collect();
    chains.insert(0, graph.catalog().main_chain());
    let settled = stream::iter(chains).map(|chain| async move {
        let report = graph.settle(&chain, caller).await;
        BranchSettled { graph: graph.name().clone(), branch: chain.name, report }
    });
    settled.buffered(CONCURRENCY).collect().await
}

fn on_main(graph: &GraphName, failure: Failure) -> BranchSettled {
    BranchSettled { graph: graph.clone(), branch: BranchName::Main, report: Err(failure) }
}
