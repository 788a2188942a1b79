//! What became of an operation, told from what is stored.

use omnigraph_catalog::{CommitRow, PublicationKind};
use omnigraph_types::{BranchName, OperationId};

use crate::committer::Committer;
use crate::decide::Owner;
use crate::error::CommitError;
use crate::intent::{self, IntentSlot};

/// What became of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperationState {
    /// Nothing is known of it: it never armed, or was not sent to this branch.
    Unknown,
    /// It is armed, and its owner may be alive.
    InProgress,
    /// It is committed; it is this commit.
    Committed(Box<CommitRow>),
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

/// Reads the newest version, and the one intent that may be pending behind it.
pub(crate) async fn state(
    committer: &Committer,
    branch: &BranchName,
    id: OperationId,
) -> Result<OperationState, CommitError> {
    let catalog = committer.catalog();
    let newest = catalog.newest(branch).await?;
    let rows = catalog.operation_rows(&newest, id).await?;
    let committed = rows.iter().find(|row| row.kind == PublicationKind::Commit);
    if let Some(commit_id) = committed.and_then(|row| row.commit_id) {
        return Ok(OperationState::Committed(Box::new(catalog.commit(commit_id).await?)));
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
        IntentSlot::Unreadable => {
            return Ok(OperationState::InDoubt { reason: format!("the intent of version {version} cannot be read") });
        }
        IntentSlot::Held { .. } | IntentSlot::Empty => {}
    }
    let aborted = rows.into_iter().rev().find(|row| row.kind == PublicationKind::Abort);
    Ok(match aborted {
        Some(row) => OperationState::RolledBack { reason: row.reason.unwrap_or_default() },
        None => OperationState::Unknown,
    })
}
