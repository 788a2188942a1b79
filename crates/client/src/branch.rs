//! The branches of a graph: create, show, list, delete.

use omnigraph_types::{
    BranchInfo, BranchName, BranchReceipt, CreateBranch, DeleteBranch, Effect, GraphName, Page, PageRequest,
};
use omnigraph_wire::v1;
use omnigraph_wire::v1::branch_service_client::BranchServiceClient;
use tonic::transport::Channel;

use crate::client::Client;
use crate::error::{ClientError, described};

fn service(client: &Client) -> BranchServiceClient<Channel> {
    let bytes = client.options().message_bytes_max;
    BranchServiceClient::new(client.channel()).max_decoding_message_size(bytes).max_encoding_message_size(bytes)
}

impl Client {
    /// Creates a branch; no rows are copied. The receipt describes what was created, but for `ValidateOnly`. Sent again, under the same operation id, where its failure says that helps.
    pub async fn create_branch(
        &self,
        graph: &GraphName,
        mut create: CreateBranch,
    ) -> Result<BranchReceipt, ClientError> {
        create.operation_id.get_or_insert_with(Self::mint_operation_id);
        let mode = create.mode;
        let created =
            self.unary::<v1::CreateBranchRequest, _, _, _>((graph.clone(), create), Effect::Unknown, |request| {
                let mut service = service(self);
                async move { service.create_branch(request).await }
            });
        let receipt: BranchReceipt = created.await?;
        described(mode, receipt.branch.as_ref(), "CreateBranchResponse.branch")?;
        Ok(receipt)
    }

    /// Deletes a branch; branches created from it remain. Sent again, under the same operation id, where its failure says that helps.
    pub async fn delete_branch(
        &self,
        graph: &GraphName,
        mut delete: DeleteBranch,
    ) -> Result<BranchReceipt, ClientError> {
        delete.operation_id.get_or_insert_with(Self::mint_operation_id);
        self.unary::<v1::DeleteBranchRequest, _, _, _>((graph.clone(), delete), Effect::Unknown, |request| {
            let mut service = service(self);
            async move { service.delete_branch(request).await }
        })
        .await
    }

    /// One branch.
    pub async fn get_branch(&self, graph: &GraphName, branch: &BranchName) -> Result<BranchInfo, ClientError> {
        self.unary::<v1::GetBranchRequest, _, _, _>((graph.clone(), branch.clone()), Effect::None, |request| {
            let mut service = service(self);
            async move { service.get_branch(request).await }
        })
        .await
    }

    /// The branches of a graph: `main`, then the others by name.
    pub async fn list_branches(&self, graph: &GraphName, page: PageRequest) -> Result<Page<BranchInfo>, ClientError> {
        self.unary::<v1::ListBranchesRequest, _, _, _>((graph.clone(), page), Effect::None, |request| {
            let mut service = service(self);
            async move { service.list_branches(request).await }
        })
        .await
    }
}
