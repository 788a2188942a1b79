//! Clients whose queries never end by themselves, and what they cost others: measured and reported, not judged.
//!
//! A cross join of 20,000 rows with itself under a count has 400 million pairs to compare, and is given a second. Beside it another client lists
//! graphs, and in a soak all others load and read. A call to a server that was paused or killed meanwhile measures nothing and is not counted.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use omnigraph_client::{
    Client, ClientError, ClientOptions, CreateGraph, LoadMode, LoadOptions, QueryRequest, ReadAt, RetryPolicy, Timeout,
};
use omnigraph_types::{BranchName, GraphName, PageRequest, Problem};

use crate::error::RaceError;
use crate::fleet::{Calm, Fleet};
use crate::measure::Times;

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
    lists: Times,
    /// How long after its deadline each query was answered and had stopped.
    late: Times,
}

impl HeavyReport {
    /// The figures, in milliseconds.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "past_deadline_ms": self.late.json(),
            "lists_beside_ms": self.lists.json(),
        })
    }
}

/// The servers that heavy queries go to.
#[derive(Debug, Clone)]
pub enum Target {
    /// One that nobody stops.
    One(String),
    /// Several, of which some are stopped now and then.
    Several(Arc<Fleet>),
}

impl Target {
    /// The URL of a server that runs.
    fn choose(&self, turn: usize) -> (String, Option<Calm>) {
        match self {
            Self::One(url) => (url.clone(), None),
            Self::Several(fleet) => {
                let calm = fleet.calm(turn);
                (fleet.address(calm.server).url, Some(calm))
            }
        }
    }

    /// Whether the server that was chosen was left alone since.
    fn was_calm(&self, chosen: Option<Calm>) -> bool {
        match (self, chosen) {
            (Self::Several(fleet), Some(calm)) => fleet.is_calm(calm),
            (Self::One(_) | Self::Several(_), _) => true,
        }
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
pub async fn run(target: Target, over: Arc<AtomicBool>) -> Result<HeavyReport, RaceError> {
    let lists = measured(&target, &over, list);
    let late = measured(&target, &over, query);
    let (lists, late) = futures::try_join!(lists, late)?;
    Ok(HeavyReport { lists, late })
}

/// Makes one call after another until `over` is set; what each of them measured.
async fn measured<F: Future<Output = Result<Option<Duration>, ClientError>>>(
    target: &Target,
    over: &AtomicBool,
    call: impl Fn(String) -> F,
) -> Result<Times, RaceError> {
    let mut times = Times::default();
    let mut turn = 0;
    while !over.load(Ordering::Relaxed) {
        let (url, chosen) = target.choose(turn);
        let outcome = call(url).await;
        if target.was_calm(chosen) {
            let measured = outcome.map_err(RaceError::client("call a server beside heavy queries"))?;
            measured.into_iter().for_each(|time| times.push(time));
        }
        turn += 1;
        tokio::time::sleep(PAUSE).await;
    }
    Ok(times)
}

/// How long after its deadline a heavy query is answered and holds nothing any more; nothing if it ends before. The answer alone would measure
/// little: a client gives up at its deadline whatever the server does.
async fn query(url: String) -> Result<Option<Duration>, ClientError> {
    let timeout = Timeout::After(QUERY_TIME);
    let options = ClientOptions { retry: RetryPolicy::never(), timeout, ..ClientOptions::default() };
    let client = Client::connect_with(&url, options).await?;
    let query = QueryRequest::new(ReadAt::Branch(BranchName::Main), PAIRS);
    let begun = Instant::now();
    let answer = async { client.query(&graph(), &query).await?.batches.try_collect::<Vec<_>>().await };
    match answer.await {
        Ok(_) => return Ok(None),
        Err(error) if matches!(error.problem(), Some(Problem::DeadlineExceeded)) => {}
        Err(error) => return Err(error),
    }
    while client.list_queries().await?.iter().any(|running| PAIRS.starts_with(&running.text)) {}
    Ok(Some(begun.elapsed().saturating_sub(QUERY_TIME)))
}

/// How long a list of graphs takes.
async fn list(url: String) -> Result<Option<Duration>, ClientError> {
    let options = ClientOptions { retry: RetryPolicy::never(), ..ClientOptions::default() };
    let client = Client::connect_with(&url, options).await?;
    let begun = Instant::now();
    client.list_graphs(PageRequest::default()).await?;
    Ok(Some(begun.elapsed()))
}
