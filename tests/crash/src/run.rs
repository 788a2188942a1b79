//! One cell from its setting to the oracle.
//!
//! The order is the same for all: the setting; the victim starts with its fail point; before a rescuer, another process dies; the request;
//! the fault; the next writer's plain write, timed from the fault; a held writer continues; the state is read; every operation is sent
//! again; the oracle.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::ready;
use omnigraph_client::{Client, ClientError};
use omnigraph_types::{BranchName, OperationId, Resource};
use tokio::task::JoinHandle;

use crate::cell::{Cell, Fault, Next};
use crate::check::Seen;
use crate::deed::{Deed, Plan, dev};
use crate::error::Violation;
use crate::limits::{BLOCKED_MAX, CELL_MAX, DEADLINE, REQUEST_TIMEOUT, RESCUER_DEADLINE};
use crate::model::{LoadOf, Rows};
use crate::oracle::is_missing;
use crate::stand::{Stand, client, client_within};
use crate::victim::Victim;
use crate::world::{MintedBy, Operation, Plain, Reply, World};

/// Field in the log of a server for a call that its client cancelled.
const CANCELLED: &str = "code=Cancelled";
/// Line in the log of a server when a held put has reached the store.
const LANDED: &str = "failpoint landed: ";

/// What a cell without a violation showed.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// Whether the next writer found the writer's operation applied, before it was sent again.
    pub seen: Seen,
    /// From the fault to the end of the next writer's plain write.
    pub blocked: Duration,
}

/// Runs one cell.
pub(crate) async fn run(stand: Arc<Stand>, cell: Cell) -> Result<Shown, Violation> {
    match tokio::time::timeout(CELL_MAX, whole(stand, cell)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Violation::Unanswered { what: "the whole cell", bound: CELL_MAX }),
    }
}

async fn whole(stand: Arc<Stand>, cell: Cell) -> Result<Shown, Violation> {
    let running = stand.running().await?;
    let world = World::new(stand, cell, &running).await?;
    let victim = world.victim().await?;
    let mut operations = Vec::new();
    operations.extend(world.died_before().await?);

    let (id, minted_by) = victim.mint();
    let deadline = world.deadline();
    let asked = client_within(&victim.server, deadline).await?;
    let (graph, deed) = (world.graph.clone(), world.plan.deed.clone());
    let mut request = tokio::spawn(async move { deed.send_within(&asked, &graph, id, deadline).await });
    world.at_the_point(&victim, &mut request).await?;
    if cell.fault == Fault::Cancel {
        request.abort();
        victim.server.logged(CANCELLED).await;
    }
    if cell.fault.fails_syncs() {
        victim.fail_syncs();
        victim.release()?;
    }
    let mut answer = answered(request).boxed();
    if cell.fault == Fault::Deadline || cell.fault.fails_syncs() {
        answer = ready(answer.await).boxed();
    }
    if cell.fault == Fault::SyncOnce {
        victim.mend_syncs();
    }
    if cell.fault.holds_writer() && cell.next == Next::Same {
        victim.release()?;
    }
    let fault = Instant::now();
    let mut fresh = None;
    let next = match cell.next {
        Next::Same => victim.client.clone(),
        Next::Running => running,
        Next::Fresh => client(fresh.insert(world.stand.start(Vec::new()).await?)).await?,
    };
    let plain = async {
        let written = world.plain_write(&next, &victim, id).await?;
        Ok::<_, Violation>((written, fault.elapsed()))
    };
    let (written, reply) = tokio::join!(plain, answer);
    let ((plain, blocked), reply) = (written?, reply?);
    if blocked > BLOCKED_MAX {
        return Err(Violation::Blocked { blocked });
    }
    operations.push(Operation { deed: world.plan.deed.clone(), id, reply, minted_by });
    if cell.fault.holds_put() {
        victim.release()?;
        victim.server.logged(LANDED).await;
    }
    if cell.fault.holds_writer() && cell.next != Next::Same {
        victim.release()?;
        // Settling waits for the writer that was held; its answer is not part of the oracle.
        for branch in [BranchName::Main, dev()] {
            let _ = victim.client.recover(&world.graph, &branch).await;
        }
    }
    let twin = match minted_by {
        MintedBy::Sound => next.clone(),
        MintedBy::Victim => victim.twin(&world).await?,
    };
    let seen = world.check(&next, &twin, &operations, plain).await?;
    Ok(Shown { seen, blocked })
}

