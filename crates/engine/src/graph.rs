//! One graph: the door to the operations on it.

use omnigraph_types::{Failure, GraphId, GraphName};

use crate::caller::Caller;
use crate::error::Result;
use crate::execute::{Execute, run};
use crate::open_graphs::GraphHandle;

/// One graph, opened. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Graph {
    handle: GraphHandle,
}

impl Graph {
    pub(crate) fn new(handle: GraphHandle) -> Self {
        Self { handle }
    }

    /// Its name.
    pub fn name(&self) -> &GraphName {
        self.handle.graph.name()
    }

    /// Its identity.
    pub fn id(&self) -> GraphId {
        self.handle.graph.id()
    }

    /// Runs an operation on the graph; where it was deleted meanwhile, on the graph that has its name now.
    pub async fn run<O: Execute<Target = GraphHandle>>(
        &self,
        caller: &Caller,
        operation: O,
    ) -> Result<O::Answer, Failure> {
        run(&self.handle, caller, &operation).await
    }
}
