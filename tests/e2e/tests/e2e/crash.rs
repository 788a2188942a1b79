//! A server killed with SIGKILL at every declared point of a write, of a request about a branch and of their recovery, and what others find
//! then.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use omnigraph_catalog::{BranchRow, Graphs};
use omnigraph_client::{Client, ClientError, DeleteBranch, LoadMode, LoadOptions, NewBranch, NewGraph, ReadAt};
use omnigraph_commit::FailPoint;
use omnigraph_storage::{Store, StoreOptions};
use omnigraph_types::{BranchName, GraphName, Limits, OperationId, Problem, SystemClock};

use crate::support::{GRAPH, Server, airline, append, client, graph_name, ndjson_on, refused, root, rows_at};

/// A write from another process must succeed within this time of a crash, without a restart.
const BLOCKED_MAX: Duration = Duration::from_secs(5);
/// Cells in progress at once: most of a cell is waiting for the grace.
const CELLS_AT_ONCE: usize = 3;

/// Who writes next after the crash.
#[derive(Debug, Clone, Copy)]
enum Next {
    /// A server that had been running all along.
    Running,
    /// A server started on the root after the crash.
    Restarted,
}

/// The graph that `Deed::DeleteGraph` deletes.
fn doomed() -> GraphName {
    "doomed".parse().unwrap()
}

fn airport(iata: &str) -> String {
    let data = format!(r#"{{"iata":"{iata}","name":"x","country":"USA","latitude":1,"longitude":2}}"#);
    format!("{{\"type\":\"Airport\",\"data\":{data}}}\n")
}

fn route(from: &str, to: &str) -> String {
    format!("{{\"edge\":\"Route\",\"from\":\"{from}\",\"to\":\"{to}\",\"data\":{{\"count\":7}}}}\n")
}

/// Two nodes and an edge between them: a load of two tables.
fn two_tables(prefix: &str) -> String {
    let (a, b) = (format!("{prefix}1"), format!("{prefix}2"));
    [airport(&a), airport(&b), route(&a, &b)].concat()
}

fn options(operation_id: OperationId) -> LoadOptions {
    LoadOptions { operation_id, ..LoadOptions::new(LoadMode::Append) }
}

/// What the victim is asked to do when it dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    /// A load of two tables into main, whose trees main owns.
    Load,
    /// The same into a branch: its first write, on private trees.
    LoadOnBranch,
    /// A new branch.
    Create,
    /// The removal of a branch.
    Delete,
    /// The removal of a graph that has a branch. It is another graph than the one that goes on.
    DeleteGraph,
}

impl Deed {
    fn branch(self) -> BranchName {
        match self {
            Self::Load | Self::DeleteGraph => BranchName::Main,
            Self::LoadOnBranch | Self::Create | Self::Delete => BranchName::Named("dev/1".to_owned()),
        }
    }

    /// Does it. The answer is the commit it made, or none.
    async fn send(self, client: &Client, operation_id: OperationId) -> Result<Option<String>, ClientError> {
        let (graph, name) = (graph_name(), self.branch());
        match self {
            Self::Load | Self::LoadOnBranch => {
                let receipt = ndjson_on(client, &name, options(operation_id), &two_tables("M")).await?;
                Ok(Some(receipt.commit.expect("a load that stores rows is a commit").id.to_string()))
            }
            Self::Create => {
                let branch = client.create_branch(NewBranch { operation_id, ..NewBranch::new(graph, name) }).await?;
                Ok(Some(branch.id.to_string()))
            }
            Self::Delete => {
                client.delete_branch(DeleteBranch { operation_id, ..DeleteBranch::new(graph, name) }).await?;
                Ok(None)
            }
            Self::DeleteGraph => {
                client.delete_graph(&doomed(), operation_id).await?;
                Ok(None)
            }
        }
    }

