//! The services of the contract over one engine: each decodes its request, asks the engine, encodes the answer.
//!
//! A call that is declared and not offered answers `UNIMPLEMENTED` with its name. No service builds a status: all go through `refuse`.

mod branch;
mod commit;
mod graph;
mod load;
mod maintenance;
mod mutation;
mod operation;
mod query;
mod schema;
mod server_info;

use omnigraph_engine::{Engine, Graph};
use omnigraph_flight::{CallContext, convert, flight_server, refuse};
use omnigraph_types::{Failure, Problem};
use omnigraph_wire::v1::branch_service_server::BranchServiceServer;
use omnigraph_wire::v1::commit_service_server::CommitServiceServer;
use omnigraph_wire::v1::graph_service_server::GraphServiceServer;
use omnigraph_wire::v1::load_service_server::LoadServiceServer;
use omnigraph_wire::v1::maintenance_service_server::MaintenanceServiceServer;
use omnigraph_wire::v1::mutation_service_server::MutationServiceServer;
use omnigraph_wire::v1::operation_service_server::OperationServiceServer;
use omnigraph_wire::v1::query_service_server::QueryServiceServer;
use omnigraph_wire::v1::schema_service_server::SchemaServiceServer;
use omnigraph_wire::v1::server_service_server::ServerServiceServer;
use tonic::service::Routes;
use tonic::{Request, Status};
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::HealthService;

use crate::ServeError;

/// The implementation of every service of `omnigraph.v1`.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    engine: Engine,
}

/// Every service of a server, native and Flight, with health and reflection.
pub(crate) fn routes(engine: &Engine, health: HealthService) -> Result<Routes, ServeError> {
    let api = Api { engine: engine.clone() };
    let bytes_max = usize::try_from(engine.limits().message_bytes_max).unwrap_or(usize::MAX);
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(omnigraph_wire::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let routes = Routes::new(ServerServiceServer::new(api.clone()).max_decoding_message_size(bytes_max))
        .add_service(GraphServiceServer::new(api.clone()).max_decoding_message_size(bytes_max))
        .add_service(SchemaServiceServer::new(api.clone()).max_decoding_message_size(bytes_max))
        .add_service(BranchServiceServer::new(api.clone()).max_decoding_message_size(bytes_max))
        .add_service(MutationServiceServer::new(api.clone()).max_decoding_message_size(bytes_max))
        .add_service(QueryServiceServer::new(api.clone()).max_decoding_message_size(bytes_max))
        .add_service(LoadServiceServer::new(api.clone()).max_decoding_message_size(bytes_max))
        .add_service(CommitServiceServer::new(api.clone()).max_decoding_message_size(bytes_max))
        .add_service(OperationServiceServer::new(api.clone()).max_decoding_message_size(bytes_max))
        .add_service(MaintenanceServiceServer::new(api).max_decoding_message_size(bytes_max))
        .add_service(flight_server(engine.clone()))
        .add_service(HealthServer::new(health))
        .add_service(reflection().build_v1()?)
        .add_service(reflection().build_v1alpha()?);
    Ok(routes.prepare())
}

impl Api {
    /// The graph that a request names, noted for the log.
    async fn graph(&self, context: &CallContext, name: &str) -> Result<Graph, Failure> {
        let name = convert::graph_name("graph", name)?;
        context.note_graph(name.as_str());
        self.engine.graph(&name).await
    }
}

/// The context and the message of a request.
fn open<T>(request: Request<T>) -> Result<(CallContext, T), Failure> {
    Ok((CallContext::of(&request)?, request.into_inner()))
}

/// The answer of a call or an option that is declared and not offered.
fn not_offered(feature: &str) -> Failure {
    let message = format!("{feature} is not offered by this server: GetServerInfo tells its features");
    Failure::new(Problem::Unimplemented { feature: feature.to_owned() }, message)
}

/// The same as a status.
fn refuse_call<T>(call: &str) -> Result<T, Status> {
    Err(refuse(not_offered(call)))
}
