//! Whether the owner of an intent may still be alive. Politeness only: settling a live owner is safe and costs it one failed request.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use omnigraph_types::mutant;
use omnigraph_types::{AttemptId, Clock, Limits, Recent};

use crate::decide::Owner;
use crate::gate::GateHeld;

/// Put times remembered for the grace.
const PUT_TIMES_KEPT: usize = 256;
/// The grace is this many times what nearly all recent puts took at most.
const PUT_TIME_FACTOR: u32 = 4;
/// Of a hundred puts, those that may have taken longer than what counts as the time of a put.
const SLOW_PUTS_PERCENT: usize = 1;
/// Doublings of the grace for an operation that was aborted before.
const DOUBLINGS_MAX: u32 = 5;
/// Foreign intents watched at once; one per branch is normal.
const WATCHED_MAX: usize = 4_096;
/// Own attempts remembered at once: one per branch is normal, and those whose outcome is in doubt remain.
const OWN_MAX: usize = 4_096;

/// An intent that another process may own, as it was just read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sighted<'a> {
    /// Its attempt.
    pub(crate) attempt_id: AttemptId,
    /// How often its operation was aborted before.
    pub(crate) aborts: u32,
    /// The object's etag.
    pub(crate) etag: Option<&'a str>,
}

#[derive(Debug)]
struct Sighting {
    etag: Option<String>,
    since: Duration,
}

/// What this process knows about owners of intents. Forgetting any of it costs a grace, and nothing else.
#[derive(Debug, Default)]
pub(crate) struct Liveness {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    own: Recent<AttemptId, ()>,
    watched: Recent<AttemptId, Sighting>,
    put_times: VecDeque<Duration>,
}

impl Default for Inner {
    fn default() -> Self {
        Self { own: Recent::at_most(OWN_MAX), watched: Recent::at_most(WATCHED_MAX), put_times: VecDeque::new() }
    }
}

impl Inner {
    /// What nearly every recent put took at most; the slowest of few puts does not count, and one alone says nothing.
    fn put_time(&self) -> Duration {
        let mut times: Vec<Duration> = self.put_times.iter().copied().collect();
        times.sort_unstable();
        let slow = (times.len() * SLOW_PUTS_PERCENT / 100).max(1);
        times.len().checked_sub(slow + 1).map_or(Duration::ZERO, |place| times[place])
    }

    /// How long an intent must remain unchanged before its owner counts as gone.
    fn grace(&self, aborts: u32, limits: &Limits) -> Duration {
        let least = limits.recovery_grace();
        let doubled = least.max(self.put_time() * PUT_TIME_FACTOR) * 2_u32.pow(aborts.min(DOUBLINGS_MAX));
        mutant!(79, doubled.min(limits.recovery_grace_max().max(least)), doubled)
    }
}

impl Liveness {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An attempt of this process is about to arm.
    pub(crate) fn begin(&self, attempt: AttemptId) {
        self.lock().own.insert(attempt, ());
    }

    /// It ended, settled or published.
    pub(crate) fn end(&self, attempt: AttemptId) {
        self.lock().own.remove(&attempt);
    }

    /// Whether the attempt is one of this process.
    pub(crate) fn is_own(&self, attempt: AttemptId) -> bool {
        self.lock().own.contains(&attempt)
    }

    /// How long one put of an intent took.
    pub(crate) fn record_put(&self, took: Duration) {
        let mut inner = self.lock();
        inner.put_times.push_back(took);
        if inner.put_times.len() > PUT_TIMES_KEPT {
            inner.put_times.pop_front();
        }
    }

    /// Called with the branch's gate held: an own attempt met here has given up, because a living one would hold the gate.
    pub(crate) fn owner(&self, sighted: Sighted<'_>, limits: &Limits, clock: &dyn Clock, _gate: &GateHeld) -> Owner {
        if self.lock().own.contains(&sighted.attempt_id) {
            return Owner::Gone;
        }
        self.sighted(sighted, limits, clock)
    }

    /// Without the gate: an own attempt counts as alive, a foreign one as gone once its intent has been unchanged for the grace.
    pub(crate) fn sighted(&self, sighted: Sighted<'_>, limits: &Limits, clock: &dyn Clock) -> Owner {
        let Sighted { attempt_id, aborts, etag } = sighted;
        let now = clock.monotonic();
        let mut inner = self.lock();
        if inner.own.contains(&attempt_id) {
            return Owner::MayBeAlive;
        }
        let grace = inner.grace(aborts, limits);
        let unchanged = inner.watched.get(&attempt_id).filter(|seen| mutant!(78, seen.etag.as_deref() == etag, true));
        let since = match unchanged {
            Some(seen) => seen.since,
            None => {
                inner.watched.insert(attempt_id, Sighting { etag: etag.map(str::to_owned), since: now });
                now
            }
        };
        if now.saturating_sub(since) >= grace { Owner::Gone } else { Owner::MayBeAlive }
    }

