//! What became of an operation, read from what is stored.

use futures::{StreamExt, TryStreamExt, stream};
use omnigraph_catalog::{BranchRow, CatalogError, Chain, CommitRow, PublicationKind, Snapshot};
use omnigraph_types::mutant;
use omnigraph_types::{BranchName, CommitId, OperationId};

use crate::context::Context;
use crate::decide::Owner;
use crate::error::{CommitError, repair_command};
use crate::liveness::Sighted;
use crate::receipt::{self, Recorded};
use crate::ticket::{self, IntentSlot};

/// Branches read at once.
const CONCURRENCY: usize = 8;

/// What became of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperationState {
    /// Nothing is known of it: it never armed, or was not sent to this branch.
    Unknown,
    /// This process is busy with it, or it is armed and its owner may be alive.
    InProgress,
    /// It is committed; it is this commit.
    Committed(Box<CommitRow>),
    /// It is done, and made no commit: a branch was registered or removed.
    Done {
        /// What was published.
        kind: PublicationKind,
        /// The head of the chain that records it; the last one of a chain that has ended.
        head: CommitId,
    },
    /// Its last attempt was undone.
    RolledBack {
        /// Why.
        reason: String,
    },
    /// It is armed, its owner is gone, and nobody has settled it yet.
    InDoubt {
        /// What is known.
        reason: String,
    },
}

/// What is recorded of an operation on the chain of `last`, if it is done.
async fn done(context: &Context, last: &Snapshot, recorded: &Recorded) -> Result<Option<OperationState>, CommitError> {
    let Some(row) = recorded.done() else { return Ok(None) };
    Ok(Some(match row.commit_id() {
        Some(_) => OperationState::Committed(Box::new(receipt::commit_of(context, row).await?)),
        None => OperationState::Done { kind: row.kind, head: last.head() },
    }))
}

/// The same on branches that bore the name and are gone.
async fn on_removed(
    context: &Context,
    branch: &BranchName,
    id: OperationId,
) -> Result<Option<OperationState>, CommitError> {
    match receipt::recorded_on_removed(context, branch, id).await? {
        Some((last, recorded)) => done(context, &last, &recorded).await,
        None => Ok(None),
    }
}

/// Whether the operation removed a branch of this name: main records it, or the branch has ended and main registers it still.
async fn its_removal(
    context: &Context,
    branch: &BranchName,
    id: OperationId,
) -> Result<Option<OperationState>, CommitError> {
    let registry = context.catalog().registry().await?;
    let recorded = receipt::recorded(context, &registry, id).await?;
    let row = match recorded.done() {
        Some(row) => Some(receipt::subject_of(&registry, row)?).filter(|removed| removed.name == *branch),
        None => registry.state().live_branch(branch).cloned(),
    };
    let Some(row) = row else { return Ok(None) };
    let last = context.catalog().newest_of(&row.chain()).await?;
    let is_ended_by_it = last.state().retired.as_ref().is_some_and(|retired| retired.operation_id == id);
    Ok(is_ended_by_it.then(|| OperationState::Done { kind: PublicationKind::BranchDelete, head: last.head() }))
}

/// Reads the newest version, and the one intent that may be pending after it.
pub(crate) async fn state(
    context: &Context,
    branch: &BranchName,
    id: OperationId,
) -> Result<OperationState, CommitError> {
    let catalog = context.catalog();
    let newest = match catalog.newest(branch).await {
        Ok(newest) => newest,
        Err(CatalogError::BranchNotFound(_)) => {
            let found = match on_removed(context, branch, id).await? {
                Some(found) => Some(found),
                None => its_removal(context, branch, id).await?,
            };
            return found.ok_or_else(|| CatalogError::BranchNotFound(branch.clone()).into());
        }
        Err(error) => return Err(error.into()),
    };
    let recorded = receipt::recorded(context, &newest, id).await?;
    if let Some(state) = done(context, &newest, &recorded).await? {
        return Ok(state);
    }
    if let Some(state) = on_removed(context, branch, id).await? {
        return Ok(state);
    }
    let version = newest.version().next();
    match ticket::read(catalog, newest.branch_id(), version).await? {
        IntentSlot::Held { intent, etag } if mutant!(87, intent.is_for(id), false) => {
            let sighted = Sighted { attempt_id: intent.attempt_id(), aborts: intent.aborts, etag: etag.as_deref() };
            return Ok(match context.liveness().sighted(sighted, context.limits(), context.clock()) {
                Owner::MayBeAlive => OperationState::InProgress,
                Owner::Gone => OperationState::InDoubt {
                    reason: format!("its intent for version {version} has not changed: the next write settles it"),
                },
            });
        }
        IntentSlot::Newer(_) => {
            return Ok(OperationState::InDoubt {
                reason: format!(
                    "the intent of version {version} may belong to it, and only a newer server knows its kind: upgrade this server"
                ),
            });
        }
        IntentSlot::Unreadable(_) => {
            return Ok(OperationState::InDoubt {
                reason: format!(
                    "the intent of version {version} cannot be read, and may belong to it: `{}` shows and aborts it",
                    repair_command(context.graph_name(), branch)
                ),
            });
        }
        IntentSlot::Held { .. } | IntentSlot::Empty => {}
    }
    if context.requests().are_in_progress(id) {
        return Ok(OperationState::InProgress);
    }
    Ok(match recorded.aborted() {
        Some(row) => OperationState::RolledBack { reason: row.reason().unwrap_or_default().to_owned() },
        None => removal(context, &newest, id).await?.unwrap_or(OperationState::Unknown),
    })
}

/// Whether the operation has ended a branch that main still registers: the branch is removed, and whoever comes next frees its name. Main alone
/// registers branches. A damaged branch does not hide the others.
async fn removal(context: &Context, newest: &Snapshot, id: OperationId) -> Result<Option<OperationState>, CommitError> {
    let chains: Vec<Chain> = newest.state().live_branches().map(BranchRow::chain).collect();
    let last = stream::iter(chains).map(|chain| async move {
        match context.catalog().newest_of(&chain).await.map_err(CommitError::from) {
            Ok(last) => {
                let is_ended_by_it = last.state().retired.as_ref().is_some_and(|retired| retired.operation_id == id);
                Ok(mutant!(88, is_ended_by_it, false).then(|| last.head()))
            }
            Err(error) if error.is_lasting() => Ok(None),
            Err(error) => Err(error),
        }
    });
    let mut last = last.buffer_unordered(CONCURRENCY);
    while let Some(ended) = last.try_next().await? {
        if let Some(head) = ended {
            return Ok(Some(OperationState::Done { kind: PublicationKind::BranchDelete, head }));
        }
    }
    Ok(None)
}
