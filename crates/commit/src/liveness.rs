//! Whether the owner of an intent may still be alive. Politeness only: settling a live owner is safe and costs it one failed request.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use omnigraph_types::{AttemptId, Clock, OperationId};

use crate::decide::Owner;
use crate::gate::GateHeld;
use crate::intent::Intent;

/// Put times remembered for the grace.
const PUT_TIMES_KEPT: usize = 64;
/// The grace is this many times the slowest recent put.
const PUT_TIME_FACTOR: u32 = 4;
/// Doublings of the grace for an operation that was aborted before.
const DOUBLINGS_MAX: u32 = 5;
/// Foreign intents watched at once; one per branch is normal.
const WATCHED_MAX: usize = 4_096;

#[derive(Debug)]
struct Sighting {
    etag: Option<String>,
    since: Duration,
}

/// What this process knows of owners.
#[derive(Debug, Default)]
pub(crate) struct Liveness {
    inner: Mutex<Inner>,
    served: Arc<Served>,
}

/// Operations that requests of this process are busy with, and how many requests of each.
#[derive(Debug, Default)]
struct Served {
    requests: Mutex<HashMap<OperationId, usize>>,
}

impl Served {
    fn lock(&self) -> MutexGuard<'_, HashMap<OperationId, usize>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// While it lives, an operation is under way in this process.
#[derive(Debug)]
pub(crate) struct UnderWay {
    served: Arc<Served>,
    operation: OperationId,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut requests = self.served.lock();
        if let Some(busy) = requests.get_mut(&self.operation) {
            *busy -= 1;
            if *busy == 0 {
                requests.remove(&self.operation);
            }
        }
    }
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

    /// A request, or a task that goes on after it, is busy with an operation.
    pub(crate) fn serve(&self, operation: OperationId) -> UnderWay {
        *self.served.lock().entry(operation).or_default() += 1;
        UnderWay { served: self.served.clone(), operation }
    }

    /// Whether this process is busy with an operation, armed or not.
    pub(crate) fn is_served(&self, operation: OperationId) -> bool {
        self.served.lock().contains_key(&operation)
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
    pub(crate) fn owner(
        &self,
        intent: &Intent,
        etag: Option<&str>,
        least: Duration,
        clock: &dyn Clock,
        _gate: &GateHeld,
    ) -> Owner {
        if self.lock().own.contains(&intent.attempt_id) {
            return Owner::Gone;
        }
        self.sighted(intent, etag, least, clock)
    }

    /// Without the gate: an own attempt is taken for alive, a foreign one for gone when its intent stood unchanged for the grace.
    pub(crate) fn sighted(&self, intent: &Intent, etag: Option<&str>, least: Duration, clock: &dyn Clock) -> Owner {
        let now = clock.monotonic();
        let mut inner = self.lock();
        if inner.own.contains(&intent.attempt_id) {
            return Owner::MayBeAlive;
        }
        let slowest = inner.put_times.iter().max().copied().unwrap_or_default();
        let grace = least.max(slowest * PUT_TIME_FACTOR) * 2_u32.pow(intent.aborts.min(DOUBLINGS_MAX));
        if inner.watched.len() >= WATCHED_MAX && !inner.watched.contains_key(&intent.attempt_id) {
            inner.watched.clear();
        }
        let fresh = Sighting { etag: etag.map(str::to_owned), since: now };
        let seen = inner.watched.entry(intent.attempt_id).or_insert(fresh);
        if seen.etag.as_deref() != etag {
            *seen = Sighting { etag: etag.map(str::to_owned), since: now };
        }
        if now.saturating_sub(seen.since) >= grace { Owner::Gone } else { Owner::MayBeAlive }
    }

    /// Nothing is pending there any more.
    pub(crate) fn forget(&self, attempt: AttemptId) {
        self.lock().watched.remove(&attempt);
    }
}
