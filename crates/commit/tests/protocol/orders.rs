//! More orders of events in which a rule shows: what a writer, a rescuer and a reader owe each other when something happens in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use omnigraph_catalog::{PublicationKind, Snapshot};
use omnigraph_commit::{
    Attempt, BranchRequest, ChangeKind, ChangeSet, ConflictPolicy, FailPoints, HeadRead, OperationState, ReadSet,
    WriteOutcome, WriteRequest, Writer, WriterPoints,
};
use omnigraph_storage::{CommitOutcome, StoreCall, StoreKind};
use omnigraph_testkit::{CountingHook, FaultHook, FaultPlan, fresh_mark};
use omnigraph_types::{
    BranchName, Clock, Effect, Failure, Limits, ManualClock, OnConflict, OperationId, Problem, ReadAt, ReadSetMember,
    SystemClock, TableId, TableVersion, WriteMode,
};
use tokio::time::Instant;

use crate::branches::{create, delete, named, row};
use crate::change_sets::drop_table;
use crate::guards::{HeldUp, LONG, Meanwhile, When, dying_at};
use crate::world::{Append, Process, TABLES, World, failing, fresh, limits, request};

/// A grace that does not end while a test runs.
const ENDLESS_MS: u64 = 3_600_000;

/// Counts how often it is asked to stage, and may rest on the head.
struct Watched {
    held_up: HeldUp,
    head: HeadRead,
    prepared: Arc<AtomicUsize>,
}

#[async_trait]
impl Writer for Watched {
    fn name(&self) -> WriterPoints {
        self.held_up.name()
    }

    fn kind(&self) -> ChangeKind {
        self.held_up.kind()
    }

    fn conflict_policy(&self) -> ConflictPolicy {
        self.held_up.conflict_policy()
    }

    fn captured(&self) -> Option<&Snapshot> {
        None
    }

    fn read_set(&self, base: &Snapshot) -> ReadSet {
        ReadSet { head: self.head, ..self.held_up.read_set(base) }
    }

    async fn prepare(&mut self, base: &Snapshot, attempt: &Attempt) -> Result<ChangeSet, Failure> {
        self.prepared.fetch_add(1, Ordering::SeqCst);
        self.held_up.prepare(base, attempt).await
    }
}

fn watched(
    append: Box<Append>,
    head: HeadRead,
    event: impl Future<Output = ()> + Send + 'static,
) -> (Box<Watched>, Arc<AtomicUsize>) {
    let prepared = Arc::new(AtomicUsize::new(0));
    let held_up = HeldUp { append, event: Some(Box::pin(event)) };
    (Box::new(Watched { held_up, head, prepared: prepared.clone() }), prepared)
}

fn about(name: &str) -> BranchRequest {
    BranchRequest {
        operation_id: fresh(),
        digest: format!("about {name}"),
        actor: "test".to_owned(),
        name: named(name),
        expected_head: None,
        deadline: None,
        mode: WriteMode::Commit,
    }
}

/// A process that dies with its intent armed and no effect made.
async fn armed_and_dead(world: &World, operation: OperationId, table: usize) {
    let victim = dying_at(world, "nodes/").await;
    victim.append(operation, "dead", &TABLES[table..=table]).await.unwrap_err();
}

