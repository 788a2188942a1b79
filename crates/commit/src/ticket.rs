//! Tickets: reading the intent of a version, and taking the version by putting one.
//!
//! An intent is put if absent and never deleted by a writer, so a put that succeeds means that nobody ever held this version (I-3).

use std::time::Duration;

use omnigraph_catalog::{Catalog, Snapshot, sha256_hex};
use omnigraph_storage::{Certainty, ObjectPath, PutOutcome, StorageError};
use omnigraph_types::mutant;
use omnigraph_types::{BranchId, GraphVersion, Phase};
use tokio::time::Instant;

use crate::context::Context;
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
    /// Another attempt holds this version, or the version is published and its intent was swept.
    Lost,
    /// It is not ours and will not be, and who holds it cannot be said.
    Refused(CommitError),
    /// It may be ours, or become ours.
    Open(CommitError),
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
pub(crate) async fn take_ticket(context: &Context, base: &Snapshot, intent: &Intent, until: Instant) -> TicketOutcome {
    let Ok(bytes) = intent.to_bytes() else {
        return TicketOutcome::Refused(CommitError::Violation {
            object: "an intent".to_owned(),
            expected: "a value that can be written as JSON".to_owned(),
        });
    };
    let catalog = context.catalog();
    let path = path(catalog, intent.branch_id, intent.version());
    // Of the puts so far.
    let mut certainty = Certainty::NotApplied;
    loop {
        let cause = match timed(context, catalog.store().put_if_absent(&path, bytes.clone())).await {
            Ok(PutOutcome::Created) => return TicketOutcome::Taken,
            Ok(PutOutcome::AlreadyExists) => match holder(catalog, base, intent).await {
                Ok(Holder::Ours) => return TicketOutcome::Taken,
                Ok(Holder::Another) => return TicketOutcome::Lost,
                Ok(Holder::Unreadable(error)) => return settled(certainty, *error),
                // A store may answer so while our own first put is under way.
                Ok(Holder::Nobody) => {
                    certainty = Certainty::Unknown;
                    None
                }
                Err(error) if certainty == Certainty::NotApplied => {
                    return mutant!(56, TicketOutcome::Open(error), TicketOutcome::Refused(error));
                }
                Err(error) => Some(error),
            },
            Err(error) => {
                if mutant!(55, error.certainty() == Certainty::Unknown, false) {
                    certainty = Certainty::Unknown;
                }
                if error.is_refused_by_the_root() {
                    // The same put again is refused too, so waiting proves nothing.
                    return settled(certainty, error.into());
                }
                Some(error.into())
            }
        };
        match (certainty, cause) {
            (Certainty::NotApplied, Some(error)) => return TicketOutcome::Refused(error),
            (Certainty::NotApplied | Certainty::Unknown, cause) if Instant::now() >= until => {
                tracing::warn!(operation = %intent.operation_id(), ?cause, "intent put has no known outcome");
                return TicketOutcome::Open(CommitError::RecoveryRequired {
                    operation_id: intent.operation_id(),
                    branch: base.branch_name().clone(),
                    writer: intent.writer.clone(),
                    phase: Phase::Arm,
                    reason: "the store does not report whether the intent was stored".to_owned(),
                });
            }
            (Certainty::NotApplied | Certainty::Unknown, _) => tokio::time::sleep(PUT_AGAIN_PAUSE).await,
        }
    }
}

/// One put, whose time is remembered: the grace for owners elsewhere follows from it.
async fn timed<T>(context: &Context, put: impl Future<Output = T>) -> T {
    let started = context.clock().monotonic();
    let outcome = put.await;
    context.liveness().record_put(context.clock().monotonic().saturating_sub(started));
    outcome
}

/// The slot holds something that cannot be judged: not ours, unless an own put may have been torn.
fn settled(certainty: Certainty, error: CommitError) -> TicketOutcome {
    match certainty {
        Certainty::NotApplied => TicketOutcome::Refused(error),
        Certainty::Unknown => mutant!(57, TicketOutcome::Open(error), TicketOutcome::Refused(error)),
    }
}

/// Who holds a version whose intent the store reports to exist.
enum Holder {
    Ours,
    Another,
    /// Nobody, as far as the store shows.
    Nobody,
    /// An object that this server cannot read.
    Unreadable(Box<CommitError>),
}

async fn holder(catalog: &Catalog, base: &Snapshot, intent: &Intent) -> Result<Holder, CommitError> {
    let branch = base.branch_name();
    Ok(match read(catalog, intent.branch_id, intent.version()).await? {
        IntentSlot::Held { intent: found, .. }
            if mutant!(2, found.attempt_id() == intent.attempt_id(), found.operation_id() == intent.operation_id()) =>
        {
            Holder::Ours
        }
        IntentSlot::Held { .. } => Holder::Another,
        // An intent is swept only after its version was published, which this attempt has not done.
        IntentSlot::Empty => {
            match mutant!(54, catalog.newest_of(base.chain()).await?.version() >= intent.version(), true) {
                true => Holder::Another,
                false => Holder::Nobody,
            }
        }
        IntentSlot::Newer(newer) => Holder::Unreadable(Box::new(CommitError::newer_intent(branch, &newer))),
        IntentSlot::Unreadable(_) => {
            let site = Site { graph: catalog.name().clone(), branch: branch.clone() };
            Holder::Unreadable(Box::new(CommitError::IntentUnreadable { site, version: intent.version() }))
        }
    })
}
