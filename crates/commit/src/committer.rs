//! The protocol's door to one graph.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use omnigraph_catalog::{Catalog, Chain, RetiredRow};
use omnigraph_types::{BranchId, BranchName, Clock, Failure, GraphName, Limits, OperationId, TableId};
use tokio::time::Instant;

use crate::branches::{self, BranchOutcome, BranchRequest, BranchSource};
use crate::deletion::{self, GraphOutcome};
use crate::error::{CommitError, Site};
use crate::failpoint::{FailPoint, FailPoints};
use crate::gate::BranchGate;
use crate::liveness::Liveness;
use crate::operation::{self, OperationState};
use crate::repair::{self, RepairOutcome, RepairRequest, RepairView};
use crate::settle::{self, SettleReport};
use crate::write::{self, WriteOutcome, WriteRequest, Writer};

/// How a graph's committer is set up.
#[derive(Debug, Clone)]
pub struct CommitOptions {
    /// The graph's name, for logs and fail points.
    pub graph_name: GraphName,
    /// The limits in force.
    pub limits: Arc<Limits>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Fail points; none in optimized builds.
    pub failpoints: FailPoints,
}

#[derive(Debug)]
struct Shared {
    catalog: Catalog,
    options: CommitOptions,
    gates: Mutex<HashMap<BranchId, BranchGate>>,
    liveness: Liveness,
}

/// Writes to one graph by the protocol. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Committer {
    shared: Arc<Shared>,
}

impl Committer {
    /// A committer over a graph's catalog. One per graph and process, so that its writers share gates.
    pub fn new(catalog: Catalog, options: CommitOptions) -> Self {
        let (gates, liveness) = (Mutex::default(), Liveness::default());
        Self { shared: Arc::new(Shared { catalog, options, gates, liveness }) }
    }

    /// The graph.
    pub fn catalog(&self) -> &Catalog {
        &self.shared.catalog
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        self.shared.options.clock.as_ref()
    }

    pub(crate) fn shared_clock(&self) -> Arc<dyn Clock> {
        self.shared.options.clock.clone()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.shared.options.limits
    }

    pub(crate) fn graph_name(&self) -> &GraphName {
        &self.shared.options.graph_name
    }

    /// The branch as a person is told of it.
    pub(crate) fn site(&self, chain: &Chain) -> Site {
        Site { graph: self.graph_name().clone(), branch: chain.name.clone() }
    }

    pub(crate) fn liveness(&self) -> &Liveness {
        &self.shared.liveness
    }

    pub(crate) fn gate(&self, branch: BranchId) -> BranchGate {
        let mut gates = self.shared.gates.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        gates.entry(branch).or_default().clone()
    }

    pub(crate) async fn hit(&self, point: FailPoint) -> Result<(), CommitError> {
        let hit = self.shared.options.failpoints.hit(self.graph_name().as_str(), point).await;
        hit.map_err(|injected| CommitError::FailPoint { point, injected })
    }

    /// Performs one write: prepares it through `writer`, and makes it visible by one publication.
    ///
    /// From arm on the attempt runs in its own task: dropping this future then changes nothing. The failures are those of the protocol;
    /// what the writer itself refuses is passed through.
    pub async fn write(&self, request: WriteRequest, writer: Box<dyn Writer>) -> Result<WriteOutcome, Failure> {
        let _busy = self.liveness().serve(request.operation_id);
        write::write(self, request, writer).await.map_err(CommitError::into_failure)
    }

    /// Settles everything that is pending on a branch, by `deadline`.
    pub async fn settle(&self, chain: &Chain, deadline: Instant) -> Result<SettleReport, Failure> {
        settle::settle(self, chain, deadline).await.map_err(CommitError::into_failure)
    }

    /// What stands in the way on a branch and needs a person; of the chosen tables, or of all if none is chosen.
    pub async fn preview_repair(&self, chain: &Chain, tables: &[TableId]) -> Result<RepairView, Failure> {
        repair::preview(self, chain, tables).await.map_err(CommitError::into_failure)
    }

    /// Does what a preview showed and a person confirmed. `ReadSetChanged` if something else stands there by now.
    pub async fn repair(&self, chain: &Chain, request: RepairRequest) -> Result<RepairOutcome, Failure> {
        let _busy = self.liveness().serve(request.operation_id);
        repair::repair(self, chain, request).await.map_err(CommitError::into_failure)
    }

    /// Creates a branch: a clone of `source` that nobody sees until main's registry names it.
    pub async fn create_branch(
        &self,
        request: &BranchRequest,
        source: &BranchSource,
    ) -> Result<BranchOutcome, Failure> {
        let _busy = self.liveness().serve(request.operation_id);
        branches::create(self, request, source).await.map_err(CommitError::into_failure)
    }

    /// Deletes a branch: its chain ends, then its name is free.
    pub async fn delete_branch(&self, request: &BranchRequest) -> Result<BranchOutcome, Failure> {
        let _busy = self.liveness().serve(request.operation_id);
        branches::delete(self, request).await.map_err(CommitError::into_failure)
    }

    /// Deletes the graph: main's chain ends, which every server meets. Its name is taken away by whoever owns the names.
    pub async fn delete_graph(&self, request: &BranchRequest) -> Result<GraphOutcome, Failure> {
        let _busy = self.liveness().serve(request.operation_id);
        deletion::delete_graph(self, request).await.map_err(CommitError::into_failure)
    }

    /// Ends the branches of a graph whose main chain has ended.
    pub async fn end_branches(&self, retired: &RetiredRow) -> Result<(), Failure> {
        deletion::end_branches(self, retired).await.map_err(CommitError::into_failure)
    }

    /// What became of an operation.
    pub async fn operation(&self, branch: &BranchName, id: OperationId) -> Result<OperationState, Failure> {
        operation::state(self, branch, id).await.map_err(CommitError::into_failure)
    }
}
