use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, DictionaryArray, Float32Array, RecordBatch, StringArray, UInt64Array};
use arrow::compute::concat_batches;
use arrow::datatypes::{Float32Type, Int32Type, SchemaRef};
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::encode::{DictionaryHandling, FlightDataEncoderBuilder};
use arrow_flight::flight_descriptor::DescriptorType;
use arrow_flight::{Criteria, FlightData, FlightDescriptor, FlightInfo, PutResult, Ticket};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::IpcWriteOptions;
use futures::{FutureExt, Stream, StreamExt, TryStreamExt, stream};
use omnigraph_types::{Effect, Failure, Limits, Problem, Resource, Retry};
use omnigraph_wire::v1 as wire;
use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Streaming};

use crate::harness::{GRAPH, TestServer, failure, field};

fn ports(codes: &[&str]) -> RecordBatch {
    let depths = Float32Array::from_iter((0..codes.len()).map(|at| (at % 2 == 0).then_some(at as f32)));
    let columns: [(&str, ArrayRef); 2] =
        [("code", Arc::new(StringArray::from(codes.to_vec()))), ("depth", Arc::new(depths))];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn path(type_name: &str) -> FlightDescriptor {
    FlightDescriptor::new_path(vec![GRAPH.into(), "main".into(), type_name.into()])
}

async fn messages(
    descriptor: FlightDescriptor,
    batches: Vec<RecordBatch>,
    compression: Option<CompressionType>,
    dictionaries: DictionaryHandling,
) -> Vec<FlightData> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    FlightDataEncoderBuilder::new()
        .with_flight_descriptor(Some(descriptor))
        .with_options(options)
        .with_dictionary_handling(dictionaries)
        .build(stream::iter(batches).map(Ok))
        .chain(stream::once(async { Ok(end_mark()) }))
        .try_collect()
        .await
        .unwrap()
}

fn end_mark() -> FlightData {
    FlightData { app_metadata: "end".into(), ..Default::default() }
}

async fn plain(type_name: &str, batches: Vec<RecordBatch>) -> Vec<FlightData> {
    messages(path(type_name), batches, None, DictionaryHandling::Hydrate).await
}

/// The messages of a stream that loads ports.
pub(crate) async fn port_messages(codes: &[&str]) -> Vec<FlightData> {
    plain("Port", vec![ports(codes)]).await
}

fn put_request<S>(stream: S, mode: Option<&str>) -> Request<S> {
    let mut request = Request::new(stream);
    if let Some(mode) = mode {
        request.metadata_mut().insert("x-omnigraph-mode", mode.parse().unwrap());
    }
    request
}

async fn put(
    server: &TestServer,
    mode: Option<&str>,
    messages: impl Stream<Item = FlightData> + Send + 'static,
) -> Result<Vec<wire::load_result::Result>, Failure> {
    let results: Streaming<PutResult> =
        server.flight().do_put(put_request(messages, mode)).await.map_err(failure)?.into_inner();
    let results: Vec<PutResult> = results.try_collect().await.map_err(failure)?;
    let decode = |result: PutResult| wire::LoadResult::decode(result.app_metadata).unwrap().result.unwrap();
    Ok(results.into_iter().map(decode).collect())
}

fn receipt(mut results: Vec<wire::load_result::Result>) -> wire::LoadReceipt {
    match results.pop() {
        Some(wire::load_result::Result::Receipt(receipt)) => receipt,
        other => panic!("{other:?}"),
    }
}

async fn get(server: &TestServer, ticket: Ticket) -> Result<(SchemaRef, RecordBatch), Failure> {
    let stream = server.flight().do_get(ticket).await.map_err(failure)?.into_inner();
    let mut stream = FlightRecordBatchStream::new_from_flight_data(stream.map_err(Into::into));
    let mut batches = Vec::new();
    while let Some(batch) = stream.next().await {
        batches.push(batch.unwrap());
    }
    let schema = Arc::clone(stream.schema().unwrap());
    let whole = concat_batches(&schema, &batches).unwrap();
    Ok((schema, whole))
}

fn table_ticket(type_name: &str, columns: &[&str]) -> Ticket {
    let table = wire::TableTicket {
        graph: GRAPH.into(),
        at: None,
        r#type: type_name.into(),
        columns: columns.iter().map(ToString::to_string).collect(),
    };
    Ticket::new(wire::Ticket { ticket: Some(wire::ticket::Ticket::Table(table)) }.encode_to_vec())
}

