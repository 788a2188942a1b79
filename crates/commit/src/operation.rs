//! What became of an operation, told from what is stored.

use omnigraph_catalog::{CatalogError, CommitRow, OperationRow, PublicationKind};
use omnigraph_types::{BranchName, OperationId};

use crate::committer::Committer;
use crate::decide::Owner;
use crate::error::{CommitError, repair_command};
use crate::intent::{self, IntentSlot};

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
    Done(PublicationKind),
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

/// What rows of an operation say if it is done.
async fn done(committer: &Committer, rows: &[OperationRow]) -> Result<Option<OperationState>, CommitError> {
    let Some(row) = rows.iter().rev().find(|row| row.kind != PublicationKind::Abort) else { return Ok(None) };
    Ok(Some(match row.commit_id {
        Some(commit) => OperationState::Committed(Box::new(committer.catalog().commit(commit).await?)),
        None => OperationState::Done(row.kind),
    }))
}

/// The same of branches that bore the name and are gone.
async fn on_removed(
    committer: &Committer,
    branch: &BranchName,
    id: OperationId,
) -> Result<Option<OperationState>, CommitError> {
    let Some(last) = committer.catalog().removed_with(branch, id).await? else { return Ok(None) };
    done(committer, &committer.catalog().operation_rows(&last, id).await?).await
}

/// Reads the newest version, and the one intent that may be pending behind it.
pub(crate) async fn state(
    committer: &Committer,
    branch: &BranchName,
    id: OperationId,
) -> Result<OperationState, CommitError> {
    let catalog = committer.catalog();
    let newest = match catalog.newest(branch).await {
        Ok(newest) => newest,
        Err(CatalogError::BranchNotFound(_)) => {
            let found = on_removed(committer, branch, id).await?;
            return found.ok_or_else(|| CatalogError::BranchNotFound(branch.clone()).into());
        }
        Err(error) => return Err(error.into()),
    };
    let rows = catalog.operation_rows(&newest, id).await?;
    if let Some(state) = done(committer, &rows).await? {
        return Ok(state);
    }
    if let Some(state) = on_removed(committer, branch, id).await? {
        return Ok(state);
    }
    let version = newest.version().next();
    match intent::read(catalog, newest.branch_id(), version).await? {
        IntentSlot::Held { intent, etag } if intent.operation_id == id => {
            let least = committer.limits().recovery_grace();
            let owner = committer.liveness().sighted(&intent, etag.as_deref(), least, committer.clock());
            return Ok(match owner {
                Owner::MayBeAlive => OperationState::InProgress,
                Owner::Gone => OperationState::InDoubt {
                    reason: format!("its intent for version {version} stands unchanged: the next write settles it"),
                },
            });
        }
        IntentSlot::Unreadable(_) => {
            return Ok(OperationState::InDoubt {
                reason: format!(
                    "the intent of version {version} cannot be read, and may be its: `{}` shows and mends it",
                    repair_command(committer.graph_name(), branch)
                ),
            });
        }
        IntentSlot::Held { .. } | IntentSlot::Empty => {}
    }
    if committer.liveness().is_served(id) {
        return Ok(OperationState::InProgress);
    }
    let aborted = rows.into_iter().rev().find(|row| row.kind == PublicationKind::Abort);
    Ok(match aborted {
        Some(row) => OperationState::RolledBack { reason: row.reason.unwrap_or_default() },
        None => OperationState::Unknown,
    })
}
