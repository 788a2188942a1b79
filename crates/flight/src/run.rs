//! Where the call of a client meets the engine: the caller and the graph.
//!
//! The caller carries the effect of the call, which the write protocol records and whatever ends the call answers with.

use omnigraph_call::{CallContext, WholeBody};
use omnigraph_engine::{Caller, Engine, Execute, Graph, GraphHandle, Load, OpenGraphs};
use omnigraph_types::{Failure, GraphName, LoadRequest, WriteReceipt};

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

/// Commits a load whose rows arrived completely.
pub async fn finish_load(load: Load, _whole: WholeBody) -> Result<WriteReceipt, Failure> {
    load.finish().await
}
