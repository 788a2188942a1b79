//! The intent: the durable record of one attempt's effects and of what it will publish, and the ticket for its version.
//!
//! An intent is put if absent at (branch, version) and never deleted by a writer, so a put that succeeds means that nobody ever held
//! this version (I-3). It is complete when it is put: a roll forward needs nothing else.

use std::time::Duration;

use bytes::Bytes;
use omnigraph_catalog::{Catalog, Publication, sha256_hex};
use omnigraph_storage::{Certainty, ObjectPath, PutOutcome, StorageError};
use omnigraph_types::{AttemptId, BranchId, BranchName, GraphVersion, OperationId};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::effect::Effect;
use crate::error::{CommitError, Site};
use crate::token::Token;

/// The format of a stored intent.
const INTENT_FORMAT: u32 = 1;
/// Pause between two puts of the same intent while the outcome of the first is not known.
const PUT_AGAIN_PAUSE: Duration = Duration::from_millis(50);

/// One attempt's plan, durable before its first effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// Stored format.
    pub format: u32,
    /// The operation.
    pub operation_id: OperationId,
    /// The attempt.
    pub attempt_id: AttemptId,
    /// Kind of writer: `load`, `settle`.
    pub writer: String,
    /// Who asked.
    pub actor: String,
    /// The branch.
    pub branch_id: BranchId,
    /// The version N that the publication follows; the intent is the ticket for N+1.
    pub base: GraphVersion,
    /// What the write rests on.
    pub token: Token,
    /// How often the operation was aborted before.
    pub aborts: u32,
    /// When it was put, in milliseconds since 1970-01-01T00:00:00Z, by the owner's clock.
    pub armed_ms: u64,
    /// The planned effects.
    pub effects: Vec<Effect>,
    /// What will be published as N+1.
    pub publication: Publication,
}

impl Intent {
    /// The format written now.
    pub(crate) const FORMAT: u32 = INTENT_FORMAT;

    /// The version it is the ticket for.
    pub fn version(&self) -> GraphVersion {
        self.base.next()
    }

    /// Reads the bytes that lie at the place of the intent of `branch` at `version`.
    ///
    /// # Errors
    /// What is told of an object there that is no such intent.
    pub fn from_bytes(bytes: &[u8], branch: BranchId, version: GraphVersion) -> Result<Self, Unreadable> {
        let readable = serde_json::from_slice::<Self>(bytes).ok();
        let fits =
            |intent: &Self| intent.format == INTENT_FORMAT && intent.branch_id == branch && intent.version() == version;
        readable.filter(fits).ok_or_else(|| {
            let stamp = serde_json::from_slice::<Stamp>(bytes).ok();
            let format = stamp.map(|stamp| stamp.format).filter(|format| *format != INTENT_FORMAT);
            Unreadable { version, content: sha256_hex(bytes), format }
        })
    }

    /// The bytes that are stored.
    ///
    /// # Errors
    /// If it is no value that JSON can hold, which no intent is.
    pub fn to_bytes(&self) -> Result<Bytes, serde_json::Error> {
        serde_json::to_vec(self).map(Bytes::from)
    }
}

/// What is at the place of an intent.
#[derive(Debug)]
pub(crate) enum IntentSlot {
    Empty,
    Held { intent: Box<Intent>, etag: Option<String> },
    Unreadable(Unreadable),
}

impl IntentSlot {
    /// The intent, if one that can be read is there.
    pub(crate) fn held(&self) -> Option<&Intent> {
        match self {
            Self::Held { intent, .. } => Some(intent),
            Self::Empty | Self::Unreadable(_) => None,
        }
    }
}

/// An object that stands where an intent belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The version that it is a ticket for.
    pub version: GraphVersion,
    /// SHA-256 in hexadecimal: of its bytes, or, of a folder and of what is too large to be read, of what is known of it.
    pub content: String,
    /// The format that it names, if it is another program's: upgrading may be better than repairing.
    pub format: Option<u32>,
}

/// The one field of an intent that every format has.
#[derive(Deserialize)]
struct Stamp {
    format: u32,
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
        Err(found) => IntentSlot::Unreadable(found),
    })
}

/// Takes the ticket. An unknown outcome is met by the same put again: until the version is somebody's, "nothing happened" is not proven.
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
                tracing::warn!(operation = %intent.operation_id, error = %error, "intent put has no known outcome");
                return Err(CommitError::RecoveryRequired {
                    operation_id: intent.operation_id,
                    branch: branch.clone(),
                    writer: intent.writer.clone(),
                    phase: omnigraph_types::Phase::Arm,
                    reason: "the store does not tell whether the intent was stored".to_owned(),
                    effect: omnigraph_types::Effect::Unknown,
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
        IntentSlot::Held { intent: found, .. } if found.attempt_id == intent.attempt_id => Ok(TicketOutcome::Taken),
        IntentSlot::Held { .. } | IntentSlot::Empty => Ok(TicketOutcome::Lost),
        IntentSlot::Unreadable(_) => {
            let site = Site { graph: catalog.name().clone(), branch: branch.clone() };
            Err(CommitError::IntentUnreadable { site, version: intent.version() })
        }
    }
}
