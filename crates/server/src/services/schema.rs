//! SchemaService: the schema in force.

use omnigraph_engine::GraphSnapshot;
use omnigraph_flight::{convert, refuse};
use omnigraph_types::Failure;
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::schema_service_server::SchemaService;
use tonic::{Request, Response, Status, async_trait};

use super::{Api, open, refuse_call};
use crate::contract;

#[async_trait]
impl SchemaService for Api {
    async fn get_schema(
        &self,
        request: Request<wire::GetSchemaRequest>,
    ) -> Result<Response<wire::GetSchemaResponse>, Status> {
        self.schema(request).await.map(Response::new).map_err(refuse)
    }

    async fn plan_schema(
        &self,
        _: Request<wire::PlanSchemaRequest>,
    ) -> Result<Response<wire::PlanSchemaResponse>, Status> {
        refuse_call("PlanSchema")
    }

    async fn apply_schema(
        &self,
        _: Request<wire::ApplySchemaRequest>,
    ) -> Result<Response<wire::ApplySchemaResponse>, Status> {
        refuse_call("ApplySchema")
    }

    async fn lint_query(
        &self,
        _: Request<wire::LintQueryRequest>,
    ) -> Result<Response<wire::LintQueryResponse>, Status> {
        refuse_call("LintQuery")
    }
}

impl Api {
    async fn schema(&self, request: Request<wire::GetSchemaRequest>) -> Result<wire::GetSchemaResponse, Failure> {
        let (context, request) = open(request)?;
        let at = convert::read_at(request.at)?;
        let graph = self.graph(&context, &request.graph).await?;
        let snapshot = graph.snapshot(&at).await?;
        Ok(wire::GetSchemaResponse {
            schema: Some(describe(&snapshot)?),
            commit: Some(convert::commit(graph.name(), snapshot.commit())),
        })
    }
}

fn describe(snapshot: &GraphSnapshot) -> Result<wire::Schema, Failure> {
    let schema = snapshot.schema();
    let json = schema.to_canonical_json();
    Ok(wire::Schema {
        source: schema.to_source(),
        types: contract::types(&json)?,
        contract_json: String::from_utf8_lossy(&json).into_owned(),
        hash: schema.hash().to_string(),
    })
}
