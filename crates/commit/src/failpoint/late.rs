//! The puts of `late`: each fails with an unknown outcome, and reaches the store when it is released.
//!
//! A put is known by its path alone. A server whose fail points are set serves one test, so the next put of the kind is the point's own.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use omnigraph_storage::{AfterVerdict, HookVerdict, StoreCall, StoreHook, StoreReply};

use crate::failpoint::hold::{released, say};
use crate::failpoint::point::FailPoint;

/// Holds back the puts that follow the points that were hit.
#[derive(Debug, Default)]
pub(super) struct LatePuts {
    armed: Mutex<Vec<FailPoint>>,
    landing: Mutex<Vec<String>>,
}

impl LatePuts {
    /// The next put that follows `point` is late.
    pub(super) fn arm(&self, point: FailPoint) {
        lock(&self.armed).push(point);
    }

    /// Whether this put follows a point that was hit. Each point takes one.
    fn takes(&self, path: &str) -> bool {
        let follows = |point: &FailPoint| {
            point.follows.path_fragments().is_some_and(|parts| parts.iter().all(|part| path.contains(part)))
        };
        let mut armed = lock(&self.armed);
        let found = armed.iter().position(follows);
        found.map(|at| armed.remove(at)).is_some()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl StoreHook for LatePuts {
    async fn before(&self, call: StoreCall, path: &str) -> HookVerdict {
        match call == StoreCall::PutIfAbsent && self.takes(path) {
            true => HookVerdict::ApplyLate,
            false => HookVerdict::Proceed,
        }
    }

    async fn landing(&self, _call: StoreCall, path: &str) {
        say(&format!("failpoint holds back: {path}\n"));
        released().await;
        lock(&self.landing).push(path.to_owned());
    }

    async fn after(&self, _call: StoreCall, path: &str, reply: StoreReply) -> AfterVerdict {
        let mut landing = lock(&self.landing);
        if let Some(at) = landing.iter().position(|landing| landing == path) {
            landing.remove(at);
            say(&format!("failpoint landed: {path} {reply:?}\n"));
        }
        AfterVerdict::Pass
    }
}

#[cfg(test)]
mod tests {
    use omnigraph_types::Phase;

    use super::*;
    use crate::failpoint::point::WriterPoints;

    #[tokio::test]
    async fn put_that_follows_a_point_that_was_hit_is_late_once_and_no_other_is() {
        let puts = LatePuts::default();
        let (intent, manifest) = ("01G/__recovery/01B/3.json", "01G/tables/nodes/1/_versions/9.manifest");
        let before = async |call, path| puts.before(call, path).await;
        assert_eq!(before(StoreCall::PutIfAbsent, intent).await, HookVerdict::Proceed);
        puts.arm(WriterPoints::of("load").before(Phase::Apply));
        assert_eq!(before(StoreCall::PutIfAbsent, intent).await, HookVerdict::Proceed);
        assert_eq!(before(StoreCall::Head, manifest).await, HookVerdict::Proceed);
        assert_eq!(before(StoreCall::PutIfAbsent, manifest).await, HookVerdict::ApplyLate);
        assert_eq!(before(StoreCall::PutIfAbsent, manifest).await, HookVerdict::Proceed);
    }
}
