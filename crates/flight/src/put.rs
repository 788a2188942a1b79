//! DoPut: one stream of rows of one type, one commit.
//!
//! Invariants: the rows of a stream become visible only if its body came whole (`WholeBody`); dropping the response at any moment before
//! that drops the load, and with it everything it holds. Between the socket and the engine there is at most one decoded message: the
//! client is held back by HTTP/2's flow control while the engine writes.

use std::time::Duration;

use arrow_flight::{FlightData, PutResult};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use omnigraph_engine::{Engine, Graph, Load, LoadRequest, TypeStream};
use omnigraph_types::{Failure, GraphName};
use omnigraph_wire::v1 as wire;
use prost::Message;
use tonic::{Request, Status, Streaming};

use crate::decode::{Decoded, StreamDecoder};
use crate::ticket::{Capture, PutCommand, StreamEnd};
use crate::{CallContext, FlightFault, convert, refuse, stream_failure};

/// The `app_metadata` of the message that marks the end of a stream.
const END_MARK: &[u8] = b"end";

/// The answer to a DoPut.
pub(crate) type PutResults = BoxStream<'static, Result<PutResult, Status>>;

/// The client's messages, each awaited for so long as the idle timeout allows.
struct Messages {
    stream: Streaming<FlightData>,
    context: CallContext,
    idle_ms: u64,
}

impl Messages {
    /// The next message, or none at the end of the stream; the end is not proof of anything.
    async fn next(&mut self) -> Result<Option<FlightData>, Failure> {
        match tokio::time::timeout(Duration::from_millis(self.idle_ms), self.stream.message()).await {
            Ok(Ok(message)) => Ok(message),
            Ok(Err(status)) => Err(stream_failure(&status, self.context.body())),
            Err(_) => Err(FlightFault::Idle { timeout_ms: self.idle_ms }.failure()),
        }
    }
}

/// A load whose schema was accepted and whose rows follow.
struct Put {
    messages: Messages,
    decoder: StreamDecoder,
    load: Load,
    rows: TypeStream,
    graph: GraphName,
    end: StreamEnd,
}

/// Accepts a stream up to its schema, and answers with the stream of results.
pub(crate) async fn put(engine: &Engine, request: Request<Streaming<FlightData>>) -> Result<PutResults, Failure> {
    let context = CallContext::of(&request)?;
    let (headers, _, stream) = request.into_parts();
    let limits = engine.limits();
    let mut messages = Messages { stream, context, idle_ms: limits.stream_idle_timeout_ms };
    let mut first = messages.next().await?.ok_or_else(|| FlightFault::NoDescriptor.failure())?;
    let command = PutCommand::parse(first.flight_descriptor.take(), &headers)?;
    messages.context.note_graph(command.graph.as_str());

    // From the second message on a stream is one of the few that may be long at once.
    let graph = engine.graph(&command.graph).await?;
    let mut load = graph.begin_load(load_request(&command, &messages.context)).await?;
    let mut decoder = StreamDecoder::new(&command.type_name, limits.message_bytes_max);
    let mut next = Some(first);
    let schema = loop {
        let message = next.take().ok_or_else(|| no_schema(&command.type_name, "nothing"))?;
        match decoder.decode(message).map_err(FlightFault::failure)? {
            Decoded::Schema(schema) => break schema,
            // A message without rows may carry the descriptor in front of the schema.
            Decoded::Nothing | Decoded::Batch(_) => next = messages.next().await?,
        }
    };

    let rows = load.accept_schema(&command.type_name, &schema).await?;
    let capture = capture(&graph, &command, &load).await?;
    let put = Put { messages, decoder, load, rows, graph: command.graph, end: command.end };
    let receipt = stream::once(put.run()).map_err(refuse);
    Ok(stream::iter(capture.map(Ok)).chain(receipt).boxed())
}

fn no_schema(type_name: &str, found: &'static str) -> Failure {
    FlightFault::NoSchema { type_name: type_name.to_owned(), found }.failure()
}

fn load_request(command: &PutCommand, context: &CallContext) -> LoadRequest {
    LoadRequest {
        branch: command.branch.clone(),
        mode: command.mode,
        operation_id: command.operation_id,
        expected_head: command.expected_head,
        on_conflict: command.on_conflict,
        validate_only: command.validate_only,
        actor: context.actor().to_owned(),
        deadline: Some(context.deadline()),
    }
}

/// The first result of an overwrite whose client wants to know what it replaces.
async fn capture(graph: &Graph, command: &PutCommand, load: &Load) -> Result<Option<PutResult>, Failure> {
    let (Capture::Wanted, Some(captured)) = (command.capture, load.captured()) else { return Ok(None) };
    let info = graph.commit(captured).await?;
    let capture = wire::LoadCapture { commit: Some(convert::commit(&command.graph, &info)) };
    Ok(Some(result(wire::load_result::Result::Capture(capture))))
}

fn result(result: wire::load_result::Result) -> PutResult {
    PutResult { app_metadata: wire::LoadResult { result: Some(result) }.encode_to_vec().into() }
}

impl Put {
    /// Loads the rows to the end of the stream, commits them and tells the receipt.
    async fn run(mut self) -> Result<PutResult, Failure> {
        let mut marked = false;
        while let Some(message) = self.messages.next().await? {
            marked = message.data_header.is_empty() && message.app_metadata.as_ref() == END_MARK;
            match self.decoder.decode(message).map_err(FlightFault::failure)? {
                Decoded::Batch(batch) => self.load.write(&mut self.rows, batch).await?,
                Decoded::Nothing | Decoded::Schema(_) => {}
            }
        }
        let context = self.messages.context;
        let _whole = context.body().require_whole()?;
        if self.end == StreamEnd::Marked && !marked {
            return Err(FlightFault::NoEndMark { rows: self.decoder.rows() }.failure());
        }
        context.enter_effect();
        let rows_read = self.decoder.rows();
        let receipt = self.load.finish().await?;
        let receipt = Some(convert::load_receipt(&self.graph, &receipt));
        Ok(result(wire::load_result::Result::Receipt(wire::LoadReceipt { receipt, rows_read })))
    }
}
