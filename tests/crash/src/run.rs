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
use crate::deed::{Deed, Plan, dev};
use crate::error::Violation;
use crate::limits::{BLOCKED_MAX, CELL_MAX, HIT_MAX, LOG_POLL, QUIET_MAX, QUIET_POLL, REQUEST_TIMEOUT};
use crate::model::{Fate, Known, LoadOf, Rows, explain};
use crate::oracle::{commits_of, is_missing, quiesced, rows};
use crate::stand::{Stand, broken, client};

/// What the log of a server says once it has looked at every branch.
const LOOKED: &str = "every branch was looked at";
/// What the log of a server says of a call that its client gave up.
const GIVEN_UP: &str = "code=Cancelled";

/// What the log of a server says when a put that was held back has reached the store.
const LANDED: &str = "failpoint landed: ";

/// Whether something is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Seen {
    /// It is as it was before.
    Before,
    /// It is wholly there.
    After,
}

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
enum Reply {
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
    fn fate(&self) -> Fate {
        match self {
            Self::Acknowledged(_) => Fate::There,
            Self::Failed(failure) if failure.effect == Effect::None => Fate::Absent,
            Self::Failed(_) | Self::GivenUp => Fate::Open,
        }
    }
}

/// One operation of a cell.
#[derive(Debug)]
struct Operation {
    deed: Deed,
    id: OperationId,
    reply: Reply,
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
struct World {
    stand: Arc<Stand>,
    cell: Cell,
    plan: Plan,
    graph: GraphName,
    /// Its id, if it was there.
    graph_id: Option<String>,
    /// The id of `dev`, if there was one.
    dev_id: Option<String>,
    start: Rows,
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
enum Plain {
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

