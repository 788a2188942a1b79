//! One root, opened: the door to everything a server does.

use omnigraph_storage::{RootOrigin, RootState};
use omnigraph_types::{Failure, GraphName, Limits, QueryId, RootId, RunningQuery};
use tokio::sync::watch;

use crate::caller::Caller;
use crate::context::{Context, EngineOptions};
use crate::error::{EngineError, Result};
use crate::execute::{Execute, run};
use crate::graph::Graph;
use crate::open_graphs::OpenGraphs;

/// All graphs of one root. Cheap to clone; one per process.
#[derive(Debug, Clone)]
pub struct Engine {
    graphs: OpenGraphs,
}

impl Engine {
    /// Opens a root, makes it where the options permit that, and proves that its store honours put-if-absent.
    pub async fn open(root: &str, options: EngineOptions) -> Result<Engine, Failure> {
        let context = Context::open(root, options).await.map_err(EngineError::failure)?;
        Ok(Self { graphs: OpenGraphs::new(context) })
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        self.graphs.context().limits()
    }

    /// The root.
    pub fn root(&self) -> &str {
        self.graphs.context().store().root()
    }

    /// The root's id, which it keeps for ever.
    pub fn root_id(&self) -> RootId {
        self.graphs.context().root().id
    }

    /// Whether the root was made when it was opened.
    pub fn root_origin(&self) -> RootOrigin {
        self.graphs.context().root().origin
    }

    /// Proves now that the root is the one that was opened, and returns what it found.
    pub async fn prove_root(&self) -> RootState {
        let store = self.graphs.context().store();
        if let Err(error) = store.prove_root().await {
            tracing::warn!(%error, "the root could not be proven");
        }
        *store.root_state().borrow()
    }

    /// Whether the root is the one that was opened, as far as is known, and every change of that.
    pub fn root_state(&self) -> watch::Receiver<RootState> {
        self.graphs.context().store().root_state()
    }

    /// One graph by name: `NotFound` if there is none.
    pub async fn graph(&self, name: &GraphName) -> Result<Graph, Failure> {
        self.graphs.handle(name).await.map(Graph::new).map_err(EngineError::failure)
    }

    /// The reads that are not over, by id and so by age.
    pub fn queries(&self) -> Vec<RunningQuery> {
        self.graphs.context().reads().list()
    }

    /// Cancels a read: its caller is answered at once, and it ends at its next batch. `NotFound` if it is over.
    pub fn cancel_query(&self, id: QueryId) -> Result<RunningQuery, Failure> {
        self.graphs.context().reads().cancel(id)
    }

    /// Cancels every read and begins no more: a server that stops waits for none.
    pub fn stop_reads(&self) {
        self.graphs.context().reads().stop();
    }

    /// Runs an operation on the root.
    pub async fn run<O: Execute<Target = OpenGraphs>>(
        &self,
        caller: &Caller,
        operation: O,
    ) -> Result<O::Answer, Failure> {
        run(&self.graphs, caller, &operation).await
    }
}
