//! Who asks for an operation, and until when.
//!
//! It is handed in beside the request and is no part of it: a request means the same whoever sends it, and its digest does not cover it.

use omnigraph_types::Limits;
use tokio::time::Instant;

/// Who asks, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The actor, as the server identified it.
    pub actor: String,
    /// When the operation must have ended; none means the limits alone.
    pub deadline: Option<Instant>,
}

impl Caller {
    /// A caller without a deadline.
    pub fn new(actor: impl Into<String>) -> Self {
        Self { actor: actor.into(), deadline: None }
    }

    /// The same caller, with a deadline.
    pub fn until(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// When an operation that waits for a branch's ticket gives up: at the deadline, at the latest after the longest wait for a ticket.
    pub(crate) fn ticket_deadline(&self, limits: &Limits) -> Instant {
        let bound = Instant::now() + limits.ticket_wait();
        self.deadline.map_or(bound, |deadline| deadline.min(bound))
    }
}
