//! Makes chosen store calls fail, lose their reply, land late, keep others out, tear, or wait.
//!
//! Invariants: a plan counts only the calls that match it, from 1; plans are independent of each other; a paused call goes on when its
//! `Pause` is released or dropped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use omnigraph_storage::{AfterVerdict, HookVerdict, StoreCall, StoreHook, StoreReply};
use tokio::sync::{Notify, watch};

/// Which calls a fault hits: of one kind, whose path contains a text, from the `first`-th such call on, `times` of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultPlan {
    /// The kind of call.
    pub call: StoreCall,
    /// A part of the path; the empty text matches all.
    pub path_part: String,
    /// The first call that is hit, counted from 1.
    pub first: u64,
    /// How many calls are hit.
    pub times: u64,
}

impl FaultPlan {
    /// The next call of this kind whose path contains `path_part`, once.
    pub fn next(call: StoreCall, path_part: impl Into<String>) -> Self {
        Self { call, path_part: path_part.into(), first: 1, times: 1 }
    }

    /// The `nth` matching call instead of the next.
    pub fn at(mut self, nth: u64) -> Self {
        self.first = nth;
        self
    }

    /// This and every later matching call.
    pub fn ever(mut self) -> Self {
        self.times = u64::MAX;
        self
    }

    fn hits(&self, nth: u64) -> bool {
        nth >= self.first && nth - self.first < self.times
    }
}

#[derive(Debug)]
enum Fault {
    Fail,
    LoseReply,
    ApplyLate(Waiting, Beside),
    Tear,
    PauseBefore(Waiting),
    PauseAfter(Waiting),
}

/// What the store does with another put of an object whose put is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    /// It takes the put.
    Taken,
    /// It answers that the object exists.
    Refused,
}

#[derive(Debug, Clone)]
struct Waiting {
    reached: watch::Sender<bool>,
    released: watch::Receiver<bool>,
    landed: Arc<Notify>,
}

impl Waiting {
    async fn wait(mut self) {
        self.reached.send_replace(true);
        // An error means that the pause was dropped, which releases as well.
        let _released = self.released.wait_for(|released| *released).await;
    }
}

#[derive(Debug)]
struct Armed {
    plan: FaultPlan,
    fault: Fault,
    met: u64,
}

/// A call that waits until it is released.
#[derive(Debug)]
pub struct Pause {
    reached: watch::Receiver<bool>,
    released: watch::Sender<bool>,
}

impl Pause {
    /// Waits until the call is at the pause.
    pub async fn reached(&mut self) {
        let _closed = self.reached.wait_for(|reached| *reached).await;
    }

    /// Lets the call go on.
    pub fn release(self) {
        self.released.send_replace(true);
    }
}

fn pause() -> (Pause, Waiting) {
    let (reached, reached_receiver) = watch::channel(false);
    let (released_sender, released) = watch::channel(false);
    let landed = Arc::new(Notify::new());
    (Pause { reached: reached_receiver, released: released_sender }, Waiting { reached, released, landed })
}

/// A put that is under way although its caller has got an error. Dropping it lets the put land.
#[derive(Debug)]
pub struct LatePut {
    pause: Pause,
    landed: Arc<Notify>,
}

impl LatePut {
    /// Waits until the put was made late.
    pub async fn reached(&mut self) {
        self.pause.reached().await;
    }

    /// Lets the put reach the store, and waits for the store's reply.
    pub async fn land(self) {
        self.pause.release();
        self.landed.notified().await;
    }
}

/// A late put on its way.
#[derive(Debug)]
struct Underway {
    path: String,
    waiting: Waiting,
    beside: Beside,
}

/// Injects faults by plan. Share it as `Arc`; without plans it changes nothing.
#[derive(Debug, Default)]
pub struct FaultHook {
    armed: Mutex<Vec<Armed>>,
    underway: Mutex<Vec<Underway>>,
}

