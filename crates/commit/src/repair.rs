//! Repair: what settling refuses, because it needs a person. Without a confirmation it reports, with one it acts.
//!
//! It touches no table. It publishes what the person confirmed, as `unsettled` rows; then the tables are settled as after any abort, by
//! this process or by whoever comes next. For an unreadable intent that publication is the abort at the intent's own version, which races
//! with its owner and with a removal of the branch for one object; every table that the branch owns is fenced then, because nobody knows
//! what was planned (I-7). Else it goes under a ticket, like any.

use omnigraph_catalog::{Chain, OperationRow, Publication, PublicationKind, Snapshot};
use omnigraph_types::mutant;
use omnigraph_types::{AttemptId, GraphVersion, RequestEffect, TableId};

use crate::attempt::{Carried, Guarded, Works};
use crate::condition::{Looked, examine, look};
use crate::context::Context;
use crate::door::{OpenPuts, Points, Put, publish_without_ticket};
use crate::error::CommitError;
use crate::fence::settle_tables;
use crate::gate::GateHeld;
use crate::intent::{Intent, Plan};
use crate::receipt::{self, Identity, Receipt};
use crate::repair_plan::{REPAIR, RepairRequest, RepairView, check, plan, publication};
use crate::request::Request;
use crate::rescue::wait_for;
use crate::rounds::Rounds;
use crate::ticket::{self, IntentSlot};

/// What became of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairOutcome {
    /// What was repaired; none if an earlier request of the same operation did it.
    pub view: Option<RepairView>,
    /// The version that published it.
    pub version: GraphVersion,
    /// Types whose tables could not be put back: something new follows their pins, or their pinned version is missing.
    pub left: Vec<String>,
}

/// Reads, and changes nothing.
pub(crate) async fn preview(context: &Context, chain: &Chain, chosen: &[TableId]) -> Result<RepairView, CommitError> {
    let Looked { newest, slot, tables } = look(context.catalog(), chain, chosen).await?;
    Ok(plan(context, &newest, slot, tables, chosen)?.view)
}

/// Does what was confirmed, or refuses because the state has changed since.
///
/// It runs to its end in a task of its own, whatever becomes of the caller.
pub(crate) async fn repair(
    context: &Context,
    under_way: Request,
    chain: &Chain,
    request: RepairRequest,
) -> Result<RepairOutcome, CommitError> {
    let (context, chain) = (context.clone(), chain.clone());
    let task = tokio::spawn(async move { run(&context, &under_way, &chain, &request).await });
    task.await.map_err(|_| CommitError::TaskLost)?
}

async fn run(
    context: &Context,
    under_way: &Request,
    chain: &Chain,
    request: &RepairRequest,
) -> Result<RepairOutcome, CommitError> {
    let entered = context.enter(chain.branch_id, request.deadline).await;
    let gate = entered.ok_or(CommitError::Deadline)?;
    let mut repair = Repair { context, under_way, gate: &gate, chain, request, open: OpenPuts::default() };
    let mut rounds = Rounds::of_rescue();
    loop {
        rounds.begin()?;
        if let Some(outcome) = repair.round().await? {
            return Ok(outcome);
        }
    }
}

/// A confirmed repair on its way.
struct Repair<'a> {
    context: &'a Context,
    under_way: &'a Request,
    gate: &'a GateHeld,
    chain: &'a Chain,
    request: &'a RepairRequest,
    /// Publications without a ticket whose outcome is not known.
    open: OpenPuts,
}

/// What became of the publication of a repair.
enum Made {
    Published,
    /// The version went to another publication, or the outcome is unknown: the next look finds it.
    LookAgain,
}