/// Rewrites the intent of the version after the newest.
async fn rewrite_intent(world: &World, from: &str, to: &str) {
    let reader = world.process().await;
    let newest = reader.newest().await;
    let path = reader.committer.catalog().paths().intent(newest.branch_id(), newest.version().next());
    let stored = world.temp.store.get(&path).await.unwrap().expect("the intent").bytes;
    let text = String::from_utf8(stored.to_vec()).unwrap();
    let other = text.replace(from, to);
    assert_ne!(other, text);
    world.temp.store.put(&path, Bytes::from(other)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn write_whose_contract_changed_is_prepared_again() {
    let world = World::with_more_tables(StoreKind::Local, 1).await;
    let (mine, other) = (world.process().await, world.process().await);
    let event = async move {
        drop_table(&other, TableId(100)).await;
    };
    let (writer, prepared) = watched(mine.appending("mine", &TABLES), HeadRead::No, event);
    let outcome = mine.committer.write(request(fresh()), writer).await.expect("a commit");
    assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
    assert_eq!(prepared.load(Ordering::SeqCst), 2, "I-5: validated under the contract that it is published onto");
    assert!(world.quiesced().await.iter().all(|ids| ids.contains("mine")));
}

#[tokio::test(flavor = "multi_thread")]
async fn write_that_rests_on_the_head_is_refused_when_the_head_moved() {
    let world = World::new().await;
    let (mine, other) = (world.process().await, world.process().await);
    let event = async move {
        other.append(fresh(), "other", &TABLES[1..]).await.expect("a write to another table");
    };
    let (writer, _) = watched(mine.appending("mine", &TABLES[..1]), HeadRead::Yes, event);
    let strict = WriteRequest { on_conflict: OnConflict::Fail, ..request(fresh()) };
    let failure = mine.committer.write(strict, writer).await.unwrap_err();
    assert!(
        matches!(&failure.problem, Problem::ReadSetChanged { member: ReadSetMember::Head, .. }),
        "I-5: {failure:?}"
    );
    assert_eq!(failure.effect, Effect::None);
    assert!(world.quiesced().await[0].is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn strict_write_whose_table_changed_is_refused() {
    let world = World::new().await;
    let (mine, other) = (world.process().await, world.process().await);
    let event = async move {
        other.append(fresh(), "other", &TABLES[..1]).await.expect("a write to the same table");
    };
    let (writer, _) = watched(mine.appending("mine", &TABLES[..1]), HeadRead::No, event);
    let strict = WriteRequest { on_conflict: OnConflict::Fail, ..request(fresh()) };
    let failure = mine.committer.write(strict, writer).await.unwrap_err();
    let member = ReadSetMember::Table("A".to_owned());
    assert!(
        matches!(&failure.problem, Problem::ReadSetChanged { member: found, .. } if *found == member),
        "{failure:?}"
    );
    assert_eq!(world.quiesced().await[0].iter().collect::<Vec<_>>(), ["other"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn write_whose_branch_was_made_anew_is_refused() {
    let world = World::new().await;
    let mine = Arc::new(world.process().await);
    row(create(&mine, fresh(), "dev").await);
    let same = mine.clone();
    let event = async move {
        row(delete(&same, fresh(), "dev").await);
        row(create(&same, fresh(), "dev").await);
    };
    let (writer, _) = watched(mine.appending("mine", &TABLES), HeadRead::No, event);
    let strict = WriteRequest { branch: named("dev"), on_conflict: OnConflict::Fail, ..request(fresh()) };
    let failure = mine.committer.write(strict, writer).await.unwrap_err();
    let member = ReadSetMember::Branch;
    assert!(
        matches!(&failure.problem, Problem::ReadSetChanged { member: found, .. } if *found == member),
        "I-9: {failure:?}"
    );
    assert!(world.quiesced_on(&named("dev")).await.iter().all(|ids| ids.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_staged_on_a_pin_that_settling_moved_is_staged_again() {
    let world = World::new().await;
    let (mine, other) = (world.process().await, world.process().await);
    let dead = fresh();
    let root = Arc::new(world);
    let event = {
        let root = root.clone();
        async move {
            armed_and_dead(&root, dead, 0).await;
            other.settle().await;
        }
    };
    let (writer, prepared) = watched(mine.appending("mine", &TABLES[..1]), HeadRead::No, event);
    mine.committer.write(request(fresh()), writer).await.expect("a commit");
    assert_eq!(prepared.load(Ordering::SeqCst), 2, "the pin moved onto the fence");
    assert_eq!(root.quiesced().await[0].iter().collect::<Vec<_>>(), ["mine"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn undone_write_fences_its_tables_at_once() {
    let world = World::new().await;
    let failpoints = failing("g/load.B.before=error");
    let process = world.process_with(Vec::new(), failpoints.clone()).await;
    let failure = process.append(fresh(), "undone", &TABLES).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::OperationRolledBack { .. }), "{failure:?}");
    assert!(failpoints.is_spent());
    assert!(world.quiesced().await.iter().all(|ids| ids.is_empty()), "I-6: nothing is left to others");
}

#[tokio::test(flavor = "multi_thread")]
async fn roll_forward_of_an_operation_that_is_recorded_is_aborted() {
    let world = World::new().await;
    let (recorded, sent) = (fresh(), fresh());
    let sound = world.process().await;
    sound.append(recorded, "first", &TABLES).await.unwrap();
    let victim = dying_at(&world, "__manifest/").await;
    victim.append(sent, "second", &TABLES).await.unwrap_err();
    // All effects are made; the operation turns out to have been applied.
    rewrite_intent(&world, &sent.to_string(), &recorded.to_string()).await;
    let survivor = world.process().await;
    survivor.settle().await;
    let kinds: Vec<PublicationKind> = survivor.newest().await.state().recoveries.iter().map(|row| row.kind).collect();
    assert_eq!(kinds, [PublicationKind::Abort, PublicationKind::Settle]);
    assert!(world.quiesced().await.iter().all(|ids| ids.len() == 1), "I-8: applied once");
}

#[tokio::test(flavor = "multi_thread")]
async fn writer_that_meets_a_fence_is_undone_and_its_table_is_not_called_occupied() {
    let world = World::new().await;
    let (other, faults) = (Arc::new(world.process().await), Arc::new(FaultHook::default()));
    let failing = faults.clone();
    let hook = Meanwhile::hook(When::Before, StoreCall::PutIfAbsent, "nodes/1/_versions", move || {
        let (other, failing) = (other.clone(), failing.clone());
        Box::pin(async move {
            other.settle().await;
            // The chain cannot be read while the slot is looked at: the restore in it is all that the writer sees.
            failing.fail(FaultPlan::next(StoreCall::Head, "__manifest/_versions"));
        })
    });
    let mine = world.process_with(vec![hook, faults], FailPoints::default()).await;
    let failure = mine.append(fresh(), "mine", &TABLES[..1]).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::OperationRolledBack { .. }), "{failure:?}");
    assert!(world.quiesced().await[0].is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn undone_write_is_not_answered_by_another_request_under_its_id() {
    let world = World::new().await;
    let (operation, other) = (fresh(), Arc::new(world.process().await));
    let hook = Meanwhile::hook(When::Before, StoreCall::PutIfAbsent, "nodes/1/_versions", move || {
        let other = other.clone();
        Box::pin(async move {
            other.settle().await;
            let another = WriteRequest { digest: "another".to_owned(), ..request(operation) };
            other.committer.write(another, other.appending("another", &TABLES[1..])).await.expect("another request");
        })
    });
    let mine = world.process_with(vec![hook], FailPoints::default()).await;
    let failure = mine.append(operation, "mine", &TABLES[..1]).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::OperationRolledBack { .. }), "I-8: {failure:?}");
    let ids = world.quiesced().await;
    assert!(ids[0].is_empty() && ids[1].contains("another"), "{ids:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn write_that_was_held_up_before_its_answer_looks_at_the_chain_again() {
    let world = World::new().await;
    let (clock, counts) = (Arc::new(ManualClock::default()), Arc::new(CountingHook::default()));
    let (held_up, so_far) = (clock.clone(), counts.clone());
    let hook = Meanwhile::hook(When::After, StoreCall::PutIfAbsent, "__manifest/_versions", move || {
        held_up.advance(LONG);
        so_far.take();
        Box::pin(async {})
    });
    let mine = world.process_by(clock.clone(), vec![hook, counts.clone()], FailPoints::default()).await;
    mine.append(OperationId(clock.mint()), "mine", &TABLES[..1]).await.expect("it is committed");
    let looks =
        counts.take().into_iter().filter(|seen| seen.path.contains("__manifest") && seen.call == StoreCall::List);
    assert!(looks.count() > 0, "I-11: it rests on what an hour may have swept");
}

#[tokio::test(flavor = "multi_thread")]
async fn newest_version_is_listed_once_its_proof_is_old() {
    let world = World::new().await;
    let (clock, counts) = (Arc::new(ManualClock::default()), Arc::new(CountingHook::default()));
    let process = world.process_by(clock.clone(), vec![counts.clone()], FailPoints::default()).await;
    let lists = || counts.take().iter().filter(|seen| seen.call == StoreCall::List).count();
    process.newest().await;
    lists();
    process.newest().await;
    assert_eq!(lists(), 0, "a fresh proof is probed from");
    clock.advance(LONG);
    process.newest().await;
    assert_eq!(lists(), 1, "I-4: what follows an old one may have been swept");
}

/// A process that never takes an owner for gone.
async fn endless(world: &World, faults: &Arc<FaultHook>) -> Process {
    let limits = Limits { recovery_grace_ms: ENDLESS_MS, ticket_wait_ms: 300, ..limits() };
    world.process_of(limits, Arc::new(SystemClock), vec![faults.clone()], FailPoints::default()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_that_may_be_alive_is_left_its_grace() {
    let world = World::new().await;
    let faults = Arc::new(FaultHook::default());
    let owner = world.process_with(vec![faults.clone()], FailPoints::default()).await;
    let mut effect = faults.pause_before(FaultPlan::next(StoreCall::PutIfAbsent, "nodes/1/_versions"));
    let committer = owner.committer.clone();
    let writer = owner.appending("slow", &TABLES[..1]);
    let writing = tokio::spawn(async move { committer.write(request(fresh()), writer).await });
    effect.reached().await;
    let other = endless(&world, &Arc::new(FaultHook::default())).await;
    let failure = other.append(fresh(), "other", &TABLES[1..]).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::RecoveryRequired { .. }), "{failure:?}");
    effect.release();
    writing.await.unwrap().expect("the owner was left alone");
    assert!(world.quiesced().await[0].contains("slow"));
}

#[tokio::test(flavor = "multi_thread")]
async fn writer_whose_gate_waits_for_another_process_is_told_of_the_interrupted_write() {
    let world = World::new().await;
    let (dead, faults) = (fresh(), Arc::new(FaultHook::default()));
    armed_and_dead(&world, dead, 0).await;
    let process = endless(&world, &faults).await;
    // The first holds the gate while it reads who has the ticket.
    let mut reading = faults.pause_before(FaultPlan::next(StoreCall::Get, "__recovery/"));
    let (committer, writer) = (process.committer.clone(), process.appending("first", &TABLES[1..]));
    let first = tokio::spawn(async move { committer.write(request(fresh()), writer).await });
    reading.reached().await;
    let failure = process.append(fresh(), "second", &TABLES[1..]).await.unwrap_err();
    let Problem::RecoveryRequired { operation_id, .. } = failure.problem else { panic!("{failure:?}") };
    assert_eq!(operation_id, dead);
    reading.release();
    first.await.unwrap().unwrap_err();
}

#[tokio::test(flavor = "multi_thread")]
async fn restore_of_another_version_is_no_fence() {
    let world = World::new().await;
    let process = world.process().await;
    process.append(fresh(), "first", &TABLES).await.unwrap();
    process.append(fresh(), "second", &TABLES).await.unwrap();
    let pinned = process.newest().await.table(TABLES[0]).unwrap().clone();
    armed_and_dead(&world, fresh(), 0).await;
    // A stranger restores the version before the pinned one.
    let (older, next) = (TableVersion(pinned.version.0 - 1), pinned.version.next());
    let restored = world.temp.store.restore_exact(&pinned.tree_ref(), older, next, &fresh_mark()).await.unwrap();
    assert!(matches!(restored, CommitOutcome::Committed(_)));
    let other = world.process().await;
    let main = other.committer.catalog().main_chain();
    let failure = other.committer.settle(&main, Instant::now() + Duration::from_secs(10)).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::TableOccupied { .. }), "I-7: {failure:?}");
    let view = other.committer.preview_repair(&main, &[]).await.unwrap();
    assert_eq!(view.tables.iter().map(|table| table.pinned.id).collect::<Vec<_>>(), TABLES[..1]);
    let newest = other.newest().await;
    assert_eq!(newest.table(TABLES[0]).unwrap().version, pinned.version, "the pin stays");
    assert_eq!(other.ids(&newest).await[0].len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn branch_of_main_has_the_schema_that_main_has_when_it_is_registered() {
    let world = World::with_more_tables(StoreKind::Local, 1).await;
    let (sound, faults) = (world.process().await, Arc::new(FaultHook::default()));
    let slow = world.process_with(vec![faults.clone()], FailPoints::default()).await;
    // The reference that completes the clone.
    let mut cloned = faults.pause_after(FaultPlan::next(StoreCall::PutIfAbsent, "__manifest/_refs/"));
    let committer = slow.committer.clone();
    let asked =
        tokio::spawn(async move { committer.create_branch(&about("dev"), &ReadAt::Branch(BranchName::Main)).await });
    cloned.reached().await;
    drop_table(&sound, TableId(100)).await;
    cloned.release();
    row(asked.await.unwrap());
    let (dev, main) = (sound.newest_on(&named("dev")).await, sound.newest().await);
    assert_eq!(dev.schema_hash(), main.schema_hash(), "I-10");
}

/// Between arm and effect the intent is lost, and another attempt takes the version: what it published is not this attempt's.
#[tokio::test(flavor = "multi_thread")]
async fn publication_of_another_attempt_is_not_taken_for_ones_own() {
    let world = World::new().await;
    let other = Arc::new(world.process().await);
    let hook = Meanwhile::hook(When::Before, StoreCall::PutIfAbsent, "nodes/1/_versions", move || {
        let other = other.clone();
        Box::pin(async move {
            lose_intent(&other).await;
            other.append(fresh(), "other", &TABLES[..1]).await.expect("another attempt");
        })
    });
    let mine = world.process_with(vec![hook], FailPoints::default()).await;
    let failure = mine.append(fresh(), "mine", &TABLES[..1]).await.unwrap_err();
    assert_ne!(failure.effect, Effect::Committed, "I-7: {failure:?}");
    assert_eq!(world.quiesced().await[0].iter().collect::<Vec<_>>(), ["other"]);
}

/// Between effect and publication the intent is lost, and the version is the abort of another attempt: the effect must not be there.
#[tokio::test(flavor = "multi_thread")]
async fn effect_beside_the_abort_of_another_attempt_is_a_violation() {
    let world = Arc::new(World::new().await);
    let (other, root) = (Arc::new(world.process().await), world.clone());
    let hook = Meanwhile::hook(When::After, StoreCall::PutIfAbsent, "nodes/1/_versions", move || {
        let (other, root) = (other.clone(), root.clone());
        Box::pin(async move {
            lose_intent(&other).await;
            armed_and_dead(&root, fresh(), 1).await;
            other.settle().await;
        })
    });
    let mine = world.process_with(vec![hook], FailPoints::default()).await;
    let failure = mine.append(fresh(), "mine", &TABLES[..1]).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::InvariantViolation { .. }), "I-3: {failure:?}");
    assert!(mine.ids(&mine.newest().await).await[0].is_empty());
}

async fn lose_intent(process: &Process) {
    let newest = process.newest().await;
    let intent = process.committer.catalog().paths().intent(newest.branch_id(), newest.version().next());
    process.committer.catalog().store().delete(&intent).await.expect("the intent is lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn pin_that_is_lost_is_not_fenced_and_its_table_is_named() {
    let world = World::new().await;
    world.process().await.append(fresh(), "base", &TABLES).await.unwrap();
    armed_and_dead(&world, fresh(), 0).await;
    let pin = world.process().await.newest().await.table(TABLES[0]).unwrap().pin();
    world.temp.store.delete(&pin.manifest()).await.unwrap();
    let other = world.process().await;
    let main = other.committer.catalog().main_chain();
    let failure = other.committer.settle(&main, Instant::now() + Duration::from_secs(10)).await.unwrap_err();
    let Problem::TableOccupied { table, found, .. } = &failure.problem else { panic!("{failure:?}") };
    assert_eq!((table.as_str(), found.as_str()), ("A", "nothing"));
}

#[tokio::test(flavor = "multi_thread")]
async fn operation_that_is_armed_and_has_no_owner_is_in_doubt() {
    let world = World::new().await;
    let dead = fresh();
    armed_and_dead(&world, dead, 0).await;
    let other = world.process().await;
    let state = other.committer.operation(&BranchName::Main, dead).await.unwrap();
    assert!(matches!(state, OperationState::InDoubt { .. } | OperationState::InProgress), "{state:?}");
    let never = other.committer.operation(&BranchName::Main, fresh()).await.unwrap();
    assert_eq!(never, OperationState::Unknown);
}

/// The digest is the same, the kind of request is not.
#[tokio::test(flavor = "multi_thread")]
async fn operation_id_of_a_registered_branch_is_refused_to_a_write() {
    let world = World::new().await;
    let process = world.process().await;
    let registration = BranchRequest { digest: request(fresh()).digest, ..about("dev") };
    let source = ReadAt::Branch(BranchName::Main);
    process.committer.create_branch(&registration, &source).await.unwrap();
    let failure = process.append(registration.operation_id, "mine", &TABLES).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::OperationIdReused { .. }), "I-8: {failure:?}");
    assert!(world.quiesced().await.iter().all(|ids| ids.is_empty()));
}
