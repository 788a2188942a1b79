//! Clients whose queries never end by themselves, and what they cost others: measured and reported, not judged.
//!
//! A cross join of 20,000 rows with itself under a count has 400 million pairs to compare, and is given a second. Beside it another client lists graphs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use omnigraph_client::{Client, ClientOptions, CreateGraph, LoadMode, LoadOptions, QueryRequest, ReadAt, Timeout};
use omnigraph_types::{BranchName, GraphName, PageRequest, Problem};

use crate::error::RaceError;

/// Rows of the graph that is joined with itself.
const ROWS: usize = 20_000;
/// Time that a query is given.
const QUERY_TIME: Duration = Duration::from_secs(1);
/// Time between two probes, and between two queries, so that the others of the run get on.
const PAUSE: Duration = Duration::from_millis(500);
const SCHEMA: &str = "node P { k: I64 @key  g: I64 }";
const PAIRS: &str = "query c(){match {$a:P $b:P $a.k < $b.k} return {count($a) as n}}";

/// What heavy queries cost.
#[derive(Debug, Default)]
pub struct HeavyReport {
    /// How long each list of graphs took.
    others: Vec<Duration>,
    /// How long after its deadline each query was answered.
    late: Vec<Duration>,
}

impl HeavyReport {
    /// The figures, in milliseconds.
    pub fn json(&self) -> serde_json::Value {
        let most = |times: &[Duration]| times.iter().max().map_or(0, Duration::as_millis);
        serde_json::json!({
            "heavy_queries": self.late.len(),
            "past_deadline_ms_max": most(&self.late),
            "calls_beside": self.others.len(),
            "calls_beside_ms_max": most(&self.others),
        })
    }
}

fn graph() -> GraphName {
    "heavy".parse().unwrap_or_else(|_| unreachable!("the name follows the rules"))
}

/// Makes the graph with its rows.
pub async fn prepare(url: &str) -> Result<(), RaceError> {
    let client = Client::connect(url).await.map_err(RaceError::client("connect to the server"))?;
    let graph = graph();
    let made = client.create_graph(CreateGraph::new(graph.clone(), SCHEMA)).await;
    made.map_err(RaceError::client("make the graph of heavy queries"))?;
    let line = |k| format!("{{\"type\":\"P\",\"data\":{{\"k\":{k},\"g\":1}}}}\n");
    let text: String = (0..ROWS).map(line).collect();
    let loaded = async {
        let options = LoadOptions::new(LoadMode::Append);
        let mut loader = client.load_ndjson(&graph, &BranchName::Main, options).await?;
        loader.write(text.into()).await?;
        loader.finish().await
    };
    loaded.await.map(drop).map_err(RaceError::client("load the rows of heavy queries"))
}

/// Sends heavy queries, and lists of graphs beside them, until `over` is set.
pub async fn run(url: &str, over: Arc<AtomicBool>) -> Result<HeavyReport, RaceError> {
    let (others, late) = futures::try_join!(beside(url, &over), queries(url, &over))?;
    Ok(HeavyReport { others, late })
}

async fn queries(url: &str, over: &AtomicBool) -> Result<Vec<Duration>, RaceError> {
    let options = ClientOptions { timeout: Timeout::After(QUERY_TIME), ..ClientOptions::default() };
    let client = Client::connect_with(url, options).await.map_err(RaceError::client("connect to the server"))?;
    let (graph, query) = (graph(), QueryRequest::new(ReadAt::Branch(BranchName::Main), PAIRS));
    let mut late = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let answer = async { client.query(&graph, &query).await?.batches.try_collect::<Vec<_>>().await };
        match answer.await {
            Ok(_) => {}
            Err(error) if matches!(error.problem(), Some(Problem::DeadlineExceeded)) => {
                late.push(begun.elapsed().saturating_sub(QUERY_TIME));
            }
            Err(error) => return Err(RaceError::client("run a heavy query")(error)),
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(late)
}

async fn beside(url: &str, over: &AtomicBool) -> Result<Vec<Duration>, RaceError> {
    let client = Client::connect(url).await.map_err(RaceError::client("connect to the server"))?;
    let mut times = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let listed = client.list_graphs(PageRequest::default()).await;
        listed.map_err(RaceError::client("list graphs beside heavy queries"))?;
        times.push(begun.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    Ok(times)
}
