//! One operation sent more than once: after a restart, to another server, long afterwards, and in a race with itself.

use omnigraph_client::{Client, CreateGraph, LoadMode, LoadOptions, WriteOutcome, WriteReceipt};
use omnigraph_types::{OperationId, Problem};

use crate::support::{Server, client, graph_name, ndjson, root, rows};

/// Commits between an operation and its resend.
const COMMITS_BETWEEN: usize = 1_000;
/// Servers, and requests to each, in the race.
const RACERS: usize = 4;

fn options(operation_id: OperationId) -> LoadOptions {
    LoadOptions { operation_id, ..LoadOptions::new(LoadMode::Append) }
}

fn line(x: usize) -> String {
    format!("{{\"type\":\"N\",\"data\":{{\"x\":{x}}}}}\n")
}

async fn graph(client: &Client) {
    client.create_graph(CreateGraph::new(graph_name(), "node N { x: I64 }")).await.unwrap();
}

async fn send(client: &Client, operation_id: OperationId, x: usize) -> WriteReceipt {
    ndjson(client, options(operation_id), &line(x)).await.unwrap()
}

fn assert_replays(first: &WriteReceipt, again: &WriteReceipt) {
    assert_eq!(again.outcome, WriteOutcome::Replayed);
    assert_eq!(again.commit, first.commit);
}

#[tokio::test(flavor = "multi_thread")]
async fn operation_resent_after_restart_and_to_a_second_server_is_one_commit() {
    let folder = root();
    let first_server = Server::start(folder.path(), &[]);
    let client_of_first = client(&first_server).await;
    graph(&client_of_first).await;
    let operation = Client::mint_operation_id();
    let first = send(&client_of_first, operation, 1).await;
    first_server.kill9();
    let restarted = Server::start(folder.path(), &[]);
    assert_replays(&first, &send(&client(&restarted).await, operation, 1).await);
    let second = Server::start(folder.path(), &[]);
    let client_of_second = client(&second).await;
    assert_replays(&first, &send(&client_of_second, operation, 1).await);
    let failure = ndjson(&client_of_second, options(operation), &line(2)).await.unwrap_err().failure();
    assert!(matches!(failure.problem, Problem::OperationIdReused { .. }), "other rows are not answered: {failure:?}");
    assert_eq!(rows(&client_of_second, &["N"]).await["N"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn operation_resent_after_a_thousand_commits_is_one_commit() {
    let folder = root();
    let server = Server::start(folder.path(), &[("OMNIGRAPH_DURABILITY", "os")]);
    let client = client(&server).await;
    graph(&client).await;
    let operation = Client::mint_operation_id();
    let first = send(&client, operation, 0).await;
    for x in 1..=COMMITS_BETWEEN {
        send(&client, Client::mint_operation_id(), x).await;
    }
    assert_replays(&first, &send(&client, operation, 0).await);
    assert_eq!(rows(&client, &["N"]).await["N"], COMMITS_BETWEEN + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn operation_that_races_with_itself_on_two_servers_is_one_commit() {
    let folder = root();
    let servers = [Server::start(folder.path(), &[]), Server::start(folder.path(), &[])];
    let clients = [client(&servers[0]).await, client(&servers[1]).await];
    graph(&clients[0]).await;
    for x in 0..3 {
        let operation = Client::mint_operation_id();
        let sends = (0..RACERS).map(|n| send(&clients[n % 2], operation, x));
        let receipts = futures::future::join_all(sends).await;
        let committed = receipts.iter().filter(|receipt| receipt.outcome == WriteOutcome::Committed).count();
        assert_eq!(committed, 1, "{receipts:?}");
        assert!(receipts.iter().all(|receipt| receipt.commit == receipts[0].commit), "{receipts:?}");
    }
    assert_eq!(rows(&clients[1], &["N"]).await["N"], 3);
}
