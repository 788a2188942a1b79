//! A server of its own for every test, and words for what tests do with it.

use std::net::SocketAddr;

use arrow_flight::flight_service_client::FlightServiceClient;
use omnigraph_server::{BoundServer, ServeConfig, ServeError};
use omnigraph_types::{Failure, Problem};
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::commit_service_client::CommitServiceClient;
use omnigraph_wire::v1::graph_service_client::GraphServiceClient;
use omnigraph_wire::v1::load_rows_request::Part;
use omnigraph_wire::v1::load_service_client::LoadServiceClient;
use omnigraph_wire::v1::operation_service_client::OperationServiceClient;
use omnigraph_wire::v1::query_service_client::QueryServiceClient;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

/// The schema of the graph that tests load into.
pub(crate) const SCHEMA: &str = "
node Port { code: String @key country: String? depth: F32? opened: Date? }
node Vessel { name: String @key tons: I64? tags: [String]? }
edge DockedAt: Vessel -> Port { since: DateTime? }
";

/// Three ports, two vessels and an edge.
pub(crate) const ROWS: &str = r#"{"type":"Port","data":{"code":"OSL","country":"no","depth":11.5,"opened":"1900-01-01"}}
{"type":"Port","data":{"code":"HAM","country":"de"}}
{"type":"Port","data":{"code":"RTM","country":"nl"}}
{"type":"Vessel","data":{"name":"Ever","tons":9007199254740993,"tags":["a","b"]}}
{"type":"Vessel","data":{"name":"Aida"}}
{"edge":"DockedAt","from":"Ever","to":"OSL","data":{"since":"2024-05-01T08:00:00Z"}}
"#;

pub(crate) const GRAPH: &str = "harbour";

/// A running server. Its root goes with it.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) root: TempDir,
    pub(crate) channel: Channel,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), ServeError>>,
}

