//! Deleting a graph: main's chain ends as a branch's does, and with it the graph; then its branches end, so that their writers learn of it.
//!
//! The graph's name is not this crate's: whoever owns the names takes it away.

use futures::{StreamExt, TryStreamExt, stream};
use omnigraph_catalog::{BranchRow, Chain, PublicationKind, RetiredRow};
use omnigraph_types::mutant;
use omnigraph_types::{GraphVersion, Phase, RequestEffect, WriteMode};

use crate::context::Context;
use crate::door::{OpenPuts, Points, Put};
use crate::error::CommitError;
use crate::failpoint::{FailPoint, Follows, WriterPoints};
use crate::receipt::{self, EndedBy, Receipt};
use crate::registry::BranchRequest;
use crate::request::Request;
use crate::retirement::retire;
use crate::rounds::Rounds;

/// The writer that ends main's chain, in phase C, and those of its branches, in phase D.
pub(crate) const GRAPH_DELETE: WriterPoints = WriterPoints::of("graph_delete");
/// Its points around the end of a branch.
pub(crate) const BRANCH_POINTS: Points = Points {
    before: FailPoint { follows: Follows::GraphManifest, ..GRAPH_DELETE.before(Phase::Reply) },
    after: GRAPH_DELETE.after(Phase::Reply),
};
/// Branches ended at once.
const CONCURRENCY: usize = 8;

/// What became of a request to delete a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GraphOutcome {
    /// Its chain has ended with this.
    Ended(RetiredRow),
    /// It could have been done.
    Validated,
}

/// Ends main's chain. `GraphDeleted` if another operation has.
pub(crate) async fn delete_graph(
    context: &Context,
    under_way: &Request,
    request: &BranchRequest,
) -> Result<GraphOutcome, CommitError> {
    let catalog = context.catalog();
    let main = catalog.main_chain();
    let identity = request.identity(PublicationKind::Retire);
    let mut rounds = Rounds::of_request(context.limits());
    let mut open = OpenPuts::default();
    loop {
        rounds.begin()?;
        let newest = catalog.newest_of(&main).await?;
        if let Some(retired) = newest.state().retired.clone() {
            return match receipt::ended_by(identity, &retired)? {
                EndedBy::ThisRequest => {
                    under_way.effect().found_committed();
                    Ok(GraphOutcome::Ended(retired))
                }
                EndedBy::Another => {
                    open.refute_up_to(newest.version());
                    Err(catalog.ended(&main.name).into())
                }
            };
        }
        // The chain goes on: none of its versions is its end.
        open.refute_up_to(mutant!(25, newest.version(), GraphVersion(0)));
        match receipt::find(context, &newest, identity).await? {
            // A chain that goes on holds no retirement.
            Receipt::Done(row) => return Err(receipt::reused(&row)),
            Receipt::Open { .. } => {}
        }
        match request.mode {
            WriteMode::ValidateOnly => return Ok(GraphOutcome::Validated),
            WriteMode::Commit => request.check_deadline()?,
        }
        let (retired, points) = (request.retirement(context), Points::of(GRAPH_DELETE));
        match retire(context, under_way, &newest, retired, points).await? {
            Put::Published | Put::Lost => {}
            Put::Unknown(put) => open.push(put),
        }
    }
}

/// Ends the chains of a deleted graph's branches. Anybody can repeat it. The end of main has decided the operation, so this is no effect of the
/// request that asks.
pub(crate) async fn end_branches(context: &Context, retired: &RetiredRow) -> Result<(), CommitError> {
    let request = context.requests().begin(retired.operation_id, &RequestEffect::default());
    let last = context.catalog().newest_of(&context.catalog().main_chain()).await?;
    let chains: Vec<Chain> = last.state().live_branches().map(BranchRow::chain).collect();
    let request = &request;
    let ended = stream::iter(chains).map(|chain| async move { end_branch(context, request, &chain, retired).await });
    ended.buffer_unordered(CONCURRENCY).try_collect().await
}

async fn end_branch(
    context: &Context,
    request: &Request,
    chain: &Chain,
    retired: &RetiredRow,
) -> Result<(), CommitError> {
    let mut rounds = Rounds::of_request(context.limits());
    loop {
        rounds.begin()?;
        let newest = context.catalog().newest_of(chain).await?;
        if newest.state().retired.is_some() {
            return Ok(());
        }
        let own = RetiredRow { attempt_id: context.mint_attempt(), ..retired.clone() };
        match retire(context, request, &newest, own, BRANCH_POINTS).await? {
            // The next look shows what became of it.
            Put::Published | Put::Lost | Put::Unknown(_) => {}
        }
    }
}