impl FaultHook {
    fn lock(&self) -> MutexGuard<'_, Vec<Armed>> {
        self.armed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn underway(&self) -> MutexGuard<'_, Vec<Underway>> {
        self.underway.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn arm(&self, plan: FaultPlan, fault: Fault) {
        self.lock().push(Armed { plan, fault, met: 0 });
    }

    /// The planned calls are not applied; their callers get an error.
    pub fn fail(&self, plan: FaultPlan) {
        self.arm(plan, Fault::Fail);
    }

    /// The planned calls are applied; their callers get an error.
    pub fn lose_reply(&self, plan: FaultPlan) {
        self.arm(plan, Fault::LoseReply);
    }

    /// The planned puts reach the store when they are let; their callers get an error at once.
    pub fn apply_late(&self, plan: FaultPlan) -> LatePut {
        let (pause, waiting) = pause();
        let landed = Arc::clone(&waiting.landed);
        self.arm(plan, Fault::ApplyLate(waiting, Beside::Taken));
        LatePut { pause, landed }
    }

    /// The same, on a store that answers to every other put of the object meanwhile that the object exists.
    pub fn apply_late_alone(&self, plan: FaultPlan) -> LatePut {
        let (pause, waiting) = pause();
        let landed = Arc::clone(&waiting.landed);
        self.arm(plan, Fault::ApplyLate(waiting, Beside::Refused));
        LatePut { pause, landed }
    }

    /// The planned puts write half of their bytes; their callers get an error.
    pub fn tear(&self, plan: FaultPlan) {
        self.arm(plan, Fault::Tear);
    }

    /// The planned calls wait before they reach the store.
    pub fn pause_before(&self, plan: FaultPlan) -> Pause {
        let (pause, waiting) = pause();
        self.arm(plan, Fault::PauseBefore(waiting));
        pause
    }

    /// The planned calls wait after they are applied, before their callers get the reply.
    pub fn pause_after(&self, plan: FaultPlan) -> Pause {
        let (pause, waiting) = pause();
        self.arm(plan, Fault::PauseAfter(waiting));
        pause
    }

    /// Forgets all plans.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// The store replied to a put of this path: if the put was late and released, it has landed.
    fn landed(&self, path: &str) {
        let mut underway = self.underway();
        let at = underway.iter().position(|put| put.path == path && *put.waiting.released.borrow());
        if let Some(at) = at {
            underway.remove(at).waiting.landed.notify_one();
        }
    }

    /// Whether a late put of the object keeps others out.
    fn is_kept_out(&self, path: &str) -> bool {
        let keeps_out = |put: &Underway| put.beside == Beside::Refused && !*put.waiting.released.borrow();
        self.underway().iter().any(|put| put.path == path && keeps_out(put))
    }

    fn meet_before(&self, call: StoreCall, path: &str) -> (HookVerdict, Vec<Waiting>) {
        let (mut verdict, mut waits) = (HookVerdict::Proceed, Vec::new());
        if call == StoreCall::PutIfAbsent && self.is_kept_out(path) {
            return (HookVerdict::Conflict, waits);
        }
        for armed in self.lock().iter_mut().filter(|armed| matches(&armed.plan, call, path)) {
            match &armed.fault {
                Fault::Fail | Fault::ApplyLate(..) | Fault::Tear | Fault::PauseBefore(_) => armed.met += 1,
                Fault::LoseReply | Fault::PauseAfter(_) => continue,
            }
            if armed.plan.hits(armed.met) {
                match &armed.fault {
                    Fault::PauseBefore(waiting) => waits.push(waiting.clone()),
                    Fault::ApplyLate(waiting, beside) => {
                        let (path, waiting, beside) = (path.to_owned(), waiting.clone(), *beside);
                        self.underway().push(Underway { path, waiting, beside });
                        verdict = HookVerdict::ApplyLate;
                    }
                    Fault::Tear => verdict = HookVerdict::Tear,
                    Fault::Fail | Fault::LoseReply | Fault::PauseAfter(_) => verdict = HookVerdict::Fail,
                }
            }
        }
        (verdict, waits)
    }

