//! MaintenanceService: declared and not offered.

use futures::stream::BoxStream;
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::maintenance_service_server::MaintenanceService;
use tonic::{Request, Response, Status, async_trait};

use super::{Api, refuse_call};

#[async_trait]
impl MaintenanceService for Api {
    type EnsureIndicesStream = BoxStream<'static, Result<wire::EnsureIndicesResponse, Status>>;
    type OptimizeStream = BoxStream<'static, Result<wire::OptimizeResponse, Status>>;
    type CleanupStream = BoxStream<'static, Result<wire::CleanupResponse, Status>>;
    type RepairStream = BoxStream<'static, Result<wire::RepairResponse, Status>>;

    async fn ensure_indices(
        &self,
        _: Request<wire::EnsureIndicesRequest>,
    ) -> Result<Response<Self::EnsureIndicesStream>, Status> {
        refuse_call("EnsureIndices")
    }

    async fn optimize(&self, _: Request<wire::OptimizeRequest>) -> Result<Response<Self::OptimizeStream>, Status> {
        refuse_call("Optimize")
    }

    async fn cleanup(&self, _: Request<wire::CleanupRequest>) -> Result<Response<Self::CleanupStream>, Status> {
        refuse_call("Cleanup")
    }

    async fn repair(&self, _: Request<wire::RepairRequest>) -> Result<Response<Self::RepairStream>, Status> {
        refuse_call("Repair")
    }
}
