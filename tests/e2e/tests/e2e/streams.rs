//! Loads whose stream ends before its end: nothing of them is visible, and the server is as it was before.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use omnigraph_client::{Client, ClientError, LoadMode, LoadOptions, LoadTarget, Loader, Timeout};
use omnigraph_types::{BranchName, CommitId, Effect, Problem, Retry};

use crate::support::{Server, airline, append, client, graph_name, head, refused, root, rows, start_until};

/// One load at a time: a load that kept its permit would keep all later ones out.
const ONE_LOAD: (&str, &str) = ("OMNIGRAPH_LOADS_CONCURRENT_MAX", "1");
/// Longest wait for an answer that must come by itself.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
const BATCHES: usize = 10;
const BATCH_ROWS: usize = 1_000;

struct World {
    server: Server,
    client: Client,
    head: CommitId,
    _root: tempfile::TempDir,
}

impl World {
    /// A server that admits one load at a time, with the graph of airports.
    async fn new(variables: &[(&str, &str)]) -> Self {
        let root = root();
        let server = Server::start(root.path(), &[&[ONE_LOAD], variables].concat());
        let client = client(&server).await;
        airline(&client).await;
        let head = head(&client).await;
        Self { server, client, head, _root: root }
    }

    /// Nothing is visible, and the next load is admitted and follows the head from before.
    async fn is_untouched(&self) {
        assert_eq!(head(&self.client).await, self.head);
        assert_eq!(rows(&self.client, &["Airport"]).await["Airport"], 0);
        let next = r#"{"type":"Airport","data":{"iata":"OSL","name":"x","country":"NO","latitude":60,"longitude":11}}"#;
        let receipt = append(&self.client, next).await.unwrap();
        assert_eq!(receipt.commit.unwrap().parents, [self.head]);
        assert_eq!(rows(&self.client, &["Airport"]).await["Airport"], 1);
    }
}

/// Airports whose names have `name_bytes` bytes each.
fn airports(batch: usize, name_bytes: usize) -> RecordBatch {
    let codes: Vec<_> = (0..BATCH_ROWS).map(|row| format!("A{batch}-{row}")).collect();
    let names: Vec<_> = codes.iter().map(|code| code.repeat(name_bytes.div_ceil(code.len()))).collect();
    let zeros = || Arc::new(Float64Array::from(vec![0.0; BATCH_ROWS])) as ArrayRef;
    let columns: [(&str, ArrayRef); 5] = [
        ("iata", Arc::new(StringArray::from(codes))),
        ("name", Arc::new(StringArray::from(names))),
        ("country", Arc::new(StringArray::from(vec!["USA"; BATCH_ROWS]))),
        ("latitude", zeros()),
        ("longitude", zeros()),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

async fn open(client: &Client, options: LoadOptions) -> Result<Loader, ClientError> {
    let target = LoadTarget { graph: graph_name(), branch: BranchName::Main, type_name: "Airport".to_owned() };
    client.load(target, airports(0, 8).schema(), options).await
}

/// A load of which half of the batches are sent.
async fn half(client: &Client, options: LoadOptions, name_bytes: usize) -> Result<Loader, ClientError> {
    let mut loader = open(client, options).await?;
    for batch in 0..BATCHES / 2 {
        loader.write(airports(batch, name_bytes)).await?;
    }
    Ok(loader)
}

fn append_options() -> LoadOptions {
    LoadOptions::new(LoadMode::Append)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_killed_after_half_of_its_batches_leaves_nothing() {
    let world = World::new(&[]).await;
    let mut python = start_until("half.py", &world.server, &["stay"], "half");
    python.kill().unwrap();
    python.wait().unwrap();
    world.is_untouched().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_that_ends_by_an_exception_leaves_nothing() {
    let world = World::new(&[]).await;
    let mut python = start_until("half.py", &world.server, &["raise"], "half");
    assert!(!python.wait().unwrap().success());
    world.is_untouched().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loader_dropped_after_half_of_its_batches_leaves_nothing() {
    let world = World::new(&[]).await;
    drop(half(&world.client, append_options(), 8).await.unwrap());
    world.is_untouched().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aborted_load_leaves_nothing() {
    let world = World::new(&[]).await;
    half(&world.client, append_options(), 8).await.unwrap().abort().await;
    world.is_untouched().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn load_over_its_deadline_is_refused_and_leaves_nothing() {
    let world = World::new(&[]).await;
    let timeout = Timeout::After(Duration::from_secs(2));
    let mut loader = half(&world.client, LoadOptions { timeout, ..append_options() }, 8).await.unwrap();
    let answer = tokio::time::timeout(ANSWER_TIMEOUT, loader.captured()).await.unwrap();
    let failure = refused(answer);
    assert_eq!((&failure.problem, failure.effect), (&Problem::DeadlineExceeded, Effect::None), "{failure:?}");
    assert_eq!(failure.retry, Retry::SameRequest);
    drop(loader);
    world.is_untouched().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_client_is_refused_and_leaves_nothing() {
    let world = World::new(&[("OMNIGRAPH_STREAM_IDLE_TIMEOUT_MS", "300")]).await;
    let mut loader = half(&world.client, append_options(), 8).await.unwrap();
    let failure = refused(tokio::time::timeout(ANSWER_TIMEOUT, loader.captured()).await.unwrap());
    assert_eq!((&failure.problem, failure.effect), (&Problem::DeadlineExceeded, Effect::None), "{failure:?}");
    assert!(failure.message.contains("stream_idle_timeout_ms = 300"), "{}", failure.message);
    drop(loader);
    world.is_untouched().await;
}

/// Each cut stream brings 8 MB of names. Ten of them are 80 MB: a server that kept what they had brought would grow by as much. What it may
/// keep is what its allocator does not give back at once: a stream's windows (4 MiB), one decoded batch and one batch on its way to a file,
/// for each of the runtime's threads. Half of the bytes sent is well above that and well below a leak.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_streams_do_not_make_the_server_grow() {
    const NAME_BYTES: usize = 1_600;
    const SENT_BYTES: u64 = (BATCHES / 2 * BATCH_ROWS * NAME_BYTES) as u64;
    const STREAMS: u64 = 10;
    let spill = root();
    let world = World::new(&[("OMNIGRAPH_SPILL_DIRECTORY", spill.path().to_str().unwrap())]).await;
    let cut = async || {
        drop(half(&world.client, append_options(), NAME_BYTES).await.unwrap());
    };
    // The first streams fill the caches and pools that stay.
    for _ in 0..3 {
        cut().await;
    }
    let before = world.server.resident_bytes();
    for _ in 0..STREAMS {
        cut().await;
    }
    let after = world.server.resident_bytes();
    let grown = after.saturating_sub(before);
    println!("resident before {before}, after {after}, grown by {grown}, sent {}", STREAMS * SENT_BYTES);
    assert!(grown < STREAMS * SENT_BYTES / 2, "grown from {before} to {after} bytes");
    world.is_untouched().await;
    assert_eq!(std::fs::read_dir(spill.path()).unwrap().count(), 0, "spill files stay");
}
