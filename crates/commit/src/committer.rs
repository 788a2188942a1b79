//! The protocol's door to one graph: one method per request, each with one exit.

use omnigraph_catalog::{Catalog, Chain, RetiredRow};
use omnigraph_types::{BranchName, Failure, OperationId, Phase, ReadAt, RequestEffect, TableId};
use tokio::time::Instant;

use crate::answer::{answer, answer_read};
use crate::context::{CommitOptions, Context};
use crate::create_branch::{self, BRANCH_CREATE};
use crate::delete_branch::{self, BRANCH_DELETE, BRANCH_REMOVE};
use crate::delete_graph::{self, BRANCH_POINTS, GRAPH_DELETE, GraphOutcome};
use crate::failpoint::FailPoint;
use crate::fence::SETTLE;
use crate::operation::{self, OperationState};
use crate::registry::{BranchOutcome, BranchRequest};
use crate::repair::{self, RepairOutcome};
use crate::repair_plan::{REPAIR, RepairRequest, RepairView};
use crate::request::Request;
use crate::rescue::RECOVER;
use crate::settle::{self, SettleReport};
use crate::write;
use crate::write_request::{WriteOutcome, WriteRequest, Writer};

/// Writes to one graph by the protocol. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Committer {
    context: Context,
    effects: Effects,
}

/// Where requests record their effect.
#[derive(Debug, Clone)]
enum Effects {
    /// Each request in a value of its own.
    OfEachRequest,
    /// All in the value of the caller's one request.
    OfOneRequest(RequestEffect),
}

/// The fail points of this crate's own publications, in the order in which a recovery and requests about branches and graphs meet them.
/// Writers declare theirs themselves: `WriterPoints::points`.
pub fn fail_points() -> Vec<FailPoint> {
    let ticketed = [Phase::Arm, Phase::Publish];
    RECOVER
        .points(&[Phase::Publish])
        .chain(SETTLE.points(&[Phase::Apply, Phase::Arm, Phase::Publish]))
        .chain(BRANCH_CREATE.points(&ticketed))
        .chain(BRANCH_DELETE.points(&[Phase::Publish]))
        .chain(BRANCH_REMOVE.points(&ticketed))
        .chain(GRAPH_DELETE.points(&[Phase::Publish]))
        .chain([BRANCH_POINTS.before, BRANCH_POINTS.after])
        .chain(REPAIR.points(&ticketed))
        .collect()
}

impl Committer {
    /// A committer over a graph's catalog. One per graph and process, so that its writers share gates.
    pub fn new(catalog: Catalog, options: CommitOptions) -> Self {
        Self { context: Context::new(catalog, options), effects: Effects::OfEachRequest }
    }

    /// The same committer for one request, which is answered by `effect` too where something else than this committer answers it.
    pub fn answering(&self, effect: &RequestEffect) -> Self {
        Self { context: self.context.clone(), effects: Effects::OfOneRequest(effect.clone()) }
    }

    fn effect(&self) -> RequestEffect {
        match &self.effects {
            Effects::OfEachRequest => RequestEffect::default(),
            Effects::OfOneRequest(effect) => effect.clone(),
        }
    }

    fn begin(&self, operation: OperationId) -> Request {
        self.context.requests().begin(operation, &self.effect())
    }

    /// Whether an attempt goes on, perhaps after its caller has gone.
    pub fn is_in_use(&self) -> bool {
        self.context.is_shared()
    }

    /// The graph.
    pub fn catalog(&self) -> &Catalog {
        self.context.catalog()
    }

    /// Performs one write: prepares it through `writer`, and makes it visible by one publication.
    ///
    /// From arm on the attempt runs in its own task: dropping this future then changes nothing. The failures are those of the protocol;
    /// what the writer itself refuses is passed through.
    pub async fn write(&self, request: WriteRequest, writer: Box<dyn Writer>) -> Result<WriteOutcome, Failure> {
        let under_way = self.begin(request.operation_id);
        let written = write::write(&self.context, under_way.clone(), request, writer).await;
        answer(written, under_way.effect())
    }

    /// Settles everything that is pending on a branch, by `deadline`.
    pub async fn settle(&self, chain: &Chain, deadline: Instant) -> Result<SettleReport, Failure> {
        let effect = self.effect();
        answer(settle::settle(&self.context, chain, deadline, &effect).await, &effect)
    }

    /// What needs repair on a branch; of the chosen tables, or of all if none is chosen.
    pub async fn preview_repair(&self, chain: &Chain, tables: &[TableId]) -> Result<RepairView, Failure> {
        answer_read(repair::preview(&self.context, chain, tables).await)
    }

    /// Does what a preview showed and a person confirmed. `ReadSetChanged` if that state has changed since.
    pub async fn repair(&self, chain: &Chain, request: RepairRequest) -> Result<RepairOutcome, Failure> {
        let under_way = self.begin(request.operation_id);
        answer(repair::repair(&self.context, under_way.clone(), chain, request).await, under_way.effect())
    }

    /// Creates a branch: a clone of `source` that nobody sees until main's registry names it.
    pub async fn create_branch(&self, request: &BranchRequest, source: &ReadAt) -> Result<BranchOutcome, Failure> {
        let under_way = self.begin(request.operation_id);
        answer(create_branch::create(&self.context, &under_way, request, source).await, under_way.effect())
    }

    /// Deletes a branch: its chain ends, then its name is free.
    pub async fn delete_branch(&self, request: &BranchRequest) -> Result<BranchOutcome, Failure> {
        let under_way = self.begin(request.operation_id);
        answer(delete_branch::delete(&self.context, &under_way, request).await, under_way.effect())
    }

    /// Deletes the graph: main's chain ends, which every server meets. Its name is taken away by whoever owns the names.
    pub async fn delete_graph(&self, request: &BranchRequest) -> Result<GraphOutcome, Failure> {
        let under_way = self.begin(request.operation_id);
        answer(delete_graph::delete_graph(&self.context, &under_way, request).await, under_way.effect())
    }

    /// Ends the branches of a graph whose main chain has ended, for the operation that ended it.
    pub async fn end_branches(&self, retired: &RetiredRow) -> Result<(), Failure> {
        answer_read(delete_graph::end_branches(&self.context, retired).await)
    }

    /// What became of an operation.
    pub async fn operation(&self, branch: &BranchName, id: OperationId) -> Result<OperationState, Failure> {
        answer_read(operation::state(&self.context, branch, id).await)
    }
}
