//! What a running read obeys and reports to: the request to stop, the deadline, the memory that it holds.
//!
//! Why a value that every operator shares: DataFusion runs parts of a plan in tasks of their own, which outlive the stream that they feed
//! until they next yield. What the caller of a read puts into `held` is released only when the last operator is gone.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use omnigraph_types::{Effect, Failure, Problem, Retry};
use thiserror::Error;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The control of one read. Clones share it.
#[derive(Debug, Clone)]
pub struct ReadControl {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    stop: CancellationToken,
    deadline: Option<Instant>,
    memory_bytes: Arc<AtomicU64>,
    _held: Box<dyn Any + Send + Sync + 'static>,
}

/// Why a read stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Stopped {
    /// Nobody waits for its rows any more, or it was cancelled.
    #[error("the read was cancelled")]
    Cancelled,
    /// Its deadline passed.
    #[error("the read's deadline passed")]
    DeadlinePassed,
}

impl Stopped {
    /// The failure to show. The same read with the same time would end in the same way, so it is not to be sent again unchanged.
    pub fn failure(self) -> Failure {
        let failure = match self {
            Self::Cancelled => Failure::new(
                Problem::Cancelled,
                "the read was cancelled: send it again only if its rows are still wanted",
            ),
            Self::DeadlinePassed => {
                let message = "the deadline passed before the read was complete: match or return less, or give it a longer timeout";
                Failure::new(Problem::DeadlineExceeded, message)
            }
        };
        failure.with_effect(Effect::None).with_retry(Retry::Never)
    }
}

impl ReadControl {
    /// A control that stops at `deadline` and when `stop` is cancelled, that reports the bytes held in `memory_bytes`, and that keeps
    /// `held` until the last operator of the read is dropped.
    pub fn new(
        stop: CancellationToken,
        deadline: Option<Instant>,
        memory_bytes: Arc<AtomicU64>,
        held: impl Any + Send + Sync,
    ) -> Self {
        Self { inner: Arc::new(Inner { stop, deadline, memory_bytes, _held: Box::new(held) }) }
    }

    /// A control that never stops a read.
    pub fn unbounded() -> Self {
        Self::new(CancellationToken::new(), None, Arc::default(), ())
    }

    /// Whether the read goes on.
    pub fn check(&self) -> Result<(), Stopped> {
        if self.inner.stop.is_cancelled() {
            return Err(Stopped::Cancelled);
        }
        match self.inner.deadline {
            Some(deadline) if deadline <= Instant::now() => Err(Stopped::DeadlinePassed),
            Some(_) | None => Ok(()),
        }
    }

    /// Records the bytes that the read's operators hold now.
    pub(crate) fn note_memory(&self, bytes: usize) {
        self.inner.memory_bytes.store(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}
