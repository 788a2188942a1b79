use omnigraph_types::{Problem, Resource};
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::server_service_client::ServerServiceClient;

use crate::harness::{GRAPH, ROWS, TestServer, failure, field};

async fn page(server: &TestServer, page_size: u32, page_token: &str) -> wire::ListGraphsResponse {
    let request = wire::ListGraphsRequest { page_size, page_token: page_token.into() };
    server.graphs().list_graphs(request).await.unwrap().into_inner()
}

#[tokio::test]
async fn created_graph_is_told_with_its_first_commit() {
    let server = TestServer::start().await;
    let response = server.create_graph(GRAPH).await.unwrap();
    let (graph, receipt) = (response.graph.unwrap(), response.receipt.unwrap());
    assert_eq!((graph.name.as_str(), graph.graph.as_str()), ("graphs/harbour", "harbour"));
    let commit = receipt.commit.unwrap();
    assert_eq!(commit.commit_id, graph.head);
    assert_eq!((commit.kind(), commit.actor.as_str()), (wire::CommitKind::CreateGraph, "anonymous"));
    assert_eq!(server.head().await, graph.head);
}

#[tokio::test]
async fn graph_whose_name_is_taken_is_refused() {
    let server = TestServer::with_graph().await;
    let problem = server.create_graph(GRAPH).await.unwrap_err().problem;
    assert_eq!(problem, Problem::AlreadyExists { resource: Resource::Graph, name: GRAPH.into() });
}

#[tokio::test]
async fn same_operation_again_tells_the_same_graph() {
    let server = TestServer::start().await;
    let request = wire::CreateGraphRequest {
        graph: GRAPH.into(),
        schema: crate::harness::SCHEMA.into(),
        operation_id: ulid(),
        validate_only: false,
    };
    let first = server.graphs().create_graph(request.clone()).await.unwrap().into_inner();
    server.load(wire::LoadMode::Append, ROWS).await.unwrap();
    let second = server.graphs().create_graph(request).await.unwrap().into_inner();
    assert_eq!(second.graph.unwrap().graph_id, first.graph.unwrap().graph_id);
    assert_eq!(second.receipt.unwrap().commit, first.receipt.unwrap().commit);
}

#[tokio::test]
async fn schema_with_a_mistake_is_refused_with_its_place() {
    let server = TestServer::start().await;
    let request = wire::CreateGraphRequest {
        graph: GRAPH.into(),
        schema: "node Port {\n  code: Strin\n}".into(),
        ..Default::default()
    };
    let failure = failure(server.graphs().create_graph(request).await.unwrap_err());
    let Problem::SchemaInvalid { diagnostics } = failure.problem else { panic!("{failure:?}") };
    assert_eq!(diagnostics[0].span.unwrap().line, 2);
}

#[tokio::test]
async fn graph_that_is_not_there_and_name_that_is_none_are_refused() {
    let server = TestServer::start().await;
    let get = async |name: &str| {
        let request = wire::GetGraphRequest { graph: name.into() };
        failure(server.graphs().get_graph(request).await.unwrap_err())
    };
    let missing = Problem::NotFound { resource: Resource::Graph, name: "nowhere".into() };
    assert_eq!(get("nowhere").await.problem, missing);
    assert_eq!(field(get("No Name").await), "graph");
}

#[tokio::test]
async fn graphs_are_listed_by_name_in_pages() {
    let server = TestServer::start().await;
    for name in ["c", "a", "b"] {
        server.create_graph(name).await.unwrap();
    }
    let first = page(&server, 2, "").await;
    let names = |page: &wire::ListGraphsResponse| page.graphs.iter().map(|g| g.graph.clone()).collect::<Vec<_>>();
    assert_eq!(names(&first), ["a", "b"]);
    let second = page(&server, 2, &first.next_page_token).await;
    assert_eq!((names(&second), second.next_page_token.as_str()), (vec!["c".to_owned()], ""));
    let whole = page(&server, 0, "").await;
    assert_eq!((whole.graphs.len(), whole.next_page_token.as_str()), (3, ""));
}

