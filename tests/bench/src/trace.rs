//! Counts the calls to the store between two moments, and how many of them waited for one another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use async_trait::async_trait;
use omnigraph_storage::{AfterVerdict, HookVerdict, StoreCall, StoreHook, StoreReply};

/// Most calls kept of one commit.
const CALLS_MAX: usize = 10_000;

/// One call: what, on which object, from when to when. A call without an end had not returned.
#[derive(Debug, Clone)]
struct Call {
    kind: StoreCall,
    path: String,
    began: Instant,
    ended: Option<Instant>,
}

#[derive(Debug, Default)]
struct Calls {
    recording: bool,
    calls: Vec<Call>,
}

/// A store hook that records calls while it is switched on. Clones share the record.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallTrace {
    calls: Arc<Mutex<Calls>>,
}

/// The store calls of one commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Requests {
    /// All calls.
    pub(crate) total: usize,
    /// The longest chain of calls of which each began after the one before had ended.
    pub(crate) sequential: usize,
    /// Calls by kind.
    pub(crate) by_call: BTreeMap<String, usize>,
}

impl CallTrace {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Forgets what was recorded and records from now on.
    pub(crate) fn start(&self) {
        *self.lock() = Calls { recording: true, calls: Vec::new() };
    }

    /// Stops recording and counts.
    pub(crate) fn finish(&self) -> Requests {
        let calls = std::mem::take(&mut *self.lock()).calls;
        let mut by_call = BTreeMap::new();
        for call in &calls {
            *by_call.entry(format!("{:?}", call.kind)).or_insert(0) += 1;
        }
        Requests { total: calls.len(), sequential: longest_chain(&calls), by_call }
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The most calls that did not overlap: always take the one that ends first among those that began after the last one taken.
fn longest_chain(calls: &[Call]) -> usize {
    let mut spans: Vec<(Instant, Instant)> = calls.iter().filter_map(|call| Some((call.ended?, call.began))).collect();
    spans.sort();
    let mut last = None;
    let mut chain = 0;
    for (ended, began) in spans {
        if last.is_none_or(|last| began >= last) {
            chain += 1;
            last = Some(ended);
        }
    }
    chain
}

#[async_trait]
impl StoreHook for CallTrace {
    async fn before(&self, call: StoreCall, path: &str) -> HookVerdict {
        let mut calls = self.lock();
        if calls.recording && calls.calls.len() < CALLS_MAX {
            calls.calls.push(Call { kind: call, path: path.to_owned(), began: Instant::now(), ended: None });
        }
        HookVerdict::Proceed
    }

    async fn after(&self, call: StoreCall, path: &str, _reply: StoreReply) -> AfterVerdict {
        let ended = Instant::now();
        let mut calls = self.lock();
        let same = |made: &&mut Call| made.ended.is_none() && made.kind == call && made.path == path;
        if let Some(made) = calls.calls.iter_mut().find(same) {
            made.ended = Some(ended);
        }
        AfterVerdict::Pass
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn call(start: Instant, from_ms: u64, to_ms: u64) -> Call {
        let at = |ms| start + Duration::from_millis(ms);
        Call { kind: StoreCall::Put, path: String::new(), began: at(from_ms), ended: Some(at(to_ms)) }
    }

    #[test]
    fn overlapping_calls_count_once_in_the_chain() {
        let start = Instant::now();
        let calls = [call(start, 0, 5), call(start, 1, 6), call(start, 6, 8), call(start, 7, 9)];
        assert_eq!(longest_chain(&calls), 2);
    }

    #[tokio::test]
    async fn calls_outside_of_the_recording_are_not_counted() {
        let trace = CallTrace::new();
        let _ = trace.before(StoreCall::Get, "a").await;
        trace.start();
        for path in ["b", "c"] {
            let _ = trace.before(StoreCall::Put, path).await;
            let _ = trace.after(StoreCall::Put, path, StoreReply::Ok).await;
        }
        let counted = trace.finish();
        assert_eq!((counted.total, counted.sequential, counted.by_call["Put"]), (2, 2, 2));
        let _ = trace.before(StoreCall::Get, "d").await;
        assert_eq!(trace.finish().total, 0);
    }
}
