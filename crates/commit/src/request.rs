//! One request on its way through the protocol.
//!
//! A `Request` is carried by everything that works on it, tasks that outlive the caller too. It says that the operation is in progress in this
//! process, and it reaches the door, where every put that may decide begins: so it is the place for the request's effect.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omnigraph_types::OperationId;

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
    /// Begins a request for an operation.
    pub(crate) fn begin(&self, operation: OperationId) -> Request {
        *self.counts.lock().entry(operation).or_default() += 1;
        Request { entry: Arc::new(Entry { counts: self.counts.clone(), operation }) }
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
}
