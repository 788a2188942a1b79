//! Ending a chain: its last version is published without a ticket, so that it races with whoever holds one, and no broken intent can keep it.

use omnigraph_catalog::{Change, DecidedBy, Operations, Publication, PublicationKind, RetiredRow, Snapshot};

use omnigraph_types::mutant;

use crate::context::Context;
use crate::door::{Points, Put, publish_without_ticket};
use crate::error::CommitError;
use crate::request::Request;

/// Publishes the last version of a chain after `newest`. Whatever it returns, the chain's newest version says how the chain is now.
///
/// It runs to its end in a task of its own, whatever becomes of the caller.
pub(crate) async fn retire(
    context: &Context,
    request: &Request,
    newest: &Snapshot,
    retired: RetiredRow,
    points: Points,
) -> Result<Put, CommitError> {
    let publication = Publication {
        kind: PublicationKind::Retire,
        decision: DecidedBy::Retire.about(retired.attempt_id),
        preconditions: Vec::new(),
        operations: Operations::one(retired.operation_id, retired.digest.clone()),
        changes: vec![Change::Retired(last_row(newest, retired))],
    };
    let (context, request, newest) = (context.clone(), request.clone(), newest.clone());
    let task = tokio::spawn(async move {
        let put = publish_without_ticket(&context, &request, &newest, &publication, points).await?;
        if let Put::Unknown(put) = &put {
            let (branch, error) = (newest.branch_name(), &put.cause);
            tracing::warn!(%branch, %error, "the end of a branch has an unknown outcome");
        }
        Ok(put)
    });
    task.await.map_err(|_| CommitError::TaskLost)?
}

/// The row that ends a chain: its time follows that of the head, whatever the clock of this server says, and it keeps what the chain published.
fn last_row(newest: &Snapshot, retired: RetiredRow) -> RetiredRow {
    let time_ms = mutant!(84, retired.time_ms.max(newest.head_commit().time_ms.saturating_add(1)), retired.time_ms);
    RetiredRow { time_ms, own_ids: mutant!(85, newest.state().own_ids, retired.own_ids), ..retired }
}
