use std::time::Duration;

use omnigraph_types::{Effect, FeatureName, Problem, Retry};
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::branch_service_client::BranchServiceClient;
use omnigraph_wire::v1::load_rows_request::Part;
use omnigraph_wire::v1::mutation_service_client::MutationServiceClient;
use omnigraph_wire::v1::server_service_client::ServerServiceClient;
use prost::Message;
use prost_types::FileDescriptorSet;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request};

use crate::harness::{GRAPH, ROWS, TestServer, failure, field, part};

#[tokio::test]
async fn deadline_ends_a_load_that_waits_for_its_client_without_effect() {
    let server = TestServer::with_graph().await;
    let (send, receive) = mpsc::channel(2);
    let header = wire::LoadRowsHeader { graph: GRAPH.into(), branch: "main".into(), mode: 1, ..Default::default() };
    send.send(part(Part::Header(header))).await.unwrap();
    let mut request = Request::new(ReceiverStream::new(receive));
    request.metadata_mut().insert("grpc-timeout", "200m".parse().unwrap());
    let status = server.loads().load_rows(request).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    let failure = failure(status);
    assert_eq!(
        (failure.problem, failure.effect, failure.retry),
        (Problem::DeadlineExceeded, Effect::None, Retry::SameRequest)
    );
}

#[tokio::test]
async fn deadline_ends_a_stream_that_has_begun() {
    let server = TestServer::start().await;
    let mut request = Request::new(tonic_health::pb::HealthCheckRequest::default());
    request.metadata_mut().insert("grpc-timeout", "200m".parse().unwrap());
    let mut client = tonic_health::pb::health_client::HealthClient::new(server.channel.clone());
    let mut stream = client.watch(request).await.unwrap().into_inner();
    let end = loop {
        if let Err(status) = stream.message().await {
            break status;
        }
    };
    assert_eq!(end.code(), Code::DeadlineExceeded);
    assert_eq!(failure(end).problem, Problem::DeadlineExceeded);
}

#[tokio::test]
async fn malformed_deadline_is_refused_by_header() {
    let server = TestServer::start().await;
    let mut request = Request::new(wire::ListGraphsRequest::default());
    request.metadata_mut().insert("grpc-timeout", "soon".parse().unwrap());
    assert_eq!(field(failure(server.graphs().list_graphs(request).await.unwrap_err())), "grpc-timeout");
}

#[tokio::test]
async fn message_over_the_limit_is_refused_with_limit_and_size() {
    let server = TestServer::start_with(|config| config.limits.message_bytes_max = 1_000).await;
    server.create_graph(GRAPH).await.unwrap();
    let expected = |problem: Problem| {
        let Problem::ResourceLimit { limit, value, asked } = problem else { panic!("{problem:?}") };
        assert_eq!((limit.as_str(), value), ("message_bytes_max", 1_000));
        assert!(asked > 2_000, "{asked}");
    };
    let unary = wire::CreateGraphRequest { graph: "g".into(), schema: " ".repeat(2_000), ..Default::default() };
    expected(failure(server.graphs().create_graph(unary).await.unwrap_err()).problem);

    let header = wire::LoadRowsHeader { graph: GRAPH.into(), branch: "main".into(), mode: 1, ..Default::default() };
    let parts = [Part::Header(header), Part::Data(vec![b' '; 2_000].into())].map(part);
    let refusal = failure(server.loads().load_rows(tokio_stream::iter(parts)).await.unwrap_err());
    assert!(refusal.message.contains("smaller"), "{}", refusal.message);
    expected(refusal.problem);
}

#[tokio::test]
async fn declared_call_that_is_not_offered_says_so_by_name() {
    let server = TestServer::start().await;
    let mutate = MutationServiceClient::new(server.channel.clone()).mutate(wire::MutateRequest::default()).await;
    let merge =
        BranchServiceClient::new(server.channel.clone()).merge_branch(wire::MergeBranchRequest::default()).await;
    for (status, feature) in [(mutate.unwrap_err(), "Mutate"), (merge.unwrap_err(), "MergeBranch")] {
        assert_eq!(status.code(), Code::Unimplemented);
        assert_eq!(failure(status).problem, Problem::Unimplemented { feature: feature.into() });
    }
}