    /// The attempt's intent is settled, whoever made it.
    pub(crate) fn forget(&self, attempt: AttemptId) {
        let mut inner = self.lock();
        inner.watched.remove(&attempt);
        inner.own.remove(&attempt);
    }
}

#[cfg(test)]
mod tests {
    use omnigraph_types::ManualClock;
    use ulid::Ulid;

    use super::*;

    fn attempt(number: u128) -> AttemptId {
        AttemptId(Ulid(number))
    }

    fn limits() -> Limits {
        Limits { recovery_grace_ms: 2_000, recovery_grace_max_ms: 60_000, ..Limits::default() }
    }

    fn grace_after(put_times_ms: &[u64], aborts: u32) -> u64 {
        let liveness = Liveness::default();
        put_times_ms.iter().for_each(|ms| liveness.record_put(Duration::from_millis(*ms)));
        let grace = liveness.lock().grace(aborts, &limits());
        grace.as_millis() as u64
    }

    #[test]
    fn grace_follows_what_nearly_all_puts_took_and_has_a_maximum() {
        assert_eq!(grace_after(&[], 0), 2_000);
        assert_eq!(grace_after(&[30_000], 0), 2_000, "one put alone says nothing");
        assert_eq!(grace_after(&[700, 30_000, 800], 0), 3_200, "four times all but the slowest");
        assert_eq!(grace_after(&[700, 30_000, 800], 2), 12_800, "doubled for each abort");
        assert_eq!(grace_after(&[700, 30_000, 800], 5), 60_000, "the maximum, and not an hour");
        assert_eq!(grace_after(&[30_000, 30_000], 5), 60_000);
        let mut times = vec![10; 254];
        times.extend([30_000, 30_000]);
        assert_eq!(grace_after(&times, 0), 2_000, "one of a hundred may be slow");
        times.truncate(100);
        times.extend([30_000, 30_000, 30_000]);
        assert_eq!(grace_after(&times, 0), 60_000, "three of a hundred are not exceptions");
    }

    #[test]
    fn grace_that_is_set_is_kept_whatever_the_maximum() {
        let limits = Limits { recovery_grace_ms: 90_000, ..limits() };
        assert_eq!(Liveness::default().lock().grace(3, &limits), Duration::from_secs(90));
    }

    #[test]
    fn intent_unchanged_for_the_grace_has_no_owner() {
        let (liveness, clock, limits) = (Liveness::default(), ManualClock::default(), limits());
        let seen = |etag| liveness.sighted(Sighted { attempt_id: attempt(1), aborts: 0, etag }, &limits, &clock);
        assert_eq!(seen(Some("a")), Owner::MayBeAlive);
        clock.advance(Duration::from_millis(1_999));
        assert_eq!(seen(Some("a")), Owner::MayBeAlive);
        clock.advance(Duration::from_millis(1));
        assert_eq!(seen(Some("a")), Owner::Gone);
        assert_eq!(seen(Some("b")), Owner::MayBeAlive, "it has changed");
        clock.advance(Duration::from_millis(2_000));
        assert_eq!(seen(Some("b")), Owner::Gone);
    }

    #[test]
    fn attempts_in_doubt_and_intents_watched_are_bounded_and_end_when_they_are_settled() {
        let (liveness, clock, limits) = (Liveness::default(), ManualClock::default(), limits());
        for number in 0..(OWN_MAX as u128 * 2) {
            liveness.begin(attempt(number));
            let sighted = Sighted { attempt_id: attempt(number + 1_000_000), aborts: 0, etag: None };
            assert_eq!(liveness.sighted(sighted, &limits, &clock), Owner::MayBeAlive);
        }
        assert!(liveness.is_own(attempt(OWN_MAX as u128 * 2 - 1)) && !liveness.is_own(attempt(0)));
        let sizes = |liveness: &Liveness| {
            let inner = liveness.lock();
            (inner.own.len(), inner.watched.len())
        };
        assert_eq!(sizes(&liveness), (OWN_MAX, WATCHED_MAX));
        for number in 0..(OWN_MAX as u128 * 2) {
            liveness.forget(attempt(number));
            liveness.forget(attempt(number + 1_000_000));
        }
        assert_eq!(sizes(&liveness), (0, 0));
    }
}
