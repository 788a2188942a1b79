//! Every service of a server, as the routes of one address.

use omnigraph_engine::Engine;
use omnigraph_flight::flight_server;
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
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::HealthService;
use tonic_reflection::server::Error as ReflectionError;

use crate::services::branch::Branches;
use crate::services::commit::Commits;
use crate::services::graph::Graphs;
use crate::services::load::Loads;
use crate::services::maintenance::Maintenance;
use crate::services::mutation::Mutations;
use crate::services::operation::Operations;
use crate::services::query::Queries;
use crate::services::schema::Schemas;
use crate::services::server_info::ServerFacts;

/// Every service of a server, native and Flight, with health and reflection.
pub(crate) fn routes(engine: &Engine, health: HealthService) -> Result<Routes, ReflectionError> {
    let bytes_max = usize::try_from(engine.limits().message_bytes_max).unwrap_or(usize::MAX);
    let engine = || engine.clone();
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(omnigraph_wire::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(omnigraph_wire::FLIGHT_FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let routes = Routes::new(ServerServiceServer::new(ServerFacts::new(engine())).max_decoding_message_size(bytes_max))
        .add_service(GraphServiceServer::new(Graphs::new(engine())).max_decoding_message_size(bytes_max))
        .add_service(SchemaServiceServer::new(Schemas::new(engine())).max_decoding_message_size(bytes_max))
        .add_service(BranchServiceServer::new(Branches::new(engine())).max_decoding_message_size(bytes_max))
        .add_service(MutationServiceServer::new(Mutations).max_decoding_message_size(bytes_max))
        .add_service(QueryServiceServer::new(Queries::new(engine())).max_decoding_message_size(bytes_max))
        .add_service(LoadServiceServer::new(Loads::new(engine())).max_decoding_message_size(bytes_max))
        .add_service(CommitServiceServer::new(Commits::new(engine())).max_decoding_message_size(bytes_max))
        .add_service(OperationServiceServer::new(Operations::new(engine())).max_decoding_message_size(bytes_max))
        .add_service(MaintenanceServiceServer::new(Maintenance::new(engine())).max_decoding_message_size(bytes_max))
        .add_service(flight_server(engine()))
        .add_service(HealthServer::new(health))
        .add_service(reflection().build_v1()?)
        .add_service(reflection().build_v1alpha()?);
    Ok(routes.prepare())
}
