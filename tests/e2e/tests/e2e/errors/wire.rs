//! Answers of the transport, and the parts of a status on the wire.

use std::time::Duration;

use bytes::Bytes;
use omnigraph_types::{Effect, Failure, Problem, Retry};
use omnigraph_wire::google::rpc;
use omnigraph_wire::v1;
use omnigraph_wire::v1::load_rows_request::Part;
use omnigraph_wire::v1::load_service_client::LoadServiceClient;
use prost::{Message, Name};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tower::{Service, ServiceExt};

use super::{World, states};
use crate::support::{Server, append, head, rows};

const PORT: &str = r#"{"type":"Port","data":{"code":"OSL"}}"#;

/// A bare connection, for bytes that the client would not send.
pub(super) async fn channel(server: &Server) -> Channel {
    let url = server.url.replace("grpc://", "http://");
    Endpoint::from_shared(url).unwrap().connect().await.unwrap()
}

fn header() -> v1::LoadRowsRequest {
    let header = v1::LoadRowsHeader {
        graph: "g".into(),
        branch: "main".into(),
        mode: v1::LoadMode::Append.into(),
        ..Default::default()
    };
    v1::LoadRowsRequest { part: Some(Part::Header(header)) }
}

fn data(text: &str) -> v1::LoadRowsRequest {
    v1::LoadRowsRequest { part: Some(Part::Data(Bytes::copy_from_slice(text.as_bytes()))) }
}

pub(super) async fn call_over_its_deadline_is_refused() -> Failure {
    let world = World::new(&[]).await;
    let before = head(&world.client).await;
    let mut loads = LoadServiceClient::new(channel(&world.server).await);
    let (send, receive) = tokio::sync::mpsc::channel(2);
    send.send(header()).await.unwrap();
    send.send(data(PORT)).await.unwrap();
    let parts = futures::stream::unfold(receive, |mut receive| async move { Some((receive.recv().await?, receive)) });
    let mut request = Request::new(parts);
    request.set_timeout(Duration::from_secs(1));
    let status = loads.load_rows(request).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    let failure = omnigraph_wire::from_status(&status);
    assert_eq!(failure.problem, Problem::DeadlineExceeded);
    states(&failure, Effect::None, Retry::SameRequest);
    assert_eq!(head(&world.client).await, before);
    drop(send);
    failure
}

/// One gRPC message as it travels.
fn framed(message: &impl Message) -> Vec<u8> {
    let body = message.encode_to_vec();
    [&[0][..], &u32::try_from(body.len()).unwrap().to_be_bytes(), &body].concat()
}

pub(super) async fn body_that_breaks_off_is_refused() -> Failure {
    let world = World::new(&[]).await;
    let before = head(&world.client).await;
    let whole = [framed(&header()), framed(&data(PORT))].concat();
    // The last byte is missing: the body ends as HTTP/2 has it, but within a message.
    let cut = String::from_utf8(whole[..whole.len() - 1].to_vec()).unwrap();
    let request = http::Request::post("/omnigraph.v1.LoadService/LoadRows")
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(tonic::body::Body::new(cut))
        .unwrap();
    let mut channel = channel(&world.server).await;
    let response = channel.ready().await.unwrap().call(request).await.unwrap();
    let status = Status::from_header_map(response.headers()).unwrap();
    assert_eq!(status.code(), Code::Cancelled);
    let failure = omnigraph_wire::from_status(&status);
    assert_eq!(failure.problem, Problem::Cancelled);
    states(&failure, Effect::None, Retry::SameRequest);
    assert_eq!((head(&world.client).await, rows(&world.client, &["Port"]).await["Port"]), (before, 0));
    failure
}

fn detail<M: Message + Name + Default>(status: &rpc::Status, at: usize) -> M {
    assert_eq!(status.details[at].type_url, format!("type.googleapis.com/{}", M::full_name()));
    M::decode(status.details[at].value.as_slice()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn status_carries_the_reason_first_then_its_detail_then_the_standard_ones() {
    let world = World::new(&[]).await;
    append(&world.client, PORT).await.unwrap();
    let mut loads = LoadServiceClient::new(channel(&world.server).await);
    let parts = futures::stream::iter([header(), data(PORT)]);
    let status = loads.load_rows(parts).await.unwrap_err();
    assert_eq!(status.code(), Code::AlreadyExists);
    assert_eq!(status.metadata().get("x-omnigraph-reason").unwrap(), "KEY_CONFLICT");
    let decoded = rpc::Status::decode(status.details()).unwrap();
    assert_eq!((decoded.code, decoded.message.as_str()), (status.code() as i32, status.message()));
    let info: rpc::ErrorInfo = detail(&decoded, 0);
    assert_eq!((info.reason.as_str(), info.domain.as_str()), ("KEY_CONFLICT", "omnigraph"));
    let mut metadata: Vec<_> = info.metadata.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    metadata.sort_unstable();
    assert_eq!(metadata, [("effect", "none"), ("retry", "never"), ("total", "1"), ("type", "Port")]);
    let conflict: v1::KeyConflict = detail(&decoded, 1);
    let expected = v1::KeyConflict { r#type: "Port".into(), ids: vec!["OSL".into()], total: 1, source_row: Some(1) };
    assert_eq!(conflict, expected);
    let resource: rpc::ResourceInfo = detail(&decoded, 2);
    assert_eq!(resource.resource_name, "OSL");
    assert_eq!(decoded.details.len(), 3);
}