    /// It is there, wholly and once.
    async fn is_done(self, client: &Client, cell: &str) {
        match self {
            Self::Load | Self::LoadOnBranch => {
                let counts = rows_at(client, ReadAt::Branch(self.branch()), &["Airport", "Route"]).await;
                let expected = if self == Self::Load { (4, 2) } else { (2, 1) };
                assert_eq!((counts["Airport"], counts["Route"]), expected, "{cell}: wholly there, once");
            }
            Self::Create => {
                let text = two_tables("B");
                let loaded = ndjson_on(client, &self.branch(), LoadOptions::new(LoadMode::Append), &text).await;
                loaded.unwrap_or_else(|error| panic!("{cell}: a write on the branch: {error:?}"));
            }
            Self::Delete => {
                let failure = refused(client.get_branch(&graph_name(), &self.branch()).await);
                assert!(matches!(failure.problem, Problem::NotFound { .. }), "{cell}: {failure:?}");
                let again = client.create_branch(NewBranch::new(graph_name(), self.branch())).await;
                again.unwrap_or_else(|error| panic!("{cell}: the name is free: {error:?}"));
            }
            Self::DeleteGraph => {
                let failure = refused(client.get_graph(&doomed()).await);
                assert!(matches!(failure.problem, Problem::NotFound { .. }), "{cell}: {failure:?}");
                let again = client.create_graph(NewGraph::new(doomed(), "node P {}")).await;
                again.unwrap_or_else(|error| panic!("{cell}: the name is free: {error:?}"));
            }
        }
    }
}

/// Starts a server that dies at `point`, and sends it what takes it there.
async fn kill_at(root: &Path, point: FailPoint, deed: Deed, operation_id: OperationId) {
    let graph = if deed == Deed::DeleteGraph { doomed().to_string() } else { GRAPH.to_owned() };
    let victim = Server::start(root, &[("OMNIGRAPH_FAILPOINTS", &format!("{graph}/{point}=kill"))]);
    let outcome = deed.send(&client(&victim).await, operation_id).await;
    assert!(outcome.is_err(), "{point}: the server was to die, and answered {outcome:?}");
    let hit = format!("failpoint hit: {graph}/{point} Kill");
    assert!(victim.log().contains(&hit), "{point} was never hit; the log:\n{}", victim.log());
    victim.kill9();
}

/// What must hold whatever was killed where.
async fn goes_on(root: &Path, next: &Client, deed: Deed, operation_id: OperationId, cell: &str) {
    let started = Instant::now();
    append(next, &two_tables("P")).await.unwrap_or_else(|error| panic!("{cell}: a plain write: {error:?}"));
    let blocked = started.elapsed();
    assert!(blocked < BLOCKED_MAX, "{cell}: a plain write was blocked for {blocked:?}");
    let resent = deed.send(next, operation_id).await;
    let resent = resent.unwrap_or_else(|error| panic!("{cell}: the resent operation: {error:?}"));
    assert_eq!(deed.send(next, operation_id).await.unwrap(), resent, "{cell}: I-8");
    deed.is_done(next, cell).await;
    for branch in [BranchName::Main, deed.branch()] {
        next.recover(&graph_name(), &branch)
            .await
            .unwrap_or_else(|error| panic!("{cell}: recover {branch}: {error:?}"));
    }
    quiesced(root, cell).await;
}

