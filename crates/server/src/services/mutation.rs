//! MutationService: declared and not offered.

use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::mutation_service_server::MutationService;
use tonic::{Request, Response, Status, async_trait};

use super::{Api, refuse_call};

#[async_trait]
impl MutationService for Api {
    async fn mutate(&self, _: Request<wire::MutateRequest>) -> Result<Response<wire::MutateResponse>, Status> {
        refuse_call("Mutate")
    }
}
