//! Hostile bytes to a real server process: its answers, its memory, and its stored data.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use omnigraph_client::{Client, ClientOptions, RetryPolicy};
use omnigraph_e2e::server::{Server, root};
use omnigraph_hostile::drive::{Budget, Folder, drive};
use omnigraph_hostile::rpc::{self, frame};
use omnigraph_hostile::targets::{Requests, hostile_streams, preparations};
use omnigraph_types::{Problem, Retry};
use prost::Message;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tonic::transport::{Channel, Endpoint};

/// Threads that call at once, and inputs of each.
const CALLERS: u64 = 4;
const INPUTS: u64 = 500;
/// Streams that are sent to be refused.
const STREAMS: usize = 150;
/// The longest message that the server takes.
const MESSAGE_BYTES_MAX: &str = "4194304";
/// Bytes that the server, a debug build, may hold at most at any time.
const MEMORY_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Bytes of a long request, and how many are sent at once: together twice what the server may hold.
const LONG_REQUEST_BYTES: usize = 32 * 1024 * 1024;
const LONG_REQUESTS: usize = 32;
const PUT: &str = "/arrow.flight.protocol.FlightService/DoPut";

fn start(root: &std::path::Path) -> Server {
    Server::start(root, &[("OMNIGRAPH_MESSAGE_BYTES_MAX", MESSAGE_BYTES_MAX), ("RUST_BACKTRACE", "0")])
}

fn url(server: &Server) -> String {
    server.url.replace("grpc://", "http://")
}

async fn channel(server: &Server) -> Channel {
    Endpoint::from_shared(url(server)).unwrap().connect().await.unwrap()
}

/// The contract's headers of a call: a load over Flight says how it loads, and no other call takes any.
fn headers_of(path: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if path == PUT {
        headers.insert("x-omnigraph-mode", HeaderValue::from_static("append"));
    }
    headers
}

async fn prepare(channel: &Channel) {
    for (path, body) in preparations() {
        assert_eq!(rpc::call(channel, path, body, &HeaderMap::new()).await.judge(), Ok("ok".to_owned()), "{path}");
    }
}

/// The most memory that a process has held at any time.
fn peak_bytes(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid)).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// What must hold for a server after any input: it did not panic, it holds no more than its bound, and it takes a write.
async fn assert_sound(server: &Server) {
    let log = server.log();
    let panics: Vec<_> = log.lines().filter(|line| line.contains("panicked at")).collect();
    assert_eq!(panics, Vec::<&str>::new(), "the server panicked");
    let peak = peak_bytes(server);
    assert!(peak <= MEMORY_BYTES_MAX, "the server held {peak} bytes");
    let channel = channel(server).await;
    let graph = "afterwards";
    let create = omnigraph_wire::v1::CreateGraphRequest {
        graph: graph.into(),
        schema: "node Port { code: String @key }".into(),
        ..Default::default()
    };
    let body = frame(&create.encode_to_vec());
    let answer = rpc::call(&channel, "/omnigraph.v1.GraphService/CreateGraph", body, &HeaderMap::new()).await;
    assert_eq!(answer.judge(), Ok("ok".to_owned()));
    eprintln!("the server held {peak} bytes at most, and {} now", server.resident_bytes());
}

