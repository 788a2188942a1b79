//! One request on its way through the protocol.
//!
//! A `Request` is carried by everything that works on it, tasks that outlive the caller too. It says that the operation is in progress in this
//! process, and it reaches the door, where every put that may decide begins: so it carries the request's effect.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omnigraph_types::{Deciding, OperationId, RequestEffect, Share};

use crate::error::CommitError;

/// How many requests of this process work on each operation.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    by_operation: Mutex<HashMap<OperationId, usize>>,
}

impl Counts {
    fn lock(&self) -> MutexGuard<'_, HashMap<OperationId, usize>> {
        self.by_operation.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request for an operation. The operation is in progress in this process until the last clone is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    entry: Arc<Entry>,
    effect: RequestEffect,
    share: Share,
}

#[derive(Debug)]
struct Entry {
    counts: Arc<Counts>,
    operation: OperationId,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut counts = self.counts.lock();
        if let Some(count) = counts.get_mut(&self.operation) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.operation);
            }
        }
    }
}

impl Requests {
    /// Begins a request for an operation, whose one publication decides it.
    pub(crate) fn begin(&self, operation: OperationId, effect: &RequestEffect) -> Request {
        self.entry(operation, effect, Share::Whole)
    }

    /// Begins work on an operation of another request, as a part of what the caller with this effect asked for.
    pub(crate) fn begin_part(&self, operation: OperationId, effect: &RequestEffect) -> Request {
        self.entry(operation, effect, Share::Part)
    }

    fn entry(&self, operation: OperationId, effect: &RequestEffect, share: Share) -> Request {
        *self.counts.lock().entry(operation).or_default() += 1;
        let entry = Arc::new(Entry { counts: self.counts.clone(), operation });
        Request { entry, effect: effect.clone(), share }
    }

    /// Whether this process works on an operation, armed or not.
    pub(crate) fn are_in_progress(&self, operation: OperationId) -> bool {
        self.counts.lock().contains_key(&operation)
    }
}

impl Request {
    /// The operation.
    pub(crate) fn operation_id(&self) -> OperationId {
        self.entry.operation
    }

    /// Its effect.
    pub(crate) fn effect(&self) -> &RequestEffect {
        &self.effect
    }

    /// Begins a put that may decide it. `Answered` where its caller was answered that nothing happens.
    pub(crate) fn begin_put(&self) -> Result<Deciding, CommitError> {
        self.effect.begin(self.share).map_err(|_| CommitError::Answered)
    }
}
