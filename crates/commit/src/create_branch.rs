//! Creating a branch, by the same door as every write.
//!
//! A branch is made as a clone that nobody can see, and exists when main's registry names it: two creators of a name race for main's next
//! version.

use omnigraph_catalog::{
    BranchRow, CatalogError, Change, DecidedBy, Operations, Precondition, Publication, PublicationKind, Snapshot,
};
use omnigraph_types::mutant;
use omnigraph_types::{BranchId, BranchName, Moment, ReadAt, WriteMode};

use crate::context::Context;
use crate::delete_branch::remove;
use crate::error::CommitError;
use crate::failpoint::WriterPoints;
use crate::receipt::{self, Receipt};
use crate::registry::{BranchOutcome, BranchRequest, Changed, RegistryChange, publish_on_main, retired};
use crate::request::Request;
use crate::rounds::Rounds;

/// The writer that registers branches.
pub(crate) const BRANCH_CREATE: WriterPoints = WriterPoints::of("branch_create");

/// Creates a branch. `BranchExists` where a live one bears the name.
pub(crate) async fn create(
    context: &Context,
    under_way: &Request,
    request: &BranchRequest,
    source: &ReadAt,
) -> Result<BranchOutcome, CommitError> {
    let mut rounds = Rounds::of_request(context.limits());
    let mut made: Option<Made> = None;
    loop {
        rounds.begin()?;
        let registry = context.catalog().registry().await?;
        if let Some(row) = registered(context, request, &registry).await? {
            under_way.effect().found_committed();
            return Ok(BranchOutcome::Replayed(row));
        }
        if request.name == BranchName::Main {
            return Err(CatalogError::BranchExists(BranchName::Main).into());
        }
        if let Some(row) = mutant!(71, registry.state().live_branch(&request.name), None) {
            match retired(context, &row.chain()).await? {
                Some(retired) => {
                    remove(context, row, &retired, context.ticket_deadline(request.deadline)).await?;
                    continue;
                }
                None => return Err(CatalogError::BranchExists(request.name.clone()).into()),
            }
        }
        let base = source_snapshot(context, source, &registry).await?;
        request.check_head(base.head())?;
        match request.mode {
            WriteMode::ValidateOnly => return Ok(BranchOutcome::Validated),
            WriteMode::Commit => request.check_deadline()?,
        }
        let clone = match made.take().filter(|made| made.fits(context, &registry, &base)) {
            Some(made) => made,
            None => clone(context, request, source, &base).await?,
        };
        let change = registration(context, request, &clone);
        let deadline = context.ticket_deadline(request.deadline);
        match publish_on_main(context, under_way, &registry, change, deadline).await? {
            Changed::Done => return Ok(BranchOutcome::Done(clone.row)),
            Changed::Lost => made = Some(clone),
        }
    }
}

/// The branch that an earlier request of the same operation registered (I-8).
async fn registered(
    context: &Context,
    request: &BranchRequest,
    registry: &Snapshot,
) -> Result<Option<BranchRow>, CommitError> {
    let identity = request.identity(PublicationKind::BranchCreate);
    match receipt::find(context, registry, identity).await? {
        Receipt::Done(row) => receipt::subject_of(registry, &row).map(Some),
        Receipt::Open { .. } => Ok(None),
    }
}

/// A clone that nobody can see yet, with the row that would make it a branch.
struct Made {
    row: BranchRow,
    /// The source, where it was named as a branch; a commit may lie on one that is gone.
    must_live: Option<BranchId>,
    schema: SchemaOfSource,
    cloned: Moment,
}

/// Whether main must still have the schema that was cloned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SchemaOfSource {
    /// Yes: the branch is one of main as it is now.
    MustHold,
    /// No: an older commit, or another branch, was named on purpose.
    Fixed,
}

impl Made {
    /// A clone stays good while it is young, because nothing keeps what it names before it is registered, while the name of its source means
    /// the branch that was cloned, and while its schema may be registered.
    fn fits(&self, context: &Context, registry: &Snapshot, base: &Snapshot) -> bool {
        let is_young = mutant!(74, self.cloned.age(context.clock()) <= context.catalog().proof_age_max(), true);
        is_young
            && mutant!(73, self.must_live.is_none_or(|source| source == base.branch_id()), true)
            && match self.schema {
                SchemaOfSource::MustHold => mutant!(72, self.row.schema_hash == registry.schema_hash(), true),
                SchemaOfSource::Fixed => true,
            }
    }
}

async fn source_snapshot(context: &Context, source: &ReadAt, registry: &Snapshot) -> Result<Snapshot, CommitError> {
    let catalog = context.catalog();
    Ok(match source {
        ReadAt::Branch(BranchName::Main) => registry.clone(),
        ReadAt::Branch(name) => catalog.newest(name).await?,
        ReadAt::BranchAtTime { branch, time_ms } => catalog.snapshot_at_time(branch, *time_ms).await?,
        ReadAt::Commit(commit) => catalog.snapshot_of_commit(*commit).await?,
    })
}

async fn clone(
    context: &Context,
    request: &BranchRequest,
    source: &ReadAt,
    base: &Snapshot,
) -> Result<Made, CommitError> {
    let cloned = Moment::now(context.clock());
    let tree = context.catalog().clone_chain(base).await?;
    let row = BranchRow {
        branch_id: BranchId(context.clock().mint()),
        name: request.name.clone(),
        tree,
        source: base.branch_id(),
        source_commit: base.head(),
        schema_hash: base.schema_hash().to_owned(),
        created_ms: context.clock().wall_ms().max(base.head_commit().time_ms.saturating_add(1)),
        removed: None,
    };
    let (must_live, schema) = match source {
        ReadAt::Branch(BranchName::Main) => (Some(base.branch_id()), SchemaOfSource::MustHold),
        ReadAt::Branch(BranchName::Named(_)) => (Some(base.branch_id()), SchemaOfSource::Fixed),
        ReadAt::BranchAtTime { .. } | ReadAt::Commit(_) => (None, SchemaOfSource::Fixed),
    };
    Ok(Made { row, must_live, schema, cloned })
}

fn registration(context: &Context, request: &BranchRequest, made: &Made) -> RegistryChange {
    let mut preconditions =
        vec![Precondition::OperationUnseen(request.operation_id), Precondition::NameFree(request.name.clone())];
    preconditions.extend(made.must_live.map(Precondition::BranchLive));
    match made.schema {
        SchemaOfSource::MustHold => preconditions.push(Precondition::SchemaIs(made.row.schema_hash.clone())),
        SchemaOfSource::Fixed => {}
    }
    let publication = Publication {
        kind: PublicationKind::BranchCreate,
        decision: DecidedBy::Own.about(context.mint_attempt()),
        preconditions,
        changes: vec![Change::Branch(made.row.clone())],
        operations: Operations::one(request.operation_id, request.digest.clone()),
    };
    RegistryChange { writer: BRANCH_CREATE, actor: request.actor.clone(), publication }
}
