//! What a handler knows about its call beyond the message: who asks, until when, and whether the request body came whole.
//!
//! The transport in front of the services puts a `CallContext` into the extensions of every request, and services refuse to run without
//! one. The reason is `WholeBody`: tonic reports a client stream that was reset by the client as an ordinary end of stream, so a service
//! that trusted the stream alone could commit half a load. Only a body that was watched down to its END_STREAM flag yields the proof.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use omnigraph_types::{Effect, Failure};
use tokio::time::Instant;

use crate::FlightFault;

/// The facts about one call. Cheap to clone; clones share what handlers note.
#[derive(Debug, Clone)]
pub struct CallContext {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    actor: String,
    deadline: Instant,
    body: BodyState,
    graph: OnceLock<String>,
    effect_possible: AtomicBool,
}

impl CallContext {
    /// The context of a call by `actor` that must have done its work at `deadline`, and whose body reports to `body`.
    pub fn new(actor: impl Into<String>, deadline: Instant, body: BodyState) -> Self {
        let inner = Inner {
            actor: actor.into(),
            deadline,
            body,
            graph: OnceLock::new(),
            effect_possible: AtomicBool::new(false),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The context that the transport gave to a request. Fails with `Internal` if the service runs without that transport.
    pub fn of<T>(request: &tonic::Request<T>) -> Result<Self, Failure> {
        request.extensions().get::<Self>().cloned().ok_or_else(|| FlightFault::Unwatched.failure())
    }

    /// Who asks, as the server identified them.
    pub fn actor(&self) -> &str {
        &self.inner.actor
    }

    /// When the work must be done, so that its answer still reaches the client in time.
    pub fn deadline(&self) -> Instant {
        self.inner.deadline
    }

    /// Notes which graph the call is about, for the log. The first note counts.
    pub fn note_graph(&self, graph: &str) {
        self.inner.graph.get_or_init(|| graph.to_owned());
    }

    /// The graph that was noted.
    pub fn graph(&self) -> Option<&str> {
        self.inner.graph.get().map(String::as_str)
    }

    /// Notes that from here on the call may make something visible.
    pub fn enter_effect(&self) {
        self.inner.effect_possible.store(true, Ordering::Relaxed);
    }

    /// What a call that is broken off now has made visible, as far as the transport can tell.
    pub fn effect(&self) -> Effect {
        if self.inner.effect_possible.load(Ordering::Relaxed) { Effect::Unknown } else { Effect::None }
    }

    /// The state of the request body.
    pub fn body(&self) -> &BodyState {
        &self.inner.body
    }
}

/// Proof that a request body came whole: its last frame said so, and it ended between two messages.
#[derive(Debug)]
pub struct WholeBody(());

/// Why a request body is not whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFault {
    /// A message is longer than the server decodes.
    TooLarge {
        /// The limit's name.
        name: &'static str,
        /// Bytes allowed.
        limit: u64,
        /// Bytes that the message's prefix announced.
        asked: u64,
    },
    /// The client reset the stream, the connection broke, or the body ended within a message.
    Broken,
}

impl BodyFault {
    /// The fault as it is told to the client.
    pub fn failure(self) -> Failure {
        match self {
            Self::TooLarge { name, limit, asked } => FlightFault::MessageTooLarge { name, limit, asked }.failure(),
            Self::Broken => FlightFault::Broken.failure(),
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
enum Progress {
    #[default]
    Open,
    Whole,
    Fault(BodyFault),
}

/// What is known about a request body. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct BodyState {
    progress: Arc<Mutex<Progress>>,
}

impl BodyState {
    /// The proof that the body came whole; a failure without effect if it did not, or not yet.
    pub fn require_whole(&self) -> Result<WholeBody, Failure> {
        match self.get() {
            Progress::Whole => Ok(WholeBody(())),
            Progress::Fault(fault) => Err(fault.failure()),
            Progress::Open => Err(BodyFault::Broken.failure()),
        }
    }

    /// Why the body is not whole, if that is known.
    pub fn fault(&self) -> Option<BodyFault> {
        match self.get() {
            Progress::Fault(fault) => Some(fault),
            Progress::Open | Progress::Whole => None,
        }
    }

    /// Notes that the body ended as it should. A fault that was noted before stays.
    pub(crate) fn note_whole(&self) {
        self.note(Progress::Whole);
    }

    /// Notes a fault. The first one stays.
    pub(crate) fn note_fault(&self, fault: BodyFault) {
        self.note(Progress::Fault(fault));
    }

    fn get(&self) -> Progress {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, next: Progress) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*progress, Progress::Open) {
            *progress = next;
        }
    }
}