#[test]
fn hostile_requests_leave_a_server_sound() {
    let folder = root();
    let server = start(folder.path());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async { prepare(&channel(&server).await).await });
    let kept = tempfile::tempdir().unwrap();
    let found: Vec<String> = std::thread::scope(|scope| {
        let callers = (0..CALLERS).map(|seed| {
            let path = kept.path().join(seed.to_string());
            std::fs::create_dir(&path).unwrap();
            let url = url(&server);
            scope.spawn(move || {
                let budget = Budget { inputs: INPUTS, time: Duration::from_secs(120) };
                let report = drive(&Requests::of(&url), seed, budget, Folder { path: &path, keep_current: false });
                report.lines().iter().for_each(|line| eprintln!("{line}"));
                assert!(report.outcomes.len() > 20, "{:?}", report.outcomes);
                report.found()
            })
        });
        callers.collect::<Vec<_>>().into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    if !found.is_empty() {
        panic!("inputs are kept in {}: {found:#?}\n{}", kept.keep().display(), server.log());
    }
    runtime.block_on(assert_sound(&server));
}

fn descriptor() -> arrow_flight::FlightDescriptor {
    arrow_flight::FlightDescriptor::new_path(["harbour", "main", "Port"].map(str::to_owned).to_vec())
}

/// Valid streams with a few bytes changed, as the bodies of DoPut.
fn damaged_streams(rng: &mut StdRng) -> Vec<Vec<u8>> {
    let streams = hostile_streams();
    let damaged = (0..STREAMS).map(|number| {
        let mut stream = streams[number % streams.len()].clone();
        stream[0].flight_descriptor = Some(descriptor());
        for _ in 0..rng.random_range(1..4) {
            let place = rng.random_range(0..stream.len());
            let mut bytes = stream[place].data_header.to_vec();
            let at = rng.random_range(0..bytes.len());
            bytes[at] = rng.random();
            stream[place].data_header = Bytes::from(bytes);
        }
        stream.iter().flat_map(|message| frame(&message.encode_to_vec())).collect()
    });
    damaged.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_upload_is_not_stored() {
    let folder = root();
    let server = start(folder.path());
    let calls = channel(&server).await;
    prepare(&calls).await;
    let options = ClientOptions { retry: RetryPolicy::never(), ..ClientOptions::default() };
    let client = Client::connect_with(&server.url, options).await.unwrap();
    let graph = "harbour".parse().unwrap();
    let mut rng = StdRng::seed_from_u64(1);
    let before = client.get_graph(&graph).await.unwrap().head;
    let mut refused = 0;
    for body in damaged_streams(&mut rng) {
        let answer = rpc::call(&calls, PUT, body, &headers_of(PUT)).await;
        let kind = answer.judge().unwrap();
        assert!(answer.took < rpc::DEADLINE, "{kind} after {:?}", answer.took);
        let Some(failure) = answer.failure() else { panic!("a stream without a code for a port was loaded") };
        assert_eq!(failure.effect, omnigraph_types::Effect::None, "{failure:?}");
        assert_ne!(failure.retry, Retry::SameRequest, "sent again it is as wrong: {failure:?}");
        refused += 1;
    }
    assert_eq!(client.get_graph(&graph).await.unwrap().head, before, "{refused} streams were refused");
    assert_sound(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn message_that_lies_about_its_length_is_refused_without_waiting() {
    let folder = root();
    let server = start(folder.path());
    let calls = channel(&server).await;
    prepare(&calls).await;
    let lies: [&[u8]; 6] = [
        // More than the server takes; more than comes; a flag that does not exist; compressed without saying how; half a prefix; nothing.
        &[0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3],
        &[0, 0, 0, 1, 0, 1, 2, 3],
        &[7, 0, 0, 0, 1, 0],
        &[1, 0, 0, 0, 3, 0x1f, 0x8b, 0x08],
        &[0, 0],
        &[],
    ];
    for path in [PUT, "/omnigraph.v1.LoadService/LoadRows", "/omnigraph.v1.QueryService/Query"] {
        for body in lies {
            let started = Instant::now();
            let answer = rpc::call(&calls, path, body.to_vec(), &headers_of(path)).await;
            let kind = answer.judge().unwrap();
            assert_ne!(kind, "ok", "{path}: {body:?}");
            assert!(started.elapsed() < Duration::from_secs(5), "{path}: {body:?}: {kind}");
        }
    }
    let too_long = rpc::call(&calls, PUT, lies[0].to_vec(), &headers_of(PUT)).await.failure().unwrap();
    assert!(matches!(too_long.problem, Problem::ResourceLimit { .. }), "{too_long:?}");
    assert_sound(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_long_requests_at_once_are_refused_before_they_are_held() {
    let folder = root();
    // The default: one message of a load may be 64 MiB long.
    let server = Server::start(folder.path(), &[("RUST_BACKTRACE", "0")]);
    let calls = channel(&server).await;
    prepare(&calls).await;
    let long = frame(&vec![b' '; LONG_REQUEST_BYTES]);
    for path in [PUT, "/omnigraph.v1.LoadService/LoadRows", "/omnigraph.v1.QueryService/Query"] {
        let all = (0..LONG_REQUESTS).map(|_| {
            let (calls, long) = (calls.clone(), long.clone());
            // All but the last bytes of a message: a server that waits for the rest holds the others.
            tokio::spawn(
                async move { rpc::call(&calls, path, long[..long.len() - 1].to_vec(), &headers_of(path)).await },
            )
        });
        for call in all.collect::<Vec<_>>() {
            let failure = call.await.unwrap().failure().unwrap();
            let Problem::ResourceLimit { limit, .. } = &failure.problem else { panic!("{path}: {failure:?}") };
            assert_eq!(limit, "request_bytes_max", "{path}");
        }
    }
    // A load's second message may be as long, and is read when it is the load's turn: few are held at once, and `assert_sound` measures it.
    let first = arrow_flight::FlightData::new().with_descriptor(descriptor());
    let stream = [frame(&first.encode_to_vec()), long[..long.len() - 1].to_vec()].concat();
    let all = (0..LONG_REQUESTS).map(|_| {
        let (calls, stream) = (calls.clone(), stream.clone());
        tokio::spawn(async move { rpc::call(&calls, PUT, stream, &headers_of(PUT)).await })
    });
    for call in all.collect::<Vec<_>>() {
        let problem = call.await.unwrap().failure().unwrap().problem;
        assert!(matches!(problem, Problem::Cancelled | Problem::InvalidRequest { .. }), "{problem:?}");
    }
    assert_sound(&server).await;
}
