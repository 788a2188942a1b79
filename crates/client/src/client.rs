//! The connection, and the calls of one request and one answer.

use std::future::Future;
use std::sync::Arc;

use arrow_flight::flight_service_client::FlightServiceClient;
use omnigraph_types::{BranchName, CommitId, Effect, GraphName, OperationId};
use omnigraph_wire::v1;
use omnigraph_wire::v1::commit_service_client::CommitServiceClient;
use omnigraph_wire::v1::graph_service_client::GraphServiceClient;
use omnigraph_wire::v1::operation_service_client::OperationServiceClient;
use omnigraph_wire::v1::schema_service_client::SchemaServiceClient;
use omnigraph_wire::v1::server_service_client::ServerServiceClient;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status};

use crate::model::present;
use crate::options::Deadline;
use crate::{
    ClientError, ClientOptions, Commit, GraphInfo, Operation, Page, PageRequest, ReadAt, Receipt, SchemaInfo,
    ServerInfo, endpoint,
};

/// Bytes of one stream's answers that may be on their way.
const STREAM_WINDOW_BYTES: u32 = 4 * 1024 * 1024;
/// Bytes of all streams' answers that may be on their way.
const CONNECTION_WINDOW_BYTES: u32 = 16 * 1024 * 1024;

/// A service's generated client with the message limits of this one.
macro_rules! limited {
    ($client:expr, $service:ident) => {{
        let bytes = $client.options().message_bytes_max;
        $service::new($client.channel()).max_decoding_message_size(bytes).max_encoding_message_size(bytes)
    }};
}
pub(crate) use limited;

/// A connection to a server. Cheap to clone; clones share the connection.
#[derive(Debug, Clone)]
pub struct Client {
    channel: Channel,
    options: Arc<ClientOptions>,
}

/// A graph to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGraph {
    /// Its name.
    pub name: GraphName,
    /// The schema's source text. May be empty: a graph without types.
    pub schema: String,
    /// The idempotency key.
    pub operation_id: OperationId,
}

impl NewGraph {
    /// A graph of this name and schema under a fresh operation id.
    pub fn new(name: GraphName, schema: impl Into<String>) -> Self {
        Self { name, schema: schema.into(), operation_id: Client::mint_operation_id() }
    }
}

impl Client {
    /// Connects to `grpc://host:port`. `grpcs://` is refused as unimplemented.
    pub async fn connect(url: &str) -> Result<Self, ClientError> {
        Self::connect_with(url, ClientOptions::default()).await
    }

    /// Connects with these options.
    pub async fn connect_with(url: &str, options: ClientOptions) -> Result<Self, ClientError> {
        let connect = |source| ClientError::Connect { url: url.to_owned(), source };
        let endpoint = Endpoint::from_shared(endpoint::http_url(url)?)
            .map_err(connect)?
            .user_agent(concat!("omnigraph-rust/", env!("CARGO_PKG_VERSION")))
            .map_err(connect)?
            .connect_timeout(options.connect_timeout)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
        let channel = endpoint.connect().await.map_err(connect)?;
        Ok(Self { channel, options: Arc::new(options) })
    }

    /// A fresh idempotency key of this moment.
    pub fn mint_operation_id() -> OperationId {
        OperationId(ulid::Ulid::new())
    }

    /// What the server is: version, limits, features.
    pub async fn server_info(&self) -> Result<ServerInfo, ClientError> {
        let info = self
            .unary(v1::GetServerInfoRequest {}, Effect::None, |request| {
                let mut service = limited!(self, ServerServiceClient);
                async move { service.get_server_info(request).await }
            })
            .await?;
        Ok(ServerInfo::from_wire(info))
    }

    /// Makes a graph. Sent again, under the same operation id, where its failure says that helps.
    pub async fn create_graph(&self, graph: NewGraph) -> Result<(GraphInfo, Receipt), ClientError> {
        let message = v1::CreateGraphRequest {
            graph: graph.name.to_string(),
            schema: graph.schema,
            operation_id: graph.operation_id.to_string(),
            validate_only: false,
        };
        let response = self
            .unary(message, Effect::Unknown, |request| {
                let mut service = limited!(self, GraphServiceClient);
                async move { service.create_graph(request).await }
            })
            .await?;
        let info = GraphInfo::from_wire(present(response.graph, "no graph")?)?;
        Ok((info, Receipt::from_wire(response.receipt, 0)?))
    }

    /// Deletes a graph with everything in it, and tells the operation's id. Sent again, under the same operation id, where its failure says
    /// that helps.
    pub async fn delete_graph(&self, graph: &GraphName, operation_id: OperationId) -> Result<OperationId, ClientError> {
        let message = v1::DeleteGraphRequest {
            graph: graph.to_string(),
            confirm: graph.to_string(),
            operation_id: operation_id.to_string(),
            validate_only: false,
        };
        let response = self
            .unary(message, Effect::Unknown, |request| {
                let mut service = limited!(self, GraphServiceClient);
                async move { service.delete_graph(request).await }
            })
            .await?;
        response.operation_id.parse().map_err(|_| ClientError::Answer { what: "an operation's id" })
    }

