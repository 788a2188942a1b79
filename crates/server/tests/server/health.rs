use std::path::Path;

use omnigraph_engine::NewRoot;
use omnigraph_server::{BoundServer, ExpectedRoot, ServeConfig, ServeError};
use omnigraph_types::{Effect, Problem};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1::{ServerReflectionRequest, ServerReflectionResponse};

use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::server_service_client::ServerServiceClient;

use crate::harness::{GRAPH, ROWS, TestServer};

async fn watch(server: &TestServer) -> tonic::Streaming<HealthCheckResponse> {
    let request = HealthCheckRequest { service: "omnigraph.v1.GraphService".into() };
    HealthClient::new(server.channel.clone()).watch(request).await.unwrap().into_inner()
}

#[tokio::test]
async fn health_is_serving_once_every_graph_was_looked_at_and_not_after_the_stop() {
    let server = TestServer::start().await;
    let mut statuses = watch(&server).await;
    loop {
        let status = statuses.message().await.unwrap().unwrap().status();
        if status == ServingStatus::Serving {
            break;
        }
        assert_eq!(status, ServingStatus::NotServing);
    }
    let (channel, task) = server.begin_stop();
    assert_eq!(statuses.message().await.unwrap().unwrap().status(), ServingStatus::NotServing);
    let end = statuses.message().await.unwrap_err();
    assert_eq!(omnigraph_wire::from_status(&end).problem, Problem::Cancelled);
    drop(channel);
    task.await.unwrap().unwrap();
}

async fn until(statuses: &mut tonic::Streaming<HealthCheckResponse>, wanted: ServingStatus) {
    while statuses.message().await.unwrap().unwrap().status() != wanted {}
}

#[tokio::test]
async fn server_whose_root_is_gone_takes_no_load_reads_nothing_and_serves_again_when_it_is_back() {
    let server = TestServer::start_with(|config| config.limits.root_proof_age_max_ms = 20).await;
    server.create_graph(GRAPH).await.unwrap();
    server.load(wire::LoadMode::Append, ROWS).await.unwrap();
    let mut statuses = watch(&server).await;
    until(&mut statuses, ServingStatus::Serving).await;
    let (root, moved) = (server.root.path().to_owned(), server.root.path().with_extension("moved"));
    std::fs::rename(&root, &moved).unwrap();
    // Nobody calls the server: it proves its root by itself.
    until(&mut statuses, ServingStatus::NotServing).await;
    let row = r#"{"type":"Port","data":{"code":"BGO"}}"#;
    let failure = server.load(wire::LoadMode::Append, row).await.unwrap_err();
    assert_eq!((&failure.problem, failure.effect), (&Problem::StorageUnavailable, Effect::None), "{failure:?}");
    assert!(failure.message.contains("removed or unmounted"), "{failure}");
    let failure = server.create_graph("another").await.unwrap_err();
    assert_eq!(failure.problem, Problem::StorageUnavailable, "{failure:?}");
    let listed = server.graphs().list_graphs(wire::ListGraphsRequest::default()).await.unwrap_err();
    assert_eq!(
        omnigraph_wire::from_status(&listed).problem,
        Problem::StorageUnavailable,
        "no graphs would be a lie: {listed:?}"
    );
    assert!(!root.exists(), "the root is not made again");
    std::fs::rename(&moved, &root).unwrap();
    until(&mut statuses, ServingStatus::Serving).await;
    server.load(wire::LoadMode::Append, row).await.unwrap();
    assert_eq!(server.ports().await, ["BGO", "HAM", "OSL", "RTM"]);
}

