//! A publication without effects, under a ticket: settling, and the registry of branches.
//!
//! Same door as a write: arm, then publish. There is nothing to apply, so an intent found behind its version is rolled forward by anybody.

use omnigraph_catalog::{CatalogError, PublishOutcome, Snapshot};
use omnigraph_storage::Certainty;
use omnigraph_types::{Effect as FailureEffect, Phase};
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
    committer.hit(points.arm_before).await?;
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
                Decision::Finished => Published::Done(catalog.at_version(base.chain(), intent.version()).await?),
                _ => Published::Lost,
            }
        }
    };
    committer.liveness().end(intent.attempt_id);
    Ok(published)
}

impl CommitError {
    /// Whether a failed attempt to take a ticket has certainly left none.
    pub(crate) fn is_certainly_unarmed(&self) -> bool {
        self.certainty() == Certainty::NotApplied && !matches!(self, Self::RecoveryRequired { .. })
    }

    /// An armed attempt that its owner could not settle.
    pub(crate) fn unsettled(intent: &Intent, branch: &omnigraph_types::BranchName, phase: Phase) -> Self {
        Self::RecoveryRequired {
            operation_id: intent.operation_id,
            branch: branch.clone(),
            writer: intent.writer.clone(),
            phase,
            reason: "the store does not let it be settled now".to_owned(),
            effect: FailureEffect::Unknown,
        }
    }

    /// Whether a publication was refused because a precondition does not hold.
    pub(crate) fn is_unmet(&self) -> bool {
        matches!(self, Self::Catalog(CatalogError::Unmet(_)))
    }
}
