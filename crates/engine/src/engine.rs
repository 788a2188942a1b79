//! One root, opened: the entry to everything a server does.

use std::path::PathBuf;
use std::sync::Arc;

use omnigraph_types::{Clock, CommitId, Diagnostic, Failure, GraphId, GraphName, Limits, OperationId};

use crate::{Durability, Graph};

/// How a root is opened.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// The limits in force.
    pub limits: Limits,
    /// Where time and ids come from.
    pub clock: Arc<dyn Clock>,
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// Where loads spill what does not fit their memory; the system's temporary folder if none.
    pub spill_directory: Option<PathBuf>,
}

/// A request for a new graph.
#[derive(Debug, Clone)]
pub struct CreateGraph {
    /// Its name.
    pub name: GraphName,
    /// Its schema, as `.pg` text.
    pub schema_source: String,
    /// The idempotency key; minted if none.
    pub operation_id: Option<OperationId>,
    /// Who asks.
    pub actor: String,
}

/// One graph, as it is shown.
#[derive(Debug, Clone)]
pub struct GraphInfo {
    /// Its name.
    pub name: GraphName,
    /// Its identity.
    pub id: GraphId,
    /// When it was created, in milliseconds since 1970.
    pub created_ms: u64,
    /// Head of the branch `main`.
    pub head: CommitId,
    /// Hash of the schema of the branch `main`.
    pub schema_hash: String,
    /// The operation that created it.
    pub operation_id: OperationId,
    /// What is odd about its schema, without being wrong.
    pub warnings: Vec<Diagnostic>,
}

/// What settling found and did.
#[derive(Debug, Clone)]
pub struct SettleReport {}

/// All graphs of one root. Cheap to clone; one per process.
#[derive(Debug, Clone)]
pub struct Engine {}

impl Engine {
    /// Opens a root, makes it if it is not there, and proves that its store honours put-if-absent.
    pub async fn open(_root: &str, _options: EngineOptions) -> Result<Engine, Failure> {
        todo!()
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        todo!()
    }

    /// The root.
    pub fn root(&self) -> &str {
        todo!()
    }

    /// Creates a graph. The same operation id again returns the graph it made.
    pub async fn create_graph(&self, _request: CreateGraph) -> Result<GraphInfo, Failure> {
        todo!()
    }

    /// All graphs, sorted by name.
    pub async fn list_graphs(&self) -> Result<Vec<GraphInfo>, Failure> {
        todo!()
    }

    /// One graph by name: `NotFound` if there is none.
    pub async fn graph(&self, _name: &GraphName) -> Result<Graph, Failure> {
        todo!()
    }

    /// Looks at every graph once and settles what an interrupted write left. One graph's failure is reported and does not stop the others.
    pub async fn settle_all(&self) -> Vec<(GraphName, Result<SettleReport, Failure>)> {
        todo!()
    }
}
