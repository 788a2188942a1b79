//! One cell from its setting to the oracle.
//!
//! The order is the same for all: the setting; the victim starts with its fail point; before a rescuer, another process dies; the request;
//! the fault; the next writer's plain write, timed from the fault; a held writer continues; the state is read; every operation is sent
//! again; the oracle.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::ready;
use omnigraph_client::{Client, ClientError};
use omnigraph_e2e::server::Server;
use omnigraph_types::{BranchName, OperationId, Phase, Resource};
use tokio::task::JoinHandle;

use crate::cell::{Cell, Fault, Next, Tables};
use crate::check::Seen;
use crate::deed::{Deed, Plan, dev};
use crate::error::Violation;
use crate::limits::{BLOCKED_MAX, CELL_MAX, DEADLINE, HIT_MAX, LOG_POLL, REQUEST_TIMEOUT, RESCUER_DEADLINE};
use crate::model::{LoadOf, Rows};
use crate::oracle::is_missing;
use crate::points::{Action, ArmedPoint};
use crate::stand::{Stand, broken, client, client_within};
use crate::world::{Operation, Plain, Reply, World};

/// Line in the log of a server that has examined every branch.
const EXAMINED: &str = "every branch is examined";
/// Field in the log of a server for a call that its client cancelled.
const CANCELLED: &str = "code=Cancelled";
/// Line in the log of a server that holds a put back.
const HELD_BACK: &str = "failpoint holds back: ";
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

/// A server with the cell's fail point, and the file that releases a writer held there.
struct Victim {
    server: Server,
    client: Client,
    release: PathBuf,
    _folder: tempfile::TempDir,
}

impl Victim {
    fn release(&self) -> Result<(), Violation> {
        std::fs::write(&self.release, b"").map_err(broken("release a held writer"))
    }
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

    let id = Client::mint_operation_id();
    let deadline = world.deadline();
    let asked = client_within(&victim.server, deadline).await?;
    let (graph, deed) = (world.graph.clone(), world.plan.deed.clone());
    let mut request = tokio::spawn(async move { deed.send_within(&asked, &graph, id, deadline).await });
    world.at_the_point(&victim, &mut request).await?;
    if cell.fault == Fault::Cancel {
        request.abort();
        victim.server.logged(CANCELLED).await;
    }
    let mut answer = answered(request).boxed();
    if cell.fault == Fault::Deadline {
        answer = ready(answer.await).boxed();
    }
    let is_held = matches!(cell.fault, Fault::Cancel | Fault::Deadline);
    if is_held && cell.next == Next::Same {
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
        let written = world.plain_write(&next, id).await?;
        Ok::<_, Violation>((written, fault.elapsed()))
    };
    let (written, reply) = tokio::join!(plain, answer);
    let ((plain, blocked), reply) = (written?, reply?);
    if blocked > BLOCKED_MAX {
        return Err(Violation::Blocked { blocked });
    }
    operations.push(Operation { deed: world.plan.deed.clone(), id, reply });
    if cell.fault == Fault::Late {
        victim.release()?;
        victim.server.logged(LANDED).await;
    }
    if is_held && cell.next != Next::Same {
        victim.release()?;
        // Settling waits for the writer that was held; its answer is not part of the oracle.
        for branch in [BranchName::Main, dev()] {
            let _ = victim.client.recover(&world.graph, &branch).await;
        }
    }
    let seen = world.check(&next, &operations, plain).await?;
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

    /// The server that meets the fault, after it has examined every branch.
    async fn victim(&self) -> Result<Victim, Violation> {
        let folder = tempfile::tempdir().map_err(broken("make a folder"))?;
        let release = folder.path().join("release");
        let Cell { point, fault, tables, .. } = self.cell;
        let action = match fault {
            Fault::Kill => Action::Kill,
            Fault::Error => Action::Error,
            Fault::Lose => Action::Lose,
            Fault::Late => Action::Late,
            Fault::Cancel | Fault::Deadline => Action::Pause,
        };
        // The second of three tables meets the fault: one is before it, and one after.
        let hit = if tables == Tables::Three && point.phase == Phase::Apply { 2 } else { 1 };
        let points = [ArmedPoint { point, action, hit }];
        let server = self.stand.start(self.variables(&points, &release)).await?;
        server.logged(EXAMINED).await;
        let client = client(&server).await?;
        Ok(Victim { server, client, release, _folder: folder })
    }