#[tokio::test]
async fn stopped_server_takes_no_more_connections() {
    let server = TestServer::start().await;
    let address = server.address;
    server.stop().await.unwrap();
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn reflection_lists_the_services_of_the_contract() {
    let server = TestServer::start().await;
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let stream = tokio_stream::iter([request]);
    let mut client = ServerReflectionClient::new(server.channel.clone());
    let mut responses = client.server_reflection_info(stream).await.unwrap().into_inner();
    let ServerReflectionResponse { message_response: Some(MessageResponse::ListServicesResponse(list)), .. } =
        responses.message().await.unwrap().unwrap()
    else {
        panic!("no list")
    };
    let names: Vec<_> = list.service.into_iter().map(|service| service.name).collect();
    let flight = "arrow.flight.protocol.FlightService";
    for name in ["omnigraph.v1.GraphService", "omnigraph.v1.LoadService", "grpc.health.v1.Health", flight] {
        assert!(names.iter().any(|found| found == name), "{name} is not in {names:?}");
    }
}

#[tokio::test]
async fn address_off_loopback_is_refused_before_anything_is_opened() {
    let root = tempfile::tempdir().unwrap();
    let place = root.path().join("root");
    let mut config = ServeConfig::new(place.to_str().unwrap());
    config.listen = "0.0.0.0:0".parse().unwrap();
    let Err(error) = BoundServer::bind(config).await else { panic!("bound") };
    assert!(matches!(error, ServeError::Config(_)), "{error}");
    assert!(!place.exists());
}

#[tokio::test]
async fn address_that_is_taken_is_refused_by_name() {
    let server = TestServer::start().await;
    let mut config = ServeConfig::new(server.root.path().to_str().unwrap());
    config.listen = server.address;
    let Err(error) = BoundServer::bind(config).await else { panic!("bound") };
    assert!(matches!(error, ServeError::Listen { .. }), "{error}");
    assert!(error.to_string().contains(&server.address.to_string()), "{error}");
}

async fn bind(root: &Path, expected_root: ExpectedRoot) -> Result<(), ServeError> {
    let mut config = ServeConfig::new(root.to_str().unwrap());
    config.listen = "127.0.0.1:0".parse().unwrap();
    config.expected_root = expected_root;
    BoundServer::bind(config).await.map(drop)
}

/// The message of a root that is refused.
async fn refused(root: &Path, expected_root: ExpectedRoot) -> String {
    match bind(root, expected_root).await.unwrap_err() {
        ServeError::Open { failure, .. } => {
            assert_eq!(failure.problem, Problem::InvalidRequest { field: "root".to_owned() });
            failure.message
        }
        other => panic!("{other}"),
    }
}

const CARELESS: ExpectedRoot = ExpectedRoot::Any(NewRoot::InEmptyFolder);
const INIT: ExpectedRoot = ExpectedRoot::Any(NewRoot::WhereNothingIs);

#[tokio::test]
async fn root_is_made_where_the_operator_says_so_or_the_folder_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let message = refused(&missing, CARELESS).await;
    assert!(message.contains("--init") && message.contains(missing.to_str().unwrap()), "{message}");
    assert!(!missing.exists());
    bind(&missing, INIT).await.unwrap();
    bind(&missing, CARELESS).await.unwrap();
    bind(&missing, INIT).await.unwrap();

    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    bind(&empty, CARELESS).await.unwrap();

    let other = folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("notes.txt"), "of somebody").unwrap();
    for expected in [CARELESS, INIT] {
        let message = refused(&other, expected).await;
        for named in ["notes.txt", "--init", other.canonicalize().unwrap().to_str().unwrap()] {
            assert!(message.contains(named), "{message}");
        }
    }
    assert_eq!(std::fs::read_dir(&other).unwrap().count(), 1);
}

#[tokio::test]
async fn server_that_is_to_serve_one_root_serves_no_other_and_makes_none() {
    let server = TestServer::start().await;
    let mut info = ServerServiceClient::new(server.channel.clone());
    let info = info.get_server_info(wire::GetServerInfoRequest::default()).await.unwrap().into_inner();
    let own = info.root_id.parse().unwrap();
    bind(server.root.path(), ExpectedRoot::Id(own)).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    assert!(refused(folder.path(), ExpectedRoot::Id(own)).await.contains("nothing is stored"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    bind(folder.path(), CARELESS).await.unwrap();
    let other = bind(folder.path(), ExpectedRoot::Id(own)).await.unwrap_err();
    assert!(
        matches!(other, ServeError::OtherRoot { found, expected, .. } if expected == own && found != own),
        "{other}"
    );
}
