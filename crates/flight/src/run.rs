//! Where the call of a client meets the engine: the caller and the graph.
//!
//! The caller carries the effect of the call, which the write protocol records and whatever ends the call answers with.

use omnigraph_call::{Arrival, CallContext, ClientStream, WholeBody};
use omnigraph_engine::{Caller, Engine, Execute, Graph, GraphHandle, Load, OpenGraphs};
use omnigraph_types::{Failure, GraphName, LoadRequest, WriteReceipt};
use prost::Message;

/// The caller of an operation: the call's actor, its deadline and its effect.
pub fn caller(context: &CallContext) -> Caller {
    Caller::new(context.actor()).until(context.deadline()).with_effect(context.effect().clone())
}

/// The graph that a call is about, recorded for the log.
pub async fn graph(engine: &Engine, context: &CallContext, name: &GraphName) -> Result<Graph, Failure> {
    context.note_graph(name.as_str());
    engine.graph(name).await
}

/// Runs an operation on one graph.
pub async fn on_graph<O>(
    engine: &Engine,
    context: &CallContext,
    name: &GraphName,
    operation: O,
) -> Result<O::Answer, Failure>
where
    O: Execute<Target = GraphHandle>,
{
    graph(engine, context, name).await?.run(&caller(context), operation).await
}

/// Runs an operation that creates or deletes a graph.
pub async fn on_root<O>(
    engine: &Engine,
    context: &CallContext,
    name: &GraphName,
    operation: O,
) -> Result<O::Answer, Failure>
where
    O: Execute<Target = OpenGraphs>,
{
    context.note_graph(name.as_str());
    engine.run(&caller(context), operation).await
}

/// Begins a load. Nothing of it becomes visible before `finish_load`.
pub async fn begin_load(
    engine: &Engine,
    context: &CallContext,
    name: &GraphName,
    load: LoadRequest,
) -> Result<Load, Failure> {
    graph(engine, context, name).await?.run(&caller(context), load).await
}

/// The next message of a load's stream, or none at its end. A long message is read when it is the load's turn.
pub async fn next_of_load<T: Message>(messages: &mut ClientStream<T>, load: &mut Load) -> Result<Option<T>, Failure> {
    let bytes = |arrival: &Arrival<T>| match arrival {
        Arrival::Message(message) => message.encoded_len() as u64,
        Arrival::Long | Arrival::End => 0,
    };
    loop {
        match load.next_of_client(messages.next(), bytes).await? {
            Arrival::Message(message) => return Ok(Some(message)),
            Arrival::End => return Ok(None),
            Arrival::Long => {
                load.take_turn().await?;
                messages.admit_long();
            }
        }
    }
}

/// The first message of a stream, which the call's limits let in without a turn; none if there is no message.
pub async fn first_of_stream<T>(messages: &mut ClientStream<T>) -> Result<Option<T>, Failure> {
    match messages.next().await? {
        Arrival::Message(message) => Ok(Some(message)),
        Arrival::Long | Arrival::End => Ok(None),
    }
}

/// Commits a load whose rows arrived completely.
pub async fn finish_load(load: Load, _whole: WholeBody) -> Result<WriteReceipt, Failure> {
    load.finish().await
}