    /// How long the writer's request may take.
    fn deadline(&self) -> Duration {
        match (self.cell.fault, &self.plan.before) {
            (Fault::Deadline, None) => DEADLINE,
            (Fault::Deadline, Some(_)) => RESCUER_DEADLINE,
            (Fault::Kill | Fault::Error | Fault::Lose | Fault::Late | Fault::Cancel, _) => REQUEST_TIMEOUT,
        }
    }

    /// For a rescuer: a process that dies and leaves an operation to settle.
    async fn died_before(&self) -> Result<Option<Operation>, Violation> {
        let Some(before) = &self.plan.before else { return Ok(None) };
        let folder = tempfile::tempdir().map_err(broken("make a folder"))?;
        let server = self.stand.start(self.variables(&before.points, &folder.path().join("release"))).await?;
        let id = Client::mint_operation_id();
        let reply = Reply::of(before.deed.send(&client(&server).await?, &self.graph, id).await);
        for ArmedPoint { point, .. } in &before.points {
            if !server.log().contains(&format!("failpoint hit: {}/{point} ", self.graph)) {
                return Err(Violation::NeverHit { point: *point, reply: format!("{reply:?}") });
            }
        }
        server.kill9();
        Ok(Some(Operation { deed: before.deed.clone(), id, reply }))
    }

    /// Waits until the writer has met its fault, or is held at its point.
    async fn at_the_point(
        &self,
        victim: &Victim,
        request: &mut JoinHandle<Result<String, ClientError>>,
    ) -> Result<(), Violation> {
        let line = match self.cell.fault {
            // The point only chooses the put: it is the put that is late.
            Fault::Late => HELD_BACK.to_owned(),
            Fault::Kill | Fault::Error | Fault::Lose | Fault::Cancel | Fault::Deadline => {
                format!("failpoint hit: {}/{} ", self.graph, self.cell.point)
            }
        };
        let started = Instant::now();
        loop {
            let over = request.is_finished();
            if victim.server.log().contains(&line) {
                return Ok(());
            }
            if over || started.elapsed() > HIT_MAX {
                let reply = if over { format!("{:?}", request.await) } else { format!("nothing in {HIT_MAX:?}") };
                return Err(Violation::NeverHit { point: self.cell.point, reply });
            }
            tokio::time::sleep(LOG_POLL).await;
        }
    }

    /// A load of the next writer; if the graph is removed, into a new one of its name. `id` is the operation of the cell's own writer.
    async fn plain_write(&self, next: &Client, id: OperationId) -> Result<Plain, Violation> {
        let plain = self.plain_load();
        let mint = Client::mint_operation_id;
        let written = match plain.send(next, &self.graph, mint()).await {
            Ok(_) => Plain::Written,
            Err(error) if is_missing(&error, Resource::Graph) => {
                // A rescuer's own request is sent again: it may have made the graph that is missing.
                let id = if self.plan.deed == Deed::CreateGraph { id } else { mint() };
                let made = Deed::CreateGraph.send(next, &self.graph, id).await;
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

    /// The variables of a server that meets these points in the cell's graph.
    fn variables(&self, points: &[ArmedPoint], release: &Path) -> Vec<(&'static str, String)> {
        let points: Vec<String> = points.iter().map(|point| format!("{}/{point}", self.graph)).collect();
        vec![
            ("OMNIGRAPH_FAILPOINTS", points.join(",")),
            ("OMNIGRAPH_FAILPOINTS_RELEASE", release.to_string_lossy().into_owned()),
        ]
    }

    fn plain_load(&self) -> Deed {
        Deed::Load(self.plan.branch.clone(), LoadOf::append("plain", self.cell.tables))
    }
}
