//! Interrupted writes: what recoveries did about them, and a recovery now.

use omnigraph_types::{BranchName, Effect, GraphName};
use omnigraph_wire::v1;
use omnigraph_wire::v1::operation_service_client::OperationServiceClient;

use crate::client::limited;
use crate::{Client, ClientError, Page, PageRequest, Recovery};

impl Client {
    /// What recoveries did on a branch, newest first.
    pub async fn list_recoveries(
        &self,
        graph: &GraphName,
        branch: &BranchName,
        page: PageRequest,
    ) -> Result<Page<Recovery>, ClientError> {
        let message = v1::ListRecoveriesRequest {
            graph: graph.to_string(),
            branch: branch.to_string(),
            page_size: page.size,
            page_token: page.token,
        };
        let response = self
            .unary(message, Effect::None, |request| {
                let mut service = limited!(self, OperationServiceClient);
                async move { service.list_recoveries(request).await }
            })
            .await?;
        Ok(Page { items: Recovery::all(response.recoveries)?, next: response.next_page_token })
    }

    /// Settles now what interrupted writes left on a branch, and tells what was decided; nothing if nothing was pending.
    /// Sent again where its failure says that helps; what an attempt without an answer did is found in `list_recoveries`.
    pub async fn recover(&self, graph: &GraphName, branch: &BranchName) -> Result<Vec<Recovery>, ClientError> {
        let message = v1::RecoverRequest { graph: graph.to_string(), branch: branch.to_string() };
        let response = self
            .unary(message, Effect::Unknown, |request| {
                let mut service = limited!(self, OperationServiceClient);
                async move { service.recover(request).await }
            })
            .await?;
        Recovery::all(response.recoveries)
    }
}
