//! Deleting a graph: main's chain ends as a branch's does, and with it the graph; then its branches end, so that their writers are told.
//!
//! The graph's name is not this crate's: whoever owns the names takes it away.

use futures::{StreamExt, TryStreamExt, stream};
use omnigraph_catalog::{BranchRow, Chain, PublicationKind, RetiredRow};
use omnigraph_types::AttemptId;

use crate::branches::{BranchRequest, retire, reused};
use crate::committer::Committer;
use crate::error::CommitError;
use crate::failpoint::FailPoint;
use crate::write::{WriteMode, check_age};

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
pub(crate) async fn delete_graph(committer: &Committer, request: &BranchRequest) -> Result<GraphOutcome, CommitError> {
    let catalog = committer.catalog();
    let main = catalog.main_chain();
    let rounds = committer.limits().commit_rounds_max;
    for round in 0..rounds {
        let newest = catalog.newest_of(&main).await.map_err(CommitError::from);
        // Every round but the first follows an end of the chain that this request may have published.
        let newest = if round == 0 { newest? } else { newest.map_err(CommitError::in_doubt)? };
        if let Some(retired) = newest.state().retired.clone() {
            return match request.is_of(&retired)? {
                true => Ok(GraphOutcome::Ended(retired)),
                false => Err(catalog.ended(&main.name).into()),
            };
        }
        let rows = catalog.operation_rows(&newest, request.operation_id).await?;
        if let Some(row) = rows.into_iter().rev().find(|row| row.kind != PublicationKind::Abort) {
            return Err(reused(row));
        }
        check_age(committer, request.operation_id)?;
        if request.mode == WriteMode::ValidateOnly {
            return Ok(GraphOutcome::Validated);
        }
        request.check_deadline()?;
        let points = (FailPoint::GraphDeletePublishBefore, FailPoint::GraphDeletePublishAfter);
        let (committer, retired) = (committer.clone(), request.retirement(committer));
        let task = async move { retire(&committer, &newest, retired, points).await };
        tokio::spawn(task).await.map_err(|_| CommitError::TaskLost)??;
    }
    let attempts = u32::try_from(rounds).unwrap_or(u32::MAX);
    Err(CommitError::Contention { attempts, winner: None }.in_doubt())
}

/// Ends the chains of a deleted graph's branches. Anybody can repeat it.
pub(crate) async fn end_branches(committer: &Committer, retired: &RetiredRow) -> Result<(), CommitError> {
    let last = committer.catalog().newest_of(&committer.catalog().main_chain()).await?;
    let chains: Vec<Chain> = last.state().live_branches().map(BranchRow::chain_of_versions).collect();
    let ended = stream::iter(chains).map(|chain| async move { end_branch(committer, &chain, retired).await });
    ended.buffer_unordered(CONCURRENCY).try_collect().await
}

async fn end_branch(committer: &Committer, chain: &Chain, retired: &RetiredRow) -> Result<(), CommitError> {
    let points = (FailPoint::GraphDeleteBranchBefore, FailPoint::GraphDeleteBranchAfter);
    let rounds = committer.limits().commit_rounds_max;
    for _ in 0..rounds {
        let newest = committer.catalog().newest_of(chain).await?;
        if newest.state().retired.is_some() {
            return Ok(());
        }
        let own = RetiredRow { attempt_id: AttemptId(committer.clock().mint()), ..retired.clone() };
        retire(committer, &newest, own, points).await?;
    }
    Err(CommitError::Contention { attempts: u32::try_from(rounds).unwrap_or(u32::MAX), winner: None })
}
