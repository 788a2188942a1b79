//! A client that resets its stream between two messages: RST_STREAM with CANCEL.
//!
//! tonic reports this as a regular end of the stream. No client library lets a test say that the frame follows right behind whole messages,
//! so these tests write the frames of HTTP/2 themselves.

use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::load_rows_request::Part;
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::flight::port_messages;
use crate::harness::{GRAPH, ROWS, TestServer, part};

/// Resets per test: each must leave nothing.
const RESETS: usize = 5;
/// Bytes that make the server tell that it reads the stream: it does so after half of its window.
const NOTICED_BYTES: usize = 3 * 1024 * 1024;
const FRAME_BYTES_MAX: usize = 16_384;

/// Loads a type.
const PUT: &str = "/arrow.flight.protocol.FlightService/DoPut";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const END_HEADERS: u8 = 4;
const ACKNOWLEDGED: u8 = 1;
const CANCEL: u32 = 8;
/// The connection as a whole, and the one stream that each connection has here.
const CONNECTION: u32 = 0;
const STREAM: u32 = 1;

/// A connection whose frames the test writes.
struct Frames {
    socket: TcpStream,
}

impl Frames {
    /// Begins a call and waits until the server has sent its windows.
    async fn begin(server: &TestServer, path: &str) -> Self {
        let socket = TcpStream::connect(server.address).await.unwrap();
        let mut frames = Self { socket };
        let headers = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", path),
            (":authority", "server"),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
        ];
        // No other call takes headers of the contract.
        let mode = (path == PUT).then_some(("x-omnigraph-mode", "append"));
        // HPACK: literals without indexing and without Huffman coding.
        let literal = |text: &str| [&[u8::try_from(text.len()).unwrap()][..], text.as_bytes()].concat();
        let headers = headers.into_iter().chain(mode);
        let block: Vec<u8> =
            headers.flat_map(|(name, value)| [vec![0], literal(name), literal(value)].concat()).collect();
        let opening = [
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
            frame(SETTINGS, 0, CONNECTION, &[]),
            frame(HEADERS, END_HEADERS, STREAM, &block),
        ];
        frames.socket.write_all(&opening.concat()).await.unwrap();
        frames.wait_for(WINDOW_UPDATE, CONNECTION).await;
        // The windows hold once they are acknowledged.
        frames.socket.write_all(&frame(SETTINGS, ACKNOWLEDGED, CONNECTION, &[])).await.unwrap();
        frames
    }

    async fn send(&mut self, bytes: &[u8]) {
        self.socket.write_all(&data(bytes)).await.unwrap();
    }

    /// Sends bytes and the reset right behind them.
    async fn send_and_reset(&mut self, bytes: &[u8]) {
        let reset = frame(RST_STREAM, 0, STREAM, &CANCEL.to_be_bytes());
        self.socket.write_all(&[data(bytes), reset].concat()).await.unwrap();
    }

    /// Reads until a frame of this kind comes on this stream.
    async fn wait_for(&mut self, kind: u8, stream: u32) {
        loop {
            let mut head = [0; 9];
            self.socket.read_exact(&mut head).await.unwrap();
            let [a, b, c, found_kind, _, stream_bytes @ ..] = head;
            let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
            self.socket.read_exact(&mut payload).await.unwrap();
            if (found_kind, u32::from_be_bytes(stream_bytes)) == (kind, stream) {
                return;
            }
        }
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn data(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(FRAME_BYTES_MAX).flat_map(|chunk| frame(DATA, 0, STREAM, chunk)).collect()
}

/// One gRPC message as it travels.
fn framed(message: &impl Message) -> Vec<u8> {
    let body = message.encode_to_vec();
    [&[0][..], &u32::try_from(body.len()).unwrap().to_be_bytes(), &body].concat()
}

async fn server_with_one_permit() -> TestServer {
    let server = TestServer::start_with(|config| config.limits.loads_concurrent_max = 1).await;
    server.create_graph(GRAPH).await.unwrap();
    server
}

/// Proves that the resets left nothing behind `head`.
async fn assert_nothing_was_loaded(server: &TestServer, head: &str) {
    let receipt =
        server.load(wire::LoadMode::Append, r#"{"type":"Port","data":{"code":"BGO"}}"#).await.unwrap().receipt.unwrap();
    assert_eq!(receipt.commit.unwrap().parent_commit_ids, [head.to_owned()]);
    assert_eq!(server.ports().await, ["BGO"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reset_load_of_rows_leaves_nothing() {
    let server = server_with_one_permit().await;
    let head = server.head().await;
    let header = wire::LoadRowsHeader { graph: GRAPH.into(), branch: "main".into(), mode: 1, ..Default::default() };
    let blank_line = [vec![b' '; NOTICED_BYTES], vec![b'\n']].concat();
    let opening = [Part::Header(header), Part::Data(blank_line.into())].map(|each| framed(&part(each))).concat();
    for _ in 0..RESETS {
        let mut frames = Frames::begin(&server, "/omnigraph.v1.LoadService/LoadRows").await;
        frames.send(&opening).await;
        frames.wait_for(WINDOW_UPDATE, STREAM).await;
        frames.send_and_reset(&framed(&part(Part::Data(ROWS.into())))).await;
        server.load(wire::LoadMode::Append, "").await.unwrap();
    }
    assert_nothing_was_loaded(&server, &head).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reset_put_leaves_nothing() {
    let server = server_with_one_permit().await;
    let head = server.head().await;
    let messages: Vec<_> = port_messages(&["OSL", "HAM"]).await.iter().map(framed).collect();
    for _ in 0..RESETS {
        let mut frames = Frames::begin(&server, PUT).await;
        frames.send(&messages[0]).await;
        // The response begins once the load is open and its schema accepted.
        frames.wait_for(HEADERS, STREAM).await;
        frames.send_and_reset(&messages[1..].concat()).await;
        server.load(wire::LoadMode::Append, "").await.unwrap();
    }
    assert_nothing_was_loaded(&server, &head).await;
}
