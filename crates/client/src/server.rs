//! What the server is.

use omnigraph_types::{Effect, ServerInfo};
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
}
