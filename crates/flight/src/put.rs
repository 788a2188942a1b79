//! DoPut: one stream of rows of one type, one commit.
//!
//! Invariants: the rows of a stream become visible only if its body is complete (`WholeBody`); dropping the response at any moment before
//! that drops the load, and with it everything it holds. Between the socket and the engine there is at most one decoded message: the
//! client is held back by HTTP/2's flow control while the engine writes.

use arrow_flight::{FlightData, PutResult};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use omnigraph_call::{CallContext, ClientStream, OwnHeaders};
use omnigraph_engine::{Engine, GetCommit, Load, TypeStream};
use omnigraph_types::{Capture, Failure, TypeLoadAnswer};
use omnigraph_wire::AnswerCodec;
use omnigraph_wire::v1 as wire;
use prost::Message;
use tonic::Streaming;

use crate::decode::{Decoded, StreamDecoder};
use crate::load_headers::StreamEnd;
use crate::ticket::PutCommand;
use crate::{FlightFault, run};

/// The `app_metadata` of the message that marks the end of a stream.
const END_MARK: &[u8] = b"end";

/// A load whose schema was accepted and whose rows follow.
struct Put {
    messages: ClientStream<FlightData>,
    decoder: StreamDecoder,
    load: Load,
    rows: TypeStream,
    end: StreamEnd,
}

/// Accepts a stream up to its schema, and answers with the stream of results.
pub(crate) async fn put(
    engine: &Engine,
    context: CallContext,
    headers: OwnHeaders,
    stream: Streaming<FlightData>,
) -> Result<impl Stream<Item = Result<PutResult, Failure>> + Send + use<>, Failure> {
    let limits = engine.limits();
    let mut messages = ClientStream::new(stream, context.clone());
    let mut first = run::first_of_stream(&mut messages).await?.ok_or_else(|| FlightFault::NoDescriptor.failure())?;
    let PutCommand { graph, put, end } = PutCommand::parse(first.flight_descriptor.take(), headers)?;

    let mut load = run::begin_load(engine, &context, &graph, put.load).await?;
    let mut decoder = StreamDecoder::new(&put.type_name, limits.message_bytes_max);
    let mut next = Some(first);
    let schema = loop {
        let message = next.take().ok_or_else(|| no_schema(&put.type_name, "nothing"))?;
        match decoder.decode(message).map_err(FlightFault::failure)? {
            Decoded::Schema(schema) => break schema,
            // A message without rows may carry the descriptor in front of the schema.
            Decoded::Nothing | Decoded::Batch(_) => next = run::next_of_load(&mut messages, &mut load).await?,
        }
    };

    let rows = load.accept_schema(&put.type_name, &schema).await?;
    let captured = match put.capture {
        Capture::Wanted => load.captured(),
        Capture::NotWanted => None,
    };
    let capture = match captured {
        Some(id) => Some(TypeLoadAnswer::Capture(run::on_graph(engine, &context, &graph, GetCommit { id }).await?)),
        None => None,
    };
    let put = Put { messages, decoder, load, rows, end };
    let answers = stream::iter(capture.map(Ok)).chain(stream::once(put.run()));
    Ok(answers.map_ok(result))
}

fn no_schema(type_name: &str, found: &'static str) -> Failure {
    FlightFault::NoSchema { type_name: type_name.to_owned(), found }.failure()
}

fn result(answer: TypeLoadAnswer) -> PutResult {
    PutResult { app_metadata: wire::LoadResult::to_wire(answer).encode_to_vec().into() }
}

impl Put {
    /// Loads the rows to the end of the stream, commits them and returns the receipt.
    async fn run(mut self) -> Result<TypeLoadAnswer, Failure> {
        let mut marked = false;
        while let Some(message) = run::next_of_load(&mut self.messages, &mut self.load).await? {
            marked = message.data_header.is_empty() && message.app_metadata.as_ref() == END_MARK;
            match self.decoder.decode(message).map_err(FlightFault::failure)? {
                Decoded::Batch(batch) => self.load.write(&mut self.rows, batch).await?,
                Decoded::Nothing | Decoded::Schema(_) => {}
            }
        }
        let whole = self.messages.require_whole()?;
        if self.end == StreamEnd::Marked && !marked {
            return Err(FlightFault::NoEndMark { rows: self.decoder.rows() }.failure());
        }
        run::finish_load(self.load, whole).await.map(TypeLoadAnswer::Receipt)
    }
}