    fn meet_after(&self, call: StoreCall, path: &str) -> (AfterVerdict, Vec<Waiting>) {
        let (mut verdict, mut waits) = (AfterVerdict::Pass, Vec::new());
        for armed in self.lock().iter_mut().filter(|armed| matches(&armed.plan, call, path)) {
            match &armed.fault {
                Fault::LoseReply | Fault::PauseAfter(_) => armed.met += 1,
                Fault::Fail | Fault::ApplyLate(..) | Fault::Tear | Fault::PauseBefore(_) => continue,
            }
            if armed.plan.hits(armed.met) {
                match &armed.fault {
                    Fault::PauseAfter(waiting) => waits.push(waiting.clone()),
                    Fault::LoseReply | Fault::Fail | Fault::ApplyLate(..) | Fault::Tear | Fault::PauseBefore(_) => {
                        verdict = AfterVerdict::LoseReply;
                    }
                }
            }
        }
        (verdict, waits)
    }
}

fn matches(plan: &FaultPlan, call: StoreCall, path: &str) -> bool {
    plan.call == call && path.contains(&plan.path_part)
}

#[async_trait]
impl StoreHook for FaultHook {
    async fn before(&self, call: StoreCall, path: &str) -> HookVerdict {
        let (verdict, waits) = self.meet_before(call, path);
        for waiting in waits {
            waiting.wait().await;
        }
        verdict
    }

    async fn landing(&self, _call: StoreCall, path: &str) {
        let waiting = self.underway().iter().find(|put| put.path == path).map(|put| put.waiting.clone());
        if let Some(waiting) = waiting {
            waiting.wait().await;
        }
    }

    async fn after(&self, call: StoreCall, path: &str, _reply: StoreReply) -> AfterVerdict {
        self.landed(path);
        let (verdict, waits) = self.meet_after(call, path);
        for waiting in waits {
            waiting.wait().await;
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn second_matching_call_fails_and_others_pass() {
        let hook = FaultHook::default();
        hook.fail(FaultPlan::next(StoreCall::Put, "data/").at(2));
        assert_eq!(hook.before(StoreCall::Put, "t/data/1").await, HookVerdict::Proceed);
        assert_eq!(hook.before(StoreCall::Get, "t/data/1").await, HookVerdict::Proceed);
        assert_eq!(hook.before(StoreCall::Put, "t/meta/1").await, HookVerdict::Proceed);
        assert_eq!(hook.before(StoreCall::Put, "t/data/2").await, HookVerdict::Fail);
        assert_eq!(hook.before(StoreCall::Put, "t/data/3").await, HookVerdict::Proceed);
    }

    #[tokio::test]
    async fn paused_call_goes_on_when_released() {
        let hook = std::sync::Arc::new(FaultHook::default());
        let mut pause = hook.pause_before(FaultPlan::next(StoreCall::Get, ""));
        let call = tokio::spawn({
            let hook = std::sync::Arc::clone(&hook);
            async move { hook.before(StoreCall::Get, "x").await }
        });
        pause.reached().await;
        assert!(!call.is_finished());
        pause.release();
        assert_eq!(call.await.unwrap(), HookVerdict::Proceed);
    }

    #[tokio::test]
    async fn lost_reply_stays_lost_for_ever_when_planned_so() {
        let hook = FaultHook::default();
        hook.lose_reply(FaultPlan::next(StoreCall::PutIfAbsent, "_versions").ever());
        for _ in 0..3 {
            let verdict = hook.after(StoreCall::PutIfAbsent, "t/_versions/1", StoreReply::Ok).await;
            assert_eq!(verdict, AfterVerdict::LoseReply);
        }
        hook.clear();
        let verdict = hook.after(StoreCall::PutIfAbsent, "t/_versions/1", StoreReply::Ok).await;
        assert_eq!(verdict, AfterVerdict::Pass);
    }
}
