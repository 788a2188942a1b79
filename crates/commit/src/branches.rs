//! The registry of branches: create and delete, by the same door as every write.
//!
//! A branch is made as a clone that nobody can see, and exists when main's registry names it: two creators of a name race for main's next
//! version. It is removed by the last version of its own chain, which competes with its writers directly, so no broken intent can keep it;
//! then main's registry gives the name back. Whoever meets a removed branch that is still registered finishes that.

use omnigraph_catalog::{
    BranchRow, CatalogError, Chain, OperationRow, Precondition, Publication, PublicationKind, PublishOutcome,
    RetiredRow, Snapshot,
};
use omnigraph_storage::Certainty;
use omnigraph_types::{AttemptId, BranchId, BranchName, CommitId, Moment, OperationId};
use tokio::time::Instant;

use crate::committer::Committer;
use crate::error::CommitError;
use crate::failpoint::FailPoint;
use crate::intent::Intent;
use crate::publish::{Points, Published, publish};
use crate::settle::kept_waiting;
use crate::token::Token;
use crate::write::{WriteMode, check_age};

const CREATE_POINTS: Points = Points {
    arm_before: FailPoint::BranchCreateArmBefore,
    arm_after: FailPoint::BranchCreateArmAfter,
    publish_before: FailPoint::BranchCreatePublishBefore,
    publish_after: FailPoint::BranchCreatePublishAfter,
};

const REMOVE_POINTS: Points = Points {
    arm_before: FailPoint::BranchRemoveArmBefore,
    arm_after: FailPoint::BranchRemoveArmAfter,
    publish_before: FailPoint::BranchRemovePublishBefore,
    publish_after: FailPoint::BranchRemovePublishAfter,
};

/// What a branch is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchSource {
    /// The newest version of a branch.
    Branch(BranchName),
    /// The newest commit of a branch at a time.
    BranchAtTime {
        /// The branch.
        branch: BranchName,
        /// Milliseconds since 1970-01-01T00:00:00Z.
        time_ms: u64,
    },
    /// One commit, on whichever branch it was made.
    Commit(CommitId),
}

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
    fn bound(&self, committer: &Committer) -> Instant {
        let bound = Instant::now() + committer.limits().ticket_wait();
        self.deadline.map_or(bound, |deadline| deadline.min(bound))
    }

    /// What ends a chain for this request, as an attempt of its own.
    pub(crate) fn retirement(&self, committer: &Committer) -> RetiredRow {
        RetiredRow {
            operation_id: self.operation_id,
            digest: self.digest.clone(),
            attempt_id: AttemptId(committer.clock().mint()),
            actor: self.actor.clone(),
            time_ms: committer.clock().wall_ms(),
        }
    }

    /// Whether this request ended a chain. `OperationIdReused` if its id did, for another one.
    pub(crate) fn is_of(&self, retired: &RetiredRow) -> Result<bool, CommitError> {
        let RetiredRow { operation_id, digest, .. } = retired;
        if *operation_id == self.operation_id && *digest != self.digest {
            let (operation_id, first_digest) = (*operation_id, digest.clone());
            return Err(CatalogError::OperationIdReused { operation_id, first_digest, commit: None }.into());
        }
        Ok(*operation_id == self.operation_id)
    }

    pub(crate) fn check_deadline(&self) -> Result<(), CommitError> {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(CommitError::Deadline);
        }
        Ok(())
    }

    fn check_head(&self, actual: CommitId) -> Result<(), CommitError> {
        match self.expected_head.filter(|expected| *expected != actual) {
            Some(expected) => Err(CommitError::HeadMismatch { expected, actual }),
            None => Ok(()),
        }
    }
}