async fn info(server: &TestServer, descriptor: FlightDescriptor) -> Result<FlightInfo, Failure> {
    server.flight().get_flight_info(descriptor).await.map(tonic::Response::into_inner).map_err(failure)
}

fn query_descriptor(query: &str) -> FlightDescriptor {
    let ticket = wire::QueryTicket { graph: GRAPH.into(), query: query.into(), ..Default::default() };
    let any = prost_types::Any {
        type_url: "type.googleapis.com/omnigraph.v1.QueryTicket".into(),
        value: ticket.encode_to_vec(),
    };
    FlightDescriptor::new_cmd(any.encode_to_vec())
}

#[tokio::test]
async fn stream_of_batches_is_one_commit_and_reads_back() {
    let server = TestServer::with_graph().await;
    let base = server.head().await;
    let messages = plain("Port", vec![ports(&["OSL", "HAM"]), ports(&["RTM"])]).await;
    let loaded = receipt(put(&server, Some("append"), stream::iter(messages)).await.unwrap());
    assert_eq!(loaded.rows_read, 3);
    let commit = loaded.receipt.unwrap().commit.unwrap();
    assert_eq!(commit.parent_commit_ids, [base]);
    let (schema, rows) = get(&server, table_ticket("Port", &[])).await.unwrap();
    let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["id", "code", "country", "depth", "opened"]);
    let mut found: Vec<_> = rows.column(1).as_string::<i32>().iter().flatten().collect();
    found.sort_unstable();
    assert_eq!(found, ["HAM", "OSL", "RTM"]);
    let depths = rows.column(3).as_primitive::<Float32Type>();
    assert_eq!(depths.iter().flatten().count(), 2);
}

#[tokio::test]
async fn compressed_and_dictionary_encoded_streams_load_like_plain_ones() {
    let server = TestServer::with_graph().await;
    let compressions = [CompressionType::LZ4_FRAME, CompressionType::ZSTD];
    for (compression, code) in compressions.into_iter().zip(["A", "B"]) {
        let countries: DictionaryArray<Int32Type> = [Some("no"), None, Some("no")].into_iter().collect();
        let codes = StringArray::from(vec![format!("{code}1"), format!("{code}2"), format!("{code}3")]);
        let columns: [(&str, ArrayRef); 2] = [("code", Arc::new(codes)), ("country", Arc::new(countries))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let messages = messages(path("Port"), vec![batch], Some(compression), DictionaryHandling::Resend).await;
        put(&server, Some("append"), stream::iter(messages)).await.unwrap();
    }
    assert_eq!(server.ports().await, ["A1", "A2", "A3", "B1", "B2", "B3"]);
    let (_, rows) = get(&server, table_ticket("Port", &["country"])).await.unwrap();
    assert_eq!((rows.num_columns(), rows.column(0).as_string::<i32>().iter().flatten().count()), (1, 4));
}

#[tokio::test]
async fn load_without_a_mode_is_refused_with_the_modes() {
    let server = TestServer::with_graph().await;
    let failure = put(&server, None, stream::iter(plain("Port", vec![ports(&["OSL"])]).await)).await.unwrap_err();
    assert!(failure.message.contains("append"), "{}", failure.message);
    assert_eq!(field(failure), "x-omnigraph-mode");
}

#[tokio::test]
async fn stream_without_its_end_mark_is_stored_only_where_the_client_gives_the_mark_up() {
    let server = TestServer::with_graph().await;
    let unmarked = |codes: &'static [&'static str]| async {
        let mut messages = port_messages(codes).await;
        assert_eq!(messages.pop(), Some(end_mark()));
        stream::iter(messages)
    };
    let failure = put(&server, Some("append"), unmarked(&["OSL"]).await).await.unwrap_err();
    assert_eq!((&failure.problem, failure.effect), (&Problem::Cancelled, Effect::None), "{failure:?}");
    assert!(failure.message.contains("x-omnigraph-end"), "{failure}");
    let mut request = put_request(unmarked(&["HAM"]).await, Some("append"));
    request.metadata_mut().insert("x-omnigraph-end", "unmarked".parse().unwrap());
    let results = server.flight().do_put(request).await.unwrap().into_inner();
    assert_eq!(results.try_collect::<Vec<PutResult>>().await.unwrap().len(), 1);
    assert_eq!(server.ports().await, ["HAM"]);
}

