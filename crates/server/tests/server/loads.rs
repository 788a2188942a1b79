use omnigraph_types::{Effect, Problem};
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::load_rows_request::Part;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::harness::{GRAPH, ROWS, TestServer, failure, field, part};

fn header(mode: wire::LoadMode) -> wire::LoadRowsHeader {
    wire::LoadRowsHeader { graph: GRAPH.into(), branch: "main".into(), mode: mode.into(), ..Default::default() }
}

#[tokio::test]
async fn rows_of_all_types_become_one_commit() {
    let server = TestServer::with_graph().await;
    let base = server.head().await;
    let response = server.load(wire::LoadMode::Append, ROWS).await.unwrap();
    let receipt = response.receipt.unwrap();
    let commit = receipt.commit.unwrap();
    assert_eq!((response.rows_read, response.bytes_read), (6, ROWS.len() as u64));
    assert_eq!(commit.parent_commit_ids, [base]);
    assert_eq!((server.head().await, receipt.head), (commit.commit_id.clone(), commit.commit_id));
    let counts: Vec<_> = receipt.counts.iter().map(|c| (c.r#type.as_str(), c.inserted, c.total)).collect();
    assert_eq!(counts, [("DockedAt", 1, 1), ("Port", 3, 3), ("Vessel", 2, 2)]);
    assert_eq!(server.ports().await, ["HAM", "OSL", "RTM"]);
}

#[tokio::test]
async fn same_operation_again_is_a_replay_of_its_receipt() {
    let server = TestServer::with_graph().await;
    let mut header = header(wire::LoadMode::Append);
    let first = server.load_as(header.clone(), ROWS).await.unwrap().receipt.unwrap();
    header.operation_id = first.operation_id.clone();
    let again = server.load_as(header, ROWS).await.unwrap().receipt.unwrap();
    assert_eq!((first.outcome(), again.outcome()), (wire::WriteOutcome::Committed, wire::WriteOutcome::Replayed));
    assert_eq!(again.commit, first.commit);
}

#[tokio::test]
async fn append_of_an_id_that_exists_is_refused_and_changes_nothing() {
    let server = TestServer::with_rows().await;
    let head = server.head().await;
    let failure = server.load(wire::LoadMode::Append, r#"{"type":"Port","data":{"code":"OSL"}}"#).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::KeyConflict { total: 1, .. }), "{failure:?}");
    assert_eq!(failure.effect, Effect::None);
    assert_eq!(server.head().await, head);
}

#[tokio::test]
async fn line_that_is_wrong_is_refused_by_its_number() {
    let server = TestServer::with_graph().await;
    let text = "{\"type\":\"Port\",\"data\":{\"code\":\"OSL\"}}\n\n{\"type\":\"Port\",\"data\":{\"code\":7}}\n";
    let failure = server.load(wire::LoadMode::Append, text).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::LoadInvalid { row: Some(3), .. }), "{failure:?}");
    assert_eq!(server.ports().await, Vec::<String>::new());
}

#[tokio::test]
async fn load_without_mode_or_header_is_refused_by_field() {
    let server = TestServer::with_graph().await;
    assert_eq!(field(server.load(wire::LoadMode::Unspecified, ROWS).await.unwrap_err()), "mode");
    let parts = tokio_stream::iter([part(Part::Data("{}".into()))]);
    assert_eq!(field(failure(server.loads().load_rows(parts).await.unwrap_err())), "header");
}

#[tokio::test]
async fn load_on_another_head_than_expected_is_refused() {
    let server = TestServer::with_graph().await;
    let mut header = header(wire::LoadMode::Append);
    header.expected_head = server.head().await;
    server.load_as(header.clone(), ROWS).await.unwrap();
    header.operation_id = String::new();
    let failure = server.load_as(header, r#"{"type":"Port","data":{"code":"BGO"}}"#).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::HeadMismatch { .. }), "{failure:?}");
}

#[tokio::test]
async fn validation_alone_tells_the_counts_and_commits_nothing() {
    let server = TestServer::with_graph().await;
    let head = server.head().await;
    let mut header = header(wire::LoadMode::Append);
    header.validate_only = true;
    let receipt = server.load_as(header, ROWS).await.unwrap().receipt.unwrap();
    assert_eq!((receipt.commit, receipt.head, receipt.counts.len()), (None, head.clone(), 3));
    assert_eq!(server.head().await, head);
}

#[tokio::test]
async fn cancelled_stream_leaves_nothing_and_gives_its_permit_back() {
    let server = TestServer::start_with(|config| config.limits.loads_concurrent_max = 1).await;
    server.create_graph(GRAPH).await.unwrap();
    let head = server.head().await;
    for _ in 0..3 {
        let (send, receive) = mpsc::channel(4);
        let mut client = server.loads();
        let call = tokio::spawn(async move { client.load_rows(ReceiverStream::new(receive)).await });
        send.send(part(Part::Header(header(wire::LoadMode::Append)))).await.unwrap();
        send.send(part(Part::Data(ROWS.into()))).await.unwrap();
        // Until the server has read what came before, there is no room for one more.
        for _ in 0..8 {
            send.send(part(Part::Data("\n".into()))).await.unwrap();
        }
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
    }
    // The next load waits until the server has seen the reset.
    let loaded = server.load(wire::LoadMode::Append, r#"{"type":"Port","data":{"code":"BGO"}}"#).await.unwrap();
    assert_eq!(loaded.receipt.unwrap().commit.unwrap().parent_commit_ids, [head]);
    assert_eq!(server.ports().await, ["BGO"]);
}

#[tokio::test]
async fn silent_client_is_refused_after_the_idle_timeout() {
    let server = TestServer::start_with(|config| config.limits.stream_idle_timeout_ms = 20).await;
    server.create_graph(GRAPH).await.unwrap();
    let (send, receive) = mpsc::channel(1);
    send.send(part(Part::Header(header(wire::LoadMode::Append)))).await.unwrap();
    let failure = failure(server.loads().load_rows(ReceiverStream::new(receive)).await.unwrap_err());
    assert_eq!((failure.problem, failure.effect), (Problem::DeadlineExceeded, Effect::None));
    assert!(failure.message.contains("stream_idle_timeout_ms"), "{}", failure.message);
}
