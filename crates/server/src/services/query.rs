//! QueryService: reads.

use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt, TryStreamExt};
use omnigraph_call::{CallContext, answer_stream, decline};
use omnigraph_engine::Engine;
use omnigraph_flight::run;
use omnigraph_types::{Failure, QueryHeader, ResultFormat};
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::query_response::Part;
use omnigraph_wire::v1::query_service_server::QueryService;
use omnigraph_wire::{AnswerCodec, RequestCodec};
use tonic::{Request, Response, Status, async_trait};

use super::FEATURES_LISTED;
use crate::rows;

/// The service over one engine.
#[derive(Debug, Clone)]
pub(crate) struct Queries {
    engine: Engine,
}

impl Queries {
    /// The service of an engine.
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine }
    }
}

#[async_trait]
impl QueryService for Queries {
    type QueryStream = BoxStream<'static, Result<wire::QueryResponse, Status>>;
    type ReadBlobStream = BoxStream<'static, Result<wire::ReadBlobResponse, Status>>;

    async fn query(&self, request: Request<wire::QueryRequest>) -> Result<Response<Self::QueryStream>, Status> {
        answer_stream(request, |context, message| self.run(context, message)).await
    }

    async fn explain(&self, request: Request<wire::ExplainRequest>) -> Result<Response<wire::ExplainResponse>, Status> {
        decline(&request, FEATURES_LISTED)
    }

    async fn get_entity(
        &self,
        request: Request<wire::GetEntityRequest>,
    ) -> Result<Response<wire::GetEntityResponse>, Status> {
        decline(&request, FEATURES_LISTED)
    }

    async fn read_blob(
        &self,
        request: Request<wire::ReadBlobRequest>,
    ) -> Result<Response<Self::ReadBlobStream>, Status> {
        decline(&request, FEATURES_LISTED)
    }
}

impl Queries {
    async fn run(
        &self,
        context: CallContext,
        request: wire::QueryRequest,
    ) -> Result<impl Stream<Item = Result<wire::QueryResponse, Failure>> + Send + use<>, Failure> {
        let (graph, query, format) = wire::QueryRequest::from_wire(request)?;
        let name = query.name.clone();
        let result = run::on_graph(&self.engine, &context, &graph, query).await?;
        let columns = rows::columns(result.columns);
        let header = QueryHeader { columns: columns.clone(), commit: result.commit, name };
        let parts = match format {
            ResultFormat::Rows => rows::row_chunks(columns, result.batches).map_ok(Part::Rows).boxed(),
            ResultFormat::ArrowIpc => rows::ipc_pieces(&result.schema, result.batches)?.map_ok(Part::ArrowIpc).boxed(),
        };
        let parts = stream::iter([Ok(Part::Header(wire::QueryHeader::to_wire(header)))]).chain(parts);
        Ok(parts.map_ok(|part| wire::QueryResponse { part: Some(part) }))
    }
}