#[tokio::test]
async fn call_that_the_contract_does_not_have_is_refused_with_details() {
    let server = TestServer::start().await;
    let mut client = tonic::client::Grpc::new(server.channel.clone());
    client.ready().await.unwrap();
    let codec = tonic_prost::ProstCodec::<wire::GetGraphRequest, wire::GetGraphResponse>::default();
    let path = http::uri::PathAndQuery::from_static("/omnigraph.v1.GraphService/Invent");
    let status = client.unary(Request::new(wire::GetGraphRequest::default()), path, codec).await.unwrap_err();
    let feature = "/omnigraph.v1.GraphService/Invent".to_owned();
    assert_eq!(failure(status).problem, Problem::Unimplemented { feature });
}

#[tokio::test]
async fn message_that_is_not_of_the_contract_is_refused_with_details() {
    let server = TestServer::start().await;
    let mut client = tonic::client::Grpc::new(server.channel.clone());
    client.ready().await.unwrap();
    // Field 1 as a number, where the contract has a text.
    let codec = tonic_prost::ProstCodec::<wire::TextSpan, wire::GetGraphResponse>::default();
    let path = http::uri::PathAndQuery::from_static("/omnigraph.v1.GraphService/GetGraph");
    let wrong = wire::TextSpan { start: 7, ..Default::default() };
    let status = client.unary(Request::new(wrong), path, codec).await.unwrap_err();
    assert_eq!(field(failure(status)), "message");
}

#[tokio::test]
async fn request_over_the_bound_on_requests_is_refused_to_be_sent_again() {
    let server = TestServer::start_with(|config| config.limits.requests_concurrent_max = 1).await;
    server.create_graph(GRAPH).await.unwrap();
    let (send, receive) = mpsc::channel(2);
    let header = wire::LoadRowsHeader { graph: GRAPH.into(), branch: "main".into(), mode: 1, ..Default::default() };
    send.send(part(Part::Header(header))).await.unwrap();
    send.send(part(Part::Data(ROWS.into()))).await.unwrap();
    let mut client = server.loads();
    let running = tokio::spawn(async move { client.load_rows(ReceiverStream::new(receive)).await });
    let refused = loop {
        if let Err(status) = server.graphs().list_graphs(wire::ListGraphsRequest::default()).await {
            break failure(status);
        }
    };
    assert!(matches!(refused.problem, Problem::ResourceLimit { ref limit, .. } if limit == "requests_concurrent_max"));
    assert_eq!((refused.retry, refused.retry_after), (Retry::SameRequest, Some(Duration::from_secs(1))));
    drop(send);
    running.await.unwrap().unwrap();
    assert_eq!(server.ports().await.len(), 3);
}

#[tokio::test]
async fn call_is_offered_where_the_server_says_so_and_refused_by_its_name_where_not() {
    let server = TestServer::start().await;
    let mut info = ServerServiceClient::new(server.channel.clone());
    let info = info.get_server_info(wire::GetServerInfoRequest::default()).await.unwrap().into_inner();
    assert_eq!(info.root, server.root.path().canonicalize().unwrap().to_str().unwrap());
    let sets = [omnigraph_wire::FILE_DESCRIPTOR_SET, omnigraph_wire::FLIGHT_FILE_DESCRIPTOR_SET];
    let files = sets.map(|set| FileDescriptorSet::decode(set).unwrap().file).into_iter().flatten();
    let services = files.flat_map(|file| {
        let package = file.package().to_owned();
        file.service.into_iter().map(move |service| (format!("{package}.{}", service.name()), service.method))
    });
    let mut calls = 0;
    for (service, call) in
        services.flat_map(|(service, calls)| calls.into_iter().map(move |call| (service.clone(), call)))
    {
        calls += 1;
        let listed = info.features.iter().find(|feature| feature.name == call.name()).unwrap();
        let path = format!("/{service}/{}", call.name()).parse().unwrap();
        let mut client = tonic::client::Grpc::new(server.channel.clone());
        client.ready().await.unwrap();
        let codec = tonic_prost::ProstCodec::<(), ()>::default();
        let answer = client.streaming(Request::new(tokio_stream::iter([()])), path, codec).await;
        let refusal = match answer {
            Ok(stream) => stream.into_inner().message().await.err(),
            Err(status) => Some(status),
        };
        let refusal = refusal.map(|status| failure(status).problem);
        let declined = Problem::Unimplemented { feature: call.name().to_owned() };
        assert_eq!(refusal == Some(declined), !listed.enabled, "{service} {}: {refusal:?}", call.name());
    }
    assert!(calls > 50, "{calls}");
    for name in FeatureName::ALL {
        let listed = info.features.iter().find(|feature| feature.name == name.as_str()).unwrap();
        assert_eq!(listed.enabled, *name == FeatureName::Flight, "{name}");
    }
}