/// Creates a branch. `BranchExists` where a live one bears the name.
pub(crate) async fn create(
    committer: &Committer,
    request: &BranchRequest,
    source: &BranchSource,
) -> Result<BranchOutcome, CommitError> {
    let catalog = committer.catalog();
    let rounds = committer.limits().commit_rounds_max;
    let mut made: Option<Made> = None;
    for _ in 0..rounds {
        let registry = catalog.registry().await?;
        if let Some(outcome) = receipt(committer, request, &registry, PublicationKind::BranchCreate).await? {
            return Ok(outcome);
        }
        if request.name == BranchName::Main {
            return Err(CatalogError::BranchExists(BranchName::Main).into());
        }
        if let Some(row) = registry.state().live_branch(&request.name) {
            match retired(committer, row).await? {
                Some(retired) => {
                    remove(committer, row, &retired, request.bound(committer)).await?;
                    continue;
                }
                None => return Err(CatalogError::BranchExists(request.name.clone()).into()),
            }
        }
        let base = source_snapshot(committer, source, &registry).await?;
        request.check_head(base.head())?;
        if request.mode == WriteMode::ValidateOnly {
            return Ok(BranchOutcome::Validated);
        }
        request.check_deadline()?;
        // A clone stays good while it is young, because nothing keeps what it names before it is registered, and while main's schema is the
        // one it carries; an older commit was named on purpose.
        let fits = |made: &Made| {
            made.cloned.age(committer.clock()) <= catalog.proof_age_max()
                && (!made.schema_must_hold || made.row.schema_hash == registry.schema_hash())
        };
        let clone = match made.take().filter(fits) {
            Some(made) => made,
            None => clone(committer, request, source, &base).await?,
        };
        let intent = create_intent(committer, request, &registry, &clone);
        let row = clone.row.clone();
        match publish_on_main(committer, &registry, &intent, CREATE_POINTS, request.bound(committer)).await? {
            Published::Done(_) => return Ok(BranchOutcome::Done(row)),
            Published::Lost => made = Some(clone),
        }
    }
    Err(CommitError::Contention { attempts: u32::try_from(rounds).unwrap_or(u32::MAX), winner: None })
}

/// A clone that nobody can see yet, with the row that would make it a branch.
struct Made {
    row: BranchRow,
    /// The source, where it was named as a branch; a commit may lie on one that is gone.
    must_live: Option<BranchId>,
    schema_must_hold: bool,
    cloned: Moment,
}

async fn source_snapshot(
    committer: &Committer,
    source: &BranchSource,
    registry: &Snapshot,
) -> Result<Snapshot, CommitError> {
    let catalog = committer.catalog();
    Ok(match source {
        BranchSource::Branch(BranchName::Main) => registry.clone(),
        BranchSource::Branch(name) => catalog.newest(name).await?,
        BranchSource::BranchAtTime { branch, time_ms } => catalog.snapshot_at_time(branch, *time_ms).await?,
        BranchSource::Commit(commit) => catalog.snapshot_of_commit(*commit).await?,
    })
}

async fn clone(
    committer: &Committer,
    request: &BranchRequest,
    source: &BranchSource,
    base: &Snapshot,
) -> Result<Made, CommitError> {
    let cloned = Moment::now(committer.clock());
    let chain = committer.catalog().clone_chain(base).await?;
    let row = BranchRow {
        branch_id: BranchId(committer.clock().mint()),
        name: request.name.clone(),
        chain,
        source: base.branch_id(),
        source_commit: base.head(),
        schema_hash: base.schema_hash().to_owned(),
        created_ms: committer.clock().wall_ms(),
        removed_ms: None,
    };
    let of_newest_main = *source == BranchSource::Branch(BranchName::Main);
    let must_live = matches!(source, BranchSource::Branch(_)).then(|| base.branch_id());
    Ok(Made { row, must_live, schema_must_hold: of_newest_main, cloned })
}

fn create_intent(committer: &Committer, request: &BranchRequest, registry: &Snapshot, made: &Made) -> Intent {
    let mut preconditions =
        vec![Precondition::OperationUnseen(request.operation_id), Precondition::NameFree(request.name.clone())];
    preconditions.extend(made.must_live.map(Precondition::BranchLive));
    if made.schema_must_hold {
        preconditions.push(Precondition::SchemaIs(made.row.schema_hash.clone()));
    }
    let attempt_id = AttemptId(committer.clock().mint());
    let kind = PublicationKind::BranchCreate;
    let publication = Publication {
        preconditions,
        branch: Some(made.row.clone()),
        ..Publication::new(kind, request.operation_id, request.digest.clone(), attempt_id)
    };
    intent(committer, registry, "branch_create", request.actor.clone(), publication)
}

fn intent(committer: &Committer, base: &Snapshot, writer: &str, actor: String, publication: Publication) -> Intent {
    Intent {
        format: Intent::FORMAT,
        operation_id: publication.operation_id,
        attempt_id: publication.attempt_id,
        writer: writer.to_owned(),
        actor,
        branch_id: base.branch_id(),
        base: base.version(),
        token: Token::capture(base.state(), &[]),
        aborts: 0,
        armed_ms: committer.clock().wall_ms(),
        effects: Vec::new(),
        publication,
    }
}

