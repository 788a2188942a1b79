//! Whose turn it is among the loads: as many take rows at once as may, and the others wait.
//!
//! A load takes its turn with its first rows, not when it begins: a stream that only says what it will send holds nobody up. A load that
//! has its turn may be slow while nobody waits for it; otherwise its client has a short time, which its rows earn back.

use std::sync::Arc;
use std::time::Duration;

use omnigraph_types::Limits;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout_at};

use crate::error::{EngineError, Result};
use crate::queue::Queue;

/// Rows of this size earn a client one second.
const BYTES_PER_SECOND: u64 = 64 * 1024;

/// The turns of all loads of one root in this process.
#[derive(Debug)]
pub(crate) struct Turns {
    permits: Arc<Semaphore>,
    queue: Queue,
    at_once: u64,
    wait_max: Duration,
    patience: Duration,
}

impl Turns {
    pub(crate) fn new(limits: &Limits) -> Self {
        let at_once = usize::try_from(limits.loads_concurrent_max).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Self {
            permits: Arc::new(Semaphore::new(at_once)),
            queue: Queue::new(
                "loads_queued_max",
                limits.loads_queued_max,
                "too many loads run and wait: wait for some to end, then resend",
            ),
            at_once: limits.loads_concurrent_max,
            wait_max: Duration::from_millis(limits.load_wait_ms),
            patience: Duration::from_millis(limits.load_patience_ms),
        }
    }

    /// A turn, in the order of asking; `Busy` if too many wait or if none comes in time, `LoadDeadline` if the deadline comes first.
    pub(crate) async fn take(&self, deadline: Option<Instant>) -> Result<Turn> {
        let permit = match self.permits.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self.wait(deadline).await?,
        };
        Ok(Turn { _permit: permit, left: self.patience })
    }

    async fn wait(&self, deadline: Option<Instant>) -> Result<OwnedSemaphorePermit> {
        let _place = self.queue.place()?;
        let longest = Instant::now() + self.wait_max;
        let until = deadline.map_or(longest, |deadline| deadline.min(longest));
        match timeout_at(until, self.permits.clone().acquire_owned()).await {
            Ok(permit) => permit.map_err(|_| EngineError::Stopping),
            Err(_) if until < longest => Err(EngineError::LoadDeadline),
            Err(_) => Err(EngineError::Busy {
                limit: "loads_concurrent_max",
                value: self.at_once,
                asked: self.at_once.saturating_add(1),
                advice: "other loads took every turn for load_wait_ms: resend, or have the operator raise the limit",
            }),
        }
    }

    /// Waits for what a client sends next. Ends with `Outwaited` when the client has had its time while another load waits.
    pub(crate) async fn next_of<T>(&self, turn: &mut Turn, next: impl Future<Output = T>) -> Result<T> {
        let mut contended = None;
        let outcome = tokio::select! {
            biased;
            next = next => Ok(next),
            () = self.outwait(&mut turn.left, &mut contended) => Err(self.outwaited()),
        };
        turn.left = turn.left.saturating_sub(contended.map_or(Duration::ZERO, |since: Instant| since.elapsed()));
        outcome
    }

    /// Resolves when others have waited for all of the time that is left; `contended` is since when they do.
    async fn outwait(&self, left: &mut Duration, contended: &mut Option<Instant>) {
        loop {
            self.queue.somebody_waits().await;
            let since = *contended.insert(Instant::now());
            tokio::select! {
                biased;
                () = sleep(*left) => return,
                () = self.queue.nobody_waits() => {}
            }
            *contended = None;
            *left = left.saturating_sub(since.elapsed());
        }
    }

    /// Gives a client the time that its rows earn.
    pub(crate) fn received(&self, turn: &mut Turn, bytes: u64) {
        let earned = Duration::from_millis(bytes.saturating_mul(1_000) / BYTES_PER_SECOND);
        turn.left = (turn.left + earned).min(self.patience);
    }

    fn outwaited(&self) -> EngineError {
        EngineError::Outwaited { patience_ms: u64::try_from(self.patience.as_millis()).unwrap_or(u64::MAX) }
    }
}

/// The turn of one load. Dropping it ends the turn.
#[derive(Debug)]
pub(crate) struct Turn {
    _permit: OwnedSemaphorePermit,
    /// How long its client may still keep others waiting.
    left: Duration,
}

#[cfg(test)]
#[path = "turns/tests.rs"]
mod tests;
