//! Whether the owner of an intent may still be alive. Politeness only: settling a live owner is safe and costs it one failed request.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use omnigraph_types::{AttemptId, Clock};

use crate::decide::Owner;
use crate::gate::GateHeld;

/// Put times remembered for the grace.
const PUT_TIMES_KEPT: usize = 64;
/// The grace is this many times the slowest recent put.
const PUT_TIME_FACTOR: u32 = 4;
/// Doublings of the grace for an operation that was aborted before.
const DOUBLINGS_MAX: u32 = 5;
/// Foreign intents watched at once; one per branch is normal.
const WATCHED_MAX: usize = 4_096;

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

/// What this process knows about owners of intents.
#[derive(Debug, Default)]
pub(crate) struct Liveness {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    own: HashSet<AttemptId>,
    watched: HashMap<AttemptId, Sighting>,
    put_times: VecDeque<Duration>,
}

impl Liveness {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An attempt of this process is about to arm.
    pub(crate) fn begin(&self, attempt: AttemptId) {
        self.lock().own.insert(attempt);
    }

    /// It ended, settled or published.
    pub(crate) fn end(&self, attempt: AttemptId) {
        self.lock().own.remove(&attempt);
    }

    /// Whether the attempt is one of this process.
    pub(crate) fn is_own(&self, attempt: AttemptId) -> bool {
        self.lock().own.contains(&attempt)
    }

    /// How long a put of an intent took.
    pub(crate) fn record_put(&self, took: Duration) {
        let mut inner = self.lock();
        inner.put_times.push_back(took);
        if inner.put_times.len() > PUT_TIMES_KEPT {
            inner.put_times.pop_front();
        }
    }

    /// Called with the branch's gate held: an own attempt met here has given up, because a living one would hold the gate.
    pub(crate) fn owner(&self, sighted: Sighted<'_>, least: Duration, clock: &dyn Clock, _gate: &GateHeld) -> Owner {
        if self.lock().own.contains(&sighted.attempt_id) {
            return Owner::Gone;
        }
        self.sighted(sighted, least, clock)
    }

    /// Without the gate: an own attempt counts as alive, a foreign one as gone once its intent has been unchanged for the grace.
    pub(crate) fn sighted(&self, sighted: Sighted<'_>, least: Duration, clock: &dyn Clock) -> Owner {
        let Sighted { attempt_id, aborts, etag } = sighted;
        let now = clock.monotonic();
        let mut inner = self.lock();
        if inner.own.contains(&attempt_id) {
            return Owner::MayBeAlive;
        }
        let slowest = inner.put_times.iter().max().copied().unwrap_or_default();
        let grace = least.max(slowest * PUT_TIME_FACTOR) * 2_u32.pow(aborts.min(DOUBLINGS_MAX));
        if inner.watched.len() >= WATCHED_MAX && !inner.watched.contains_key(&attempt_id) {
            inner.watched.clear();
        }
        let fresh = Sighting { etag: etag.map(str::to_owned), since: now };
        let seen = inner.watched.entry(attempt_id).or_insert(fresh);
        if seen.etag.as_deref() != etag {
            *seen = Sighting { etag: etag.map(str::to_owned), since: now };
        }
        if now.saturating_sub(seen.since) >= grace { Owner::Gone } else { Owner::MayBeAlive }
    }

    /// The attempt's intent is settled.
    pub(crate) fn forget(&self, attempt: AttemptId) {
        self.lock().watched.remove(&attempt);
    }
}
