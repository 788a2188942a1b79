//! Who asks for an operation, until when, and what is known about the effect of what is asked for.
//!
//! It is handed in beside the request and is no part of it: a request means the same whoever sends it, and its digest does not cover it.

use omnigraph_types::{Limits, RequestEffect};
use tokio::time::Instant;

/// Who asks, and until when. One per request; its clones share the request's effect.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The actor, as the server identified it.
    pub actor: String,
    /// When the operation must have ended; none means the limits alone.
    pub deadline: Option<Instant>,
    /// The effect of the request. Whatever answers it in the engine's stead reads it here.
    pub effect: RequestEffect,
}

impl Caller {
    /// A caller without a deadline.
    pub fn new(actor: impl Into<String>) -> Self {
        Self { actor: actor.into(), deadline: None, effect: RequestEffect::default() }
    }

    /// The same caller, with a deadline.
    pub fn until(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// The same caller, whose request has this effect.
    pub fn with_effect(mut self, effect: RequestEffect) -> Self {
        self.effect = effect;
        self
    }

    /// When an operation that waits for a branch's ticket gives up: at the deadline, at the latest after the longest wait for a ticket.
    pub(crate) fn ticket_deadline(&self, limits: &Limits) -> Instant {
        let bound = Instant::now() + limits.ticket_wait();
        self.deadline.map_or(bound, |deadline| deadline.min(bound))
    }
}