impl Repair<'_> {
    /// One look, and what follows from it. None: something changed, look again.
    async fn round(&mut self) -> Result<Option<RepairOutcome>, CommitError> {
        let Self { context, chain, request, .. } = *self;
        let catalog = context.catalog();
        let newest = catalog.newest_of(chain).await?;
        let receipt = self.receipt(&newest).await?;
        match receipt {
            Some(_) => self.under_way.effect().found_committed(),
            None => self.open.refute_up_to(mutant!(26, newest.version(), GraphVersion(0))),
        }
        if newest.state().retired.is_some() {
            return Err(catalog.ended(&chain.name).into());
        }
        if let Some(row) = receipt {
            let left = self.settle_rest(row.decision.attempt_id).await?;
            return Ok(Some(RepairOutcome { view: None, version: row.version, left }));
        }
        let version = newest.version().next();
        let slot = ticket::read(catalog, newest.branch_id(), version).await?;
        match &slot {
            IntentSlot::Held { .. } => {
                wait_for(context, self.gate, chain, version, request.deadline, &RequestEffect::default()).await?;
                return Ok(None);
            }
            // The plan refuses a newer server's.
            IntentSlot::Empty | IntentSlot::Newer(_) | IntentSlot::Unreadable(_) => {}
        }
        let tables = examine(catalog.store(), &newest, &slot, &request.tables).await?;
        let plan = plan(context, &newest, slot, tables, &request.tables)?;
        check(context, &newest, &plan.view, request)?;
        let attempt_id = context.mint_attempt();
        let publication = publication(context, &newest, &plan, request, attempt_id);
        tracing::warn!(graph = %context.graph_name(), branch = %chain.name, %version, actor = %request.actor,
            operation = %request.operation_id, intent = ?plan.view.intent, tables = plan.touched.len(), "repair: confirmed");
        let made = match &plan.view.intent {
            Some(_) => self.take_version(&newest, &publication).await?,
            None => self.publish(&newest, publication).await?,
        };
        match made {
            Made::Published => {}
            Made::LookAgain => return Ok(None),
        }
        let left = self.settle_rest(attempt_id).await?;
        Ok(Some(RepairOutcome { view: Some(plan.view), version, left }))
    }

    /// What the same operation did before, or the refusal of its id (I-8).
    async fn receipt(&self, newest: &Snapshot) -> Result<Option<OperationRow>, CommitError> {
        let RepairRequest { operation_id, digest, .. } = self.request;
        let identity = Identity { operation_id: *operation_id, digest, kind: PublicationKind::Repair };
        Ok(match receipt::find(self.context, newest, identity).await? {
            Receipt::Done(row) => Some(row),
            Receipt::Open { .. } => None,
        })
    }

    /// Aborts an attempt whose intent cannot be read, at its own version: its owner, a removal of the branch and other repairers race for it.
    async fn take_version(&mut self, newest: &Snapshot, publication: &Publication) -> Result<Made, CommitError> {
        let points = Points::of(REPAIR);
        match publish_without_ticket(self.context, self.under_way, newest, publication, points).await? {
            Put::Published => Ok(Made::Published),
            Put::Lost => Ok(Made::LookAgain),
            Put::Unknown(put) => {
                self.open.push(put);
                Ok(Made::LookAgain)
            }
        }
    }

    /// Publishes what was confirmed under a ticket.
    async fn publish(&self, newest: &Snapshot, publication: Publication) -> Result<Made, CommitError> {
        let Self { context, under_way, gate, request, .. } = *self;
        let plan = Plan::without_effects(REPAIR, request.actor.clone(), newest, publication);
        let (intent, works) = (Intent::mint(plan, newest, context.clock()), Works::default());
        let guarded =
            Guarded { request: under_way, gate, base: newest, writer: REPAIR, intent: &intent, works: &works };
        match guarded.carry_out(context, request.deadline).await? {
            Carried::Published(_) => Ok(Made::Published),
            Carried::Lost | Carried::Undone(_) | Carried::Ended => Ok(Made::LookAgain),
        }
    }

    /// Fences what was confirmed. Returns the types that could not be.
    async fn settle_rest(&self, attempt_id: AttemptId) -> Result<Vec<String>, CommitError> {
        let Self { context, gate, chain, request, .. } = *self;
        match settle_tables(context, gate, chain, request.deadline, &RequestEffect::default()).await {
            Ok(_) | Err(CommitError::Occupied { .. }) => {}
            // A table that cannot be read is left too, and reported with those.
            Err(error) if error.is_lasting() => {}
            Err(error) => return Err(error),
        }
        let newest = context.catalog().newest_of(chain).await?;
        let rows = newest.state().unsettled.iter().filter(|row| row.attempt_id == attempt_id);
        Ok(rows.filter_map(|row| newest.table(row.table)).map(|table| table.type_name.clone()).collect())
    }
}