    /// One graph.
    pub async fn get_graph(&self, graph: &GraphName) -> Result<GraphInfo, ClientError> {
        let message = v1::GetGraphRequest { graph: graph.to_string() };
        let response = self
            .unary(message, Effect::None, |request| {
                let mut service = limited!(self, GraphServiceClient);
                async move { service.get_graph(request).await }
            })
            .await?;
        GraphInfo::from_wire(present(response.graph, "no graph")?)
    }

    /// The graphs that the caller may read, by name.
    pub async fn list_graphs(&self, page: PageRequest) -> Result<Page<GraphInfo>, ClientError> {
        let message = v1::ListGraphsRequest { page_size: page.size, page_token: page.token };
        let response = self
            .unary(message, Effect::None, |request| {
                let mut service = limited!(self, GraphServiceClient);
                async move { service.list_graphs(request).await }
            })
            .await?;
        let items = response.graphs.into_iter().map(GraphInfo::from_wire).collect::<Result<_, _>>()?;
        Ok(Page { items, next: response.next_page_token })
    }

    /// The schema in force.
    pub async fn get_schema(&self, graph: &GraphName, at: &ReadAt) -> Result<SchemaInfo, ClientError> {
        let message = v1::GetSchemaRequest { graph: graph.to_string(), at: Some(at.to_wire()) };
        let response = self
            .unary(message, Effect::None, |request| {
                let mut service = limited!(self, SchemaServiceClient);
                async move { service.get_schema(request).await }
            })
            .await?;
        SchemaInfo::from_wire(response)
    }

    /// One commit.
    pub async fn get_commit(&self, graph: &GraphName, commit: CommitId) -> Result<Commit, ClientError> {
        let message = v1::GetCommitRequest { graph: graph.to_string(), commit: commit.to_string() };
        let response = self
            .unary(message, Effect::None, |request| {
                let mut service = limited!(self, CommitServiceClient);
                async move { service.get_commit(request).await }
            })
            .await?;
        Commit::expected(response.commit)
    }

    /// The commits of a branch, newest first.
    pub async fn list_commits(
        &self,
        graph: &GraphName,
        branch: &BranchName,
        page: PageRequest,
    ) -> Result<Page<Commit>, ClientError> {
        let message = v1::ListCommitsRequest {
            graph: graph.to_string(),
            branch: branch.to_string(),
            page_size: page.size,
            page_token: page.token,
        };
        let response = self
            .unary(message, Effect::None, |request| {
                let mut service = limited!(self, CommitServiceClient);
                async move { service.list_commits(request).await }
            })
            .await?;
        let items = response.commits.into_iter().map(Commit::from_wire).collect::<Result<_, _>>()?;
        Ok(Page { items, next: response.next_page_token })
    }

    /// What is known about an operation that was sent for this branch.
    pub async fn get_operation(
        &self,
        graph: &GraphName,
        branch: &BranchName,
        operation_id: OperationId,
    ) -> Result<Operation, ClientError> {
        let message = v1::GetOperationRequest {
            graph: graph.to_string(),
            branch: branch.to_string(),
            operation_id: operation_id.to_string(),
        };
        let response = self
            .unary(message, Effect::None, |request| {
                let mut service = limited!(self, OperationServiceClient);
                async move { service.get_operation(request).await }
            })
            .await?;
        Operation::from_wire(response)
    }

    pub(crate) fn channel(&self) -> Channel {
        self.channel.clone()
    }

    pub(crate) fn options(&self) -> &ClientOptions {
        &self.options
    }

    pub(crate) fn flight(&self) -> FlightServiceClient<Channel> {
        limited!(self, FlightServiceClient)
    }

    /// Makes a call of one request and one answer, again where its failure says that helps. `effect` is what a call without an answer may
    /// have had.
    pub(crate) async fn unary<M, R, F, Fut>(&self, message: M, effect: Effect, call: F) -> Result<R, ClientError>
    where
        M: Clone,
        F: Fn(Request<M>) -> Fut,
        Fut: Future<Output = Result<Response<R>, Status>>,
    {
        let deadline = Deadline::after(self.options.timeout);
        self.retrying(deadline, || {
            let call = call(deadline.request(message.clone()));
            async move {
                let response = call.await.map_err(|status| ClientError::from_status(status, effect, deadline))?;
                Ok(response.into_inner())
            }
        })
        .await
    }

    /// Runs `attempt` until it succeeds, its failure is final, or attempts or time are used up.
    pub(crate) async fn retrying<R, F, Fut>(&self, deadline: Deadline, attempt: F) -> Result<R, ClientError>
    where
        F: Fn() -> Fut,
        Fut: Future<Output = Result<R, ClientError>>,
    {
        let mut attempts = 0;
        let mut effect = Effect::None;
        loop {
            attempts += 1;
            let error = match attempt().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error.after(effect),
            };
            effect = error.effect();
            match self.options.retry.pause(attempts, &error, rand::random()) {
                Some(pause) if deadline.left().is_none_or(|left| pause < left) => tokio::time::sleep(pause).await,
                Some(_) | None => return Err(error),
            }
        }
    }
}
