//! What a handler knows about its call beyond the message: the actor, the deadline, the state of the request body, the effect so far.
//!
//! `CallLayer` puts a `CallContext` into the extensions of every request, and services refuse to run without one.

use std::sync::{Arc, OnceLock};

use omnigraph_types::RequestEffect;
use tokio::time::Instant;

use crate::body_state::BodyState;

/// What is known about a call when it arrives.
#[derive(Debug)]
pub(crate) struct CallFacts {
    /// The path of its method, such as `/omnigraph.v1.GraphService/GetGraph`.
    pub(crate) method: String,
    /// When the work must end.
    pub(crate) deadline: Instant,
    /// Where its request body reports.
    pub(crate) body: BodyState,
}

/// The facts about one call. Cheap to clone; clones share what handlers record.
#[derive(Debug, Clone)]
pub struct CallContext {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    method: String,
    actor: OnceLock<String>,
    deadline: Instant,
    body: BodyState,
    graph: OnceLock<String>,
    effect: RequestEffect,
}

impl CallContext {
    /// The context of a call.
    pub(crate) fn new(facts: CallFacts) -> Self {
        let CallFacts { method, deadline, body } = facts;
        let actor = OnceLock::new();
        let (graph, effect) = (OnceLock::new(), RequestEffect::default());
        let inner = Inner { method, actor, deadline, body, graph, effect };
        Self { inner: Arc::new(inner) }
    }

    /// The context that the layer gave to a request; none if the service runs without the layer.
    pub(crate) fn of<T>(request: &tonic::Request<T>) -> Option<Self> {
        request.extensions().get::<Self>().cloned()
    }

    /// The path of the call's method, such as `/omnigraph.v1.GraphService/GetGraph`.
    pub(crate) fn method(&self) -> &str {
        &self.inner.method
    }

    /// The call's name in the contract, such as `GetGraph`. Refusals and page tokens name a call by it, so that no list of names is kept.
    pub fn call_name(&self) -> &str {
        let method = self.method();
        method.rsplit_once('/').map_or(method, |(_, name)| name)
    }

    /// Records who calls, once the call is admitted. The first record counts.
    pub(crate) fn identified(&self, actor: &str) {
        self.inner.actor.get_or_init(|| actor.to_owned());
    }

    /// The actor of the call, as the server identified it; empty for a call that was refused before that.
    pub fn actor(&self) -> &str {
        self.inner.actor.get().map_or("", String::as_str)
    }

    /// When the work must end, so that its answer still reaches the client in time.
    pub fn deadline(&self) -> Instant {
        self.inner.deadline
    }

    /// Records which graph the call is about, for the log. The first record counts.
    pub fn note_graph(&self, graph: &str) {
        self.inner.graph.get_or_init(|| graph.to_owned());
    }

    /// The graph that was recorded.
    pub(crate) fn graph(&self) -> Option<&str> {
        self.inner.graph.get().map(String::as_str)
    }

    /// The effect of the call. Handlers hand it to the engine; the write protocol records in it, and `outcome::refuse` answers with it.
    pub fn effect(&self) -> &RequestEffect {
        &self.inner.effect
    }

    /// The state of the request body.
    pub(crate) fn body(&self) -> &BodyState {
        &self.inner.body
    }
}

#[cfg(test)]
pub(crate) fn test_context() -> CallContext {
    CallContext::new(CallFacts {
        method: "/omnigraph.v1.CommitService/ListCommits".to_owned(),
        deadline: Instant::now(),
        body: BodyState::default(),
    })
}
