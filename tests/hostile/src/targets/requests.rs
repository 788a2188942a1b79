//! Requests of every call, by a server: its transport, its conversions, the engine, and a store.
//!
//! An input is the number of the call and the body of its request, as HTTP carries it. A server of this process runs on the thread that calls,
//! so that its memory is counted.

use omnigraph_server::{BoundServer, ServeConfig};
use omnigraph_wire::v1 as wire;
use prost::Message;
use rand::Rng;
use rand::rngs::StdRng;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tonic::transport::{Channel, Endpoint};

use crate::contract::Contract;
use crate::rpc::{self, frame};
use crate::target::{MemoryBound, Target};
use crate::{mutate, targets};

const SCHEMA: &str = "
node Port { code: String @key country: String? depth: F32? opened: Date? }
node Vessel { name: String @key tons: I64? tags: [String]? }
edge DockedAt: Vessel -> Port { since: DateTime? }
";
const ROWS: &str = r#"{"type":"Port","data":{"code":"OSL","depth":11.5}}
{"type":"Vessel","data":{"name":"Ever","tons":9007199254740993,"tags":["a","b"]}}
{"edge":"DockedAt","from":"Ever","to":"OSL","data":{"since":"2024-05-01T08:00:00Z"}}
"#;

/// A server with a graph, and a way to call it.
#[derive(Debug)]
pub struct Requests {
    runtime: Runtime,
    channel: Channel,
    contract: Contract,
    /// The root of a server of this process.
    _root: Option<TempDir>,
}

impl Requests {
    /// Calls a server of this process, which it starts.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start() -> Self {
        let runtime = runtime();
        let root = tempfile::tempdir().unwrap();
        let mut config = ServeConfig::new(root.path().to_str().unwrap());
        config.listen = "127.0.0.1:0".parse().unwrap();
        let channel = runtime.block_on(async {
            let server = BoundServer::bind(config).await.unwrap();
            let address = server.address();
            // It runs as long as the runtime does.
            drop(tokio::spawn(server.run(std::future::pending())));
            Endpoint::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap()
        });
        let requests = Self { runtime, channel, contract: Contract::read(), _root: Some(root) };
        for (path, body) in preparations() {
            assert_eq!(requests.answer(path, body), Ok("ok".to_owned()), "{path}");
        }
        requests
    }

    /// Calls the server at `http://…`, as it is.
    ///
    /// # Panics
    /// If it cannot be connected to.
    pub fn of(url: &str) -> Self {
        let runtime = runtime();
        let endpoint = Endpoint::from_shared(url.to_owned()).unwrap();
        let channel = runtime.block_on(endpoint.connect()).unwrap();
        Self { runtime, channel, contract: Contract::read(), _root: None }
    }

    fn answer(&self, path: &str, body: Vec<u8>) -> Result<String, String> {
        let mut headers = http::HeaderMap::new();
        // No other call takes headers of the contract.
        if path == "/arrow.flight.protocol.FlightService/DoPut" {
            headers.insert("x-omnigraph-mode", http::HeaderValue::from_static("append"));
        }
        self.runtime.block_on(rpc::call(&self.channel, path, body, &headers)).judge()
    }

    fn number(&self, path: &str) -> u8 {
        let place = self.contract.methods.iter().position(|method| method.path == path).unwrap();
        u8::try_from(place).unwrap()
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// What makes the graph `harbour`, and what fills it: calls and their bodies.
pub fn preparations() -> [(&'static str, Vec<u8>); 2] {
    let create = wire::CreateGraphRequest { graph: "harbour".into(), schema: SCHEMA.into(), ..Default::default() };
    let header = wire::LoadRowsHeader { graph: "harbour".into(), branch: "main".into(), mode: 1, ..Default::default() };
    let parts = [
        wire::load_rows_request::Part::Header(header),
        wire::load_rows_request::Part::Data(ROWS.as_bytes().to_vec().into()),
    ];
    let rows = parts.map(|part| frame(&wire::LoadRowsRequest { part: Some(part) }.encode_to_vec())).concat();
    [
        ("/omnigraph.v1.GraphService/CreateGraph", frame(&create.encode_to_vec())),
        ("/omnigraph.v1.LoadService/LoadRows", rows),
    ]
}

impl Target for Requests {
    fn name(&self) -> &'static str {
        "requests"
    }

    fn bound(&self) -> MemoryBound {
        // Caches fill as graphs are made; they are bounded by themselves, and count here as they do in a server.
        MemoryBound { constant: 192 * 1024 * 1024, factor: 64 }
    }

    fn examples(&self) -> Vec<Vec<u8>> {
        let query = wire::QueryRequest {
            graph: "harbour".into(),
            query: "query q() { match { $p: Port } return { $p.code } }".into(),
            ..Default::default()
        };
        let list = wire::ListCommitsRequest { graph: "harbour".into(), ..Default::default() };
        let mut examples = vec![
            ("/omnigraph.v1.QueryService/Query", frame(&query.encode_to_vec())),
            ("/omnigraph.v1.CommitService/ListCommits", frame(&list.encode_to_vec())),
        ];
        examples.extend(preparations());
        let path = |part: &str| part.to_owned();
        let descriptor = arrow_flight::FlightDescriptor::new_path(["harbour", "main", "Port"].map(path).to_vec());
        for mut stream in targets::hostile_streams().into_iter().step_by(5) {
            stream[0].flight_descriptor = Some(descriptor.clone());
            let body = stream.iter().flat_map(|message| frame(&message.encode_to_vec())).collect();
            examples.push(("/arrow.flight.protocol.FlightService/DoPut", body));
        }
        let empty = (0..self.contract.methods.len()).map(|number| vec![u8::try_from(number).unwrap(), 0, 0, 0, 0, 0]);
        let examples = examples.into_iter().map(|(path, body)| [vec![self.number(path)], body].concat());
        examples.chain(empty).collect()
    }

    fn handle(&self, input: &[u8]) -> Result<String, String> {
        let Some((number, body)) = input.split_first() else { return Ok("nothing".to_owned()) };
        let number = usize::from(*number) % self.contract.methods.len();
        let path = &self.contract.methods[number].path;
        self.answer(path, body.to_vec())
            .map(|kind| format!("{number} {kind}"))
            .map_err(|what| format!("{path}: {what}"))
    }

    fn mutate(&self, rng: &mut StdRng, input: &mut Vec<u8>, other: &[u8]) {
        match rng.random_range(0..8) {
            0 => mutate::bytes(rng, input, other),
            1 => mutate::json(rng, input),
            _ => {
                let number = rng.random_range(0..self.contract.methods.len());
                let Some(name) = &self.contract.methods[number].input else { return mutate::bytes(rng, input, other) };
                let messages = if rng.random_bool(0.9) { 1 } else { rng.random_range(0..4) };
                let frames = (0..messages).map(|_| frame(&self.contract.message(rng, name)));
                *input = std::iter::once(vec![u8::try_from(number).unwrap_or(0)]).chain(frames).flatten().collect();
            }
        }
    }
}
