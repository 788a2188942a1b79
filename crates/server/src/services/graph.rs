//! GraphService: graphs are created, described, listed and deleted.

use omnigraph_call::{CallContext, OpenPage, PageScope, answer};
use omnigraph_engine::{Engine, GetGraph, GraphCreated, ListGraphs};
use omnigraph_flight::run;
use omnigraph_types::{CreateGraph, Failure, Problem};
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::graph_service_server::GraphService;
use omnigraph_wire::{AnswerCodec, RequestCodec};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tonic::{Request, Response, Status, async_trait};

/// The service over one engine.
#[derive(Debug, Clone)]
pub(crate) struct Graphs {
    engine: Engine,
}

impl Graphs {
    /// The service of an engine.
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine }
    }
}

#[async_trait]
impl GraphService for Graphs {
    async fn create_graph(
        &self,
        request: Request<wire::CreateGraphRequest>,
    ) -> Result<Response<wire::CreateGraphResponse>, Status> {
        answer(request, |context, message| self.create(context, message)).await
    }

    async fn get_graph(
        &self,
        request: Request<wire::GetGraphRequest>,
    ) -> Result<Response<wire::GetGraphResponse>, Status> {
        answer(request, |context, message| self.get(context, message)).await
    }

    async fn list_graphs(
        &self,
        request: Request<wire::ListGraphsRequest>,
    ) -> Result<Response<wire::ListGraphsResponse>, Status> {
        answer(request, |context, message| self.list(context, message)).await
    }

    async fn delete_graph(
        &self,
        request: Request<wire::DeleteGraphRequest>,
    ) -> Result<Response<wire::DeleteGraphResponse>, Status> {
        answer(request, |context, message| self.delete(context, message)).await
    }
}

impl Graphs {
    async fn create(
        &self,
        context: CallContext,
        request: wire::CreateGraphRequest,
    ) -> Result<wire::CreateGraphResponse, Failure> {
        let create = wire::CreateGraphRequest::from_wire(request)?;
        let created = create_to_its_end(self.engine.clone(), context, create).await?;
        Ok(wire::CreateGraphResponse::to_wire(created.receipt))
    }

    async fn get(
        &self,
        context: CallContext,
        request: wire::GetGraphRequest,
    ) -> Result<wire::GetGraphResponse, Failure> {
        let graph = wire::GetGraphRequest::from_wire(request)?;
        let info = run::on_graph(&self.engine, &context, &graph, GetGraph).await?;
        Ok(wire::GetGraphResponse::to_wire(info))
    }

    async fn list(
        &self,
        context: CallContext,
        request: wire::ListGraphsRequest,
    ) -> Result<wire::ListGraphsResponse, Failure> {
        let page = wire::ListGraphsRequest::from_wire(request)?;
        let scope = PageScope { call: context.call_name(), fields: &[] };
        let page = OpenPage::open(scope, &page, self.engine.limits())?;
        let list = ListGraphs { after: page.cursor().map(str::to_owned), most: page.most() };
        let graphs = self.engine.run(&run::caller(&context), list).await?;
        Ok(wire::ListGraphsResponse::to_wire(page.close(graphs, |graph| graph.name.to_string())))
    }

    async fn delete(
        &self,
        context: CallContext,
        request: wire::DeleteGraphRequest,
    ) -> Result<wire::DeleteGraphResponse, Failure> {
        let delete = wire::DeleteGraphRequest::from_wire(request)?;
        let name = delete.name.clone();
        let operation_id = run::on_root(&self.engine, &context, &name, delete).await?;
        Ok(wire::DeleteGraphResponse::to_wire(operation_id))
    }
}

/// Creates a graph on a thread of its own, so that a client that disconnects does not leave the creation half done.
async fn create_to_its_end(engine: Engine, context: CallContext, create: CreateGraph) -> Result<GraphCreated, Failure> {
    let runtime = Handle::current();
    let created = spawn_blocking(move || {
        let name = create.name.clone();
        runtime.block_on(run::on_root(&engine, &context, &name, create))
    });
    created.await.unwrap_or_else(|error| {
        let message = "the graph's creation broke off: send the same request again with the same operation_id";
        Err(Failure::new(Problem::Internal, message).with_source(error))
    })
}
