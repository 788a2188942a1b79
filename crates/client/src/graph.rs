//! Graphs: create, show, list, delete.

use omnigraph_types::{
    CreateGraph, DeleteGraph, Effect, GraphInfo, GraphName, GraphReceipt, OperationId, Page, PageRequest,
};
use omnigraph_wire::v1;
use omnigraph_wire::v1::graph_service_client::GraphServiceClient;
use tonic::transport::Channel;

use crate::client::Client;
use crate::error::{ClientError, described};

fn service(client: &Client) -> GraphServiceClient<Channel> {
    let bytes = client.options().message_bytes_max;
    GraphServiceClient::new(client.channel()).max_decoding_message_size(bytes).max_encoding_message_size(bytes)
}

impl Client {
    /// Creates a graph. The receipt describes what was created, but for `ValidateOnly`. Sent again, under the same operation id, where its
    /// failure says that helps.
    pub async fn create_graph(&self, mut create: CreateGraph) -> Result<GraphReceipt, ClientError> {
        create.operation_id.get_or_insert_with(Self::mint_operation_id);
        let mode = create.mode;
        let created = self.unary::<v1::CreateGraphRequest, _, _, _>(create, Effect::Unknown, |request| {
            let mut service = service(self);
            async move { service.create_graph(request).await }
        });
        let receipt: GraphReceipt = created.await?;
        described(mode, receipt.graph.as_ref(), "CreateGraphResponse.graph")?;
        Ok(receipt)
    }

    /// Deletes a graph with everything in it, and returns the operation's id. Sent again, under the same operation id, where its failure
    /// says that helps.
    pub async fn delete_graph(&self, mut delete: DeleteGraph) -> Result<OperationId, ClientError> {
        delete.operation_id.get_or_insert_with(Self::mint_operation_id);
        self.unary::<v1::DeleteGraphRequest, _, _, _>(delete, Effect::Unknown, |request| {
            let mut service = service(self);
            async move { service.delete_graph(request).await }
        })
        .await
    }

    /// One graph.
    pub async fn get_graph(&self, graph: &GraphName) -> Result<GraphInfo, ClientError> {
        self.unary::<v1::GetGraphRequest, _, _, _>(graph.clone(), Effect::None, |request| {
            let mut service = service(self);
            async move { service.get_graph(request).await }
        })
        .await
    }

    /// The graphs that the caller may read, by name.
    pub async fn list_graphs(&self, page: PageRequest) -> Result<Page<GraphInfo>, ClientError> {
        self.unary::<v1::ListGraphsRequest, _, _, _>(page, Effect::None, |request| {
            let mut service = service(self);
            async move { service.list_graphs(request).await }
        })
        .await
    }
}
