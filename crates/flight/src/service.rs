//! The Flight service: each call to the module that answers it, each failure to its status.

use arrow_flight::flight_service_server::{FlightService as FlightRpc, FlightServiceServer};
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo, HandshakeRequest, HandshakeResponse,
    PollInfo, SchemaResult, Ticket,
};
use futures::stream::BoxStream;
use omnigraph_engine::Engine;
use tonic::{Request, Response, Status, Streaming, async_trait};

use crate::{FlightFault, describe, get, put, refuse};

/// Flight over one engine.
#[derive(Debug, Clone)]
pub struct FlightService {
    engine: Engine,
}

/// The service, ready to be added to a server whose layers give every request a `CallContext`.
pub fn flight_server(engine: Engine) -> FlightServiceServer<FlightService> {
    let message_bytes_max = usize::try_from(engine.limits().message_bytes_max).unwrap_or(usize::MAX);
    FlightServiceServer::new(FlightService { engine }).max_decoding_message_size(message_bytes_max)
}

fn not_offered<T>(feature: &'static str, instead: &'static str) -> Result<T, Status> {
    Err(refuse(FlightFault::NotOffered { feature, instead }.failure()))
}

#[async_trait]
impl FlightRpc for FlightService {
    type HandshakeStream = BoxStream<'static, Result<HandshakeResponse, Status>>;
    type ListFlightsStream = describe::Flights;
    type DoGetStream = get::Rows;
    type DoPutStream = put::PutResults;
    type DoExchangeStream = BoxStream<'static, Result<FlightData, Status>>;
    type DoActionStream = BoxStream<'static, Result<arrow_flight::Result, Status>>;
    type ListActionsStream = BoxStream<'static, Result<ActionType, Status>>;

    async fn handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        not_offered("Handshake", "call without it; credentials travel in the authorization header of each call")
    }

    async fn list_flights(&self, request: Request<Criteria>) -> Result<Response<Self::ListFlightsStream>, Status> {
        describe::list(&self.engine, request).await.map(Response::new).map_err(refuse)
    }

    async fn get_flight_info(&self, request: Request<FlightDescriptor>) -> Result<Response<FlightInfo>, Status> {
        describe::flight_info(&self.engine, request).await.map(Response::new).map_err(refuse)
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> Result<Response<PollInfo>, Status> {
        not_offered("PollFlightInfo", "use GetFlightInfo, which answers at once")
    }

    async fn get_schema(&self, request: Request<FlightDescriptor>) -> Result<Response<SchemaResult>, Status> {
        describe::schema(&self.engine, request).await.map(Response::new).map_err(refuse)
    }

    async fn do_get(&self, request: Request<Ticket>) -> Result<Response<Self::DoGetStream>, Status> {
        get::get(&self.engine, request).await.map(Response::new).map_err(refuse)
    }

    async fn do_put(&self, request: Request<Streaming<FlightData>>) -> Result<Response<Self::DoPutStream>, Status> {
        put::put(&self.engine, request).await.map(Response::new).map_err(refuse)
    }

    async fn do_exchange(&self, _: Request<Streaming<FlightData>>) -> Result<Response<Self::DoExchangeStream>, Status> {
        not_offered("DoExchange", "load with DoPut and read with DoGet")
    }

    async fn do_action(&self, _: Request<Action>) -> Result<Response<Self::DoActionStream>, Status> {
        not_offered("DoAction", "call the gRPC services of omnigraph.v1 on the same address")
    }

    async fn list_actions(&self, _: Request<Empty>) -> Result<Response<Self::ListActionsStream>, Status> {
        not_offered("ListActions", "call the gRPC services of omnigraph.v1 on the same address")
    }
}
