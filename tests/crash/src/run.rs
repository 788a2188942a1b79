//! One cell from its setting to the oracle.
//!
//! The order is the same for all: the setting; the victim comes up with its fail point; of a rescuer, the one before it dies; the request;
//! the fault; the next writer's plain write, timed from the fault; a writer that was held goes on; what is there; every operation sent
//! again; the oracle.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use omnigraph_client::{Client, ClientError};
use omnigraph_e2e::server::Server;
use omnigraph_types::{BranchName, Effect, Failure, GraphName, OperationId, Resource};
use tokio::task::JoinHandle;

use crate::cell::{Cell, Fault, Next, Tables};
use crate::check::Seen;
use crate::deed::{Deed, Plan, dev};
use crate::error::Violation;
use crate::limits::{BLOCKED_MAX, CELL_MAX, HIT_MAX, LOG_POLL, REQUEST_TIMEOUT};
use crate::model::{Fate, LoadOf, Rows};
use crate::oracle::is_missing;
use crate::stand::{Stand, broken, client};

/// What the log of a server says once it has looked at every branch.
const LOOKED: &str = "every branch was looked at";
/// What the log of a server says of a call that its client gave up.
const GIVEN_UP: &str = "code=Cancelled";
/// What the log of a server says when a put is held back.
const HELD_BACK: &str = "failpoint holds back: ";
/// What the log of a server says when a put that was held back has reached the store.
const LANDED: &str = "failpoint landed: ";

/// What a cell showed that is as it must be.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// What the next writer found of what the writer was asked, before it was sent again.
    pub seen: Seen,
    /// From the fault to the end of the next writer's plain write.
    pub blocked: Duration,
}

/// How a request ended.
#[derive(Debug)]
pub(crate) enum Reply {
    Acknowledged(String),
    Failed(Box<Failure>),
    /// The client gave it up.
    GivenUp,
}

impl Reply {
    fn of(outcome: Result<String, ClientError>) -> Self {
        match outcome {
            Ok(id) => Self::Acknowledged(id),
            Err(error) => Self::Failed(Box::new(error.failure())),
        }
    }

    /// What it says of the state before anything is sent again.
    pub(crate) fn fate(&self) -> Fate {
        match self {
            Self::Acknowledged(_) => Fate::There,
            Self::Failed(failure) if failure.effect == Effect::None => Fate::Absent,
            Self::Failed(_) | Self::GivenUp => Fate::Open,
        }
    }
}

/// One operation of a cell.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) deed: Deed,
    pub(crate) id: OperationId,
    pub(crate) reply: Reply,
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

/// The graph of a cell, as it was before anything went wrong.
pub(crate) struct World {
    pub(crate) stand: Arc<Stand>,
    pub(crate) cell: Cell,
    pub(crate) plan: Plan,
    pub(crate) graph: GraphName,
    /// Its id, if it was there.
    pub(crate) graph_id: Option<String>,
    /// The id of `dev`, if there was one.
    pub(crate) dev_id: Option<String>,
    pub(crate) start: Rows,
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
    operations.extend(world.who_died_before().await?);