async fn publish_on_main(
    committer: &Committer,
    registry: &Snapshot,
    intent: &Intent,
    points: Points,
    deadline: Instant,
) -> Result<Published, CommitError> {
    let entered = tokio::time::timeout_at(deadline, committer.gate(registry.branch_id()).enter()).await;
    let Ok(gate) = entered else { return Err(kept_waiting(committer, registry.chain()).await) };
    let known = committer.catalog().known(registry.branch_id());
    if known.is_some_and(|known| known.version() > registry.version()) {
        return Ok(Published::Lost);
    }
    // What goes on from arm must end, whatever becomes of the caller.
    let (committer, registry, intent) = (committer.clone(), registry.clone(), intent.clone());
    let task = async move { publish(&committer, &gate, &registry, &intent, points, deadline).await };
    tokio::spawn(task).await.map_err(|_| CommitError::TaskLost)?
}

/// What the same operation did before, or the refusal of its id.
async fn receipt(
    committer: &Committer,
    request: &BranchRequest,
    registry: &Snapshot,
    kind: PublicationKind,
) -> Result<Option<BranchOutcome>, CommitError> {
    let rows = committer.catalog().operation_rows(registry, request.operation_id).await?;
    if rows.is_empty() {
        check_age(committer, request.operation_id)?;
    }
    let Some(row) = rows.into_iter().rev().find(|row| row.kind != PublicationKind::Abort) else {
        return Ok(None);
    };
    let subject = row.subject.and_then(|branch| registry.state().branches.get(&branch));
    match subject {
        Some(branch) if row.kind == kind && row.digest == request.digest => {
            Ok(Some(BranchOutcome::Replayed(branch.clone())))
        }
        _ => Err(reused(row)),
    }
}

pub(crate) fn reused(row: OperationRow) -> CommitError {
    let OperationRow { operation_id, digest, commit_id, .. } = row;
    CatalogError::OperationIdReused { operation_id, first_digest: digest, commit: commit_id }.into()
}

/// The last version of a registered branch, if it is removed already.
async fn retired(committer: &Committer, row: &BranchRow) -> Result<Option<RetiredRow>, CommitError> {
    let newest = committer.catalog().newest_of(&row.chain_of_versions()).await?;
    Ok(newest.state().retired.clone())
}

/// Deletes a branch. Branches made from it stay.
pub(crate) async fn delete(committer: &Committer, request: &BranchRequest) -> Result<BranchOutcome, CommitError> {
    let rounds = committer.limits().commit_rounds_max;
    for round in 0..rounds {
        let looked = look_to_delete(committer, request).await;
        // Every round but the first follows an end of the chain that this request may have published.
        let looked = if round == 0 { looked? } else { looked.map_err(CommitError::in_doubt)? };
        let newest = match looked {
            ToDelete::Live(newest) => newest,
            ToDelete::Ended { row, retired } => return finish(committer, request, &row, &retired).await,
            ToDelete::Answered(outcome) => return Ok(outcome),
        };
        request.check_head(newest.head())?;
        if request.mode == WriteMode::ValidateOnly {
            return Ok(BranchOutcome::Validated);
        }
        request.check_deadline()?;
        let points = (FailPoint::BranchRetirePublishBefore, FailPoint::BranchRetirePublishAfter);
        let (committer, retired) = (committer.clone(), request.retirement(committer));
        let task = async move { retire(&committer, &newest, retired, points).await };
        tokio::spawn(task).await.map_err(|_| CommitError::TaskLost)??;
    }
    let attempts = u32::try_from(rounds).unwrap_or(u32::MAX);
    Err(CommitError::Contention { attempts, winner: None }.in_doubt())
}

/// What a request to delete a branch finds.
enum ToDelete {
    Live(Snapshot),
    Ended { row: BranchRow, retired: RetiredRow },
    Answered(BranchOutcome),
}

async fn look_to_delete(committer: &Committer, request: &BranchRequest) -> Result<ToDelete, CommitError> {
    let registry = committer.catalog().registry().await?;
    if let Some(outcome) = receipt(committer, request, &registry, PublicationKind::BranchDelete).await? {
        return Ok(ToDelete::Answered(outcome));
    }
    let Some(row) = registry.state().live_branch(&request.name) else {
        return Err(CatalogError::BranchNotFound(request.name.clone()).into());
    };
    let newest = committer.catalog().newest_of(&row.chain_of_versions()).await?;
    Ok(match newest.state().retired.clone() {
        Some(retired) => ToDelete::Ended { row: row.clone(), retired },
        None => ToDelete::Live(newest),
    })
}

