//! Sees syncs of a local root, and makes chosen ones fail.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use omnigraph_storage::{AfterVerdict, HookVerdict, StoreCall, StoreHook, StoreReply, SyncOf, SyncVerdict};

/// One sync, in the order in which they were made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenSync {
    /// What was synced.
    pub of: SyncOf,
    /// Its path, relative to the root; the empty text is the root.
    pub path: String,
}

/// Syncs that fail: of paths that end with a text, `times` of them.
#[derive(Debug)]
struct Failing {
    path_end: String,
    times: u64,
}

/// Remembers every sync, and fails those that a test chose. Share it as `Arc`.
#[derive(Debug, Default)]
pub struct SyncHook {
    seen: Mutex<Vec<SeenSync>>,
    failing: Mutex<Vec<Failing>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SyncHook {
    /// The next `times` syncs of paths that end with `path_end` fail.
    pub fn fail(&self, path_end: impl Into<String>, times: u64) {
        lock(&self.failing).push(Failing { path_end: path_end.into(), times });
    }

    /// All syncs so far, also those that failed; afterwards none.
    pub fn take(&self) -> Vec<SeenSync> {
        std::mem::take(&mut *lock(&self.seen))
    }
}

#[async_trait]
impl StoreHook for SyncHook {
    async fn before(&self, _call: StoreCall, _path: &str) -> HookVerdict {
        HookVerdict::Proceed
    }

    async fn after(&self, _call: StoreCall, _path: &str, _reply: StoreReply) -> AfterVerdict {
        AfterVerdict::Pass
    }

    fn sync(&self, of: SyncOf, path: &str) -> SyncVerdict {
        lock(&self.seen).push(SeenSync { of, path: path.to_owned() });
        let mut failing = lock(&self.failing);
        match failing.iter_mut().find(|failing| failing.times > 0 && path.ends_with(&failing.path_end)) {
            Some(found) => {
                found.times -= 1;
                SyncVerdict::Fail
            }
            None => SyncVerdict::Proceed,
        }
    }
}
