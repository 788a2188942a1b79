//! The client of both servers: one DoPut stream, timed.

use std::time::Instant;

use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::{FlightClient, FlightData, FlightDescriptor};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use omnigraph_wire::v1::CreateGraphRequest;
use omnigraph_wire::v1::graph_service_client::GraphServiceClient;
use tonic::transport::{Channel, Endpoint};

use super::process::Server;
use super::rows::{Columns, Rows, SCHEMA};
use crate::error::BenchError;

/// Name of the graph.
const GRAPH: &str = "bench";
/// Bytes of one Flight message at most.
const MESSAGE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// A connection to a server.
pub(crate) async fn connect(server: &Server) -> Result<Channel, BenchError> {
    let address = format!("http://{}", server.address());
    let failed = |source| BenchError::Connect { address: address.clone(), source };
    Endpoint::from_shared(address.clone()).map_err(failed)?.connect().await.map_err(failed)
}

/// Makes the graph that the rows fit.
pub(crate) async fn create_graph(channel: &Channel) -> Result<(), BenchError> {
    let request =
        CreateGraphRequest { graph: GRAPH.to_owned(), schema: SCHEMA.to_owned(), ..CreateGraphRequest::default() };
    let failed = |status| BenchError::Grpc { action: "create the graph", source: Box::new(status) };
    GraphServiceClient::new(channel.clone()).create_graph(request).await.map_err(failed)?;
    Ok(())
}

/// Sends `total` rows and returns the seconds until the last answer.
pub(crate) async fn load(channel: &Channel, rows: Rows, columns: Columns, total: u64) -> Result<f64, BenchError> {
    let path = [GRAPH, "main", rows.type_name()].map(str::to_owned).to_vec();
    let mut client = FlightClient::new(channel.clone());
    let flight = |action| move |source| BenchError::Flight { action, source };
    client.add_header("x-omnigraph-mode", "append").map_err(flight("name the mode"))?;
    let started = Instant::now();
    let batches = stream::iter(rows.batches(columns, total)).map_err(FlightError::from);
    let messages = FlightDataEncoderBuilder::new()
        .with_schema(rows.schema(columns))
        .with_max_flight_data_size(MESSAGE_BYTES_MAX)
        .with_flight_descriptor(Some(FlightDescriptor::new_path(path)))
        .build(batches.boxed())
        .chain(stream::once(async {
            Ok(FlightData { app_metadata: Bytes::from_static(b"end"), ..FlightData::default() })
        }));
    let answers = client.do_put(messages).await.map_err(flight("send the rows"))?;
    let _: Vec<_> = answers.try_collect().await.map_err(flight("load the rows"))?;
    Ok(started.elapsed().as_secs_f64())
}
