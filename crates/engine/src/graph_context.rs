//! What an operation on one graph is handed: the graph's catalog and committer over the context of the process.

use std::sync::Arc;

use omnigraph_catalog::{Catalog, Chain, CommitRow, GraphEntry, Snapshot};
use omnigraph_commit::{CommitOptions, Committer, SettleReport};
use omnigraph_types::{BranchName, Commit, Failure, GraphId, GraphName};

use crate::caller::Caller;
use crate::context::Context;
use crate::describe;
use crate::error::Result;
use crate::schema::GraphSchema;

#[derive(Debug)]
struct Shared {
    context: Arc<Context>,
    entry: GraphEntry,
    catalog: Catalog,
    committer: Committer,
}

/// One graph, opened. Cheap to clone.
///
/// Invariant: one per graph and process, so that all writers of the graph share the committer's gates (`OpenGraphs` keeps it).
#[derive(Debug, Clone)]
pub(crate) struct GraphContext {
    shared: Arc<Shared>,
}

impl GraphContext {
    /// A graph of which nothing but its entry was read.
    pub(crate) fn new(context: Arc<Context>, entry: GraphEntry, catalog: Catalog) -> Self {
        let options = CommitOptions {
            graph_name: entry.name.clone(),
            limits: context.limits().clone(),
            clock: context.clock().clone(),
            failpoints: context.failpoints().clone(),
        };
        let committer = Committer::new(catalog.clone(), options);
        Self { shared: Arc::new(Shared { context, entry, catalog, committer }) }
    }

    /// The context of the process.
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.shared.context
    }

    /// What the names of graphs say of it.
    pub(crate) fn entry(&self) -> &GraphEntry {
        &self.shared.entry
    }

    /// Its name.
    pub(crate) fn name(&self) -> &GraphName {
        &self.shared.entry.name
    }

    /// Its identity.
    pub(crate) fn id(&self) -> GraphId {
        self.shared.entry.graph_id
    }

    /// Its branches, versions and commits.
    pub(crate) fn catalog(&self) -> &Catalog {
        &self.shared.catalog
    }

    /// The write protocol on it.
    pub(crate) fn committer(&self) -> &Committer {
        &self.shared.committer
    }

    /// Whether anybody but the caller works with it.
    pub(crate) fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.shared) > 1 || self.committer().is_in_use()
    }

    /// The newest version of a branch.
    pub(crate) async fn newest(&self, branch: &BranchName) -> Result<Snapshot> {
        Ok(self.shared.catalog.newest(branch).await?)
    }

    /// The schema of a version, from the cache or from its contract.
    pub(crate) async fn schema(&self, snapshot: &Snapshot) -> Result<Arc<GraphSchema>> {
        let hash = snapshot.schema_hash();
        let schemas = self.shared.context.schemas();
        if let Some(schema) = schemas.get(hash) {
            return Ok(schema);
        }
        let contract = self.shared.catalog.schema_contract(hash).await?;
        schemas.read(&contract)
    }

    /// A stored commit in the words of the vocabulary, with the name that its branch had.
    pub(crate) async fn describe(&self, row: CommitRow) -> Result<Commit> {
        let chain = self.shared.catalog.chain(row.branch_id).await?;
        Ok(describe::commit(self.name(), row, chain.name))
    }

    /// Settles what interrupted writes left on a branch, for `caller`.
    pub(crate) async fn settle(&self, chain: &Chain, caller: &Caller) -> Result<SettleReport, Failure> {
        let deadline = caller.ticket_deadline(self.context().limits());
        self.shared.committer.answering(&caller.effect).settle(chain, deadline).await
    }
}