    /// Waits until the writer is at its point.
    async fn at_the_point(
        &self,
        victim: &Victim,
        request: &mut JoinHandle<Result<String, ClientError>>,
    ) -> Result<(), Violation> {
        let line = format!("failpoint hit: {}/{} ", self.graph, self.cell.point);
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

    /// What is there, then what is there once every operation was sent again, then I-6.
    async fn check(&self, next: &Client, operations: &[Operation], plain: Plain) -> Result<Seen, Violation> {
        let first = self.look(next, operations, plain).await?;
        for operation in operations {
            self.resend(next, operation).await?;
        }
        let all_there = first.seen.iter().all(|seen| *seen == Seen::After);
        self.look_again(next, operations, first.rows.filter(|_| all_there)).await?;
        for branch in [BranchName::Main, dev()] {
            match next.recover(&self.graph, &branch).await {
                Err(error) if !is_missing(&error, Resource::Branch) => {
                    return Err(Violation::refused("the recovery of a branch")(error));
                }
                Ok(_) | Err(_) => {}
            }
        }
        let started = Instant::now();
        loop {
            match quiesced(self.stand.root(), &self.graph).await {
                Err(_) if started.elapsed() < QUIET_MAX => tokio::time::sleep(QUIET_POLL).await,
                outcome => break outcome?,
            }
        }
        Ok(first.seen.last().copied().unwrap_or(Seen::Before))
    }

    /// Before anything is sent again: each operation is wholly before or wholly after, and as its reply says.
    async fn look(&self, next: &Client, operations: &[Operation], plain: Plain) -> Result<First, Violation> {
        let old_graph = self.found(next, &Deed::DeleteGraph).await? == Seen::Before;
        let start = if old_graph { self.start.clone() } else { Rows::default() };
        let rows = rows(next, &self.graph, &self.plan.branch).await?;
        let known = self.known(operations, |operation| operation.reply.fate());
        let Some(there) = explain(&start, &known, &rows) else {
            return Err(self.unexplained(&start, operations, rows));
        };
        let mut seen = Vec::new();
        let mut loads = 0;
        for operation in operations {
            seen.push(match &operation.deed {
                Deed::Load(..) => {
                    loads += 1;
                    if there.contains(&(loads - 1)) { Seen::After } else { Seen::Before }
                }
                deed => {
                    let found = self.found(next, deed).await?;
                    // The plain write has sent a rescuer's request for a graph again.
                    let sent_again = *deed == Deed::CreateGraph && plain == Plain::InNewGraph;
                    match (operation.reply.fate(), found, &operation.reply) {
                        (Fate::There, Seen::Before, _) => return Err(Violation::Lost { what: deed.name() }),
                        (Fate::Absent, Seen::After, Reply::Failed(failure)) if !sent_again => {
                            return Err(Violation::Ghost { what: deed.name(), failure: failure.clone() });
                        }
                        _ => found,
                    }
                }
            });
        }
        Ok(First { seen, rows: Some(rows).filter(|_| old_graph) })
    }

    /// The loads of these operations in their order, and last the plain one.
    fn known(&self, operations: &[Operation], fate: impl Fn(&Operation) -> Fate) -> Vec<Known> {
        let loads = operations.iter().filter_map(|operation| match &operation.deed {
            Deed::Load(_, load) => Some(Known { load: load.clone(), fate: fate(operation) }),
            _ => None,
        });
        let plain = LoadOf::append("plain", self.cell.tables);
        loads.chain([Known { load: plain, fate: Fate::There }]).collect()
    }

    /// What is wrong with rows that are not explained by what the replies said.
    fn unexplained(&self, start: &Rows, operations: &[Operation], seen: Rows) -> Violation {
        let open = self.known(operations, |_| Fate::Open);
        let Some(there) = explain(start, &open, &seen) else {
            return Violation::Torn { when: "after the plain write", seen };
        };
        let loads = operations.iter().filter(|operation| matches!(operation.deed, Deed::Load(..)));
        for (at, operation) in loads.enumerate() {
            if let (Reply::Failed(failure), Fate::Absent, true) =
                (&operation.reply, operation.reply.fate(), there.contains(&at))
            {
                return Violation::Ghost { what: operation.deed.name(), failure: failure.clone() };
            }
        }
        Violation::Lost { what: "the load" }
    }

    /// Whether what a request about a branch or the graph asked for is there.
    async fn found(&self, next: &Client, deed: &Deed) -> Result<Seen, Violation> {
        let (now, old, what) = match deed {
            Deed::CreateBranch | Deed::DeleteBranch => {
                let branch = next.get_branch(&self.graph, &dev()).await;
                (branch.map(|branch| branch.id.to_string()), self.dev_id.as_ref(), Resource::Branch)
            }
            Deed::CreateGraph | Deed::DeleteGraph | Deed::Load(..) => {
                let graph = next.get_graph(&self.graph).await;
                (graph.map(|graph| graph.id.to_string()), self.graph_id.as_ref(), Resource::Graph)
            }
        };
        let now = match now {
            Ok(id) => Some(id),
            Err(error) if is_missing(&error, what) => None,
            Err(error) => return Err(Violation::refused("a look")(error)),
        };
        let is_old = now.as_ref() == old;
        Ok(match deed {
            Deed::CreateBranch | Deed::CreateGraph if now.is_some() && !is_old => Seen::After,
            Deed::DeleteBranch | Deed::DeleteGraph if !is_old => Seen::After,
            _ => Seen::Before,
        })
    }

    /// Sends an operation twice more: it is done, once, and answered alike each time.
    async fn resend(&self, next: &Client, operation: &Operation) -> Result<(), Violation> {
        let what = operation.deed.name();
        let mut answers = Vec::new();
        if let Reply::Acknowledged(first) = &operation.reply {
            answers.push(first.clone());
        }
        for _ in 0..2 {
            let sent = operation.deed.send(next, &self.graph, operation.id).await;
            answers.push(sent.map_err(Violation::refused("an operation that was sent again"))?);
        }
        match answers.windows(2).find(|pair| pair[0] != pair[1]) {
            Some(pair) => Err(Violation::Answers { what, first: pair[0].clone(), then: pair[1].clone() }),
            None => Ok(()),
        }
    }

    /// After everything was sent again: all of it is there, once. `unchanged` are the rows, where all of it had been there before.
    async fn look_again(
        &self,
        next: &Client,
        operations: &[Operation],
        unchanged: Option<Rows>,
    ) -> Result<(), Violation> {
        if self.plan.deed == Deed::DeleteGraph {
            if self.found(next, &Deed::DeleteGraph).await? == Seen::Before {
                return Err(Violation::Lost { what: Deed::DeleteGraph.name() });
            }
            // The name is free, or a new graph bears it already.
            return match next.get_graph(&self.graph).await {
                Ok(_) => Ok(()),
                Err(_) => {
                    let made = Deed::CreateGraph.send(next, &self.graph, Client::mint_operation_id()).await;
                    made.map(drop).map_err(Violation::refused("a graph of the free name"))
                }
            };
        }
        for operation in operations {
            let what = operation.deed.name();
            match &operation.deed {
                Deed::Load(branch, _) => {
                    let commits = commits_of(next, &self.graph, branch, operation.id).await?;
                    if commits != 1 {
                        return Err(Violation::AppliedTimes { what, commits });
                    }
                }
                deed if self.found(next, deed).await? == Seen::Before => return Err(Violation::Lost { what }),
                _ => {}
            }
        }
        if self.plan.deed == Deed::CreateGraph {
            return Ok(());
        }
        let seen = rows(next, &self.graph, &self.plan.branch).await?;
        match unchanged {
            Some(before) if before != seen => return Err(Violation::AppliedAgain { before, after: seen }),
            _ => {}
        }
        if explain(&self.start, &self.known(operations, |_| Fate::There), &seen).is_none() {
            return Err(Violation::Torn { when: "after everything was sent again", seen });
        }
        self.branch_is_of_use(next).await
    }

    /// The branch that was made takes a write, and the name of the one that was removed is free.
    async fn branch_is_of_use(&self, next: &Client) -> Result<(), Violation> {
        let (deed, what) = match &self.plan.deed {
            Deed::DeleteBranch => (Deed::CreateBranch, "a branch of the free name"),
            Deed::CreateBranch => {
                (Deed::Load(dev(), LoadOf::append("of use", self.cell.tables)), "a write on the new branch")
            }
            Deed::Load(..) | Deed::CreateGraph | Deed::DeleteGraph => return Ok(()),
        };
        deed.send(next, &self.graph, Client::mint_operation_id()).await.map(drop).map_err(Violation::refused(what))
    }
}

/// What the first look showed.
struct First {
    /// Of each operation.
    seen: Vec<Seen>,
    /// The rows, in the graph that was there from the start.
    rows: Option<Rows>,
}

fn variables(points: String, release: &Path) -> Vec<(&'static str, String)> {
    vec![("OMNIGRAPH_FAILPOINTS", points), ("OMNIGRAPH_FAILPOINTS_RELEASE", release.to_string_lossy().into_owned())]
}
