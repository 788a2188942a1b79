//! QueryService: reads.

use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use omnigraph_engine::QueryRequest;
use omnigraph_flight::{convert, refuse};
use omnigraph_types::Failure;
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::query_response::Part;
use omnigraph_wire::v1::query_service_server::QueryService;
use tonic::{Request, Response, Status, async_trait};

use super::{Api, open, refuse_call};
use crate::rows;

#[async_trait]
impl QueryService for Api {
    type QueryStream = BoxStream<'static, Result<wire::QueryResponse, Status>>;
    type ReadBlobStream = BoxStream<'static, Result<wire::ReadBlobResponse, Status>>;

    async fn query(&self, request: Request<wire::QueryRequest>) -> Result<Response<Self::QueryStream>, Status> {
        self.run(request).await.map(Response::new).map_err(refuse)
    }

    async fn explain(&self, _: Request<wire::ExplainRequest>) -> Result<Response<wire::ExplainResponse>, Status> {
        refuse_call("Explain")
    }

    async fn get_entity(
        &self,
        _: Request<wire::GetEntityRequest>,
    ) -> Result<Response<wire::GetEntityResponse>, Status> {
        refuse_call("GetEntity")
    }

    async fn read_blob(&self, _: Request<wire::ReadBlobRequest>) -> Result<Response<Self::ReadBlobStream>, Status> {
        refuse_call("ReadBlob")
    }
}

impl Api {
    async fn run(&self, request: Request<wire::QueryRequest>) -> Result<<Self as QueryService>::QueryStream, Failure> {
        let (context, request) = open(request)?;
        let format = wire::ResultFormat::try_from(request.format)
            .map_err(|_| convert::invalid("format", format!("format is {}: use rows or arrow_ipc", request.format)))?;
        let at = convert::read_at(request.at)?;
        let graph = self.graph(&context, &request.graph).await?;
        let snapshot = graph.snapshot(&at).await?;
        let query = QueryRequest {
            text: request.query,
            name: convert::query_name(request.query_name.clone()),
            params_json: request.params_json,
        };
        let result = snapshot.query(query).await?;
        let columns = rows::columns(&result)?;
        let header = wire::QueryHeader {
            columns: columns.clone(),
            commit: Some(convert::commit(graph.name(), snapshot.commit())),
            query_name: request.query_name,
        };
        let parts = match format {
            wire::ResultFormat::Unspecified | wire::ResultFormat::Rows => {
                rows::row_chunks(columns, result.batches).map_ok(Part::Rows).boxed()
            }
            wire::ResultFormat::ArrowIpc => {
                rows::ipc_pieces(&result.schema, result.batches)?.map_ok(Part::ArrowIpc).boxed()
            }
        };
        let parts = stream::iter([Ok(Part::Header(header))]).chain(parts);
        Ok(parts.map_ok(|part| wire::QueryResponse { part: Some(part) }).map_err(refuse).boxed())
    }
}
