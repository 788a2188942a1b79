//! What is known about a request body, the proof that it is complete, and the leave for its long messages.
//!
//! tonic reports a client stream that was reset by the client as an ordinary end of stream, so a service that trusted the stream alone could
//! commit half a load. Only a body that was watched down to its END_STREAM flag yields the proof.
//!
//! A message longer than `request_bytes_max` is not read before its handler has admitted it: until then the client is held back by HTTP/2's
//! flow control, and the server holds one frame of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use omnigraph_types::Failure;
use tokio::sync::{Notify, Semaphore};

use crate::fault::CallFault;

/// Proof that a request body is complete: its last frame carried the END_STREAM flag, between two messages.
#[derive(Debug)]
pub struct WholeBody(());

#[derive(Debug, Clone, Copy, Default)]
enum Progress {
    #[default]
    Open,
    Whole,
    Fault(CallFault),
}

/// What is known about a request body. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct BodyState {
    progress: Arc<Mutex<Progress>>,
    long: Arc<LongMessages>,
}

/// Whether long messages are read.
#[derive(Debug)]
struct LongMessages {
    /// Whether the handler admits them when it is asked.
    expected: AtomicBool,
    /// A long message waits for its leave.
    announced: Notify,
    /// The leave: one permit once it is given, none before.
    leave: Arc<Semaphore>,
}

impl Default for LongMessages {
    fn default() -> Self {
        Self { expected: AtomicBool::new(false), announced: Notify::new(), leave: Arc::new(Semaphore::new(0)) }
    }
}

impl BodyState {
    /// The proof that the body is complete; a failure without effect if it is not, or not yet.
    pub(crate) fn require_whole(&self) -> Result<WholeBody, Failure> {
        match self.get() {
            Progress::Whole => Ok(WholeBody(())),
            Progress::Fault(fault) => Err(fault.failure()),
            Progress::Open => Err(CallFault::Broken.failure()),
        }
    }

    /// Why the body is not complete, if that is known.
    pub(crate) fn fault(&self) -> Option<CallFault> {
        match self.get() {
            Progress::Fault(fault) => Some(fault),
            Progress::Open | Progress::Whole => None,
        }
    }

    /// Records that the body ended as it should. A fault that was recorded before stays.
    pub(crate) fn note_whole(&self) {
        self.note(Progress::Whole);
    }

    /// Records a fault. The first one stays.
    pub(crate) fn note_fault(&self, fault: CallFault) {
        self.note(Progress::Fault(fault));
    }

    /// Records that the handler will be asked for its leave before a long message is read. Without it a long message is refused.
    pub(crate) fn expect_long(&self) {
        self.long.expected.store(true, Ordering::Release);
    }

    /// Whether a long message may wait for its leave.
    pub(crate) fn is_long_expected(&self) -> bool {
        self.long.expected.load(Ordering::Acquire)
    }

    /// Asks the handler for its leave to read long messages, and returns where it will be found.
    pub(crate) fn announce_long(&self) -> Arc<Semaphore> {
        self.long.announced.notify_one();
        self.long.leave.clone()
    }

    /// Resolves when a long message waits for its leave.
    pub(crate) async fn long_announced(&self) {
        self.long.announced.notified().await;
    }

    /// Gives the leave to read long messages, from now to the end of the body.
    pub(crate) fn admit_long(&self) {
        self.long.leave.add_permits(1);
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
