//! What every part of the protocol is handed: the graph, its options, and what this process knows about its own requests and attempts.

use std::sync::Arc;

use omnigraph_catalog::{Catalog, Chain, Snapshot};
use omnigraph_types::mutant;
use omnigraph_types::{AttemptId, BranchId, Clock, GraphName, Limits, OperationId};
use tokio::time::Instant;

use crate::error::{CommitError, Site};
use crate::failpoint::{FailPoint, FailPoints};
use crate::gate::{GateHeld, Gates};
use crate::liveness::Liveness;
use crate::request::Requests;

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
    gates: Gates,
    liveness: Liveness,
    requests: Requests,
}

/// What every part of the protocol is handed. Cheap to clone; one per graph and process.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    shared: Arc<Shared>,
}

impl Context {
    pub(crate) fn new(catalog: Catalog, options: CommitOptions) -> Self {
        let (gates, liveness, requests) = (Gates::default(), Liveness::default(), Requests::default());
        Self { shared: Arc::new(Shared { catalog, options, gates, liveness, requests }) }
    }

    /// Whether there are other clones of it.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.shared) > 1
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.shared.catalog
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        self.shared.options.clock.as_ref()
    }

    pub(crate) fn shared_clock(&self) -> Arc<dyn Clock> {
        self.shared.options.clock.clone()
    }

    pub(crate) fn mint_attempt(&self) -> AttemptId {
        AttemptId(self.clock().mint())
    }

    pub(crate) fn mint_operation(&self) -> OperationId {
        OperationId(self.clock().mint())
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.shared.options.limits
    }

    pub(crate) fn graph_name(&self) -> &GraphName {
        &self.shared.options.graph_name
    }

    pub(crate) fn liveness(&self) -> &Liveness {
        &self.shared.liveness
    }

    pub(crate) fn requests(&self) -> &Requests {
        &self.shared.requests
    }

    /// The branch, in words for a person.
    pub(crate) fn site(&self, chain: &Chain) -> Site {
        Site { graph: self.graph_name().clone(), branch: chain.name.clone() }
    }

    /// When a request that may wait until `deadline` stops waiting for a ticket.
    pub(crate) fn ticket_deadline(&self, deadline: Option<Instant>) -> Instant {
        let bound = Instant::now() + self.limits().ticket_wait();
        deadline.map_or(bound, |deadline| deadline.min(bound))
    }

    /// Waits for the gate of a branch; none if the deadline passes first.
    pub(crate) async fn enter(&self, branch: BranchId, deadline: Instant) -> Option<GateHeld> {
        self.shared.gates.enter(branch, deadline).await
    }

    /// Whether `base` was proven newest recently enough to go on.
    pub(crate) fn is_fresh(&self, base: &Snapshot) -> bool {
        mutant!(3, base.proof_age(self.clock()) <= self.catalog().proof_age_max(), true)
    }

    /// Whether this process has seen a newer version of the branch than `base`.
    pub(crate) fn has_seen_newer(&self, base: &Snapshot) -> bool {
        self.catalog().known(base.branch_id()).is_some_and(|known| known.version() > base.version())
    }

    /// Passes a fail point.
    pub(crate) async fn hit(&self, point: FailPoint) -> Result<(), CommitError> {
        let hit = self.shared.options.failpoints.hit(self.graph_name(), point).await;
        hit.map_err(|injected| CommitError::FailPoint { point, injected })
    }
}
