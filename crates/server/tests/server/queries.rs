use arrow::array::AsArray;
use arrow::compute::concat_batches;
use arrow_ipc::reader::StreamReader;
use omnigraph_types::Problem;
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::data_type::Kind as TypeKind;
use omnigraph_wire::v1::query_response::Part;
use omnigraph_wire::v1::value::Kind;

use crate::harness::{GRAPH, TestServer, failure, text};

const VESSELS: &str = "query vessels() { match { $v: Vessel } return { $v.name, $v.tons, $v.tags } order { $v.name } }";

#[tokio::test]
async fn rows_keep_every_bit_and_tell_nulls() {
    let server = TestServer::with_rows().await;
    let (header, rows) = server.rows(VESSELS, "").await.unwrap();
    assert_eq!(header.commit.unwrap().commit_id, server.head().await);
    let names: Vec<_> = header.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["v.name", "v.tons", "v.tags"]);
    assert_eq!(header.columns[1].r#type.clone().unwrap().kind, Some(TypeKind::Scalar(wire::ScalarType::I64.into())));
    assert!(header.columns[1].nullable);
    let cells: Vec<_> = rows.iter().map(|row| row.values[1].kind.clone().unwrap()).collect();
    assert_eq!(cells, [Kind::NullValue(0), Kind::Int64Value(9_007_199_254_740_993)]);
    let Kind::ListValue(tags) = rows[1].values[2].kind.clone().unwrap() else { panic!("{rows:?}") };
    assert_eq!(tags.values.iter().map(text).collect::<Vec<_>>(), ["a", "b"]);
}

#[tokio::test]
async fn whole_node_travels_with_its_type_and_typed_properties() {
    let server = TestServer::with_rows().await;
    let query = "query port($code: String) { match { $p: Port $p.code = $code } return { $p } }";
    let (header, rows) = server.rows(query, r#"{"code":"OSL"}"#).await.unwrap();
    assert_eq!(header.columns[0].r#type.clone().unwrap().kind, Some(TypeKind::NodeType("Port".into())));
    let Kind::NodeValue(node) = rows[0].values[0].kind.clone().unwrap() else { panic!("{rows:?}") };
    assert_eq!((node.r#type.as_str(), node.id.as_str()), ("Port", "OSL"));
    let properties: Vec<_> =
        node.properties.into_iter().map(|property| (property.name, property.value.unwrap().kind.unwrap())).collect();
    let expected = [
        ("code".to_owned(), Kind::StringValue("OSL".into())),
        ("country".to_owned(), Kind::StringValue("no".into())),
        ("depth".to_owned(), Kind::FloatValue(11.5)),
        ("opened".to_owned(), Kind::DateValue(-25_567)),
    ];
    assert_eq!(properties, expected);
}

#[tokio::test]
async fn arrow_pieces_make_one_stream_with_the_same_rows() {
    let server = TestServer::with_rows().await;
    let request = wire::QueryRequest {
        graph: GRAPH.into(),
        query: VESSELS.into(),
        format: wire::ResultFormat::ArrowIpc.into(),
        ..Default::default()
    };
    let mut stream = server.queries().query(request).await.unwrap().into_inner();
    let (mut headers, mut bytes) = (0, Vec::new());
    while let Some(message) = stream.message().await.unwrap() {
        match message.part.unwrap() {
            Part::Header(_) => headers += 1,
            Part::ArrowIpc(piece) => bytes.extend_from_slice(&piece),
            Part::Rows(_) => panic!("rows where Arrow was asked for"),
        }
    }
    assert_eq!(headers, 1);
    let reader = StreamReader::try_new(bytes.as_slice(), None).unwrap();
    let schema = reader.schema();
    let batches: Vec<_> = reader.collect::<Result<_, _>>().unwrap();
    let whole = concat_batches(&schema, &batches).unwrap();
    let names: Vec<_> = whole.column(0).as_string::<i32>().iter().flatten().collect();
    assert_eq!(names, ["Aida", "Ever"]);
}

#[tokio::test]
async fn large_result_comes_in_chunks_of_about_a_mebibyte() {
    let server = TestServer::with_graph().await;
    let country = "x".repeat(20_000);
    let line = |n| format!("{{\"type\":\"Port\",\"data\":{{\"code\":\"{n:04}\",\"country\":\"{country}\"}}}}\n");
    server.load(wire::LoadMode::Append, &(0..300).map(line).collect::<String>()).await.unwrap();
    let query = "query ports() { match { $p: Port } return { $p.code, $p.country } }";
    for format in [wire::ResultFormat::Rows, wire::ResultFormat::ArrowIpc] {
        let request = wire::QueryRequest {
            graph: GRAPH.into(),
            query: query.into(),
            format: format.into(),
            ..Default::default()
        };
        let mut stream = server.queries().query(request).await.unwrap().into_inner();
        let mut sizes = Vec::new();
        while let Some(message) = stream.message().await.unwrap() {
            sizes.push(prost::Message::encoded_len(&message));
        }
        assert!(sizes.len() > 5 && sizes.iter().all(|&size| size < 1_100_000), "{format:?}: {sizes:?}");
    }
}

#[tokio::test]
async fn query_with_a_mistake_is_refused_with_its_place() {
    let server = TestServer::with_graph().await;
    let failure = server.rows("query q() { match { $p: Prt } return { $p.code } }", "").await.unwrap_err();
    let Problem::QueryInvalid { diagnostics } = failure.problem else { panic!("{failure:?}") };
    assert!(diagnostics[0].span.is_some(), "{diagnostics:?}");
}

#[tokio::test]
async fn read_at_a_commit_sees_that_commit() {
    let server = TestServer::with_graph().await;
    let empty = server.head().await;
    server.load(wire::LoadMode::Append, crate::harness::ROWS).await.unwrap();
    let request = wire::QueryRequest {
        graph: GRAPH.into(),
        at: Some(wire::ReadPoint { point: Some(wire::read_point::Point::Commit(empty.clone())) }),
        query: VESSELS.into(),
        ..Default::default()
    };
    let mut stream = server.queries().query(request).await.unwrap().into_inner();
    let Some(Part::Header(header)) = stream.message().await.unwrap().unwrap().part else { panic!("no header") };
    assert_eq!(header.commit.unwrap().commit_id, empty);
    assert!(stream.message().await.unwrap().is_none());
}

#[tokio::test]
async fn parameter_that_is_missing_is_refused_by_name() {
    let server = TestServer::with_graph().await;
    let query = "query port($code: String) { match { $p: Port $p.code = $code } return { $p.code } }";
    let problem = server.rows(query, "{}").await.unwrap_err().problem;
    assert_eq!(problem, Problem::ParamInvalid { parameter: "code".into() });
}

#[tokio::test]
async fn unset_read_point_and_unknown_format_are_refused_by_field() {
    let server = TestServer::with_graph().await;
    let empty = wire::QueryRequest { graph: GRAPH.into(), at: Some(wire::ReadPoint::default()), ..Default::default() };
    let unknown = wire::QueryRequest { graph: GRAPH.into(), format: 9, ..Default::default() };
    for (request, name) in [(empty, "at"), (unknown, "format")] {
        assert_eq!(crate::harness::field(failure(server.queries().query(request).await.unwrap_err())), name);
    }
}
