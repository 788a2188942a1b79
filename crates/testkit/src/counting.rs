//! Counts and orders store calls.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use omnigraph_storage::{AfterVerdict, HookVerdict, StoreCall, StoreHook, StoreReply};

/// One call that the store answered, in the order of the answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenCall {
    /// The kind of call.
    pub call: StoreCall,
    /// The path, relative to the store's root.
    pub path: String,
    /// The store's answer.
    pub reply: StoreReply,
}

/// Remembers every call. Share it as `Arc`; it never changes a call.
#[derive(Debug, Default)]
pub struct CountingHook {
    seen: Mutex<Vec<SeenCall>>,
}

impl CountingHook {
    fn lock(&self) -> MutexGuard<'_, Vec<SeenCall>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All calls so far, in the order in which they were answered.
    pub fn sequence(&self) -> Vec<SeenCall> {
        self.lock().clone()
    }

    /// All calls so far; afterwards none.
    pub fn take(&self) -> Vec<SeenCall> {
        std::mem::take(&mut *self.lock())
    }

    /// How many calls of one kind so far.
    pub fn count(&self, call: StoreCall) -> usize {
        self.lock().iter().filter(|seen| seen.call == call).count()
    }

    /// How many calls in all so far.
    pub fn total(&self) -> usize {
        self.lock().len()
    }
}

#[async_trait]
impl StoreHook for CountingHook {
    async fn before(&self, _call: StoreCall, _path: &str) -> HookVerdict {
        HookVerdict::Proceed
    }

    async fn after(&self, call: StoreCall, path: &str, reply: StoreReply) -> AfterVerdict {
        self.lock().push(SeenCall { call, path: path.to_owned(), reply });
        AfterVerdict::Pass
    }
}
