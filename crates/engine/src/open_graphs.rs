//! The graphs that this process has open, by name: those in use, and a bounded number of those that were used last. And what happens when one was deleted by another server.
//!
//! A graph is deleted when main's chain has ended: a publication that competes with every writer of main. Then its branches end, and its
//! name is removed. Every operation that finds a graph ended and still named completes the deletion.

use std::sync::{Arc, Mutex, MutexGuard};

use omnigraph_catalog::{Catalog, CatalogError, GraphEntry, NameRemoval, RetiredRow};
use omnigraph_storage::Store;
use omnigraph_types::{Failure, GraphName, Recent};

use crate::context::Context;
use crate::error::Result;
use crate::execute::Target;
use crate::graph_context::GraphContext;

#[derive(Debug)]
struct Shared {
    context: Arc<Context>,
    open: Mutex<Recent<GraphName, GraphContext>>,
}

/// All graphs of one root. Cheap to clone; one per process.
#[derive(Debug, Clone)]
pub struct OpenGraphs {
    shared: Arc<Shared>,
}

impl OpenGraphs {
    /// No graph is open yet.
    pub(crate) fn new(context: Context) -> Self {
        let max = usize::try_from(context.limits().graphs_open_max).unwrap_or(usize::MAX);
        Self { shared: Arc::new(Shared { context: Arc::new(context), open: Mutex::new(Recent::at_most(max)) }) }
    }

    /// The context of the process.
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.shared.context
    }

    fn opened(&self) -> MutexGuard<'_, Recent<GraphName, GraphContext>> {
        self.shared.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// One graph by name: `GraphNotFound` if there is none, `GraphDeleted` if its deletion was completed here.
    pub(crate) async fn open(&self, name: &GraphName) -> Result<GraphContext> {
        if let Some(graph) = self.opened().get(name) {
            return Ok(graph.clone());
        }
        let (entry, catalog) = self.shared.context.names().open(name).await?;
        let graph = GraphContext::new(self.shared.context.clone(), entry, catalog);
        let newest = graph.catalog().newest_of(&graph.catalog().main_chain()).await?;
        if let Some(retired) = &newest.state().retired {
            self.finish_deletion(&graph, retired).await?;
            return Err(CatalogError::GraphDeleted(name.clone()).into());
        }
        Ok(self.enter(graph))
    }

    /// Keeps a graph open. Two openings may have run at once: all callers get the graph that was entered first.
    fn enter(&self, graph: GraphContext) -> GraphContext {
        let mut opened = self.opened();
        if let Some(first) = opened.get(graph.name()) {
            return first.clone();
        }
        // One in use is not closed: another opening of it would not know what is in progress.
        opened.insert_sparing(graph.name().clone(), graph.clone(), GraphContext::is_in_use);
        graph
    }

    /// The graph of an entry that was just read: the one that is open, unless that one had the name before.
    pub(crate) fn of_entry(&self, entry: GraphEntry, catalog: Catalog) -> GraphContext {
        match self.opened().get(&entry.name) {
            Some(open) if open.id() == entry.graph_id => open.clone(),
            Some(_) | None => GraphContext::new(self.shared.context.clone(), entry, catalog),
        }
    }

    /// The same, with the means to reopen it.
    pub(crate) async fn handle(&self, name: &GraphName) -> Result<GraphHandle> {
        Ok(GraphHandle { graph: self.open(name).await?, graphs: self.clone() })
    }

    /// The graph that bears the name now, after `failure` reported that this one was deleted; the failure, if there is none.
    pub(crate) async fn reopen(&self, graph: &GraphContext, failure: Failure) -> Result<GraphContext, Failure> {
        self.forget(graph);
        match self.open(graph.name()).await {
            Ok(next) if next.id() != graph.id() => Ok(next),
            Ok(_) => Err(failure),
            Err(error) => Err(error.failure()),
        }
    }

    /// Removes a deleted graph from memory; another one may bear its name.
    pub(crate) fn forget(&self, graph: &GraphContext) {
        let mut opened = self.opened();
        if opened.get(graph.name()).is_some_and(|known| known.id() == graph.id()) {
            opened.remove(graph.name());
        }
    }

    /// Ends the branches of a graph whose main chain has ended, removes its name, and forgets it. Anybody may repeat it.
    pub(crate) async fn finish_deletion(&self, graph: &GraphContext, retired: &RetiredRow) -> Result<()> {
        graph.committer().end_branches(retired).await?;
        let removal = NameRemoval {
            graph_id: graph.id(),
            operation_id: retired.operation_id,
            digest: retired.digest.clone(),
            actor: retired.actor.clone(),
        };
        self.shared.context.names().remove_name(graph.name(), &removal).await?;
        self.forget(graph);
        Ok(())
    }
}

/// One open graph, with the means to reopen it.
#[derive(Debug, Clone)]
pub struct GraphHandle {
    /// All graphs.
    pub(crate) graphs: OpenGraphs,
    /// This one.
    pub(crate) graph: GraphContext,
}

impl Target for OpenGraphs {
    fn store(&self) -> &Store {
        self.shared.context.store()
    }

    fn graph_name(&self) -> Option<&GraphName> {
        None
    }

    async fn reopened(&self, failure: Failure) -> Result<Self, Failure> {
        Err(failure)
    }
}

impl Target for GraphHandle {
    fn store(&self) -> &Store {
        self.graphs.store()
    }

    fn graph_name(&self) -> Option<&GraphName> {
        Some(self.graph.name())
    }

    async fn reopened(&self, failure: Failure) -> Result<Self, Failure> {
        let graph = self.graphs.reopen(&self.graph, failure).await?;
        Ok(Self { graphs: self.graphs.clone(), graph })
    }
}