#[tokio::test]
async fn load_that_is_validated_only_commits_nothing_and_an_unknown_header_is_refused() {
    let server = TestServer::with_graph().await;
    let head = server.head().await;
    let load = async |name: &'static str| {
        let mut request = put_request(stream::iter(port_messages(&["OSL"]).await), Some("append"));
        request.metadata_mut().insert(name, "true".parse().unwrap());
        let results = server.flight().do_put(request).await.map_err(failure)?.into_inner();
        results.try_collect::<Vec<PutResult>>().await.map_err(failure)
    };
    assert_eq!(load("x-omnigraph-validate-only").await.unwrap().len(), 1);
    assert_eq!(field(load("x-omnigraph-dry-run").await.unwrap_err()), "x-omnigraph-dry-run");
    assert_eq!(server.head().await, head);
    assert_eq!(server.ports().await, Vec::<String>::new());
}

#[tokio::test]
async fn header_of_a_load_on_a_call_that_takes_none_is_refused() {
    let server = TestServer::with_graph().await;
    let mut request = Request::new(table_ticket("Port", &[]));
    request.metadata_mut().insert("x-omnigraph-validate-only", "true".parse().unwrap());
    let streamed = failure(server.flight().do_get(request).await.unwrap_err());
    assert_eq!(field(streamed), "x-omnigraph-validate-only");
    let mut request = Request::new(path("Port"));
    request.metadata_mut().insert("x-omnigraph-mode", "append".parse().unwrap());
    let unary = failure(server.flight().get_flight_info(request).await.unwrap_err());
    assert_eq!(field(unary), "x-omnigraph-mode");
}

#[tokio::test]
async fn error_reaches_arrow_clients_through_their_own_trailers() {
    let server = TestServer::with_graph().await;
    let messages = plain("Port", vec![ports(&["OSL"])]).await;
    let status = server.flight().do_put(put_request(stream::iter(messages), None)).await.unwrap_err();
    for trailer in ["x-arrow-status", "x-omnigraph-reason"] {
        assert!(status.metadata().contains_key(trailer), "{trailer}: {status:?}");
    }
}

#[tokio::test]
async fn column_that_the_type_does_not_have_is_refused_before_any_row() {
    let server = TestServer::with_graph().await;
    let batch = RecordBatch::try_from_iter([("cod", Arc::new(StringArray::from(vec!["OSL"])) as ArrayRef)]).unwrap();
    // The schema alone is sent; the stream stays open.
    let schema = plain("Port", vec![batch]).await.remove(0);
    let (send, receive) = mpsc::channel(1);
    send.send(schema).await.unwrap();
    let failure = put(&server, Some("append"), ReceiverStream::new(receive)).await.unwrap_err();
    let Problem::LoadInvalid { column, .. } = &failure.problem else { panic!("{failure:?}") };
    assert_eq!(column.as_deref(), Some("cod"));
    assert!(failure.message.contains("code"), "{}", failure.message);
}