    let id = Client::mint_operation_id();
    let (asked, graph, deed) = (victim.client.clone(), world.graph.clone(), world.plan.deed.clone());
    let mut request = tokio::spawn(async move { deed.send(&asked, &graph, id).await });
    world.at_the_point(&victim, &mut request).await?;
    if cell.fault == Fault::Cancel {
        request.abort();
        victim.server.logged(GIVEN_UP).await;
        if cell.next == Next::Same {
            victim.release()?;
        }
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
    let (written, reply) = tokio::join!(plain, answered(request));
    let ((plain, blocked), reply) = (written?, reply?);
    if blocked > BLOCKED_MAX {
        return Err(Violation::Blocked { blocked });
    }
    operations.push(Operation { deed: world.plan.deed.clone(), id, reply });
    if cell.fault == Fault::Late {
        victim.release()?;
        victim.server.logged(LANDED).await;
    }
    if cell.fault == Fault::Cancel && cell.next != Next::Same {
        victim.release()?;
        // Settling queues behind the writer that was held. What it answers is of no matter.
        for branch in [BranchName::Main, dev()] {
            let _ = victim.client.recover(&world.graph, &branch).await;
        }
    }
    let seen = world.check(&next, &operations, plain).await?;
    Ok(Shown { seen, blocked })
}

/// The end of a request, or that it was given up.
async fn answered(request: JoinHandle<Result<String, ClientError>>) -> Result<Reply, Violation> {
    match tokio::time::timeout(REQUEST_TIMEOUT * 2, request).await {
        Ok(Ok(outcome)) => Ok(Reply::of(outcome)),
        Ok(Err(ended)) if ended.is_cancelled() => Ok(Reply::GivenUp),
        Ok(Err(ended)) => Err(Violation::Broken { what: ended.to_string() }),
        Err(_) => Err(Violation::Unanswered { what: "the request that met the fault", bound: REQUEST_TIMEOUT * 2 }),
    }
}

/// What became of the plain write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plain {
    /// It is in the graph that was there.
    Written,
    /// That graph is gone, and it is in a new one of its name.
    InNewGraph,
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

    /// The server that meets the fault, once it has looked at what is there.
    async fn victim(&self) -> Result<Victim, Violation> {
        let folder = tempfile::tempdir().map_err(broken("make a folder"))?;
        let release = folder.path().join("release");
        let Cell { point, fault, tables, .. } = self.cell;
        let action = match fault {
            Fault::Kill => "kill",
            Fault::Error => "error",
            Fault::Lose => "lose",
            Fault::Late => "late",
            Fault::Cancel => "pause",
        };
        // Of three tables it is the second that meets the fault: one is before it, and one behind.
        let hit = if tables == Tables::Three && point.name().contains(".B.") { 2 } else { 1 };
        let points = format!("{}/{point}={action}@{hit}", self.graph);
        let server = self.stand.start(variables(points, &release)).await?;
        server.logged(LOOKED).await;
        let client = client(&server).await?;
        Ok(Victim { server, client, release, _folder: folder })
    }

    /// Of a rescuer: a process that dies and leaves something to settle.
    async fn who_died_before(&self) -> Result<Option<Operation>, Violation> {
        let Some(before) = &self.plan.before else { return Ok(None) };
        let points: Vec<String> =
            before.actions.iter().map(|(point, action)| format!("{}/{point}={action}", self.graph)).collect();
        let folder = tempfile::tempdir().map_err(broken("make a folder"))?;
        let server = self.stand.start(variables(points.join(","), &folder.path().join("release"))).await?;
        let id = Client::mint_operation_id();
        let reply = Reply::of(before.deed.send(&client(&server).await?, &self.graph, id).await);
        for (point, _) in &before.actions {
            if !server.log().contains(&format!("failpoint hit: {}/{point} ", self.graph)) {
                return Err(Violation::NeverHit { point: point.name(), reply: format!("{reply:?}") });
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
            Fault::Kill | Fault::Error | Fault::Lose | Fault::Cancel => {
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
                return Err(Violation::NeverHit { point: self.cell.point.name(), reply });
            }
            tokio::time::sleep(LOG_POLL).await;
        }
    }

    /// A load of the next writer; where the graph is gone, into a new one of its name. `id` is the operation of the cell's own writer.
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

    fn plain_load(&self) -> Deed {
        Deed::Load(self.plan.branch.clone(), LoadOf::append("plain", self.cell.tables))
    }
}

fn variables(points: String, release: &Path) -> Vec<(&'static str, String)> {
    vec![("OMNIGRAPH_FAILPOINTS", points), ("OMNIGRAPH_FAILPOINTS_RELEASE", release.to_string_lossy().into_owned())]
}
