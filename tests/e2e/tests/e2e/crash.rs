//! A server killed with SIGKILL at every declared point of a write and of its recovery, and what others find then.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use omnigraph_catalog::Graphs;
use omnigraph_client::{Client, LoadMode, LoadOptions, Outcome};
use omnigraph_commit::FailPoint;
use omnigraph_storage::{Store, StoreOptions};
use omnigraph_types::{BranchName, Limits, OperationId, SystemClock};

use crate::support::{GRAPH, Server, airline, append, client, graph_name, ndjson, root, rows};

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

/// Starts a server that dies at `point`, and sends it a load that takes it there.
async fn kill_at(root: &Path, point: FailPoint, operation_id: OperationId, text: &str) {
    let victim = Server::start(root, &[("OMNIGRAPH_FAILPOINTS", &format!("{GRAPH}/{point}=kill"))]);
    let outcome = ndjson(&client(&victim).await, options(operation_id), text).await;
    assert!(outcome.is_err(), "{point}: the server was to die, and answered {outcome:?}");
    let hit = format!("failpoint hit: {GRAPH}/{point} Kill");
    assert!(victim.log().contains(&hit), "{point} was never hit; the log:\n{}", victim.log());
    victim.kill9();
}

/// What must hold whatever was killed where: `operation_id` stands for the load of `two_tables("M")`.
async fn goes_on(root: &Path, next: &Client, operation_id: OperationId, cell: &str) {
    let started = Instant::now();
    append(next, &two_tables("P")).await.unwrap_or_else(|error| panic!("{cell}: a plain write: {error:?}"));
    let blocked = started.elapsed();
    assert!(blocked < BLOCKED_MAX, "{cell}: a plain write was blocked for {blocked:?}");
    let resent = ndjson(next, options(operation_id), &two_tables("M")).await;
    let resent = resent.unwrap_or_else(|error| panic!("{cell}: the resent operation: {error:?}"));
    let commit = resent.commit.expect("a load that stores rows is a commit").id;
    let again = ndjson(next, options(operation_id), &two_tables("M")).await.unwrap();
    assert_eq!((again.outcome, again.commit.unwrap().id), (Outcome::Replayed, commit), "{cell}: I-8");
    let counts = rows(next, &["Airport", "Route"]).await;
    assert_eq!((counts["Airport"], counts["Route"]), (4, 2), "{cell}: wholly there, once");
    quiesced(root, cell).await;
}

/// I-6, read from the files alone: no intent is pending, no table is unsettled, every owned tree's head is its pin.
async fn quiesced(root: &Path, cell: &str) {
    let store = Store::open(&root.to_string_lossy(), StoreOptions::default()).await.unwrap();
    let graphs = Graphs::new(store.clone(), Arc::new(SystemClock), Arc::new(Limits::default()));
    let catalog = graphs.open(&graph_name()).await.unwrap();
    let newest = catalog.newest(&BranchName::Main).await.unwrap();
    assert_eq!(newest.state().unsettled, Vec::new(), "{cell}: unsettled rows");
    let pending = catalog.paths().intent(newest.branch_id(), newest.version().next());
    assert!(store.get(&pending).await.unwrap().is_none(), "{cell}: an intent is pending");
    for row in newest.tables() {
        let head = store.head(&row.tree_ref()).await.unwrap();
        assert_eq!(head, Some(row.version), "{cell}: the head of {} is not its pin", row.type_name);
    }
}

/// One cell: the writer dies at `writer_dies`; if named, a rescuer dies at `rescuer_dies`; then `next` goes on.
async fn cell(writer_dies: FailPoint, rescuer_dies: Option<FailPoint>, next: Next) {
    let name = format!("{writer_dies} {} {next:?}", rescuer_dies.map_or_else(String::new, |point| point.to_string()));
    let folder = root();
    let running = Server::start(folder.path(), &[]);
    let maker = client(&running).await;
    airline(&maker).await;
    let operation_id = Client::mint_operation_id();
    kill_at(folder.path(), writer_dies, operation_id, &two_tables("M")).await;
    if let Some(point) = rescuer_dies {
        kill_at(folder.path(), point, Client::mint_operation_id(), &two_tables("R")).await;
    }
    match next {
        Next::Running => goes_on(folder.path(), &maker, operation_id, &name).await,
        Next::Restarted => {
            running.kill9();
            let fresh = Server::start(folder.path(), &[]);
            goes_on(folder.path(), &client(&fresh).await, operation_id, &name).await;
        }
    }
}

async fn every_cell(next: Next) {
    let cells = FailPoint::ALL.iter().map(|point| {
        // A recovery is met only after a write that must be undone: armed, and no effect made.
        if point.name().starts_with("load.") {
            cell(*point, None, next)
        } else {
            cell(FailPoint::LoadArmAfter, Some(*point), next)
        }
    });
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