/// The outcome of a request, or that it was cancelled.
async fn answered(request: JoinHandle<Result<String, ClientError>>) -> Result<Reply, Violation> {
    match tokio::time::timeout(REQUEST_TIMEOUT * 2, request).await {
        Ok(Ok(outcome)) => Ok(Reply::of(outcome)),
        Ok(Err(ended)) if ended.is_cancelled() => Ok(Reply::Cancelled),
        Ok(Err(ended)) => Err(Violation::Broken { what: ended.to_string() }),
        Err(_) => Err(Violation::Unanswered { what: "the request that met the fault", bound: REQUEST_TIMEOUT * 2 }),
    }
}

impl World {
    /// Makes the graph through the server that runs all along.
    async fn new(stand: Arc<Stand>, cell: Cell, maker: &Client) -> Result<Self, Violation> {
        let (plan, graph) = (Plan::of(&cell), stand.graph_name()?);
        let setting = |error| Violation::refused("the setting")(error);
        let mint = Client::mint_operation_id;
        if !plan.has_graph() {
            return Ok(Self { stand, cell, plan, graph, graph_id: None, dev_id: None, start: Rows::default() });
        }
        let graph_id = Some(Deed::CreateGraph.send(maker, &graph, mint()).await.map_err(setting)?);
        let seed = Deed::Load(BranchName::Main, LoadOf::seed(cell.tables));
        seed.send(maker, &graph, mint()).await.map_err(setting)?;
        let mut start = LoadOf::seed(cell.tables).on(&Rows::default());
        let mut dev_id = None;
        for deed in &plan.setting {
            let made = deed.send(maker, &graph, mint()).await.map_err(setting)?;
            match deed {
                Deed::CreateBranch => dev_id = Some(made),
                Deed::Load(_, load) => start = load.on(&start),
                Deed::DeleteBranch | Deed::CreateGraph | Deed::DeleteGraph => {}
            }
        }
        Ok(Self { stand, cell, plan, graph, graph_id, dev_id, start })
    }

    /// How long the writer's request may take.
    fn deadline(&self) -> Duration {
        match (self.cell.fault, &self.plan.before) {
            (Fault::Deadline, None) => DEADLINE,
            (Fault::Deadline, Some(_)) => RESCUER_DEADLINE,
            _ => REQUEST_TIMEOUT,
        }
    }

    /// A load of the next writer; if the graph is removed, into a new one of its name. `id` is the operation of the cell's own writer.
    async fn plain_write(&self, next: &Client, victim: &Victim, id: OperationId) -> Result<Plain, Violation> {
        let plain = self.plain_load();
        let mint = Client::mint_operation_id;
        let written = match plain.send(next, &self.graph, mint()).await {
            Ok(_) => Plain::Written,
            Err(error) if is_missing(&error, Resource::Graph) => {
                // A rescuer's own request is sent again: it may have made the graph that is missing.
                let made = match (&self.plan.deed, victim.mint().1) {
                    (Deed::CreateGraph, MintedBy::Victim) => {
                        Deed::CreateGraph.send(&victim.twin(self).await?, &self.graph, id).await
                    }
                    (Deed::CreateGraph, MintedBy::Sound) => Deed::CreateGraph.send(next, &self.graph, id).await,
                    _ => Deed::CreateGraph.send(next, &self.graph, mint()).await,
                };
                made.map_err(Violation::refused("a graph of the free name"))?;
                let again = plain.send(next, &self.graph, mint()).await;
                again.map_err(Violation::refused("a plain write into the new graph"))?;
                Plain::InNewGraph
            }
            Err(error) => return Err(Violation::refused("a plain write")(error)),
        };
        if self.plan.deed == Deed::DeleteBranch {
            let on_dev = Deed::Load(dev(), LoadOf::append("plain", self.cell.tables));
            match on_dev.send(next, &self.graph, mint()).await {
                Err(error) if !is_missing(&error, Resource::Branch) => {
                    return Err(Violation::refused("a plain write on the branch")(error));
                }
                Ok(_) | Err(_) => {}
            }
        }
        Ok(written)
    }

    fn plain_load(&self) -> Deed {
        Deed::Load(self.plan.branch.clone(), LoadOf::append("plain", self.cell.tables))
    }
}
