//! GraphService: graphs are made and told about.

use omnigraph_engine::{CreateGraph, DeleteGraph, Engine, GraphInfo, OperationState};
use omnigraph_flight::{convert, refuse};
use omnigraph_types::{BranchName, Failure, Problem};
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::graph_service_server::GraphService;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tonic::{Request, Response, Status, async_trait};

use super::{Api, not_offered, open};
use crate::page::{PageScope, page_size};

const LIST: PageScope<'static> = PageScope { call: "ListGraphs", fields: &[] };

#[async_trait]
impl GraphService for Api {
    async fn create_graph(
        &self,
        request: Request<wire::CreateGraphRequest>,
    ) -> Result<Response<wire::CreateGraphResponse>, Status> {
        self.create(request).await.map(Response::new).map_err(refuse)
    }

    async fn get_graph(
        &self,
        request: Request<wire::GetGraphRequest>,
    ) -> Result<Response<wire::GetGraphResponse>, Status> {
        self.get(request).await.map(Response::new).map_err(refuse)
    }

    async fn list_graphs(
        &self,
        request: Request<wire::ListGraphsRequest>,
    ) -> Result<Response<wire::ListGraphsResponse>, Status> {
        self.list(request).await.map(Response::new).map_err(refuse)
    }

    async fn delete_graph(
        &self,
        request: Request<wire::DeleteGraphRequest>,
    ) -> Result<Response<wire::DeleteGraphResponse>, Status> {
        self.delete(request).await.map(Response::new).map_err(refuse)
    }
}

impl Api {
    async fn create(&self, request: Request<wire::CreateGraphRequest>) -> Result<wire::CreateGraphResponse, Failure> {
        let (context, request) = open(request)?;
        let name = convert::graph_name("graph", &request.graph)?;
        context.note_graph(name.as_str());
        let operation_id = convert::operation_id(&request.operation_id)?;
        if request.validate_only {
            return Err(not_offered("CreateGraph with validate_only"));
        }
        context.enter_effect();
        let create = CreateGraph {
            name: name.clone(),
            schema_source: request.schema,
            operation_id,
            actor: context.actor().to_owned(),
        };
        let info = create_to_its_end(self.engine.clone(), create).await?;
        // The head may have moved on if this was a repetition; the receipt is of the commit that made the graph.
        let graph = self.engine.graph(&name).await?;
        let state = graph.operation(&BranchName::Main, info.operation_id).await?;
        let OperationState::Committed(first) = state else {
            let message =
                "the graph exists, and the record of its first commit cannot be read yet: send the same request again";
            return Err(Failure::new(Problem::Internal, message));
        };
        let receipt = Some(convert::commit_receipt(&name, &first));
        Ok(wire::CreateGraphResponse { graph: Some(encode(&info)), receipt })
    }

    async fn get(&self, request: Request<wire::GetGraphRequest>) -> Result<wire::GetGraphResponse, Failure> {
        let (context, request) = open(request)?;
        let info = self.graph(&context, &request.graph).await?.info().await?;
        Ok(wire::GetGraphResponse { graph: Some(encode(&info)) })
    }

    async fn delete(&self, request: Request<wire::DeleteGraphRequest>) -> Result<wire::DeleteGraphResponse, Failure> {
        let (context, request) = open(request)?;
        let name = convert::graph_name("graph", &request.graph)?;
        context.note_graph(name.as_str());
        let delete = DeleteGraph {
            name,
            confirm: request.confirm,
            operation_id: convert::operation_id(&request.operation_id)?,
            validate_only: convert::validate_only(request.validate_only),
            actor: context.actor().to_owned(),
            deadline: Some(context.deadline()),
        };
        let operation_id = self.engine.delete_graph(delete).await?;
        Ok(wire::DeleteGraphResponse { operation_id: operation_id.to_string() })
    }

    async fn list(&self, request: Request<wire::ListGraphsRequest>) -> Result<wire::ListGraphsResponse, Failure> {
        let (_, request) = open(request)?;
        let after = LIST.cursor(&request.page_token)?.unwrap_or_default();
        let size = page_size(request.page_size, self.engine.limits());
        let graphs = self.engine.list_graphs().await?;
        Ok(page(&graphs, &after, size))
    }
}

/// Makes a graph on a thread of its own, so that a client that goes away does not leave the making half way.
async fn create_to_its_end(engine: Engine, create: CreateGraph) -> Result<GraphInfo, Failure> {
    let runtime = Handle::current();
    let made = spawn_blocking(move || runtime.block_on(engine.create_graph(create))).await;
    made.unwrap_or_else(|error| {
        let message = "the graph's making broke off: send the same request again with the same operation_id";
        Err(Failure::new(Problem::Internal, message).with_source(error))
    })
}

/// The page of at most `size` graphs whose names come after `after`.
fn page(graphs: &[GraphInfo], after: &str, size: usize) -> wire::ListGraphsResponse {
    let mut rest = graphs.iter().skip_while(|graph| graph.name.as_str() <= after);
    let page: Vec<_> = rest.by_ref().take(size).collect();
    let last = page.last().filter(|_| rest.next().is_some());
    wire::ListGraphsResponse {
        next_page_token: last.map(|graph| LIST.token(graph.name.as_str())).unwrap_or_default(),
        graphs: page.into_iter().map(encode).collect(),
    }
}

fn encode(info: &GraphInfo) -> wire::Graph {
    wire::Graph {
        name: format!("graphs/{}", info.name),
        graph: info.name.to_string(),
        graph_id: info.id.to_string(),
        create_time: Some(convert::timestamp(info.created_ms)),
        head: info.head.to_string(),
        schema_hash: info.schema_hash.clone(),
        // A graph of another format is refused when it is opened.
        storage_format: omnigraph_engine::STORAGE_FORMAT,
    }
}
