//! SchemaService: the schema in force.

use omnigraph_call::{CallContext, answer, decline};
use omnigraph_engine::{Engine, GetSchema};
use omnigraph_flight::run;
use omnigraph_types::Failure;
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::schema_service_server::SchemaService;
use omnigraph_wire::{AnswerCodec, RequestCodec};
use tonic::{Request, Response, Status, async_trait};

use super::FEATURES_LISTED;

/// The service over one engine.
#[derive(Debug, Clone)]
pub(crate) struct Schemas {
    engine: Engine,
}

impl Schemas {
    /// The service of an engine.
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine }
    }
}

#[async_trait]
impl SchemaService for Schemas {
    async fn get_schema(
        &self,
        request: Request<wire::GetSchemaRequest>,
    ) -> Result<Response<wire::GetSchemaResponse>, Status> {
        answer(request, |context, message| self.get(context, message)).await
    }

    async fn plan_schema(
        &self,
        request: Request<wire::PlanSchemaRequest>,
    ) -> Result<Response<wire::PlanSchemaResponse>, Status> {
        decline(&request, FEATURES_LISTED)
    }

    async fn apply_schema(
        &self,
        request: Request<wire::ApplySchemaRequest>,
    ) -> Result<Response<wire::ApplySchemaResponse>, Status> {
        decline(&request, FEATURES_LISTED)
    }

    async fn lint_query(
        &self,
        request: Request<wire::LintQueryRequest>,
    ) -> Result<Response<wire::LintQueryResponse>, Status> {
        decline(&request, FEATURES_LISTED)
    }
}

impl Schemas {
    async fn get(
        &self,
        context: CallContext,
        request: wire::GetSchemaRequest,
    ) -> Result<wire::GetSchemaResponse, Failure> {
        let (graph, at) = wire::GetSchemaRequest::from_wire(request)?;
        let schema = run::on_graph(&self.engine, &context, &graph, GetSchema { at }).await?;
        Ok(wire::GetSchemaResponse::to_wire(schema))
    }
}
