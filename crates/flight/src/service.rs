//! The Flight service: each call to the module that answers it.

use arrow_flight::flight_service_server::{FlightService as FlightRpc, FlightServiceServer};
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo, HandshakeRequest, HandshakeResponse,
    PollInfo, PutResult, SchemaResult, Ticket,
};
use futures::stream::BoxStream;
use omnigraph_call::{OwnHeaders, answer, answer_stream, decline};
use omnigraph_engine::Engine;
use tonic::{Request, Response, Status, Streaming, async_trait};

use crate::{describe, get, put};

/// The messages of a streamed answer.
type Replies<T> = BoxStream<'static, Result<T, Status>>;

/// Flight over one engine.
#[derive(Debug, Clone)]
pub struct FlightService {
    engine: Engine,
}

/// The service, ready to be added to a server whose `CallLayer` gives every request its context.
pub fn flight_server(engine: Engine) -> FlightServiceServer<FlightService> {
    let message_bytes_max = usize::try_from(engine.limits().message_bytes_max).unwrap_or(usize::MAX);
    FlightServiceServer::new(FlightService { engine }).max_decoding_message_size(message_bytes_max)
}

#[async_trait]
impl FlightRpc for FlightService {
    type HandshakeStream = Replies<HandshakeResponse>;
    type ListFlightsStream = Replies<FlightInfo>;
    type DoGetStream = Replies<FlightData>;
    type DoPutStream = Replies<PutResult>;
    type DoExchangeStream = Replies<FlightData>;
    type DoActionStream = Replies<arrow_flight::Result>;
    type ListActionsStream = Replies<ActionType>;

    async fn handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        decline(&request, "call without it; credentials travel in the authorization header of each call")
    }

    async fn list_flights(&self, request: Request<Criteria>) -> Result<Response<Self::ListFlightsStream>, Status> {
        answer_stream(request, |context, criteria| describe::list(&self.engine, context, criteria)).await
    }

    async fn get_flight_info(&self, request: Request<FlightDescriptor>) -> Result<Response<FlightInfo>, Status> {
        answer(request, |context, descriptor| describe::flight_info(&self.engine, context, descriptor)).await
    }

    async fn poll_flight_info(&self, request: Request<FlightDescriptor>) -> Result<Response<PollInfo>, Status> {
        decline(&request, "use GetFlightInfo, which answers at once")
    }

    async fn get_schema(&self, request: Request<FlightDescriptor>) -> Result<Response<SchemaResult>, Status> {
        answer(request, |context, descriptor| describe::schema(&self.engine, context, descriptor)).await
    }

    async fn do_get(&self, request: Request<Ticket>) -> Result<Response<Self::DoGetStream>, Status> {
        answer_stream(request, |context, ticket| get::get(&self.engine, context, ticket)).await
    }

    async fn do_put(&self, mut request: Request<Streaming<FlightData>>) -> Result<Response<Self::DoPutStream>, Status> {
        let headers = OwnHeaders::take(&mut request);
        answer_stream(request, |context, stream| put::put(&self.engine, context, headers, stream)).await
    }

    async fn do_exchange(
        &self,
        request: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoExchangeStream>, Status> {
        decline(&request, "load with DoPut and read with DoGet")
    }

    async fn do_action(&self, request: Request<Action>) -> Result<Response<Self::DoActionStream>, Status> {
        decline(&request, "call the gRPC services of omnigraph.v1 on the same address")
    }

    async fn list_actions(&self, request: Request<Empty>) -> Result<Response<Self::ListActionsStream>, Status> {
        decline(&request, "call the gRPC services of omnigraph.v1 on the same address")
    }
}
