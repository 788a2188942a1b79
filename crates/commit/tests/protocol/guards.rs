//! Rules that hold only where two things happen in one unlucky order. Each order is made by a hook at a call of the store.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use omnigraph_catalog::{DecidedBy, PublicationKind, Snapshot};
use omnigraph_commit::{
    Attempt, ChangeKind, ChangeSet, ConflictPolicy, FailPoints, ReadSet, WriteRequest, Writer, WriterPoints,
};
use omnigraph_storage::{AfterVerdict, HookVerdict, StoreCall, StoreHook, StoreReply};
use omnigraph_types::{Clock, CommitId, Failure, ManualClock, OperationId, Problem};

use crate::branches::{create, named, row};
use crate::world::{Append, Clear, HalfHook, Process, TABLES, World, fresh, request};

/// Longer than a proof that a version is the newest lasts.
pub(crate) const LONG: Duration = Duration::from_secs(2 * 3_600);

pub(crate) type Event = Pin<Box<dyn Future<Output = ()> + Send>>;

/// When something happens, as seen from a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Before,
    After,
}

/// Once, before or after the first call of a kind for a path with this text, something else happens.
pub(crate) struct Meanwhile {
    when: When,
    call: StoreCall,
    path_part: &'static str,
    event: Box<dyn Fn() -> Event + Send + Sync>,
    met: AtomicBool,
}

impl Meanwhile {
    pub(crate) fn hook(
        when: When,
        call: StoreCall,
        path_part: &'static str,
        event: impl Fn() -> Event + Send + Sync + 'static,
    ) -> Arc<dyn StoreHook> {
        Arc::new(Self { when, call, path_part, event: Box::new(event), met: AtomicBool::new(false) })
    }

    async fn meet(&self, when: When, call: StoreCall, path: &str) {
        let here = when == self.when && call == self.call && path.contains(self.path_part);
        if here && !self.met.swap(true, Ordering::SeqCst) {
            (self.event)().await;
        }
    }
}

impl fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meanwhile").field("path_part", &self.path_part).finish_non_exhaustive()
    }
}

#[async_trait]
impl StoreHook for Meanwhile {
    async fn before(&self, call: StoreCall, path: &str) -> HookVerdict {
        self.meet(When::Before, call, path).await;
        HookVerdict::Proceed
    }

    async fn after(&self, call: StoreCall, path: &str, _reply: StoreReply) -> AfterVerdict {
        self.meet(When::After, call, path).await;
        AfterVerdict::Pass
    }
}

/// Fails every call from its first put-if-absent of a path with this text.
#[derive(Debug)]
struct DeathAt {
    path_part: &'static str,
    dead: AtomicBool,
}

#[async_trait]
impl StoreHook for DeathAt {
    async fn before(&self, call: StoreCall, path: &str) -> HookVerdict {
        if call == StoreCall::PutIfAbsent && path.contains(self.path_part) && path.contains("_versions") {
            self.dead.store(true, Ordering::SeqCst);
        }
        if self.dead.load(Ordering::SeqCst) { HookVerdict::Fail } else { HookVerdict::Proceed }
    }

    async fn after(&self, _call: StoreCall, _path: &str, _reply: StoreReply) -> AfterVerdict {
        AfterVerdict::Pass
    }
}

/// A process that dies before it publishes, or with `nodes/` before its first effect.
pub(crate) async fn dying_at(world: &World, path_part: &'static str) -> Process {
    let hook = Arc::new(DeathAt { path_part, dead: AtomicBool::new(false) });
    world.process_with(vec![hook], FailPoints::default()).await
}

