//! Two servers on one root, both loading for a minute: nothing lost, nothing doubled, every conflict typed.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use arrow::array::{AsArray, RecordBatch};
use futures::TryStreamExt;
use futures::future::join_all;
use omnigraph_client::{
    Client, ClientError, Columns, CreateGraph, LoadMode, LoadOptions, OnConflict, PageRequest, TypeScan,
};
use omnigraph_types::{BranchName, Effect, Problem};

use crate::support::{Server, client, graph_name, main_branch, ndjson, root};

/// How long the servers load.
const LOADING: Duration = Duration::from_secs(60);
/// Clients of each server that append, beside one that replaces a table.
const APPENDERS: usize = 2;

/// What one client did: ids acknowledged, ids whose answer states no effect, conflicts met.
#[derive(Debug, Default)]
struct History {
    acknowledged: BTreeSet<String>,
    without_effect: BTreeSet<String>,
    open: BTreeSet<String>,
    conflicts: usize,
}

impl History {
    fn record(&mut self, ids: Vec<String>, outcome: Result<(), ClientError>) {
        let Err(error) = outcome else {
            self.acknowledged.extend(ids);
            return;
        };
        let failure = error.failure();
        let typed = matches!(
            failure.problem,
            Problem::ReadSetChanged { .. }
                | Problem::CommitContention { .. }
                | Problem::RecoveryRequired { .. }
                | Problem::OperationRolledBack { .. }
        );
        assert!(typed, "a conflict must be typed: {failure:?}");
        self.conflicts += 1;
        match failure.effect {
            Effect::None => self.without_effect.extend(ids),
            Effect::Committed | Effect::Unknown => self.open.extend(ids),
        }
    }
}

/// Appends a pair of nodes and an edge between them, again and again.
async fn append_until(client: &Client, name: &str, end: Instant) -> History {
    let mut history = History::default();
    let mut n = 0;
    while Instant::now() < end {
        let ids = vec![format!("{name}-{n}-a"), format!("{name}-{n}-b")];
        let text = format!(
            "{{\"type\":\"P\",\"data\":{{\"k\":\"{0}\"}}}}\n{{\"type\":\"P\",\"data\":{{\"k\":\"{1}\"}}}}\n\
             {{\"edge\":\"Knows\",\"from\":\"{0}\",\"to\":\"{1}\"}}\n",
            ids[0], ids[1]
        );
        let outcome = ndjson(client, LoadOptions::new(LoadMode::Append), &text).await;
        history.record(ids, outcome.map(|_| ()));
        n += 1;
    }
    history
}

/// Replaces the rows of `Q`; refused if another client did so meanwhile.
async fn replace_until(client: &Client, name: &str, end: Instant) -> History {
    let mut history = History::default();
    let mut n = 0;
    while Instant::now() < end {
        let id = format!("{name}-{n}");
        let text = format!("{{\"type\":\"Q\",\"data\":{{\"k\":\"{id}\"}}}}\n");
        let options = LoadOptions { on_conflict: OnConflict::Fail, ..LoadOptions::new(LoadMode::Overwrite) };
        history.record(vec![id], ndjson(client, options, &text).await.map(|_| ()));
        n += 1;
    }
    history
}

async fn ids(client: &Client, type_name: &str) -> Vec<String> {
    let columns = Columns::Named(vec!["id".to_owned()]);
    let scan = TypeScan { at: main_branch(), type_name: type_name.to_owned(), columns };
    let batches: Vec<RecordBatch> =
        client.scan_type(&graph_name(), &scan).await.unwrap().batches.try_collect().await.unwrap();
    let column = |batch: &RecordBatch| -> Vec<String> {
        batch.column(0).as_string::<i32>().iter().flatten().map(str::to_owned).collect()
    };
    batches.iter().flat_map(column).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_loading_at_once_lose_nothing_and_double_nothing() {
    let folder = root();
    let servers = [Server::start(folder.path(), &[]), Server::start(folder.path(), &[])];
    let clients = [client(&servers[0]).await, client(&servers[1]).await];
    let schema = "node P { k: String @key } node Q { k: String @key } edge Knows: P -> P";
    clients[0].create_graph(CreateGraph::new(graph_name(), schema)).await.unwrap();
    let end = Instant::now() + LOADING;
    let names: Vec<String> = (0..2 * APPENDERS).map(|n| format!("s{}c{n}", n % 2)).collect();
    let appending = join_all(names.iter().enumerate().map(|(n, name)| append_until(&clients[n % 2], name, end)));
    let replacing =
        join_all([("q0", &clients[0]), ("q1", &clients[1])].map(|(name, client)| replace_until(client, name, end)));
    let (appended, replaced) = tokio::join!(appending, replacing);

    let stored = ids(&clients[1], "P").await;
    let unique: BTreeSet<String> = stored.iter().cloned().collect();
    assert_eq!(unique.len(), stored.len(), "I-8: a row exists twice");
    for history in &appended {
        assert!(!history.acknowledged.is_empty(), "every client committed something");
        let lost: Vec<_> = history.acknowledged.difference(&unique).collect();
        assert!(lost.is_empty(), "I-4: acknowledged and lost: {lost:?}");
        let ghosts: Vec<_> = history.without_effect.intersection(&unique).collect();
        assert!(ghosts.is_empty(), "effect none, and visible: {ghosts:?}");
    }
    assert_eq!(ids(&clients[0], "Knows").await.len() * 2, stored.len(), "I-2: a load is wholly visible");
    let left = ids(&clients[0], "Q").await;
    assert_eq!(left.len(), 1, "only the last replacement is left");
    assert!(replaced.iter().all(|history| !history.without_effect.contains(&left[0])));
    assert_heads_form_one_chain(&clients[0]).await;
    let count = |histories: &[History]| -> (usize, usize) {
        let acknowledged = histories.iter().map(|history| history.acknowledged.len()).sum();
        (acknowledged, histories.iter().map(|history| history.conflicts).sum())
    };
    println!("appended {:?}, replaced {:?} (acknowledged ids, typed conflicts)", count(&appended), count(&replaced));
}

/// Every commit's parent is the one before it, to the first: heads only move forward.
async fn assert_heads_form_one_chain(client: &Client) {
    let mut newest_first = Vec::new();
    let mut token = String::new();
    loop {
        let page = PageRequest { size: 500, token };
        let page = client.list_commits(&graph_name(), &BranchName::Main, page).await.unwrap();
        newest_first.extend(page.items);
        if page.next.is_empty() {
            break;
        }
        token = page.next;
    }
    for pair in newest_first.windows(2) {
        assert_eq!(pair[0].parents, [pair[1].id]);
    }
    assert_eq!(newest_first.last().map(|commit| commit.parents.len()), Some(0));
}
