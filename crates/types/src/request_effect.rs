//! The effect of one request: one value, shared by everything that works on the request and by whatever answers it.
//!
//! Why: a request is answered by its handler, by its deadline, by a panic or by the server's stop, while its attempts run in tasks of their
//! own. What the answer says about the effect must be true whoever gives it.
//!
//! Invariants (I-8): the value leaves `None` before a put that may decide begins; it returns to `None` only once every such put is proven to
//! have decided nothing; after an answer with `None`, no such put begins any more; it is not `Committed` where a sync of the store has failed for good.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::certainty::Effect;

/// What is known about the effect of one request. Cheap to clone; clones share the value.
#[derive(Debug, Clone, Default)]
pub struct RequestEffect {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Puts that have begun and may have decided.
    open: usize,
    /// Part of what was asked for is in place.
    is_begun: bool,
    /// All of it is.
    is_committed: bool,
    /// What is in place may be lost yet.
    is_doubtful: bool,
    /// An answer has said `None`.
    is_answered: bool,
}

/// What a put decides about its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// Everything that was asked for.
    Whole,
    /// One of several things.
    Part,
}

/// The request was answered with `None`: it may not begin to take effect.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered;

/// A put that may decide. Dropped, it stays open: its outcome is not known.
#[must_use]
#[derive(Debug)]
pub struct Deciding {
    shared: Arc<Shared>,
    share: Share,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn effect(&self) -> Effect {
        if self.is_committed && !self.is_doubtful {
            Effect::Committed
        } else if self.is_committed || self.open > 0 || self.is_begun {
            Effect::Unknown
        } else {
            Effect::None
        }
    }
}

impl RequestEffect {
    /// Begins a put that may decide. From here on the effect is not `None`.
    ///
    /// # Errors
    /// `Answered` where the caller has been answered with `None`.
    pub fn begin(&self, share: Share) -> Result<Deciding, Answered> {
        let mut state = self.shared.lock();
        if state.is_answered {
            return Err(Answered);
        }
        state.open += 1;
        Ok(Deciding { shared: self.shared.clone(), share })
    }

    /// Records that the operation was found committed, by an attempt of this request or of an earlier one.
    pub fn found_committed(&self) {
        self.shared.lock().is_committed = true;
    }

    /// Records that nobody vouches for what is in place: the store may lose it yet.
    pub fn doubt(&self) {
        self.shared.lock().is_doubtful = true;
    }

    /// What is known now.
    pub fn now(&self) -> Effect {
        self.shared.lock().effect()
    }

    /// What is known now, as the caller's answer: after `None` the request begins nothing any more.
    pub fn answer(&self) -> Effect {
        let mut state = self.shared.lock();
        let effect = state.effect();
        state.is_answered |= effect == Effect::None;
        effect
    }
}

impl Deciding {
    /// The put is in place, and what it decides is done.
    pub fn landed(self) {
        let mut state = self.shared.lock();
        state.open -= 1;
        match self.share {
            Share::Whole => state.is_committed = true,
            Share::Part => state.is_begun = true,
        }
    }

    /// The put decided nothing and never will: it certainly failed, or its place was seen taken by another.
    pub fn refuted(self) {
        self.shared.lock().open -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effect_is_unknown_while_a_put_is_open_and_none_again_once_all_are_refuted() {
        let effect = RequestEffect::default();
        assert_eq!(effect.now(), Effect::None);
        let first = effect.begin(Share::Whole).unwrap();
        let second = effect.clone().begin(Share::Whole).unwrap();
        first.refuted();
        assert_eq!(effect.now(), Effect::Unknown);
        second.refuted();
        assert_eq!(effect.now(), Effect::None);
    }

    #[test]
    fn what_is_in_place_and_may_be_lost_yet_is_unknown() {
        let effect = RequestEffect::default();
        effect.doubt();
        assert_eq!(effect.now(), Effect::None, "nothing is in place");
        effect.begin(Share::Whole).unwrap().landed();
        assert_eq!(effect.now(), Effect::Unknown);
        assert_eq!(effect.answer(), Effect::Unknown);
    }

    #[test]
    fn dropped_put_stays_open() {
        let effect = RequestEffect::default();
        drop(effect.begin(Share::Whole).unwrap());
        effect.begin(Share::Whole).unwrap().refuted();
        assert_eq!(effect.now(), Effect::Unknown);
    }

    #[test]
    fn committed_request_stays_committed() {
        let effect = RequestEffect::default();
        let lost = effect.begin(Share::Whole).unwrap();
        effect.begin(Share::Whole).unwrap().landed();
        assert_eq!(effect.now(), Effect::Committed);
        drop(lost);
        assert_eq!(effect.answer(), Effect::Committed);
    }

    #[test]
    fn part_of_a_request_leaves_its_effect_unknown() {
        let effect = RequestEffect::default();
        effect.begin(Share::Part).unwrap().landed();
        assert_eq!(effect.now(), Effect::Unknown);
    }

    #[test]
    fn request_that_was_answered_with_none_begins_nothing() {
        let effect = RequestEffect::default();
        assert_eq!(effect.answer(), Effect::None);
        assert_eq!(effect.begin(Share::Whole).map(drop), Err(Answered));
        let open = RequestEffect::default();
        let put = open.begin(Share::Whole).unwrap();
        assert_eq!(open.answer(), Effect::Unknown);
        put.refuted();
        assert!(open.begin(Share::Whole).is_ok(), "nothing was promised");
    }
}