fn contents(snapshot: &Snapshot) -> Vec<CommitId> {
    TABLES.map(|table| snapshot.table(table).expect("a table of the graph").content_commit).to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn ticket_of_another_attempt_of_the_same_operation_is_not_ones_own() {
    let world = World::new().await;
    let operation = fresh();
    let other = dying_at(&world, "nodes/").await;
    let mine = world.patient_process().await;
    let before = mine.newest().await.version();
    let event = Box::pin(async move {
        let failure = other.append(operation, "row", &TABLES[..1]).await.unwrap_err();
        assert!(matches!(failure.problem, Problem::RecoveryRequired { .. }), "{failure:?}");
    });
    let writer = Box::new(HeldUp { append: mine.appending("row", &TABLES[..1]), event: Some(event) });
    mine.committer.write(request(operation), writer).await.expect("the second attempt applies the operation");
    let reader = world.process().await;
    let newest = reader.newest().await;
    let first = reader.committer.catalog().at_version(newest.chain(), before.next()).await.unwrap();
    let decision = first.state().published_by().unwrap().decision;
    assert_eq!(decision.by, DecidedBy::Abort, "I-3: the version belongs to the attempt that holds its ticket");
    assert_eq!(world.quiesced().await[0].len(), 1);
}

/// While the first attempt is prepared, something else happens.
pub(crate) struct HeldUp {
    pub(crate) append: Box<Append>,
    pub(crate) event: Option<Event>,
}

#[async_trait]
impl Writer for HeldUp {
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
        let prepared = self.append.prepare(base, attempt).await;
        if let Some(event) = self.event.take() {
            event.await;
        }
        prepared
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn process_that_was_held_up_before_it_arms_takes_no_ticket_that_was_swept() {
    let world = World::new().await;
    let clock = Arc::new(ManualClock::default());
    let mine = world.process_by(clock.clone(), Vec::new(), FailPoints::default()).await;
    let other = world.process().await;
    let before = mine.newest().await;
    let (held_up, intent) =
        (clock.clone(), mine.committer.catalog().paths().intent(before.branch_id(), before.version().next()));
    let event = Box::pin(async move {
        other.append(fresh(), "other", &TABLES[1..]).await.expect("a write from another process");
        other.committer.catalog().store().delete(&intent).await.expect("the intent is swept");
        held_up.advance(LONG);
    });
    let writer = Box::new(HeldUp { append: mine.appending("mine", &TABLES[..1]), event: Some(event) });
    mine.committer.write(request(OperationId(clock.mint())), writer).await.expect("a commit");
    let swept = mine.committer.catalog().paths().intent(before.branch_id(), before.version().next());
    assert!(world.temp.store.get(&swept).await.unwrap().is_none(), "I-3: a version that is published was armed for");
    let ids = world.quiesced().await;
    assert!(ids[0].contains("mine") && ids[1].contains("other"), "{ids:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn settling_that_was_held_up_before_it_arms_takes_no_ticket_that_was_swept() {
    let world = World::new().await;
    let victim = world.process_with(vec![Arc::new(HalfHook::default())], FailPoints::default()).await;
    let before = victim.newest().await;
    victim.append(fresh(), "half", &TABLES).await.unwrap_err();
    let settled = before.version().next().next();
    let intent = victim.committer.catalog().paths().intent(before.branch_id(), settled);
    let (clock, other) = (Arc::new(ManualClock::default()), Arc::new(world.process().await));
    let (held_up, swept) = (clock.clone(), intent.clone());
    let hook = Meanwhile::hook(When::After, StoreCall::PutIfAbsent, "nodes/1/_versions", move || {
        let (other, held_up, swept) = (other.clone(), held_up.clone(), swept.clone());
        Box::pin(async move {
            other.settle().await;
            other.committer.catalog().store().delete(&swept).await.expect("the intent is swept");
            held_up.advance(LONG);
        })
    });
    let mine = world.process_by(clock, vec![hook], FailPoints::default()).await;
    mine.settle().await;
    assert_eq!(mine.newest().await.version(), settled, "the other process settled it");
    assert!(world.temp.store.get(&intent).await.unwrap().is_none(), "I-3: a version that is published was armed for");
    world.quiesced().await;
}

/// How the version of a write was decided whose process is held up at a call after it armed: whether it was settled like an interrupted one.
async fn held_up_after_arm(call_path: &'static str) -> Vec<PublicationKind> {
    let world = World::new().await;
    let clock = Arc::new(ManualClock::default());
    let advanced = clock.clone();
    let hook = Meanwhile::hook(When::After, StoreCall::PutIfAbsent, call_path, move || {
        advanced.advance(LONG);
        Box::pin(async {})
    });
    let mine = world.process_by(clock.clone(), vec![hook], FailPoints::default()).await;
    let _either = mine.append(OperationId(clock.mint()), "mine", &TABLES[..1]).await;
    let reader = world.process().await;
    reader.newest().await.state().recoveries.iter().map(|row| row.kind).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn process_that_was_held_up_after_it_armed_makes_no_effect() {
    assert_eq!(held_up_after_arm("__recovery/").await.first(), Some(&PublicationKind::Abort));
}

#[tokio::test(flavor = "multi_thread")]
async fn process_that_was_held_up_after_its_effects_settles_as_a_rescuer_would() {
    assert_eq!(held_up_after_arm("nodes/1/_versions").await, [PublicationKind::Commit]);
}

#[tokio::test(flavor = "multi_thread")]
async fn settling_moves_the_pin_and_not_the_commit_that_changed_the_rows() {
    let world = World::new().await;
    let victim = world.process_with(vec![Arc::new(HalfHook::default())], FailPoints::default()).await;
    let before = victim.newest().await;
    victim.append(fresh(), "half", &TABLES).await.unwrap_err();
    let survivor = world.process().await;
    survivor.settle().await;
    let after = survivor.newest().await;
    let version = |snapshot: &Snapshot| snapshot.table(TABLES[0]).unwrap().version;
    assert!(version(&after) > version(&before), "the table was fenced");
    assert_eq!(contents(&after), contents(&before), "equal content_commit is the proof of equal rows");
    world.quiesced().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn roll_forward_that_does_not_fit_its_version_is_aborted() {
    let world = World::new().await;
    let victim = dying_at(&world, "__manifest/").await;
    let newest = victim.newest().await;
    victim.append(fresh(), "unfit", &TABLES).await.unwrap_err();
    // All effects are made; the version that the intent was armed for turns out to have another schema.
    let path = victim.committer.catalog().paths().intent(newest.branch_id(), newest.version().next());
    let stored = world.temp.store.get(&path).await.unwrap().expect("the intent").bytes;
    let text = String::from_utf8(stored.to_vec()).unwrap();
    let other = text.replace(newest.schema_hash(), &"0".repeat(64));
    assert_ne!(other, text);
    world.temp.store.put(&path, Bytes::from(other)).await.unwrap();
    let survivor = world.process().await;
    survivor.settle().await;
    let row = survivor.newest().await.state().recoveries.first().cloned().expect("a recovery");
    assert_eq!((row.version, row.kind), (newest.version().next(), PublicationKind::Abort));
    assert!(world.quiesced().await.iter().all(|ids| !ids.contains("unfit")));
}

#[tokio::test(flavor = "multi_thread")]
async fn effect_whose_intent_was_put_after_the_look_at_it_is_not_foreign() {
    let world = World::new().await;
    let victim = Arc::new(dying_at(&world, "__manifest/").await);
    let hook = Meanwhile::hook(When::After, StoreCall::Get, "__recovery/", move || {
        let victim = victim.clone();
        Box::pin(async move {
            victim.append(fresh(), "row", &TABLES).await.unwrap_err();
        })
    });
    let viewer = world.process_with(vec![hook], FailPoints::default()).await;
    let main = viewer.committer.catalog().main_chain();
    let view = viewer.committer.preview_repair(&main, &[]).await.unwrap();
    assert!(view.tables.is_empty() && view.confirmation.is_none(), "{view:?}");
    viewer.settle().await;
    assert!(world.quiesced().await.iter().all(|ids| ids.contains("row")));
}

#[tokio::test(flavor = "multi_thread")]
async fn effect_on_a_tree_of_another_branch_is_refused() {
    let world = World::new().await;
    let process = world.process().await;
    process.append(fresh(), "row", &TABLES).await.unwrap();
    row(create(&process, fresh(), "b").await);
    let captured = process.newest_on(&named("b")).await;
    let request = WriteRequest { branch: named("b"), ..request(fresh()) };
    let refused = process.committer.write(request, Box::new(Clear { table: TABLES[0], captured })).await.unwrap_err();
    assert!(matches!(refused.problem, Problem::InvariantViolation { .. }), "I-3: {refused:?}");
    assert!(world.quiesced().await.iter().all(|ids| ids.contains("row")));
}
