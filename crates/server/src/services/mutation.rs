//! MutationService: declared and not offered.

use omnigraph_call::decline;
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::mutation_service_server::MutationService;
use tonic::{Request, Response, Status, async_trait};

use super::FEATURES_LISTED;

/// The service.
#[derive(Debug, Clone)]
pub(crate) struct Mutations;

#[async_trait]
impl MutationService for Mutations {
    async fn mutate(&self, request: Request<wire::MutateRequest>) -> Result<Response<wire::MutateResponse>, Status> {
        decline(&request, FEATURES_LISTED)
    }
}
