//! OperationService: what became of writes.

use omnigraph_call::{CallContext, OpenPage, PageScope, answer};
use omnigraph_engine::{Engine, GetOperation, ListRecoveries, Recover};
use omnigraph_flight::run;
use omnigraph_types::{Failure, GraphVersion};
use omnigraph_wire::codec::invalid;
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::operation_service_server::OperationService;
use omnigraph_wire::{AnswerCodec, RequestCodec};
use tonic::{Request, Response, Status, async_trait};

/// The service over one engine.
#[derive(Debug, Clone)]
pub(crate) struct Operations {
    engine: Engine,
}

impl Operations {
    /// The service of an engine.
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine }
    }
}

#[async_trait]
impl OperationService for Operations {
    async fn get_operation(
        &self,
        request: Request<wire::GetOperationRequest>,
    ) -> Result<Response<wire::GetOperationResponse>, Status> {
        answer(request, |context, message| self.get(context, message)).await
    }

    async fn list_recoveries(
        &self,
        request: Request<wire::ListRecoveriesRequest>,
    ) -> Result<Response<wire::ListRecoveriesResponse>, Status> {
        answer(request, |context, message| self.list_recoveries(context, message)).await
    }

    async fn recover(&self, request: Request<wire::RecoverRequest>) -> Result<Response<wire::RecoverResponse>, Status> {
        answer(request, |context, message| self.recover(context, message)).await
    }
}

impl Operations {
    async fn get(
        &self,
        context: CallContext,
        request: wire::GetOperationRequest,
    ) -> Result<wire::GetOperationResponse, Failure> {
        let (graph, branch, id) = wire::GetOperationRequest::from_wire(request)?;
        let operation = run::on_graph(&self.engine, &context, &graph, GetOperation { branch, id }).await?;
        Ok(wire::GetOperationResponse::to_wire(operation))
    }

    async fn list_recoveries(
        &self,
        context: CallContext,
        request: wire::ListRecoveriesRequest,
    ) -> Result<wire::ListRecoveriesResponse, Failure> {
        let (graph, branch, page) = wire::ListRecoveriesRequest::from_wire(request)?;
        let fields = [graph.to_string(), branch.to_string()];
        let scope = PageScope { call: context.call_name(), fields: &[&fields[0], &fields[1]] };
        let page = OpenPage::open(scope, &page, self.engine.limits())?;
        let refused = |_| invalid("page_token", "page_token holds no version: begin again without it");
        let before = page.cursor().map(|version| version.parse().map(GraphVersion).map_err(refused)).transpose()?;
        let list = ListRecoveries { branch, before, most: page.most() };
        let recoveries = run::on_graph(&self.engine, &context, &graph, list).await?;
        Ok(wire::ListRecoveriesResponse::to_wire(page.close(recoveries, |recovery| recovery.version.to_string())))
    }

    async fn recover(
        &self,
        context: CallContext,
        request: wire::RecoverRequest,
    ) -> Result<wire::RecoverResponse, Failure> {
        let (graph, branch) = wire::RecoverRequest::from_wire(request)?;
        let recoveries = run::on_graph(&self.engine, &context, &graph, Recover { branch }).await?;
        Ok(wire::RecoverResponse::to_wire(recoveries))
    }
}