impl TestServer {
    /// A server with defaults.
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| ()).await
    }

    /// A server whose configuration is changed by `change`.
    pub(crate) async fn start_with(change: impl FnOnce(&mut ServeConfig)) -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut config = ServeConfig::new(root.path().to_str().unwrap());
        config.listen = "127.0.0.1:0".parse().unwrap();
        change(&mut config);
        let server = BoundServer::bind(config).await.unwrap();
        let address = server.address();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));
        let channel = Endpoint::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
        Self { address, root, channel, stop, task }
    }

    /// A server that holds the graph `harbour`, empty.
    pub(crate) async fn with_graph() -> Self {
        let server = Self::start().await;
        server.create_graph(GRAPH).await.unwrap();
        server
    }

    /// A server whose graph `harbour` holds `ROWS`.
    pub(crate) async fn with_rows() -> Self {
        let server = Self::with_graph().await;
        server.load(wire::LoadMode::Append, ROWS).await.unwrap();
        server
    }

    /// Stops the server and returns how it ended.
    pub(crate) async fn stop(self) -> Result<(), ServeError> {
        let _ = self.stop.send(());
        drop(self.channel);
        self.task.await.unwrap()
    }

    /// Asks the server to stop, and returns its channel and task.
    pub(crate) fn begin_stop(self) -> (Channel, JoinHandle<Result<(), ServeError>>) {
        let _ = self.stop.send(());
        (self.channel, self.task)
    }

    pub(crate) fn graphs(&self) -> GraphServiceClient<Channel> {
        GraphServiceClient::new(self.channel.clone())
    }

    pub(crate) fn loads(&self) -> LoadServiceClient<Channel> {
        LoadServiceClient::new(self.channel.clone())
    }

    pub(crate) fn queries(&self) -> QueryServiceClient<Channel> {
        QueryServiceClient::new(self.channel.clone())
    }

    pub(crate) fn commits(&self) -> CommitServiceClient<Channel> {
        CommitServiceClient::new(self.channel.clone())
    }

    pub(crate) fn operations(&self) -> OperationServiceClient<Channel> {
        OperationServiceClient::new(self.channel.clone())
    }

    pub(crate) fn flight(&self) -> FlightServiceClient<Channel> {
        FlightServiceClient::new(self.channel.clone())
    }

    pub(crate) async fn create_graph(&self, name: &str) -> Result<wire::CreateGraphResponse, Failure> {
        let request = wire::CreateGraphRequest { graph: name.into(), schema: SCHEMA.into(), ..Default::default() };
        self.graphs().create_graph(request).await.map(tonic::Response::into_inner).map_err(failure)
    }

    /// Loads NDJSON text, cut into pieces that do not respect its lines.
    pub(crate) async fn load(&self, mode: wire::LoadMode, text: &str) -> Result<wire::LoadRowsResponse, Failure> {
        let header = wire::LoadRowsHeader {
            graph: GRAPH.into(),
            branch: "main".into(),
            mode: mode.into(),
            ..Default::default()
        };
        self.load_as(header, text).await
    }

    pub(crate) async fn load_as(
        &self,
        header: wire::LoadRowsHeader,
        text: &str,
    ) -> Result<wire::LoadRowsResponse, Failure> {
        let pieces = text.as_bytes().chunks(37).map(|piece| Part::Data(piece.to_vec().into()));
        let parts: Vec<_> = std::iter::once(Part::Header(header)).chain(pieces).map(part).collect();
        let response = self.loads().load_rows(tokio_stream::iter(parts)).await;
        response.map(tonic::Response::into_inner).map_err(failure)
    }

    /// The id of the head of `main`.
    pub(crate) async fn head(&self) -> String {
        let request = wire::GetGraphRequest { graph: GRAPH.into() };
        self.graphs().get_graph(request).await.unwrap().into_inner().graph.unwrap().head
    }

    /// Runs a query and returns its header and its rows.
    pub(crate) async fn rows(
        &self,
        query: &str,
        params_json: &str,
    ) -> Result<(wire::QueryHeader, Vec<wire::Row>), Failure> {
        let request = wire::QueryRequest {
            graph: GRAPH.into(),
            query: query.into(),
            params_json: params_json.into(),
            ..Default::default()
        };
        let mut stream = self.queries().query(request).await.map_err(failure)?.into_inner();
        let (mut header, mut rows) = (None, Vec::new());
        while let Some(message) = stream.message().await.map_err(failure)? {
            match message.part.unwrap() {
                wire::query_response::Part::Header(part) => header = Some(part),
                wire::query_response::Part::Rows(chunk) => rows.extend(chunk.rows),
                wire::query_response::Part::ArrowIpc(_) => panic!("Arrow where rows were asked for"),
            }
        }
        Ok((header.unwrap(), rows))
    }

    /// The codes of all ports, sorted.
    pub(crate) async fn ports(&self) -> Vec<String> {
        let (_, rows) =
            self.rows("query ports() { match { $p: Port } return { $p.code } order { $p.code } }", "").await.unwrap();
        rows.into_iter().map(|row| text(&row.values[0])).collect()
    }
}

/// One message of LoadRows.
pub(crate) fn part(part: Part) -> wire::LoadRowsRequest {
    wire::LoadRowsRequest { part: Some(part) }
}

/// The text in a value.
pub(crate) fn text(value: &wire::Value) -> String {
    match value.kind.as_ref().unwrap() {
        wire::value::Kind::StringValue(text) => text.clone(),
        other => panic!("not a text: {other:?}"),
    }
}

/// What a status says in our words. Fails the test if it says it without details.
pub(crate) fn failure(status: Status) -> Failure {
    assert!(!status.details().is_empty(), "a status without details: {status:?}");
    omnigraph_wire::from_status(&status)
}

/// The field that a refused request names.
pub(crate) fn field(failure: Failure) -> String {
    match failure.problem {
        Problem::InvalidRequest { field } => field,
        other => panic!("{other:?}"),
    }
}
