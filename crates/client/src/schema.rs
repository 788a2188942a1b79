//! The schema in force, and the tables that hold its types.

use omnigraph_types::{Effect, GraphName, ListTables, ReadAt, SchemaInfo, TablePage};
use omnigraph_wire::v1;
use omnigraph_wire::v1::schema_service_client::SchemaServiceClient;
use tonic::transport::Channel;

use crate::client::Client;
use crate::error::ClientError;

fn service(client: &Client) -> SchemaServiceClient<Channel> {
    let bytes = client.options().message_bytes_max;
    SchemaServiceClient::new(client.channel()).max_decoding_message_size(bytes).max_encoding_message_size(bytes)
}

impl Client {
    /// The schema in force at a state of a graph.
    pub async fn get_schema(&self, graph: &GraphName, at: &ReadAt) -> Result<SchemaInfo, ClientError> {
        self.unary::<v1::GetSchemaRequest, _, _, _>((graph.clone(), at.clone()), Effect::None, |request| {
            let mut service = service(self);
            async move { service.get_schema(request).await }
        })
        .await
    }

    /// Where the rows of the types are stored: nodes before edges, each by name. Every page is of the commit of the first.
    pub async fn list_tables(&self, graph: &GraphName, list: ListTables) -> Result<TablePage, ClientError> {
        self.unary::<v1::ListTablesRequest, _, _, _>((graph.clone(), list), Effect::None, |request| {
            let mut service = service(self);
            async move { service.list_tables(request).await }
        })
        .await
    }
}
