//! MaintenanceService: repair and check. Indexes, compaction and cleanup are declared and not offered.

use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt, TryStreamExt};
use omnigraph_call::{CallContext, answer_stream, decline};
use omnigraph_engine::{CheckGraph, Engine};
use omnigraph_flight::run;
use omnigraph_types::{Confirmation, Failure, Progress, RepairPart};
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::maintenance_service_server::MaintenanceService;
use omnigraph_wire::{AnswerCodec, RequestCodec};
use tonic::{Request, Response, Status, async_trait};

use super::FEATURES_LISTED;

/// The service over one engine.
#[derive(Debug, Clone)]
pub(crate) struct Maintenance {
    engine: Engine,
}

impl Maintenance {
    /// The service of an engine.
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine }
    }
}

#[async_trait]
impl MaintenanceService for Maintenance {
    type EnsureIndicesStream = BoxStream<'static, Result<wire::EnsureIndicesResponse, Status>>;
    type OptimizeStream = BoxStream<'static, Result<wire::OptimizeResponse, Status>>;
    type CleanupStream = BoxStream<'static, Result<wire::CleanupResponse, Status>>;
    type RepairStream = BoxStream<'static, Result<wire::RepairResponse, Status>>;
    type CheckGraphStream = BoxStream<'static, Result<wire::CheckGraphResponse, Status>>;

    async fn ensure_indices(
        &self,
        request: Request<wire::EnsureIndicesRequest>,
    ) -> Result<Response<Self::EnsureIndicesStream>, Status> {
        decline(&request, FEATURES_LISTED)
    }

    async fn optimize(
        &self,
        request: Request<wire::OptimizeRequest>,
    ) -> Result<Response<Self::OptimizeStream>, Status> {
        decline(&request, FEATURES_LISTED)
    }

    async fn cleanup(&self, request: Request<wire::CleanupRequest>) -> Result<Response<Self::CleanupStream>, Status> {
        decline(&request, FEATURES_LISTED)
    }

    async fn repair(&self, request: Request<wire::RepairRequest>) -> Result<Response<Self::RepairStream>, Status> {
        answer_stream(request, |context, message| self.repair(context, message)).await
    }

    async fn check_graph(
        &self,
        request: Request<wire::CheckGraphRequest>,
    ) -> Result<Response<Self::CheckGraphStream>, Status> {
        answer_stream(request, |context, message| self.check(context, message)).await
    }
}

impl Maintenance {
    /// The repair runs while its stream is read; what it began it completes, also if the client disconnects.
    async fn repair(
        &self,
        context: CallContext,
        request: wire::RepairRequest,
    ) -> Result<impl Stream<Item = Result<wire::RepairResponse, Failure>> + Send + use<>, Failure> {
        let (graph, repair) = wire::RepairRequest::from_wire(request)?;
        let begun = Progress { item: format!("branch {}", repair.branch), done: 0, total: repair.types.len() as u64 };
        let engine = self.engine.clone();
        // A graph that does not exist is refused before the stream begins.
        run::graph(&engine, &context, &graph).await?;
        let report = async move {
            let report = match repair.confirmation {
                Confirmation::None => run::on_graph(&engine, &context, &graph, repair).await,
                Confirmation::Given(_) => run::on_graph(&engine, &context, &graph, repair).await,
            };
            report.map(RepairPart::Report)
        };
        let parts = stream::iter([Ok(RepairPart::Progress(begun))]).chain(stream::once(report));
        Ok(parts.map_ok(wire::RepairResponse::to_wire))
    }

    async fn check(
        &self,
        context: CallContext,
        request: wire::CheckGraphRequest,
    ) -> Result<impl Stream<Item = Result<wire::CheckGraphResponse, Failure>> + Send + use<>, Failure> {
        let (graph, branch) = wire::CheckGraphRequest::from_wire(request)?;
        context.note_graph(graph.as_str());
        let parts = self.engine.run(&run::caller(&context), CheckGraph { graph, branch }).await?;
        Ok(parts.map_ok(wire::CheckGraphResponse::to_wire))
    }
}
