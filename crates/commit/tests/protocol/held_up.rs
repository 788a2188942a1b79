//! Processes that are held up between what they staged and its arming, while another one commits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use omnigraph_catalog::Snapshot;
use omnigraph_commit::{
    Attempt, ChangeKind, ChangeSet, ConflictPolicy, FailPoints, ReadSet, WriteOutcome, Writer, WriterPoints,
};
use omnigraph_storage::{AfterVerdict, HookVerdict, StoreCall, StoreHook, StoreReply};
use omnigraph_types::{Clock, Failure, ManualClock, OperationId};

use crate::branches::{create, named, row};
use crate::world::{Append, Process, TABLES, World, fresh, request};

/// Longer than a proof that a version is the newest lasts, and far shorter than the age at which files that nothing names are deleted.
const LONG: Duration = Duration::from_secs(2 * 3_600);

/// Before the first intent is put, another process commits to the second table, and time passes.
#[derive(Debug)]
struct HeldUp {
    other: Arc<Process>,
    clock: Arc<ManualClock>,
    by: Duration,
    met: AtomicBool,
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.committer.fmt(f)
    }
}

#[async_trait]
impl StoreHook for HeldUp {
    async fn before(&self, call: StoreCall, path: &str) -> HookVerdict {
        let arms = call == StoreCall::PutIfAbsent && path.contains("__recovery/");
        if arms && !self.met.swap(true, Ordering::SeqCst) {
            self.other.append(fresh(), "other", &TABLES[1..]).await.expect("a write from another process");
            self.clock.advance(self.by);
        }
        HookVerdict::Proceed
    }

    async fn after(&self, _call: StoreCall, _path: &str, _reply: StoreReply) -> AfterVerdict {
        AfterVerdict::Pass
    }
}

/// Counts how often it is asked to stage.
struct Counted {
    append: Box<Append>,
    staged: Arc<AtomicUsize>,
}

#[async_trait]
impl Writer for Counted {
    fn name(&self) -> WriterPoints {
        self.append.name()
    }

    fn kind(&self) -> ChangeKind {
        self.append.kind()
    }

    fn conflict_policy(&self) -> ConflictPolicy {
        self.append.conflict_policy()
    }

    fn captured(&self) -> Option<&Snapshot> {
        self.append.captured()
    }

    fn read_set(&self, base: &Snapshot) -> ReadSet {
        self.append.read_set(base)
    }

    async fn prepare(&mut self, base: &Snapshot, attempt: &Attempt) -> Result<ChangeSet, Failure> {
        self.staged.fetch_add(1, Ordering::SeqCst);
        self.append.prepare(base, attempt).await
    }
}

/// A process that is held up before it arms for the first time, with its clock.
async fn held_up(world: &World, by: Duration) -> (Process, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    let other = Arc::new(world.process().await);
    let hook = Arc::new(HeldUp { other, clock: clock.clone(), by, met: AtomicBool::new(false) });
    (world.process_by(clock.clone(), vec![hook], FailPoints::default()).await, clock)
}

/// How often a write that is held up stages, until it is a commit.
async fn stagings(by: Duration) -> usize {
    let world = World::new().await;
    let (mine, clock) = held_up(&world, by).await;
    let staged = Arc::new(AtomicUsize::new(0));
    let writer = Box::new(Counted { append: mine.appending("mine", &TABLES[..1]), staged: staged.clone() });
    let outcome = mine.committer.write(request(OperationId(clock.mint())), writer).await.expect("a commit");
    assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
    let ids = world.quiesced().await;
    assert!(ids[0].contains("mine") && ids[1].contains("other"), "{ids:?}");
    staged.load(Ordering::SeqCst)
}

#[tokio::test(flavor = "multi_thread")]
async fn write_that_was_held_up_for_long_stages_again() {
    assert_eq!(stagings(Duration::ZERO).await, 1, "what is staged is armed again after a lost ticket");
    assert_eq!(stagings(LONG).await, 2, "I-11: what is staged may be too old to be kept for us");
}

/// Whether a branch of main, whose creator is held up, begins with what was committed meanwhile.
async fn clones_again(by: Duration) -> bool {
    let world = World::new().await;
    let (mine, clock) = held_up(&world, by).await;
    row(create(&mine, OperationId(clock.mint()), "b").await);
    let reader = world.process().await;
    let snapshot = reader.newest_on(&named("b")).await;
    reader.ids(&snapshot).await[1].contains("other")
}

#[tokio::test(flavor = "multi_thread")]
async fn creator_that_was_held_up_for_long_clones_again() {
    assert!(!clones_again(Duration::ZERO).await, "a clone is registered after a lost ticket");
    assert!(clones_again(LONG).await, "I-11: what a clone names may be too old to be kept for it");
}
