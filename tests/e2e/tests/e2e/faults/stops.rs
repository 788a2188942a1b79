//! The request to stop, whatever runs: the server ends by itself in time, or is ended.

use std::time::Duration;

use futures::TryStreamExt;
use omnigraph_client::{Client, ClientError, ClientOptions, QueryRequest, RetryPolicy, Timeout};
use omnigraph_types::{Effect, Failure, Problem, QueryState};
use tokio::task::JoinHandle;

use super::{QUIET, World, count, load};
use crate::support::{Server, client, create, graph_name, main_branch, ndjson, refused, root};

/// Exit code of a server that was ended.
const FORCED: i32 = 70;
/// Time that a server has to stop, in milliseconds.
const STOP_TIME: (&str, &str) = ("OMNIGRAPH_SHUTDOWN_TIMEOUT_MS", "2000");
/// Rows of a graph that is joined with itself: 400 million pairs.
const ROWS: usize = 20_000;
const PAIRS: &str = "query c(){match {$a:P $b:P $a.k < $b.k} return {count($a) as n}}";
/// As many such queries run at once as are admitted.
const QUERIES: usize = 4;

/// A query that would run for minutes.
fn heavy(url: &str) -> JoinHandle<Result<(), ClientError>> {
    let url = url.to_owned();
    tokio::spawn(async move {
        let timeout = Timeout::After(Duration::from_secs(600));
        let options = ClientOptions { retry: RetryPolicy::never(), timeout, ..ClientOptions::default() };
        let client = Client::connect_with(&url, options).await?;
        let query = QueryRequest::new(main_branch(), PAIRS);
        client.query(&graph_name(), &query).await?.batches.try_collect::<Vec<_>>().await.map(drop)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn server_stops_by_itself_while_heavy_queries_run() {
    let root = root();
    let queries = QUERIES.to_string();
    let variables = [("OMNIGRAPH_QUERIES_CONCURRENT_MAX", queries.as_str()), ("OMNIGRAPH_DURABILITY", "os")];
    let server = Server::start(root.path(), &variables);
    let client = client(&server).await;
    create(&client, "node P { k: I64 @key  g: I64 }").await;
    let line = |k| format!("{{\"type\":\"P\",\"data\":{{\"k\":{k},\"g\":1}}}}\n");
    let append = || omnigraph_client::LoadOptions::new(omnigraph_client::LoadMode::Append);
    ndjson(&client, append(), &(0..ROWS).map(line).collect::<String>()).await.unwrap();
    let running: Vec<_> = (0..QUERIES).map(|_| heavy(&server.url)).collect();
    loop {
        let listed = client.list_queries().await.unwrap();
        if listed.iter().filter(|query| query.state == QueryState::Running).count() == QUERIES {
            break;
        }
    }
    let beside = ndjson(&client, append(), &line(ROWS)).await.unwrap();
    assert!(running.iter().all(|query| !query.is_finished()), "the queries ended before the server was asked to stop");
    let ended = tokio::task::spawn_blocking(move || server.stop()).await.unwrap();
    assert_eq!(ended.code(), Some(0), "the server ends by itself, with no query done");
    for query in running {
        let failure = refused(query.await.unwrap());
        assert_eq!((failure.problem, failure.effect), (Problem::Cancelled, Effect::None));
    }
    let server = Server::start(root.path(), &[]);
    let head = crate::support::head(&crate::support::client(&server).await).await;
    assert_eq!(Some(head), beside.commit.map(|commit| commit.id), "what was acknowledged beside the queries is there");
}

/// A load that is on its way while the server is asked to stop, and the answer to its client.
async fn interrupted(world: &World, hang: impl FnOnce(&World)) -> JoinHandle<Result<(), Failure>> {
    hang(world);
    let client = client(&world.server).await;
    let sent = tokio::spawn(async move {
        load(&client, Client::mint_operation_id(), "second").await.map(drop).map_err(|error| error.failure())
    });
    world.faults.hung().await;
    sent
}

#[tokio::test(flavor = "multi_thread")]
async fn load_that_waits_for_the_disk_while_its_server_stops_is_answered_the_truth() {
    for (place, rows_after) in [("*/tables/nodes/*/data/*", [1, 1]), ("*/__manifest/_versions/", [1, 2])] {
        let world = World::new(&[STOP_TIME]).await;
        let sent = interrupted(&world, |world| world.faults.hang_syncs(place)).await;
        let World { server, root, faults: _faults, .. } = world;
        let ended = tokio::task::spawn_blocking(move || server.stop()).await.unwrap();
        assert_eq!(ended.code(), Some(0), "{place}");
        let failure = sent.await.unwrap().unwrap_err();
        let server = Server::start(root.path(), &QUIET);
        let rows = count(&client(&server).await).await;
        assert!(rows_after.contains(&rows), "{place}: {rows} rows");
        match failure.effect {
            Effect::None => assert_eq!(rows, 1, "{place}: {failure:?}"),
            Effect::Committed => assert_eq!(rows, 2, "{place}: {failure:?}"),
            Effect::Unknown => {}
        }
    }
}

/// Whatever reads the log has stopped, so that every thread of the server waits in a line of it.
#[tokio::test(flavor = "multi_thread")]
async fn server_that_cannot_end_is_ended() {
    let world = World::new(&[STOP_TIME]).await;
    let sent = interrupted(&world, |world| world.faults.hang_log()).await;
    let World { server, root, faults: _faults, .. } = world;
    let ended = tokio::task::spawn_blocking(move || server.stop()).await.unwrap();
    assert_eq!(ended.code(), Some(FORCED));
    let failure = sent.await.unwrap().unwrap_err();
    assert_ne!(failure.effect, Effect::None, "the load was committed: {failure:?}");
    let server = Server::start(root.path(), &QUIET);
    assert_eq!(count(&client(&server).await).await, 2);
}
