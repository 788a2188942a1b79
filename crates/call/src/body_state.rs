//! What is known about a request body, and the proof that it is complete.
//!
//! tonic reports a client stream that was reset by the client as an ordinary end of stream, so a service that trusted the stream alone could
//! commit half a load. Only a body that was watched down to its END_STREAM flag yields the proof.

use std::sync::{Arc, Mutex, PoisonError};

use omnigraph_types::Failure;

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
