//! Graphs and branches as answers show them.

use omnigraph_catalog::{BranchRow, STORAGE_FORMAT, Snapshot};
use omnigraph_types::{BranchInfo, BranchName, CommitId, GraphInfo};

use crate::cause::Defect;
use crate::error::{EngineError, Result};
use crate::graph_context::GraphContext;

/// A graph, from the newest version of its branch `main`.
pub(crate) fn graph_info(graph: &GraphContext, newest: &Snapshot) -> GraphInfo {
    GraphInfo {
        name: graph.name().clone(),
        id: graph.id(),
        created_ms: graph.entry().created_ms,
        head: newest.head(),
        schema_hash: newest.schema_hash().to_owned(),
        // A graph of another format is refused when it is opened.
        storage_format: STORAGE_FORMAT,
    }
}

/// The branch `main`, from its newest version.
pub(crate) fn main_info(graph: &GraphContext, newest: &Snapshot) -> BranchInfo {
    BranchInfo {
        name: BranchName::Main,
        graph: graph.name().clone(),
        id: newest.branch_id(),
        head: newest.head(),
        source: None,
        source_commit: None,
        created_ms: graph.entry().created_ms,
        schema_hash: newest.schema_hash().to_owned(),
    }
}

/// Any other branch, from its newest version and the registry.
pub(crate) async fn branch_info(graph: &GraphContext, newest: &Snapshot) -> Result<BranchInfo> {
    let catalog = graph.catalog();
    let registry = match catalog.known(catalog.main_branch_id()) {
        Some(known) if known.state().branches.contains_key(&newest.branch_id()) => known,
        Some(_) | None => catalog.registry().await?,
    };
    let row = registry.state().branches.get(&newest.branch_id());
    let row = row.ok_or(EngineError::from(Defect::BranchNotRegistered))?;
    registered_info(graph, row, newest.head()).await
}

/// Any other branch, from its row of the registry and its head.
pub(crate) async fn registered_info(graph: &GraphContext, row: &BranchRow, head: CommitId) -> Result<BranchInfo> {
    Ok(BranchInfo {
        name: row.name.clone(),
        graph: graph.name().clone(),
        id: row.branch_id,
        head,
        source: Some(graph.catalog().chain(row.source).await?.name),
        source_commit: Some(row.source_commit),
        created_ms: row.created_ms,
        schema_hash: row.schema_hash.clone(),
    })
}
