//! The puts of `late` and `busy`: each fails with an unknown outcome, and reaches the store when it is released. Until then a store that is `busy`
//! refuses other puts of the same object, as if it existed.
//!
//! A put is known by its path alone. A server whose fail points are set serves one test, so the next put of the kind is the point's own.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use omnigraph_storage::{AfterVerdict, HookVerdict, StoreCall, StoreHook, StoreReply};

use crate::failpoint::hold::{released, say};
use crate::failpoint::point::FailPoint;

/// What becomes of other puts of an object of which one is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    /// They are carried out.
    Proceed,
    /// They are refused, as some stores do while a put is under way.
    Conflict,
}

/// Holds back the puts that follow the points that were hit.
#[derive(Debug, Default)]
pub(super) struct LatePuts {
    armed: Mutex<Vec<(FailPoint, Beside)>>,
    busy: Mutex<Vec<String>>,
    landing: Mutex<Vec<String>>,
}

impl LatePuts {
    /// The next put that follows `point` is late.
    pub(super) fn arm(&self, point: FailPoint, beside: Beside) {
        lock(&self.armed).push((point, beside));
    }

    /// Whether this put follows a point that was hit. Each point takes one.
    fn takes(&self, path: &str) -> bool {
        let follows = |(point, _): &(FailPoint, Beside)| {
            point.follows.path_fragments().is_some_and(|parts| parts.iter().all(|part| path.contains(part)))
        };
        let mut armed = lock(&self.armed);
        let Some(found) = armed.iter().position(follows) else { return false };
        if armed.remove(found).1 == Beside::Conflict {
            lock(&self.busy).push(path.to_owned());
        }
        true
    }

    fn is_busy(&self, path: &str) -> bool {
        lock(&self.busy).iter().any(|busy| busy == path)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl StoreHook for LatePuts {
    async fn before(&self, call: StoreCall, path: &str) -> HookVerdict {
        if call != StoreCall::PutIfAbsent {
            return HookVerdict::Proceed;
        }
        if self.is_busy(path) {
            return HookVerdict::Conflict;
        }
        if self.takes(path) { HookVerdict::ApplyLate } else { HookVerdict::Proceed }
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
            lock(&self.busy).retain(|busy| busy != path);
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
        puts.arm(WriterPoints::of("load").before(Phase::Apply), Beside::Proceed);
        assert_eq!(before(StoreCall::PutIfAbsent, intent).await, HookVerdict::Proceed);
        assert_eq!(before(StoreCall::Head, manifest).await, HookVerdict::Proceed);
        assert_eq!(before(StoreCall::PutIfAbsent, manifest).await, HookVerdict::ApplyLate);
        assert_eq!(before(StoreCall::PutIfAbsent, manifest).await, HookVerdict::Proceed);
    }

    #[tokio::test]
    async fn busy_store_refuses_other_puts_of_the_object_until_the_late_one_has_landed() {
        let puts = LatePuts::default();
        let (intent, next) = ("01G/__recovery/01B/3.json", "01G/__recovery/01B/4.json");
        puts.arm(WriterPoints::of("load").before(Phase::Arm), Beside::Conflict);
        assert_eq!(puts.before(StoreCall::PutIfAbsent, intent).await, HookVerdict::ApplyLate);
        assert_eq!(puts.before(StoreCall::PutIfAbsent, intent).await, HookVerdict::Conflict);
        assert_eq!(puts.before(StoreCall::Get, intent).await, HookVerdict::Proceed);
        assert_eq!(puts.before(StoreCall::PutIfAbsent, next).await, HookVerdict::Proceed);
        lock(&puts.landing).push(intent.to_owned());
        let _passed = puts.after(StoreCall::PutIfAbsent, intent, StoreReply::Ok).await;
        assert_eq!(puts.before(StoreCall::PutIfAbsent, intent).await, HookVerdict::Proceed);
    }
}