/// I-6, read from the files alone, for every branch: no intent is pending, no table is unsettled, every owned tree's head is its pin.
async fn quiesced(root: &Path, cell: &str) {
    let store = Store::open(&root.to_string_lossy(), StoreOptions::default()).await.unwrap();
    let graphs = Graphs::new(store.clone(), Arc::new(SystemClock), Arc::new(Limits::default()));
    let catalog = graphs.open(&graph_name()).await.unwrap().1;
    let registry = catalog.registry().await.unwrap();
    let chains = registry.state().live_branches().map(BranchRow::chain_of_versions).chain([catalog.main_chain()]);
    for chain in chains {
        let newest = catalog.newest_of(&chain).await.unwrap();
        assert_eq!(newest.state().retired, None, "{cell}: {} is removed and registered", chain.name);
        assert_eq!(newest.state().unsettled, Vec::new(), "{cell}: unsettled rows of {}", chain.name);
        let pending = catalog.paths().intent(newest.branch_id(), newest.version().next());
        assert!(store.get(&pending).await.unwrap().is_none(), "{cell}: an intent of {} is pending", chain.name);
        for row in newest.tables().filter(|row| row.owner == chain.branch_id) {
            let head = store.head(&row.tree_ref()).await.unwrap();
            assert_eq!(head, Some(row.version), "{cell}: the head of {} is not its pin", row.type_name);
        }
    }
}

/// One cell: the writer dies at `writer_dies`; if named, a rescuer dies at `rescuer_dies`; then `next` goes on.
async fn cell(deed: Deed, writer_dies: FailPoint, rescuer_dies: Option<FailPoint>, next: Next) {
    let rescuer = rescuer_dies.map_or_else(String::new, |point| point.to_string());
    let name = format!("{deed:?} {writer_dies} {rescuer} {next:?}");
    let folder = root();
    let running = Server::start(folder.path(), &[]);
    let maker = client(&running).await;
    airline(&maker).await;
    if matches!(deed, Deed::LoadOnBranch | Deed::Delete) {
        maker.create_branch(NewBranch::new(graph_name(), deed.branch())).await.unwrap();
    }
    if deed == Deed::DeleteGraph {
        maker.create_graph(NewGraph::new(doomed(), "node P {}")).await.unwrap();
        maker.create_branch(NewBranch::new(doomed(), BranchName::Named("b".to_owned()))).await.unwrap();
    }
    let operation_id = Client::mint_operation_id();
    kill_at(folder.path(), writer_dies, deed, operation_id).await;
    if let Some(point) = rescuer_dies {
        kill_at(folder.path(), point, Deed::Load, Client::mint_operation_id()).await;
    }
    match next {
        Next::Running => goes_on(folder.path(), &maker, deed, operation_id, &name).await,
        Next::Restarted => {
            running.kill9();
            let fresh = Server::start(folder.path(), &[]);
            goes_on(folder.path(), &client(&fresh).await, deed, operation_id, &name).await;
        }
    }
}

/// What takes a writer to a point: whoever dies there first, and who dies while settling that.
fn ways_to(point: FailPoint) -> Vec<(Deed, FailPoint, Option<FailPoint>)> {
    match point.name().split_once('.') {
        // The first write on a branch has no effects to apply.
        Some(("load", phase)) if phase.starts_with('B') => vec![(Deed::Load, point, None)],
        Some(("load", _)) => vec![(Deed::Load, point, None), (Deed::LoadOnBranch, point, None)],
        Some(("branch_create", _)) => vec![(Deed::Create, point, None)],
        Some(("branch_delete" | "branch_remove", _)) => vec![(Deed::Delete, point, None)],
        Some(("graph_delete", _)) => vec![(Deed::DeleteGraph, point, None)],
        // A recovery is met only after a write that must be undone: armed, and no effect made.
        _ => vec![(Deed::Load, FailPoint::LoadArmAfter, Some(point))],
    }
}

async fn every_cell(next: Next) {
    let cells = FailPoint::ALL.iter().flat_map(|point| ways_to(*point));
    let cells = cells.map(|(deed, writer_dies, rescuer_dies)| cell(deed, writer_dies, rescuer_dies, next));
    futures::stream::iter(cells).buffer_unordered(CELLS_AT_ONCE).collect::<Vec<()>>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_killed_at_any_point_is_survived_by_one_that_was_running() {
    every_cell(Next::Running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_killed_at_any_point_is_survived_by_its_restart() {
    every_cell(Next::Restarted).await;
}