#[tokio::test]
async fn commits_are_listed_newest_first_in_pages_and_found_by_id() {
    let server = TestServer::with_rows().await;
    server.load(wire::LoadMode::Merge, r#"{"type":"Port","data":{"code":"BGO"}}"#).await.unwrap();
    let list = async |page_size, token: &str| {
        let request = wire::ListCommitsRequest {
            graph: GRAPH.into(),
            branch: "main".into(),
            page_size,
            page_token: token.into(),
        };
        server.commits().list_commits(request).await.map(tonic::Response::into_inner)
    };
    let whole = list(0, "").await.unwrap().commits;
    let kinds: Vec<_> = whole.iter().map(wire::Commit::kind).collect();
    assert_eq!(kinds, [wire::CommitKind::Load, wire::CommitKind::Load, wire::CommitKind::CreateGraph]);
    assert_eq!(whole[0].parent_commit_ids, [whole[1].commit_id.clone()]);

    let (mut pages, mut token) = (Vec::new(), String::new());
    for _ in 0..whole.len() {
        let page = list(1, &token).await.unwrap();
        pages.extend(page.commits);
        token = page.next_page_token;
    }
    assert_eq!((pages, token.as_str()), (whole.clone(), ""));

    let foreign = page(&server, 1, "").await.next_page_token;
    assert_eq!(foreign, "");
    assert_eq!(field(failure(list(1, "bm90IGEgdG9rZW4").await.unwrap_err())), "page_token");

    let request = wire::GetCommitRequest { graph: GRAPH.into(), commit: whole[1].commit_id.clone() };
    let found = server.commits().get_commit(request).await.unwrap().into_inner().commit.unwrap();
    assert_eq!(found, whole[1]);
    assert_eq!(found.counts.iter().map(|count| count.inserted).sum::<u64>(), 6);
}

#[tokio::test]
async fn operation_tells_its_commit_and_an_unknown_one_is_unknown() {
    let server = TestServer::with_graph().await;
    let receipt = server.load(wire::LoadMode::Append, ROWS).await.unwrap().receipt.unwrap();
    let get = async |operation_id: String| {
        let request = wire::GetOperationRequest { graph: GRAPH.into(), branch: "main".into(), operation_id };
        server.operations().get_operation(request).await.unwrap().into_inner().operation.unwrap()
    };
    let known = get(receipt.operation_id).await;
    assert_eq!(known.state(), wire::OperationState::Committed);
    assert_eq!(known.receipt.unwrap().commit, receipt.commit);
    assert_eq!(get(ulid()).await.state(), wire::OperationState::Unknown);
}

#[tokio::test]
async fn server_tells_every_limit_in_force() {
    let server = TestServer::start_with(|config| config.limits.merge_rows_max = 77).await;
    let info = ServerServiceClient::new(server.channel.clone())
        .get_server_info(wire::GetServerInfoRequest {})
        .await
        .unwrap()
        .into_inner();
    let limit = info.limits.iter().find(|limit| limit.name == "merge_rows_max").unwrap();
    assert_eq!((limit.value, limit.default_value, limit.unit()), (77, 1_000_000, wire::LimitUnit::Rows));
    assert_eq!(info.limits.len(), omnigraph_types::Limits::default().entries().len());
    assert_eq!(info.version, env!("CARGO_PKG_VERSION"));
}

/// A fresh operation id.
fn ulid() -> String {
    use omnigraph_types::{Clock, SystemClock};
    SystemClock.mint().to_string()
}

#[tokio::test]
async fn schema_is_told_by_type_with_its_contract_and_hash() {
    let server = TestServer::start().await;
    let schema = "
node Port { code: String @key kind: enum(sea, river) depth: F32? @range(depth, 0..30) @check(code, \"^[A-Z]+$\") @unique(kind, depth) }
node Vessel { name: String sketch: Vector(4)? tags: [String]? }
edge DockedAt: Vessel -> Port @card(0..1) { since: DateTime? @key(src, dst) }
";
    let request = wire::CreateGraphRequest { graph: GRAPH.into(), schema: schema.into(), ..Default::default() };
    let graph = server.graphs().create_graph(request).await.unwrap().into_inner().graph.unwrap();
    let request = wire::GetSchemaRequest { graph: GRAPH.into(), at: None };
    let mut client = wire::schema_service_client::SchemaServiceClient::new(server.channel.clone());
    let response = client.get_schema(request).await.unwrap().into_inner();
    let schema = response.schema.unwrap();
    assert_eq!((schema.hash, response.commit.unwrap().commit_id), (graph.schema_hash, graph.head));
    assert!(schema.contract_json.starts_with('{'), "{}", schema.contract_json);
    let names: Vec<_> = schema.types.iter().map(|t| (t.name.as_str(), t.kind())).collect();
    let (node, edge) = (wire::TypeKind::Node, wire::TypeKind::Edge);
    assert_eq!(names, [("Port", node), ("Vessel", node), ("DockedAt", edge)]);

    let [port, vessel, docked] = &schema.types[..] else { panic!("{names:?}") };
    let kind = |property: &wire::Property| property.r#type.clone().unwrap().kind.unwrap();
    use wire::data_type::Kind;
    assert_eq!(port.key, ["code"]);
    assert_eq!(kind(&port.properties[1]), Kind::Enum(wire::EnumType { values: vec!["river".into(), "sea".into()] }));
    let rules = ["@unique(kind, depth)", "@check(code, \"^[A-Z]+$\")"];
    assert!(rules.iter().all(|rule| port.constraints.iter().any(|found| found == rule)), "{:?}", port.constraints);
    assert_eq!(kind(&vessel.properties[1]), Kind::VectorLength(4));
    assert_eq!(kind(&vessel.properties[2]), Kind::List(wire::ScalarType::String.into()));
    assert_eq!((docked.from_type.as_str(), docked.to_type.as_str()), ("Vessel", "Port"));
    assert_eq!(docked.cardinality, Some(wire::Cardinality { min: 0, max: Some(1) }));
    assert_eq!(docked.key, ["src", "dst"]);
}
