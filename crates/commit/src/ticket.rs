//! Tickets: reading the intent of a version, and taking the version by putting one.
//!
//! An intent is put if absent and never deleted by a writer, so a put that succeeds means that nobody ever held this version (I-3).

use std::time::Duration;

use omnigraph_catalog::{Catalog, sha256_hex};
use omnigraph_storage::{Certainty, ObjectPath, PutOutcome, StorageError};
use omnigraph_types::{BranchId, BranchName, Effect, GraphVersion, Phase};
use tokio::time::Instant;

use crate::error::{CommitError, Site};
use crate::intent::{Intent, NewerIntent, NotAnIntent, Unreadable};

/// Pause between two puts of the same intent while the outcome of the first is not known.
const PUT_AGAIN_PAUSE: Duration = Duration::from_millis(50);

/// What lies at the path of an intent.
#[derive(Debug)]
pub(crate) enum IntentSlot {
    Empty,
    Held {
        intent: Box<Intent>,
        etag: Option<String>,
    },
    /// A newer server's.
    Newer(NewerIntent),
    Unreadable(Unreadable),
}

impl IntentSlot {
    /// The intent, if one that can be read is there.
    pub(crate) fn held(&self) -> Option<&Intent> {
        match self {
            Self::Held { intent, .. } => Some(intent),
            Self::Empty | Self::Newer(_) | Self::Unreadable(_) => None,
        }
    }
}

/// What became of an attempt to take a ticket.
#[must_use]
#[derive(Debug)]
pub(crate) enum TicketOutcome {
    /// Ours.
    Taken,
    /// Another attempt holds this version, or its intent was swept long ago.
    Lost,
}

fn path(catalog: &Catalog, branch: BranchId, version: GraphVersion) -> ObjectPath {
    catalog.paths().intent(branch, version)
}

/// Reads the intent of one version.
pub(crate) async fn read(
    catalog: &Catalog,
    branch: BranchId,
    version: GraphVersion,
) -> Result<IntentSlot, CommitError> {
    let object = match catalog.store().get(&path(catalog, branch, version)).await {
        Ok(Some(object)) => object,
        Ok(None) => return Ok(IntentSlot::Empty),
        Err(StorageError::Misplaced { found, .. }) => {
            let content = sha256_hex(format!("{found:?}").as_bytes());
            return Ok(IntentSlot::Unreadable(Unreadable { version, content, format: None }));
        }
        Err(error) => return Err(error.into()),
    };
    Ok(match Intent::from_bytes(&object.bytes, branch, version) {
        Ok(intent) => IntentSlot::Held { intent: Box::new(intent), etag: object.etag },
        Err(NotAnIntent::Newer(newer)) => IntentSlot::Newer(newer),
        Err(NotAnIntent::Unreadable(found)) => IntentSlot::Unreadable(found),
    })
}

/// Takes the ticket. After an unknown outcome it repeats the same put: until some attempt holds the version, "nothing happened" is not proven.
pub(crate) async fn take_ticket(
    catalog: &Catalog,
    branch: &BranchName,
    intent: &Intent,
    until: Instant,
) -> Result<TicketOutcome, CommitError> {
    let bytes = intent.to_bytes().map_err(|_| CommitError::Violation {
        object: "an intent".to_owned(),
        expected: "a value that can be written as JSON".to_owned(),
    })?;
    let path = path(catalog, intent.branch_id, intent.version());
    let mut unknown = false;
    loop {
        match catalog.store().put_if_absent(&path, bytes.clone()).await {
            Ok(PutOutcome::Created) => return Ok(TicketOutcome::Taken),
            Ok(PutOutcome::AlreadyExists) => return settle_existing(catalog, branch, intent).await,
            Err(error) if !unknown && error.certainty() == Certainty::NotApplied => return Err(error.into()),
            Err(error) if Instant::now() >= until => {
                tracing::warn!(operation = %intent.operation_id(), error = %error, "intent put has no known outcome");
                return Err(CommitError::RecoveryRequired {
                    operation_id: intent.operation_id(),
                    branch: branch.clone(),
                    writer: intent.writer.clone(),
                    phase: Phase::Arm,
                    reason: "the store does not report whether the intent was stored".to_owned(),
                    effect: Effect::Unknown,
                });
            }
            Err(_) => {
                unknown = true;
                tokio::time::sleep(PUT_AGAIN_PAUSE).await;
            }
        }
    }
}

async fn settle_existing(
    catalog: &Catalog,
    branch: &BranchName,
    intent: &Intent,
) -> Result<TicketOutcome, CommitError> {
    match read(catalog, intent.branch_id, intent.version()).await? {
        IntentSlot::Held { intent: found, .. } if found.attempt_id() == intent.attempt_id() => Ok(TicketOutcome::Taken),
        IntentSlot::Held { .. } | IntentSlot::Empty => Ok(TicketOutcome::Lost),
        IntentSlot::Newer(newer) => Err(CommitError::newer_intent(branch, &newer)),
        IntentSlot::Unreadable(_) => {
            let site = Site { graph: catalog.name().clone(), branch: branch.clone() };
            Err(CommitError::IntentUnreadable { site, version: intent.version() })
        }
    }
}
