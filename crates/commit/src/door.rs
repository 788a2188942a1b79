//! The door: every put that may decide anything begins here, and nowhere else.
//!
//! There are two such puts. The intent takes the ticket for version N+1; version N+1 of the chain is the decision itself. A publication goes
//! through both, with a ticket (`arm`, then `publish`), or through the second alone: only a branch's retirement, and decisions about an intent
//! at that intent's own version, go without a ticket (`publish_without_ticket`).
//!
//! Each takes the `Request` that it works for: from the first of these puts on, whether the request has an effect is open until the version
//! is seen taken, and this is the place that knows both moments.

use omnigraph_catalog::{Publication, PublishOutcome, Snapshot, StagedPublication};
use omnigraph_storage::Certainty;
use omnigraph_types::mutant;
use omnigraph_types::{Deciding, GraphVersion, Phase};
use tokio::time::Instant;

use crate::context::Context;
use crate::error::CommitError;
use crate::failpoint::{FailPoint, WriterPoints};
use crate::intent::Intent;
use crate::request::Request;
use crate::ticket::{self, TicketOutcome};

/// The intent is durable, the ticket ours. The next state's files were written meanwhile, or could not be.
#[derive(Debug)]
pub(crate) struct Ticket {
    /// The files of the next version, named by nothing yet.
    pub(crate) staged: Result<StagedPublication, CommitError>,
    /// The attempt may decide the request from here on.
    pub(crate) deciding: Deciding,
}

/// What became of taking a ticket.
#[must_use]
#[derive(Debug)]
pub(crate) enum Armed {
    /// It is ours.
    Ours(Box<Ticket>),
    /// Another attempt holds it.
    Taken,
}

/// What became of a publication without a ticket.
#[must_use]
#[derive(Debug)]
pub(crate) enum Put {
    /// It is the version after the base.
    Published,
    /// The version is another publication's.
    Lost,
    /// The store did not report the outcome: read the chain.
    Unknown(OpenPut),
}

/// A publication whose outcome is not known. Dropped, it stays so.
#[derive(Debug)]
pub(crate) struct OpenPut {
    /// The version that it is for.
    version: GraphVersion,
    deciding: Deciding,
    /// What kept the outcome from being known.
    pub(crate) cause: Box<CommitError>,
}

/// The publications of one request whose outcome is not known.
#[derive(Debug, Default)]
pub(crate) struct OpenPuts {
    puts: Vec<OpenPut>,
}

impl OpenPuts {
    /// Keeps another one in mind.
    pub(crate) fn push(&mut self, put: OpenPut) {
        self.puts.push(put);
    }

    /// The chain was read up to `newest`, and no version up to there is the request's: its puts for those versions have decided nothing.
    pub(crate) fn refute_up_to(&mut self, newest: GraphVersion) {
        for put in self.puts.extract_if(.., |put| mutant!(23, put.version <= newest, true)) {
            put.deciding.refuted();
        }
    }
}

/// Takes the ticket for the version after `base`. The next state's files are written while the intent is put; nothing names them yet.
///
/// On an error that leaves the outcome open the attempt stays known as one of this process, so that nobody here settles it as a stranger's.
pub(crate) async fn arm(
    context: &Context,
    request: &Request,
    base: &Snapshot,
    intent: &Intent,
    deadline: Instant,
) -> Result<Armed, CommitError> {
    let deciding = request.begin_put()?;
    let (catalog, liveness) = (context.catalog(), context.liveness());
    tracing::trace!(operation = %request.operation_id(), version = %intent.version(), "take the ticket");
    liveness.begin(intent.attempt_id());
    let (ticket, staged) =
        tokio::join!(ticket::take_ticket(context, base, intent, deadline), catalog.stage(base, &intent.publication),);
    match ticket {
        TicketOutcome::Taken => {
            Ok(Armed::Ours(Box::new(Ticket { staged: staged.map_err(CommitError::from), deciding })))
        }
        TicketOutcome::Lost => {
            liveness.end(intent.attempt_id());
            deciding.refuted();
            Ok(Armed::Taken)
        }
        TicketOutcome::Refused(error) => {
            liveness.end(intent.attempt_id());
            if let Ok(staged) = staged {
                catalog.discard(staged).await;
            }
            deciding.refuted();
            Err(error)
        }
        TicketOutcome::Open(error) => Err(error),
    }
}

/// Writes version N+1: the one decision of the protocol.
pub(crate) async fn publish(
    context: &Context,
    request: &Request,
    staged: StagedPublication,
) -> Result<PublishOutcome, CommitError> {
    tracing::trace!(operation = %request.operation_id(), version = %staged.version(), "publish");
    Ok(context.catalog().publish(staged).await?)
}

/// The points around a publication without a ticket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Points {
    pub(crate) before: FailPoint,
    pub(crate) after: FailPoint,
}

impl Points {
    /// Those of a writer's phase C.
    pub(crate) const fn of(writer: WriterPoints) -> Self {
        Self { before: writer.before(Phase::Publish), after: writer.after(Phase::Publish) }
    }
}

/// Publishes the version after `base` without a ticket: it races for that version with whoever holds one.
pub(crate) async fn publish_without_ticket(
    context: &Context,
    request: &Request,
    base: &Snapshot,
    publication: &Publication,
    points: Points,
) -> Result<Put, CommitError> {
    context.hit(points.before).await?;
    let staged = context.catalog().stage(base, publication).await?;
    let version = staged.version();
    let deciding = request.begin_put()?;
    let outcome = match publish(context, request, staged).await {
        Ok(outcome) => outcome,
        Err(error) => match mutant!(58, error.certainty(), Certainty::NotApplied) {
            Certainty::NotApplied => {
                deciding.refuted();
                return Err(error);
            }
            Certainty::Unknown => return Ok(Put::Unknown(OpenPut { version, deciding, cause: Box::new(error) })),
        },
    };
    match context.hit(points.after).await {
        Err(lost) if lost.certainty() == Certainty::Unknown => {
            Ok(Put::Unknown(OpenPut { version, deciding, cause: Box::new(lost) }))
        }
        passed => {
            let put = match outcome {
                PublishOutcome::Published(_) => {
                    deciding.landed();
                    Put::Published
                }
                PublishOutcome::Lost => {
                    deciding.refuted();
                    Put::Lost
                }
            };
            passed.map(|()| put)
        }
    }
}