/// Publishes the last version of a chain, without a ticket: it races with whoever holds one. Won, lost or unknown, the chain says what is there.
pub(crate) async fn retire(
    committer: &Committer,
    newest: &Snapshot,
    retired: RetiredRow,
    (before, after): (FailPoint, FailPoint),
) -> Result<(), CommitError> {
    let catalog = committer.catalog();
    let (operation_id, digest) = (retired.operation_id, retired.digest.clone());
    let _busy = committer.liveness().serve(operation_id);
    let publication = Publication::new(PublicationKind::Retire, operation_id, digest, retired.attempt_id);
    let publication = Publication { retired: Some(retired), ..publication };
    committer.hit(before).await?;
    let staged = catalog.stage(newest, &publication).await?;
    match catalog.publish(staged).await.map_err(CommitError::from) {
        Ok(PublishOutcome::Published(_) | PublishOutcome::Lost) => {}
        Err(error) if error.certainty() == Certainty::NotApplied => return Err(error),
        Err(error) => tracing::warn!(branch = %newest.branch_name(), error = %error, "a removal has no known outcome"),
    }
    match committer.hit(after).await {
        // The chain has ended, whatever this request meets now.
        Err(error) if error.certainty() == Certainty::NotApplied => Err(error.in_doubt()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A removed branch that is still registered: gives its name back, and answers the request.
async fn finish(
    committer: &Committer,
    request: &BranchRequest,
    row: &BranchRow,
    retired: &RetiredRow,
) -> Result<BranchOutcome, CommitError> {
    let ours = retired.operation_id == request.operation_id;
    match remove(committer, row, retired, request.bound(committer)).await {
        Ok(()) => {}
        // The branch is gone, whoever gives its name back.
        Err(error) if ours => {
            tracing::warn!(branch = %row.name, error = %error, "a removed branch is still registered");
        }
        Err(error) => return Err(error),
    }
    let row = BranchRow { removed_ms: Some(retired.time_ms), ..row.clone() };
    match request.is_of(retired)? {
        true => Ok(BranchOutcome::Done(row)),
        false => Err(CatalogError::BranchNotFound(request.name.clone()).into()),
    }
}

/// Takes a retired branch's name away, unless somebody else has.
pub(crate) async fn remove(
    committer: &Committer,
    row: &BranchRow,
    retired: &RetiredRow,
    deadline: Instant,
) -> Result<(), CommitError> {
    let rounds = committer.limits().commit_rounds_max;
    for _ in 0..rounds {
        let registry = committer.catalog().registry().await?;
        let registered = registry.state().branches.get(&row.branch_id);
        if registered.is_none_or(|row| row.removed_ms.is_some()) {
            return Ok(());
        }
        let kind = PublicationKind::BranchDelete;
        let attempt_id = AttemptId(committer.clock().mint());
        let publication = Publication {
            preconditions: vec![Precondition::BranchLive(row.branch_id)],
            branch: Some(BranchRow { removed_ms: Some(retired.time_ms), ..row.clone() }),
            ..Publication::new(kind, retired.operation_id, retired.digest.clone(), attempt_id)
        };
        let intent = intent(committer, &registry, "branch_delete", retired.actor.clone(), publication);
        match publish_on_main(committer, &registry, &intent, REMOVE_POINTS, deadline).await? {
            Published::Done(_) => return Ok(()),
            Published::Lost => {}
        }
    }
    Err(CommitError::Contention { attempts: u32::try_from(rounds).unwrap_or(u32::MAX), winner: None })
}

/// Finishes the removal of a branch whose chain has ended, if it is still registered.
pub(crate) async fn finish_removal(
    committer: &Committer,
    chain: &Chain,
    retired: &RetiredRow,
    deadline: Instant,
) -> Result<(), CommitError> {
    let registry = committer.catalog().registry().await?;
    match registry.state().branches.get(&chain.branch_id) {
        Some(row) if row.removed_ms.is_none() => remove(committer, row, retired, deadline).await,
        _ => Ok(()),
    }
}
