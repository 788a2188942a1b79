//! An operation is a value, and one function runs all of them.
//!
//! What belongs to every operation is here once: the span with the operation's name, the deadline of reads, reopening of a graph that was deleted
//! and created anew, and the exit where an error becomes a failure with the request's effect. Whether a caller may do what it asks for is checked here too, before
//! anything is read.

use futures::FutureExt;
use futures::future::BoxFuture;
use omnigraph_query::Stopped;
use omnigraph_storage::Store;
use omnigraph_types::{Effect, Failure, GraphName};
use tracing::{Instrument, info_span};

use crate::caller::Caller;
use crate::error::{EngineError, Result, is_graph_gone};
use crate::vouched::{acknowledged, explained, writable};

/// Whether an operation changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It reads. The runner drops it at its deadline, whatever it waits for.
    Read,
    /// It may write. It watches its deadline itself: only the write protocol knows when it may still stop.
    Write,
}

/// What operations run on: all graphs of a root, one graph, or one commit of it.
pub trait Target: Sized + Send + Sync {
    /// The store of the root.
    fn store(&self) -> &Store;

    /// The graph, where there is one.
    fn graph_name(&self) -> Option<&GraphName>;

    /// The target that has the name of this one now, after `failure` reported that the graph was deleted; `failure`, if there is none.
    fn reopened(&self, failure: Failure) -> impl Future<Output = Result<Self, Failure>> + Send;
}

/// An operation with all its arguments. It may be executed again on a reopened graph, so it is not consumed.
pub trait Execute: Sync {
    /// What it runs on.
    type Target: Target;
    /// What it returns.
    type Answer: Send;
    /// Its name in logs.
    const NAME: &'static str;
    /// Whether it changes anything.
    const ACCESS: Access;

    /// Does the work.
    fn execute(&self, on: &Self::Target, caller: &Caller) -> impl Future<Output = Result<Self::Answer>> + Send;
}

/// Runs an operation. Every failure of an operation leaves through here.
pub(crate) async fn run<O: Execute>(on: &O::Target, caller: &Caller, operation: &O) -> Result<O::Answer, Failure> {
    let graph = on.graph_name().map(tracing::field::display);
    let span = info_span!("operation", name = O::NAME, graph, actor = caller.actor);
    let work = async {
        match O::ACCESS {
            Access::Read => {}
            Access::Write => writable(on.store()).await?,
        }
        let outcome = match attempt(on, caller, operation).await {
            Err(failure) if is_graph_gone(&failure) && may_run_again(O::ACCESS, caller) => {
                let next: BoxFuture<'_, Result<O::Target, Failure>> = on.reopened(failure).boxed();
                let next = next.await?;
                attempt(&next, caller, operation).await
            }
            outcome => outcome,
        };
        match (outcome, O::ACCESS) {
            (Ok(answer), Access::Read) => Ok(answer),
            (Ok(answer), Access::Write) => acknowledged(on.store(), &caller.effect, answer).await,
            (Err(failure), Access::Read | Access::Write) => Err(explained(on.store(), failure).await),
        }
    };
    work.instrument(span).await
}

/// Whether an operation may run on the graph that has the name now. A write that may have taken effect on the graph that is gone is not done
/// again on another one; a read is, also where it is a part of such a write.
fn may_run_again(access: Access, caller: &Caller) -> bool {
    match access {
        Access::Read => true,
        Access::Write => caller.effect.now() == Effect::None,
    }
}

async fn attempt<O: Execute>(on: &O::Target, caller: &Caller, operation: &O) -> Result<O::Answer, Failure> {
    // As a trait object: what callers' futures are made of ends here, for the compiler too.
    let work: BoxFuture<'_, Result<O::Answer>> = operation.execute(on, caller).boxed();
    let outcome = match (O::ACCESS, caller.deadline) {
        (Access::Read, Some(deadline)) => {
            tokio::time::timeout_at(deadline, work).await.unwrap_or(Err(EngineError::Stopped(Stopped::DeadlinePassed)))
        }
        (Access::Read, None) | (Access::Write, _) => work.await,
    };
    outcome.map_err(|error| match O::ACCESS {
        Access::Read => error.failure(),
        Access::Write => error.failure().with_effect(caller.effect.now()),
    })
}
