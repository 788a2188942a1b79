use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::read_point::Point;
use omnigraph_wire::v1::schema_service_client::SchemaServiceClient;
use tonic::Status;

use crate::harness::{GRAPH, TestServer, failure, field};

async fn tables(server: &TestServer, request: wire::ListTablesRequest) -> Result<wire::ListTablesResponse, Status> {
    let mut schemas = SchemaServiceClient::new(server.channel.clone());
    let request = wire::ListTablesRequest { graph: GRAPH.into(), ..request };
    schemas.list_tables(request).await.map(|response| response.into_inner())
}

#[tokio::test]
async fn pages_of_tables_are_of_the_commit_of_the_first() {
    let server = TestServer::with_rows().await;
    let page = |page_token: &str| wire::ListTablesRequest {
        page_size: 1,
        page_token: page_token.into(),
        ..Default::default()
    };
    let first = tables(&server, page("")).await.unwrap();
    let commit = first.commit.clone().unwrap();
    assert_eq!(commit.commit_id, server.head().await);
    server.load(wire::LoadMode::Append, r#"{"type":"Vessel","data":{"name":"Later"}}"#).await.unwrap();
    let mut listed = first.tables;
    let mut token = first.next_page_token;
    while !token.is_empty() {
        let next = tables(&server, page(&token)).await.unwrap();
        assert_eq!(next.commit.as_ref(), Some(&commit));
        listed.extend(next.tables);
        token = next.next_page_token;
    }
    let counted: Vec<_> = listed.iter().map(|table| (table.r#type.as_str(), table.row_count)).collect();
    assert_eq!(counted, [("Port", 3), ("Vessel", 2), ("DockedAt", 1)]);
    assert!(listed.iter().all(|table| table.damage.is_empty() && table.lance_branch.is_empty()), "{listed:?}");
    assert_ne!(commit.commit_id, server.head().await);
}

#[tokio::test]
async fn token_of_another_state_or_type_is_refused() {
    let server = TestServer::with_rows().await;
    let one = wire::ListTablesRequest { page_size: 1, ..Default::default() };
    let page_token = tables(&server, one).await.unwrap().next_page_token;
    let commit = Some(wire::ReadPoint { point: Some(Point::Commit(server.head().await)) });
    let others = [
        wire::ListTablesRequest { page_token: page_token.clone(), at: commit, ..Default::default() },
        wire::ListTablesRequest { page_token, r#type: "Port".into(), ..Default::default() },
    ];
    for other in others {
        let refusal = failure(tables(&server, other).await.unwrap_err());
        assert_eq!(field(refusal), "page_token");
    }
}
