//! The history of a graph.

use omnigraph_types::{BranchName, Commit, CommitId, Effect, GraphName, Page, PageRequest};
use omnigraph_wire::v1;
use omnigraph_wire::v1::commit_service_client::CommitServiceClient;
use tonic::transport::Channel;

use crate::client::Client;
use crate::error::ClientError;

fn service(client: &Client) -> CommitServiceClient<Channel> {
    let bytes = client.options().message_bytes_max;
    CommitServiceClient::new(client.channel()).max_decoding_message_size(bytes).max_encoding_message_size(bytes)
}

impl Client {
    /// One commit.
    pub async fn get_commit(&self, graph: &GraphName, commit: CommitId) -> Result<Commit, ClientError> {
        self.unary::<v1::GetCommitRequest, _, _, _>((graph.clone(), commit), Effect::None, |request| {
            let mut service = service(self);
            async move { service.get_commit(request).await }
        })
        .await
    }

    /// The commits of a branch, newest first.
    pub async fn list_commits(
        &self,
        graph: &GraphName,
        branch: &BranchName,
        page: PageRequest,
    ) -> Result<Page<Commit>, ClientError> {
        self.unary::<v1::ListCommitsRequest, _, _, _>((graph.clone(), branch.clone(), page), Effect::None, |request| {
            let mut service = service(self);
            async move { service.list_commits(request).await }
        })
        .await
    }
}
