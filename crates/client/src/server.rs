//! What the server is, and the reads that it has not finished.

use omnigraph_types::{Effect, QueryId, RunningQuery, ServerInfo};
use omnigraph_wire::v1;
use omnigraph_wire::v1::server_service_client::ServerServiceClient;
use tonic::transport::Channel;

use crate::client::Client;
use crate::error::ClientError;

fn service(client: &Client) -> ServerServiceClient<Channel> {
    let bytes = client.options().message_bytes_max;
    ServerServiceClient::new(client.channel()).max_decoding_message_size(bytes).max_encoding_message_size(bytes)
}

impl Client {
    /// What the server is: version, limits, features.
    pub async fn server_info(&self) -> Result<ServerInfo, ClientError> {
        self.unary::<v1::GetServerInfoRequest, _, _, _>((), Effect::None, |request| {
            let mut service = service(self);
            async move { service.get_server_info(request).await }
        })
        .await
    }

    /// The queries, scans and exports that the server has not finished, oldest first.
    pub async fn list_queries(&self) -> Result<Vec<RunningQuery>, ClientError> {
        self.unary::<v1::ListQueriesRequest, _, _, _>((), Effect::None, |request| {
            let mut service = service(self);
            async move { service.list_queries(request).await }
        })
        .await
    }

    /// Cancels a query of the server, and returns it as it is now. Nothing is stored either way.
    pub async fn cancel_query(&self, id: QueryId) -> Result<RunningQuery, ClientError> {
        self.unary::<v1::CancelQueryRequest, _, _, _>(id, Effect::None, |request| {
            let mut service = service(self);
            async move { service.cancel_query(request).await }
        })
        .await
    }
}
