//! Deleting a branch: its chain ends, then main's registry gives its name back.
//!
//! A writer of the branch wins the version, or meets `BranchNotFound`. Whoever meets an ended branch that is still registered finishes that.

use omnigraph_catalog::{
    BranchRow, CatalogError, Chain, Change, DecidedBy, Operations, Precondition, Publication, PublicationKind,
    RetiredRow, Snapshot,
};
use omnigraph_types::mutant;
use omnigraph_types::{GraphVersion, RequestEffect, WriteMode};
use tokio::time::Instant;

use crate::context::Context;
use crate::door::{OpenPuts, Points, Put};
use crate::error::CommitError;
use crate::failpoint::WriterPoints;
use crate::receipt::{self, EndedBy, Receipt};
use crate::registry::{BranchOutcome, BranchRequest, Changed, RegistryChange, publish_on_main};
use crate::request::Request;
use crate::retirement::retire;
use crate::rounds::Rounds;

/// The writer that ends a branch's chain.
pub(crate) const BRANCH_DELETE: WriterPoints = WriterPoints::of("branch_delete");
/// The writer that gives its name back.
pub(crate) const BRANCH_REMOVE: WriterPoints = WriterPoints::of("branch_remove");

/// Deletes a branch. Branches made from it stay.
pub(crate) async fn delete(
    context: &Context,
    under_way: &Request,
    request: &BranchRequest,
) -> Result<BranchOutcome, CommitError> {
    let mut rounds = Rounds::of_request(context.limits());
    let mut open = OpenPuts::default();
    loop {
        rounds.begin()?;
        let newest = match look(context, request).await? {
            ToDelete::Live(newest) => newest,
            ToDelete::Ended { row, retired, version } => {
                let ended_by = receipt::ended_by(request.identity(PublicationKind::Retire), &retired)?;
                match ended_by {
                    EndedBy::ThisRequest => under_way.effect().found_committed(),
                    EndedBy::Another => open.refute_up_to(version),
                }
                return finish(context, request, ended_by, &row, &retired).await;
            }
            ToDelete::Removed(row) => {
                under_way.effect().found_committed();
                return Ok(BranchOutcome::Replayed(row));
            }
        };
        // The chain goes on: none of its versions is its end.
        open.refute_up_to(mutant!(24, newest.version(), GraphVersion(0)));
        request.check_head(newest.head())?;
        match request.mode {
            WriteMode::ValidateOnly => return Ok(BranchOutcome::Validated),
            WriteMode::Commit => request.check_deadline()?,
        }
        let (retired, points) = (request.retirement(context), Points::of(BRANCH_DELETE));
        match retire(context, under_way, &newest, retired, points).await? {
            Put::Published | Put::Lost => {}
            Put::Unknown(put) => open.push(put),
        }
    }
}

/// What a request to delete a branch finds.
enum ToDelete {
    Live(Snapshot),
    Ended { row: BranchRow, retired: RetiredRow, version: GraphVersion },
    Removed(BranchRow),
}

async fn look(context: &Context, request: &BranchRequest) -> Result<ToDelete, CommitError> {
    let registry = context.catalog().registry().await?;
    let identity = request.identity(PublicationKind::BranchDelete);
    match receipt::find(context, &registry, identity).await? {
        Receipt::Done(row) => return receipt::subject_of(&registry, &row).map(ToDelete::Removed),
        Receipt::Open { .. } => {}
    }
    let Some(row) = registry.state().live_branch(&request.name) else {
        return Err(CatalogError::BranchNotFound(request.name.clone()).into());
    };
    let newest = context.catalog().newest_of(&row.chain()).await?;
    Ok(match newest.state().retired.clone() {
        Some(retired) => ToDelete::Ended { row: row.clone(), retired, version: newest.version() },
        None => ToDelete::Live(newest),
    })
}

/// An ended branch that is still registered: gives its name back, and answers the request.
async fn finish(
    context: &Context,
    request: &BranchRequest,
    ended_by: EndedBy,
    row: &BranchRow,
    retired: &RetiredRow,
) -> Result<BranchOutcome, CommitError> {
    let deadline = context.ticket_deadline(request.deadline);
    match remove(context, row, retired, deadline).await {
        Ok(()) => {}
        // The branch is gone, whoever gives its name back.
        Err(error) if mutant!(76, ended_by == EndedBy::ThisRequest, false) => {
            tracing::warn!(branch = %row.name, %error, "an ended branch is still registered");
        }
        Err(error) => return Err(error),
    }
    let row = row.removed_by(retired);
    match ended_by {
        EndedBy::ThisRequest => Ok(BranchOutcome::Done(row)),
        EndedBy::Another => Err(CatalogError::BranchNotFound(request.name.clone()).into()),
    }
}

/// Takes an ended branch's name away, unless somebody else has. The end of the branch has decided its operation, so this is no effect of the
/// request that asks.
pub(crate) async fn remove(
    context: &Context,
    row: &BranchRow,
    retired: &RetiredRow,
    deadline: Instant,
) -> Result<(), CommitError> {
    let ended = context.requests().begin(retired.operation_id, &RequestEffect::default());
    let mut rounds = Rounds::of_request(context.limits());
    loop {
        rounds.begin()?;
        let registry = context.catalog().registry().await?;
        let registered = registry.state().branches.get(&row.branch_id);
        if registered.is_none_or(|row| !row.is_live()) {
            return Ok(());
        }
        let publication = Publication {
            kind: PublicationKind::BranchDelete,
            decision: DecidedBy::Own.about(context.mint_attempt()),
            preconditions: vec![Precondition::BranchLive(row.branch_id)],
            changes: vec![Change::Branch(row.removed_by(retired))],
            operations: Operations::one(retired.operation_id, retired.digest.clone()),
        };
        let change = RegistryChange { writer: BRANCH_REMOVE, actor: retired.actor.clone(), publication };
        match publish_on_main(context, &ended, &registry, change, deadline).await? {
            Changed::Done => return Ok(()),
            Changed::Lost => {}
        }
    }
}

/// Finishes the removal of a branch whose chain has ended, if it is still registered.
pub(crate) async fn finish_removal(
    context: &Context,
    chain: &Chain,
    retired: &RetiredRow,
    deadline: Instant,
) -> Result<(), CommitError> {
    let registry = context.catalog().registry().await?;
    match registry.state().branches.get(&chain.branch_id) {
        Some(row) if row.is_live() => remove(context, row, retired, deadline).await,
        Some(_) | None => Ok(()),
    }
}
