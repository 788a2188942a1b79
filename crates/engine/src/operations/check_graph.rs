//! A check of a graph. The graph need not be fit to be opened.

use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use omnigraph_catalog::Graphs;
use omnigraph_types::{BranchName, CheckPart, Failure, GraphName};
use tokio::sync::mpsc;

use crate::caller::Caller;
use crate::check::{Checker, check};
use crate::error::Result;
use crate::execute::{Access, Execute};
use crate::open_graphs::OpenGraphs;

/// Bytes of the caches that one check uses.
const CACHE_BYTES: u64 = 32 * 1024 * 1024;
/// Parts that wait for the caller.
const WAITING_PARTS_MAX: usize = 16;

/// The parts of a check's answer; the last one is the summary.
pub type CheckStream = BoxStream<'static, Result<CheckPart, Failure>>;

/// Checks one branch of a graph, or all branches and the graph's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckGraph {
    /// The graph.
    pub graph: GraphName,
    /// The branch; all branches and the files, if none.
    pub branch: Option<BranchName>,
}

impl Execute for CheckGraph {
    type Target = OpenGraphs;
    type Answer = CheckStream;
    const NAME: &'static str = "check_graph";
    const ACCESS: Access = Access::Read;

    async fn execute(&self, graphs: &OpenGraphs, _: &Caller) -> Result<CheckStream> {
        let context = graphs.context();
        let store = context.store().with_empty_caches(CACHE_BYTES);
        let names = Graphs::new(store, context.clock().clone(), context.limits().clone());
        let (_, catalog) = names.open(&self.graph).await?;
        let (parts, mut found) = mpsc::channel(WAITING_PARTS_MAX);
        let (mut checker, branch) = (Checker::new(catalog, parts), self.branch.clone());
        tokio::spawn(async move {
            let outcome = check(&mut checker, branch).await;
            checker.end(outcome).await;
        });
        Ok(stream::poll_fn(move |context| found.poll_recv(context)).boxed())
    }
}
