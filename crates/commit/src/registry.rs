//! The registry of branches: requests about one branch, and publications on main that change its registry.

use omnigraph_catalog::{BranchRow, Chain, OwnIds, Publication, PublicationKind, RetiredRow, Snapshot};
use omnigraph_types::mutant;
use omnigraph_types::{BranchName, CommitId, OperationId, WriteMode};
use tokio::time::Instant;

use crate::attempt::{Carried, Guarded, Works};
use crate::context::Context;
use crate::error::CommitError;
use crate::failpoint::WriterPoints;
use crate::intent::{Intent, Plan};
use crate::receipt::Identity;
use crate::request::Request;
use crate::rescue::kept_waiting;

/// A request about one branch: its creation or its removal.
#[derive(Debug, Clone)]
pub struct BranchRequest {
    /// The idempotency key.
    pub operation_id: OperationId,
    /// Digest of the whole request, in hexadecimal.
    pub digest: String,
    /// Who asks.
    pub actor: String,
    /// The branch.
    pub name: BranchName,
    /// Go on only if the head of the source, or of the branch to remove, is still this commit.
    pub expected_head: Option<CommitId>,
    /// After this nothing is begun any more.
    pub deadline: Option<Instant>,
    /// Whether to do it.
    pub mode: WriteMode,
}

/// What became of a request about a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchOutcome {
    /// It is done, and this is the branch's row.
    Done(BranchRow),
    /// An earlier request of the same operation did it.
    Replayed(BranchRow),
    /// It could have been done.
    Validated,
}

impl BranchRequest {
    /// What makes it the same request.
    pub(crate) fn identity(&self, kind: PublicationKind) -> Identity<'_> {
        Identity { operation_id: self.operation_id, digest: &self.digest, kind }
    }

    /// What ends a chain for this request, as an attempt of its own. `retire` adds what depends on the chain.
    pub(crate) fn retirement(&self, context: &Context) -> RetiredRow {
        RetiredRow {
            operation_id: self.operation_id,
            digest: self.digest.clone(),
            attempt_id: context.mint_attempt(),
            actor: self.actor.clone(),
            time_ms: context.clock().wall_ms(),
            own_ids: OwnIds::default(),
        }
    }

    pub(crate) fn check_deadline(&self) -> Result<(), CommitError> {
        if self.deadline.is_some_and(|deadline| mutant!(77, Instant::now() >= deadline, false)) {
            return Err(CommitError::Deadline);
        }
        Ok(())
    }

    pub(crate) fn check_head(&self, actual: CommitId) -> Result<(), CommitError> {
        match self.expected_head.filter(|expected| mutant!(75, *expected != actual, false)) {
            Some(expected) => Err(CommitError::HeadMismatch { expected, actual }),
            None => Ok(()),
        }
    }
}

/// A change of main's registry.
#[derive(Debug)]
pub(crate) struct RegistryChange {
    pub(crate) writer: WriterPoints,
    pub(crate) actor: String,
    pub(crate) publication: Publication,
}

/// What became of it.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changed {
    /// It is published.
    Done,
    /// The version went to another publication: read the registry again.
    Lost,
}

/// Publishes a change of the registry after the version `registry` of main, under a ticket.
pub(crate) async fn publish_on_main(
    context: &Context,
    request: &Request,
    registry: &Snapshot,
    change: RegistryChange,
    deadline: Instant,
) -> Result<Changed, CommitError> {
    let gate = context.enter(registry.branch_id(), deadline).await;
    let Some(gate) = gate else { return Err(kept_waiting(context, registry.chain()).await) };
    if context.has_seen_newer(registry) {
        return Ok(Changed::Lost);
    }
    let RegistryChange { writer, actor, publication } = change;
    let plan = Plan::without_effects(writer, actor, registry, publication);
    let intent = Intent::mint(plan, registry, context.clock());
    // What goes on from arm must end, whatever becomes of the caller.
    let (context, request, base) = (context.clone(), request.clone(), registry.clone());
    let task = tokio::spawn(async move {
        let works = Works::default();
        let guarded = Guarded { request: &request, gate: &gate, base: &base, writer, intent: &intent, works: &works };
        guarded.carry_out(&context, deadline).await
    });
    match task.await.map_err(|_| CommitError::TaskLost)?? {
        Carried::Published(_) => Ok(Changed::Done),
        Carried::Lost | Carried::Undone(_) | Carried::Ended => Ok(Changed::Lost),
    }
}

/// The last version of a chain, if it has ended.
pub(crate) async fn retired(context: &Context, chain: &Chain) -> Result<Option<RetiredRow>, CommitError> {
    let newest = context.catalog().newest_of(chain).await?;
    Ok(newest.state().retired.clone())
}
