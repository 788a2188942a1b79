//! A publication without effects, under a ticket: settling, and the registry of branches.
//!
//! Same door as a write: arm, then publish. There is nothing to apply, so an intent found behind its version is rolled forward by anybody.

use omnigraph_catalog::{PublishOutcome, Snapshot};
use omnigraph_types::Phase;
use tokio::time::Instant;

use crate::committer::Committer;
use crate::decide::Decision;
use crate::error::CommitError;
use crate::failpoint::FailPoint;
use crate::gate::GateHeld;
use crate::intent::{self, Intent, TicketOutcome};
use crate::settle::{settle_own, wait_for};

/// The fail points of one kind of publication.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Points {
    pub(crate) arm_before: FailPoint,
    pub(crate) arm_after: FailPoint,
    pub(crate) publish_before: FailPoint,
    pub(crate) publish_after: FailPoint,
}

/// What became of it.
#[must_use]
#[derive(Debug)]
pub(crate) enum Published {
    /// It is this version.
    Done(Snapshot),
    /// The version went to somebody else: look again.
    Lost,
}

/// Publishes `intent`'s publication as the version after `base`. The caller has checked its preconditions on `base`.
pub(crate) async fn publish(
    committer: &Committer,
    gate: &GateHeld,
    base: &Snapshot,
    intent: &Intent,
    points: Points,
    deadline: Instant,
) -> Result<Published, CommitError> {
    let _busy = committer.liveness().serve(intent.operation_id);
    committer.hit(points.arm_before).await?;
    // Held up for so long, `base` proves nothing: the intent that held the next version may have been swept.
    if base.proof_age(committer.clock()) > committer.catalog().proof_age_max() {
        return Ok(Published::Lost);
    }
    committer.liveness().begin(intent.attempt_id);
    let catalog = committer.catalog();
    let (ticket, staged) = tokio::join!(
        intent::take_ticket(catalog, base.branch_name(), intent, deadline),
        catalog.stage(base, &intent.publication),
    );
    match ticket {
        Ok(TicketOutcome::Taken) => {}
        Ok(TicketOutcome::Lost) => {
            committer.liveness().end(intent.attempt_id);
            wait_for(committer, gate, base.chain(), intent.version(), deadline).await?;
            return Ok(Published::Lost);
        }
        Err(error) => {
            if error.is_certainly_unarmed() {
                committer.liveness().end(intent.attempt_id);
            }
            return Err(error);
        }
    }
    let mut phase = Phase::Arm;
    let made = async {
        committer.hit(points.arm_after).await?;
        let staged = staged?;
        phase = Phase::Publish;
        committer.hit(points.publish_before).await?;
        let outcome = catalog.publish(staged).await?;
        committer.hit(points.publish_after).await?;
        Ok::<_, CommitError>(outcome)
    };
    let published = match made.await {
        Ok(PublishOutcome::Published(snapshot)) => Published::Done(snapshot),
        Ok(PublishOutcome::Lost) => Published::Lost,
        Err(cause) => {
            tracing::warn!(operation = %intent.operation_id, cause = %cause, "a publication was interrupted");
            let until = Instant::now() + committer.limits().ticket_wait();
            match settle_own(committer, base.chain(), intent, phase, until).await? {
                Decision::Finished => {
                    let read = catalog.at_version(base.chain(), intent.version()).await.map_err(CommitError::from);
                    Published::Done(read.map_err(CommitError::in_doubt)?)
                }
                _ => Published::Lost,
            }
        }
    };
    committer.liveness().end(intent.attempt_id);
    Ok(published)
}
