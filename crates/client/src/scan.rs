//! Whole types, as Arrow batches over Flight DoGet.

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_flight::{FlightDescriptor, SchemaResult};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use omnigraph_types::{BranchName, Effect, GraphName};
use omnigraph_wire::v1;
use prost::Message;
use std::sync::Arc;

use crate::options::Deadline;
use crate::{Client, ClientError, ReadAt};

/// Batches of one schema, until the end or an error.
pub type BatchStream = BoxStream<'static, Result<RecordBatch, ClientError>>;

/// Which columns of a type are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Columns {
    /// All but blobs, in the order of the schema.
    #[default]
    All,
    /// These, in this order.
    Named(Vec<String>),
}

/// A type to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// The graph.
    pub graph: GraphName,
    /// The state that is read.
    pub at: ReadAt,
    /// The node or edge type.
    pub type_name: String,
    /// Its columns.
    pub columns: Columns,
}

/// The rows of a type.
pub struct TypeRows {
    /// The rows. Each batch has the same schema.
    pub batches: BatchStream,
}

impl Client {
    /// Reads the rows of one type at one commit.
    pub async fn scan_type(&self, scan: &Scan) -> Result<TypeRows, ClientError> {
        let table = v1::TableTicket {
            graph: scan.graph.to_string(),
            at: Some(scan.at.to_wire()),
            r#type: scan.type_name.clone(),
            columns: match &scan.columns {
                Columns::All => Vec::new(),
                Columns::Named(names) => names.clone(),
            },
        };
        let ticket = v1::Ticket { ticket: Some(v1::ticket::Ticket::Table(table)) };
        let message = arrow_flight::Ticket { ticket: ticket.encode_to_vec().into() };
        let deadline = Deadline::after(self.options().timeout);
        let data = self
            .retrying(deadline, || {
                let request = deadline.request(message.clone());
                let mut flight = self.flight();
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
                let mut flight = self.flight();
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
