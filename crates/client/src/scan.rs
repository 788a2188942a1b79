//! Whole types, as Arrow batches over Flight DoGet.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::{FlightDescriptor, SchemaResult};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use omnigraph_types::{BranchName, Effect, GraphName, TypeScan};
use omnigraph_wire::{RequestCodec, v1};
use prost::Message;
use tonic::transport::Channel;

use crate::client::Client;
use crate::deadline::Deadline;
use crate::error::ClientError;

/// Batches of one schema, until the end or an error.
pub type BatchStream = BoxStream<'static, Result<RecordBatch, ClientError>>;

/// The rows of a type.
pub struct TypeRows {
    /// The rows. Each batch has the same schema.
    pub batches: BatchStream,
}

/// Flight's generated client with the message limits of this one.
pub(crate) fn flight(client: &Client) -> FlightServiceClient<Channel> {
    let bytes = client.options().message_bytes_max;
    FlightServiceClient::new(client.channel()).max_decoding_message_size(bytes).max_encoding_message_size(bytes)
}

impl Client {
    /// Reads the rows of one type at one commit.
    pub async fn scan_type(&self, graph: &GraphName, scan: &TypeScan) -> Result<TypeRows, ClientError> {
        let table = v1::TableTicket::to_wire((graph.clone(), scan.clone()));
        let ticket = v1::Ticket { ticket: Some(v1::ticket::Ticket::Table(table)) };
        let message = arrow_flight::Ticket { ticket: ticket.encode_to_vec().into() };
        let deadline = Deadline::after(self.options().timeout);
        let data = self
            .retrying(deadline, || {
                let request = deadline.request(message.clone());
                let mut flight = flight(self);
                async move {
                    let response = flight.do_get(request).await;
                    Ok(response
                        .map_err(|status| ClientError::from_status(status, Effect::None, deadline))?
                        .into_inner())
                }
            })
            .await?;
        let batches = FlightRecordBatchStream::new_from_flight_data(data.map_err(FlightError::from))
            .map_err(move |error| ClientError::from_flight(error, Effect::None, deadline));
        Ok(TypeRows { batches: batches.boxed() })
    }

    /// The columns of a type on a branch: `id`, for edges `src` and `dst`, then the properties.
    pub async fn type_schema(
        &self,
        graph: &GraphName,
        branch: &BranchName,
        type_name: &str,
    ) -> Result<SchemaRef, ClientError> {
        let path = vec![graph.to_string(), branch.to_string(), type_name.to_owned()];
        let descriptor = FlightDescriptor::new_path(path);
        let deadline = Deadline::after(self.options().timeout);
        let result: SchemaResult = self
            .retrying(deadline, || {
                let request = deadline.request(descriptor.clone());
                let mut flight = flight(self);
                async move {
                    let response = flight.get_schema(request).await;
                    Ok(response
                        .map_err(|status| ClientError::from_status(status, Effect::None, deadline))?
                        .into_inner())
                }
            })
            .await?;
        let schema = Schema::try_from(&result);
        schema.map(Arc::new).map_err(|source| ClientError::Arrow { what: "decode a type's columns", source })
    }
}
