//! Queries that would run for minutes, and the calls beside them.
//!
//! Everything is compared by the order of events: a call returns while the queries still run, or it does not.

use std::time::Duration;

use omnigraph_types::{Effect, Problem, Retry};
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::load_rows_request::Part;
use omnigraph_wire::v1::server_service_client::ServerServiceClient;
use tonic::transport::Channel;
use tonic::{Request, Status, Streaming};

use crate::harness::{TestServer, failure, part};

const HEAVY: &str = "pairs";
const ROWS: usize = 20_000;
/// As many heavy queries run at once.
const QUERIES: u64 = 2;
/// Time enough for the calls beside the queries on a slow machine, and too short for the queries on a quick one.
const DEADLINE: Duration = Duration::from_secs(20);
const PAIRS: &str = "query c(){match {$a:P $b:P $a.k < $b.k} return {count($a) as n}}";

async fn load(server: &TestServer, keys: impl Iterator<Item = usize>) -> Result<(), Status> {
    let header = wire::LoadRowsHeader {
        graph: HEAVY.into(),
        branch: "main".into(),
        mode: wire::LoadMode::Append.into(),
        ..Default::default()
    };
    let line = |k| format!("{{\"type\":\"P\",\"data\":{{\"k\":{k},\"g\":1}}}}\n");
    let text: String = keys.map(line).collect();
    let parts = [Part::Header(header), Part::Data(text.into_bytes().into())].map(part);
    server.loads().load_rows(tokio_stream::iter(parts)).await.map(drop)
}

/// A server whose graph has enough rows for a query of 400 million pairs.
async fn server() -> TestServer {
    let server = TestServer::start_with(|config| config.limits.queries_concurrent_max = QUERIES).await;
    let schema = "node P { k: I64 @key  g: I64 }".to_owned();
    let request = wire::CreateGraphRequest { graph: HEAVY.into(), schema, ..Default::default() };
    server.graphs().create_graph(request).await.unwrap();
    load(&server, 0..ROWS).await.unwrap();
    server
}

fn heavy(timeout: Duration) -> Request<wire::QueryRequest> {
    let query = wire::QueryRequest { graph: HEAVY.into(), query: PAIRS.into(), ..Default::default() };
    let mut request = Request::new(query);
    request.set_timeout(timeout);
    request
}

type Answer = Result<tonic::Response<Streaming<wire::QueryResponse>>, Status>;

/// A heavy query in a task of its own.
fn spawn(server: &TestServer, timeout: Duration) -> tokio::task::JoinHandle<Answer> {
    let mut queries = server.queries();
    tokio::spawn(async move { queries.query(heavy(timeout)).await })
}

fn admin(server: &TestServer) -> ServerServiceClient<Channel> {
    ServerServiceClient::new(server.channel.clone())
}

async fn listed(server: &TestServer) -> Vec<wire::RunningQuery> {
    admin(server).list_queries(wire::ListQueriesRequest {}).await.unwrap().into_inner().queries
}

/// Asks until so many queries are in a state.
async fn until(server: &TestServer, count: usize, state: wire::QueryState) -> Vec<wire::RunningQuery> {
    loop {
        let queries = listed(server).await;
        if queries.iter().filter(|query| query.state() == state).count() == count {
            return queries;
        }
    }
}

/// Asks until no query is left, so that every permit is back.
async fn until_none(server: &TestServer) {
    while !listed(server).await.is_empty() {}
}

#[tokio::test(flavor = "multi_thread")]
async fn other_calls_return_before_the_deadline_of_heavy_queries() {
    let server = server().await;
    let running: Vec<_> = (0..QUERIES).map(|_| spawn(&server, DEADLINE)).collect();
    until(&server, running.len(), wire::QueryState::Running).await;
    for _ in 0..100 {
        server.graphs().list_graphs(wire::ListGraphsRequest::default()).await.unwrap();
    }
    for row in 0..20 {
        load(&server, ROWS + row..ROWS + row + 1).await.unwrap();
    }
    assert!(running.iter().all(|query| !query.is_finished()), "the queries ended before the calls beside them");
    for query in running {
        let failure = failure(query.await.unwrap().unwrap_err());
        assert_eq!(failure.problem, Problem::DeadlineExceeded);
        assert_eq!((failure.effect, failure.retry), (Effect::None, Retry::Never), "{}", failure.message);
    }
    until_none(&server).await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn query_is_listed_cancelled_by_id_and_gives_its_permit_back() {
    let server = server().await;
    let running: Vec<_> = (0..QUERIES).map(|_| spawn(&server, Duration::from_secs(600))).collect();
    let queries = until(&server, running.len(), wire::QueryState::Running).await;
    assert!(queries.iter().all(|query| query.graph == HEAVY && query.branch == "main" && query.text == PAIRS));
    let waiting = spawn(&server, Duration::from_secs(600));
    let queued = until(&server, 1, wire::QueryState::Queued).await.len();
    assert_eq!(queued, running.len() + 1);
    for query in queries {
        let request = wire::CancelQueryRequest { query_id: query.query_id };
        let cancelled = admin(&server).cancel_query(request).await.unwrap().into_inner().query.unwrap();
        assert_eq!(cancelled.state(), wire::QueryState::Ending);
    }
    for query in running {
        let failure = failure(query.await.unwrap().unwrap_err());
        assert_eq!((failure.problem, failure.effect), (Problem::Cancelled, Effect::None));
    }
    let next = until(&server, 1, wire::QueryState::Running).await;
    waiting.abort();
    until_none(&server).await;
    let gone = wire::CancelQueryRequest { query_id: next[0].query_id.clone() };
    let failure = failure(admin(&server).cancel_query(gone).await.unwrap_err());
    assert!(matches!(failure.problem, Problem::NotFound { .. }), "{failure:?}");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_waits_for_no_query() {
    let server = server().await;
    let running = spawn(&server, Duration::from_secs(600));
    until(&server, 1, wire::QueryState::Running).await;
    let (channel, task) = server.begin_stop();
    let failure = failure(running.await.unwrap().unwrap_err());
    assert_eq!((failure.problem, failure.effect), (Problem::Cancelled, Effect::None));
    drop(channel);
    task.await.unwrap().unwrap();
}
