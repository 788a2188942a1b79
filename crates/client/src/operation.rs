//! Outcomes of writes, and interrupted writes: what recoveries did about them, and a recovery now.

use omnigraph_types::{BranchName, Effect, GraphName, Operation, OperationId, Page, PageRequest, Recovery};
use omnigraph_wire::v1;
use omnigraph_wire::v1::operation_service_client::OperationServiceClient;
use tonic::transport::Channel;

use crate::client::Client;
use crate::error::ClientError;

fn service(client: &Client) -> OperationServiceClient<Channel> {
    let bytes = client.options().message_bytes_max;
    OperationServiceClient::new(client.channel()).max_decoding_message_size(bytes).max_encoding_message_size(bytes)
}

impl Client {
    /// What is known about an operation that was sent for this branch.
    pub async fn get_operation(
        &self,
        graph: &GraphName,
        branch: &BranchName,
        operation_id: OperationId,
    ) -> Result<Operation, ClientError> {
        self.unary::<v1::GetOperationRequest, _, _, _>(
            (graph.clone(), branch.clone(), operation_id),
            Effect::None,
            |request| {
                let mut service = service(self);
                async move { service.get_operation(request).await }
            },
        )
        .await
    }

    /// What recoveries did on a branch, newest first.
    pub async fn list_recoveries(
        &self,
        graph: &GraphName,
        branch: &BranchName,
        page: PageRequest,
    ) -> Result<Page<Recovery>, ClientError> {
        self.unary::<v1::ListRecoveriesRequest, _, _, _>(
            (graph.clone(), branch.clone(), page),
            Effect::None,
            |request| {
                let mut service = service(self);
                async move { service.list_recoveries(request).await }
            },
        )
        .await
    }

    /// Settles now what interrupted writes left on a branch, and returns what was decided; nothing if nothing was pending.
    /// Sent again where its failure says that helps; `list_recoveries` shows what an attempt without an answer did.
    pub async fn recover(&self, graph: &GraphName, branch: &BranchName) -> Result<Vec<Recovery>, ClientError> {
        self.unary::<v1::RecoverRequest, _, _, _>((graph.clone(), branch.clone()), Effect::Unknown, |request| {
            let mut service = service(self);
            async move { service.recover(request).await }
        })
        .await
    }
}