#[tokio::test]
async fn value_that_would_change_is_refused_by_its_row_and_nothing_is_loaded() {
    let server = TestServer::with_graph().await;
    let batch = |tons: Vec<u64>| {
        let names: Vec<_> = tons.iter().map(|tons| format!("V{tons}")).collect();
        let columns: [(&str, ArrayRef); 2] =
            [("name", Arc::new(StringArray::from(names))), ("tons", Arc::new(UInt64Array::from(tons)))];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let messages = plain("Vessel", vec![batch(vec![1, 2]), batch(vec![3, u64::MAX])]).await;
    let failure = put(&server, Some("append"), stream::iter(messages)).await.unwrap_err();
    let Problem::LoadInvalid { row, column, .. } = &failure.problem else { panic!("{failure:?}") };
    assert_eq!((*row, column.as_deref(), failure.effect), (Some(4), Some("tons"), Effect::None));
    let (_, rows) = get(&server, table_ticket("Vessel", &[])).await.unwrap();
    assert_eq!(rows.num_rows(), 0);
}

#[tokio::test]
async fn overwrite_that_wants_it_is_told_what_it_replaces_first() {
    let server = TestServer::with_rows().await;
    let head = server.head().await;
    let command = wire::LoadCommand {
        graph: GRAPH.into(),
        branch: "main".into(),
        r#type: "Port".into(),
        mode: wire::LoadMode::Overwrite.into(),
        want_capture: true,
        ..Default::default()
    };
    let any = prost_types::Any {
        type_url: "type.googleapis.com/omnigraph.v1.LoadCommand".into(),
        value: command.encode_to_vec(),
    };
    let descriptor = FlightDescriptor::new_cmd(any.encode_to_vec());
    assert_eq!(descriptor.r#type(), DescriptorType::Cmd);
    let batches = vec![ports(&["OSL", "BGO"])];
    let messages = messages(descriptor, batches, None, DictionaryHandling::Hydrate).await;
    let results = put(&server, None, stream::iter(messages)).await.unwrap();
    let Some(wire::load_result::Result::Capture(capture)) = results.first() else { panic!("{results:?}") };
    assert_eq!(capture.commit.as_ref().unwrap().commit_id, head);
    assert!(receipt(results).receipt.unwrap().commit.is_some());
    assert_eq!(server.ports().await, ["BGO", "OSL"]);
}

#[tokio::test]
async fn cancelled_put_leaves_nothing_and_gives_its_permit_back() {
    let server = TestServer::start_with(|config| config.limits.loads_concurrent_max = 1).await;
    server.create_graph(GRAPH).await.unwrap();
    let head = server.head().await;
    for _ in 0..5 {
        let (send, receive) = mpsc::channel(1);
        for message in plain("Port", vec![ports(&["OSL", "HAM"])]).await.into_iter().take(1) {
            send.send(message).await.unwrap();
        }
        let results = server.flight().do_put(put_request(ReceiverStream::new(receive), Some("append"))).await.unwrap();
        for message in plain("Port", vec![ports(&["OSL", "HAM"])]).await.into_iter().skip(1) {
            send.send(message).await.unwrap();
        }
        drop((results, send));
    }
    let messages = plain("Port", vec![ports(&["BGO"])]).await;
    let results = put(&server, Some("append"), stream::iter(messages)).await.unwrap();
    assert_eq!(receipt(results).receipt.unwrap().commit.unwrap().parent_commit_ids, [head]);
    assert_eq!(server.ports().await, ["BGO"]);
}

/// A stream that has sent its first messages and stays open.
async fn open_put(server: &TestServer, messages: Vec<FlightData>) -> (mpsc::Sender<FlightData>, Streaming<PutResult>) {
    let (send, receive) = mpsc::channel(messages.len());
    for message in messages {
        send.send(message).await.unwrap();
    }
    let put = server.flight().do_put(put_request(ReceiverStream::new(receive), Some("append"))).await.unwrap();
    (send, put.into_inner())
}

#[tokio::test]
async fn streams_that_send_a_schema_and_no_rows_hold_no_load_up() {
    let server = TestServer::start_with(|config| config.limits.loads_concurrent_max = 1).await;
    server.create_graph(GRAPH).await.unwrap();
    let mut open = Vec::new();
    for code in ["OSL", "HAM", "RTM"] {
        let messages = plain("Port", vec![ports(&[code])]).await;
        open.push((open_put(&server, messages[..1].to_vec()).await, messages));
    }
    let rows = plain("Port", vec![ports(&["BGO"])]).await;
    put(&server, Some("append"), stream::iter(rows)).await.unwrap();
    for ((send, results), messages) in open {
        for message in messages.into_iter().skip(1) {
            send.send(message).await.unwrap();
        }
        drop(send);
        results.try_collect::<Vec<_>>().await.unwrap();
    }
    assert_eq!(server.ports().await, ["BGO", "HAM", "OSL", "RTM"]);
}

#[tokio::test]
async fn stream_that_stops_within_its_rows_gives_way_to_loads_that_wait() {
    let limits = |limits: &mut Limits| (limits.loads_concurrent_max, limits.load_patience_ms) = (1, 1);
    let server = TestServer::start_with(|config| limits(&mut config.limits)).await;
    server.create_graph(GRAPH).await.unwrap();
    let mut messages = plain("Port", vec![ports(&["OSL"])]).await;
    messages.pop();
    let (_send, mut stopped) = open_put(&server, messages).await;
    let mut ended = None;
    let mut loaded = 0;
    while ended.is_none() {
        let row = format!(r#"{{"type":"Port","data":{{"code":"P{loaded:03}"}}}}"#);
        server.load(wire::LoadMode::Append, &row).await.unwrap();
        loaded += 1;
        assert!(loaded < 100, "the stopped stream keeps its turn");
        ended = stopped.next().now_or_never();
    }
    let failure = failure(ended.unwrap().unwrap().unwrap_err());
    let Problem::ResourceLimit { limit, .. } = &failure.problem else { panic!("{failure:?}") };
    assert_eq!((limit.as_str(), failure.effect, failure.retry), ("load_patience_ms", Effect::None, Retry::SameRequest));
    assert_eq!(server.ports().await.len(), loaded);
}

#[tokio::test]
async fn small_loads_over_the_limit_wait_for_their_turn() {
    let server = TestServer::start_with(|config| config.limits.loads_concurrent_max = 1).await;
    server.create_graph(GRAPH).await.unwrap();
    let loads = (0..16).map(|row| {
        let server = &server;
        async move {
            let row = format!(r#"{{"type":"Port","data":{{"code":"P{row:02}"}}}}"#);
            server.load(wire::LoadMode::Append, &row).await
        }
    });
    for loaded in futures::future::join_all(loads).await {
        loaded.unwrap();
    }
    assert_eq!(server.ports().await.len(), 16);
}

#[tokio::test]
async fn ticket_of_flight_info_is_pinned_to_its_commit() {
    let server = TestServer::with_rows().await;
    let info = info(&server, path("Port")).await.unwrap();
    assert_eq!((info.total_records, info.endpoint.len()), (3, 1));
    let ticket = info.endpoint[0].ticket.clone().unwrap();
    put(&server, Some("append"), stream::iter(plain("Port", vec![ports(&["BGO"])]).await)).await.unwrap();
    assert_eq!(get(&server, ticket).await.unwrap().1.num_rows(), 3);
    assert_eq!(get(&server, table_ticket("Port", &[])).await.unwrap().1.num_rows(), 4);
}

#[tokio::test]
async fn ticket_that_names_a_column_twice_is_refused() {
    let server = TestServer::with_rows().await;
    let failure = get(&server, table_ticket("Port", &["code", "country", "code"])).await.unwrap_err();
    assert_eq!(failure.problem, Problem::InvalidRequest { field: "columns".to_owned() });
    assert!(failure.message.contains("\"code\" twice"), "{}", failure.message);
}

#[tokio::test]
async fn query_is_described_and_read_through_its_ticket() {
    let server = TestServer::with_rows().await;
    let query = "query ports() { match { $p: Port } return { $p.code, $p.country } order { $p.code } }";
    let info = info(&server, query_descriptor(query)).await.unwrap();
    let described = info.clone().try_decode_schema().unwrap();
    let (schema, rows) = get(&server, info.endpoint[0].ticket.clone().unwrap()).await.unwrap();
    assert_eq!(&described, schema.as_ref());
    let codes: Vec<_> = rows.column(0).as_string::<i32>().iter().flatten().collect();
    assert_eq!(codes, ["HAM", "OSL", "RTM"]);
}

#[tokio::test]
async fn flights_are_the_types_of_every_graph() {
    let server = TestServer::with_rows().await;
    server.create_graph("other").await.unwrap();
    let list = async |expression: &str| {
        let criteria = Criteria { expression: expression.to_owned().into() };
        let flights = server.flight().list_flights(criteria).await.unwrap().into_inner();
        let flights: Vec<FlightInfo> = flights.try_collect().await.unwrap();
        flights.into_iter().map(|info| info.flight_descriptor.unwrap().path.join("/")).collect::<Vec<_>>()
    };
    let one = ["harbour/main/Port", "harbour/main/Vessel", "harbour/main/DockedAt"];
    assert_eq!(list(GRAPH).await, one);
    assert_eq!(list("").await.len(), 6);
}

#[tokio::test]
async fn type_that_is_not_there_is_refused_by_name() {
    let server = TestServer::with_graph().await;
    let missing = Problem::NotFound { resource: Resource::Type, name: "Prt".into() };
    assert_eq!(info(&server, path("Prt")).await.unwrap_err().problem, missing);
    assert_eq!(get(&server, table_ticket("Prt", &[])).await.unwrap_err().problem, missing);
    let put = put(&server, Some("append"), stream::iter(plain("Prt", vec![ports(&["OSL"])]).await)).await;
    assert_eq!(put.unwrap_err().problem, missing);
}

#[tokio::test]
async fn flight_sql_is_refused_by_name() {
    let server = TestServer::with_graph().await;
    let any = prost_types::Any {
        type_url: "type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery".into(),
        value: Vec::new(),
    };
    let refusal = info(&server, FlightDescriptor::new_cmd(any.encode_to_vec())).await.unwrap_err();
    assert_eq!(refusal.problem, Problem::Unimplemented { feature: "Flight SQL".into() });
}
