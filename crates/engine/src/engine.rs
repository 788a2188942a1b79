//! One root, opened: the door to everything a server does.

use omnigraph_types::{Failure, GraphName, Limits};

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
    /// Opens a root, creates it if it is missing, and proves that its store honours put-if-absent.
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

    /// One graph by name: `NotFound` if there is none.
    pub async fn graph(&self, name: &GraphName) -> Result<Graph, Failure> {
        self.graphs.handle(name).await.map(Graph::new).map_err(EngineError::failure)
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
