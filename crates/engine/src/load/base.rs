//! The version that a load begins at.

use std::sync::Arc;

use omnigraph_catalog::{CatalogError, Snapshot, TableRow};
use omnigraph_types::mutant;
use omnigraph_types::{BranchName, LoadMode, LoadRequest, TableId};

use crate::cause::Defect;
use crate::error::{EngineError, Result};
use crate::graph_context::GraphContext;
use crate::schema::GraphSchema;

/// The version that a load begins at, with its schema.
#[derive(Debug)]
pub(crate) struct LoadBase {
    pub(crate) snapshot: Snapshot,
    pub(crate) schema: Arc<GraphSchema>,
    /// Whether the snapshot was proven newest, and not only presumed.
    pub(crate) is_proven: bool,
}

impl LoadBase {
    /// The base of a load that begins now. An overwrite replaces what it sees, so its base is proven; other loads presume the cached head
    /// of the branch and take their final base when they are finished.
    pub(crate) async fn of(graph: &GraphContext, request: &LoadRequest) -> Result<Self> {
        let presumed = match request.mode {
            LoadMode::Overwrite => mutant!(170, None, graph.catalog().presumed_newest(&request.branch)),
            LoadMode::Append | LoadMode::Merge => graph.catalog().presumed_newest(&request.branch),
        };
        let is_proven = presumed.is_none();
        let snapshot = match presumed {
            Some(snapshot) => snapshot,
            None => newest_or_answered(graph, request).await?,
        };
        let schema = graph.schema(&snapshot).await?;
        Ok(Self { snapshot, schema, is_proven })
    }

    /// The newest version of a branch, proven newest.
    pub(crate) async fn proven(graph: &GraphContext, branch: &BranchName) -> Result<Self> {
        let snapshot = graph.newest(branch).await?;
        let schema = graph.schema(&snapshot).await?;
        Ok(Self { snapshot, schema, is_proven: true })
    }

    /// What the base pins for a table.
    pub(crate) fn table(&self, table: TableId) -> Result<&TableRow> {
        self.snapshot.table(table).ok_or(EngineError::from(Defect::TypeWithoutTable))
    }
}

/// The newest version of the branch; of a removed one, its last version, if the load was committed there: its end then returns the receipt.
async fn newest_or_answered(graph: &GraphContext, request: &LoadRequest) -> Result<Snapshot> {
    let catalog = graph.catalog();
    let missing = match catalog.newest(&request.branch).await {
        Err(missing @ CatalogError::BranchNotFound(_)) => missing,
        newest => return Ok(newest?),
    };
    let Some(operation) = request.options.operation_id else { return Err(missing.into()) };
    let answered = catalog.removed_with(&request.branch, operation).await?;
    answered.ok_or_else(|| missing.into())
}
