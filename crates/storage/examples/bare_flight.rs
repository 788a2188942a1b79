//! The floor of the load benches: a Flight server that does nothing but write the batches of a DoPut with plain Lance.
//!
//! No checks, no catalog, one append per call to the dataset `bare.lance`. Prints the address that it listens on.

use std::error::Error;
use std::net::SocketAddr;

use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_server::{FlightService, FlightServiceServer};
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo, HandshakeRequest, HandshakeResponse,
    PollInfo, PutResult, SchemaResult, Ticket,
};
use clap::Parser;
use datafusion::error::DataFusionError;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use lance::Dataset;
use lance::dataset::{InsertBuilder, WriteMode, WriteParams};
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status, Streaming};

/// Largest message that is taken.
const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes that may be on their way in one stream and in one connection: what the measured server allows, so that transport makes no difference.
const STREAM_WINDOW_BYTES: u32 = 4 * 1024 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 16 * 1024 * 1024;

/// Writes what DoPut brings with plain Lance.
#[derive(Debug, Parser)]
struct Arguments {
    /// Folder that gets the dataset `bare.lance`.
    #[arg(long)]
    root: String,
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

#[derive(Debug)]
struct Bare {
    uri: String,
}

fn refused<T>(what: &str) -> Result<Response<T>, Status> {
    Err(Status::unimplemented(format!("{what}: this server only takes DoPut")))
}

impl Bare {
    async fn write(&self, flight: Streaming<FlightData>) -> Result<u64, Status> {
        let flight = flight.map_err(|status| FlightError::Tonic(Box::new(status)));
        let mut batches = FlightRecordBatchStream::new_from_flight_data(flight);
        let Some(first) = batches.try_next().await.map_err(|error| Status::invalid_argument(error.to_string()))? else {
            return Ok(0);
        };
        let schema = first.schema();
        let batches = batches.map_err(|error| DataFusionError::External(Box::new(error)));
        let rows: SendableRecordBatchStream =
            Box::pin(RecordBatchStreamAdapter::new(schema, stream::iter([Ok(first)]).chain(batches)));
        let exists = Dataset::open(&self.uri).await.is_ok();
        let params = WriteParams {
            mode: if exists { WriteMode::Append } else { WriteMode::Create },
            enable_stable_row_ids: true,
            ..WriteParams::default()
        };
        let written = InsertBuilder::new(self.uri.as_str()).with_params(&params).execute_stream(rows).await;
        let dataset = written.map_err(|error| Status::internal(error.to_string()))?;
        let rows = dataset.count_rows(None).await.map_err(|error| Status::internal(error.to_string()))?;
        Ok(rows as u64)
    }
}

#[tonic::async_trait]
impl FlightService for Bare {
    type HandshakeStream = BoxStream<'static, Result<HandshakeResponse, Status>>;
    type ListFlightsStream = BoxStream<'static, Result<FlightInfo, Status>>;
    type DoGetStream = BoxStream<'static, Result<FlightData, Status>>;
    type DoPutStream = BoxStream<'static, Result<PutResult, Status>>;
    type DoExchangeStream = BoxStream<'static, Result<FlightData, Status>>;
    type DoActionStream = BoxStream<'static, Result<arrow_flight::Result, Status>>;
    type ListActionsStream = BoxStream<'static, Result<ActionType, Status>>;

    async fn do_put(&self, request: Request<Streaming<FlightData>>) -> Result<Response<Self::DoPutStream>, Status> {
        let rows = self.write(request.into_inner()).await?;
        let result = PutResult { app_metadata: rows.to_string().into() };
        Ok(Response::new(stream::iter([Ok(result)]).boxed()))
    }

    async fn handshake(
        &self,
        _request: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        refused("Handshake")
    }

    async fn list_flights(&self, _request: Request<Criteria>) -> Result<Response<Self::ListFlightsStream>, Status> {
        refused("ListFlights")
    }

    async fn get_flight_info(&self, _request: Request<FlightDescriptor>) -> Result<Response<FlightInfo>, Status> {
        refused("GetFlightInfo")
    }

    async fn poll_flight_info(&self, _request: Request<FlightDescriptor>) -> Result<Response<PollInfo>, Status> {
        refused("PollFlightInfo")
    }

    async fn get_schema(&self, _request: Request<FlightDescriptor>) -> Result<Response<SchemaResult>, Status> {
        refused("GetSchema")
    }

    async fn do_get(&self, _request: Request<Ticket>) -> Result<Response<Self::DoGetStream>, Status> {
        refused("DoGet")
    }

    async fn do_exchange(
        &self,
        _request: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoExchangeStream>, Status> {
        refused("DoExchange")
    }

    async fn do_action(&self, _request: Request<Action>) -> Result<Response<Self::DoActionStream>, Status> {
        refused("DoAction")
    }

    async fn list_actions(&self, _request: Request<Empty>) -> Result<Response<Self::ListActionsStream>, Status> {
        refused("ListActions")
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let listener = TcpListener::bind(arguments.listen).await?;
    println!("listening on {}", listener.local_addr()?);
    let bare = Bare { uri: format!("{}/bare.lance", arguments.root.trim_end_matches('/')) };
    let service = FlightServiceServer::new(bare).max_decoding_message_size(MESSAGE_BYTES_MAX);
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let mut server = Server::builder()
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
    server.add_service(service).serve_with_incoming(incoming).await?;
    Ok(())
}
