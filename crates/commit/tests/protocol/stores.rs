//! What must happen when the store fails, on every kind of store: one test for each kind of fault.

use std::sync::Arc;
use std::time::Duration;

use omnigraph_commit::{FailPoints, WriteOutcome};
use omnigraph_storage::{StoreCall, StoreHook, StoreKind};
use omnigraph_testkit::{EVERY_STORE, FaultHook, FaultPlan};
use omnigraph_types::{Effect, OperationId, Problem};

use crate::branches::{create, delete, named, row};
use crate::world::{Process, TABLES, World, failing, fresh};

/// Where things lie, as parts of paths.
const INTENTS: &str = "__recovery";
const TABLE_MANIFEST: &str = "nodes/1/_versions";
const GRAPH_MANIFEST: &str = "__manifest/_versions";
/// Longest wait for a write that must not hang; its own deadline is two seconds.
const HANGS_AFTER: Duration = Duration::from_secs(60);

/// A world, a process whose store fails by plan, and one whose store does not.
struct Stage {
    world: World,
    faults: Arc<FaultHook>,
    faulty: Process,
    sound: Process,
}

async fn stage(kind: StoreKind) -> Stage {
    let world = World::on(kind).await;
    let faults = Arc::new(FaultHook::default());
    let hooks: Vec<Arc<dyn StoreHook>> = vec![faults.clone()];
    let faulty = world.process_with(hooks, FailPoints::default()).await;
    let sound = world.process().await;
    Stage { world, faults, faulty, sound }
}

impl Stage {
    /// The write of `mine` through the faulty store, which must answer.
    async fn write(&self, operation: OperationId) -> Result<WriteOutcome, omnigraph_types::Failure> {
        let written = tokio::time::timeout(HANGS_AFTER, self.faulty.append(operation, "mine", &TABLES)).await;
        written.expect("no write hangs past its deadline")
    }

    /// After the fault: whoever writes next writes, the resent operation is there once, and nothing is left (I-4, I-6, I-8).
    async fn goes_on(&self, operation: OperationId) {
        self.faults.clear();
        self.sound.append(fresh(), "plain", &TABLES).await.expect("a plain write from another process");
        let resent = self.faulty.append(operation, "mine", &TABLES).await.expect("the resent operation");
        assert!(matches!(resent, WriteOutcome::Committed(_) | WriteOutcome::Replayed(_)), "{resent:?}");
        self.sound.settle().await;
        for ids in self.world.quiesced().await {
            assert_eq!(ids.into_iter().collect::<Vec<_>>(), ["mine", "plain"]);
        }
    }

    /// The branch's newest version holds no row of `mine`.
    async fn shows_nothing(&self) {
        let ids = self.sound.ids(&self.sound.newest().await).await;
        assert!(ids.iter().all(|ids| !ids.contains("mine")), "I-2: {ids:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn intent_put_that_fails_for_certain_is_a_clean_failure() {
    for kind in EVERY_STORE {
        let stage = stage(kind).await;
        stage.faults.fail(FaultPlan::next(StoreCall::PutIfAbsent, INTENTS));
        let operation = fresh();
        let failure = stage.write(operation).await.unwrap_err();
        assert_eq!((&failure.problem, failure.effect), (&Problem::StorageUnavailable, Effect::None), "{kind:?}");
        stage.shows_nothing().await;
        stage.goes_on(operation).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn intent_put_of_unknown_outcome_is_repeated() {
    for kind in EVERY_STORE {
        let stage = stage(kind).await;
        let late = stage.faults.apply_late(FaultPlan::next(StoreCall::PutIfAbsent, INTENTS));
        let operation = fresh();
        let outcome = stage.write(operation).await.unwrap();
        assert!(matches!(outcome, WriteOutcome::Committed(_)), "{kind:?}: {outcome:?}");
        late.land().await;
        stage.goes_on(operation).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn intent_that_lands_after_its_writer_gave_up_is_settled_by_whoever_comes_next() {
    for kind in EVERY_STORE {
        let stage = stage(kind).await;
        let late = stage.faults.apply_late(FaultPlan::next(StoreCall::PutIfAbsent, INTENTS));
        stage.faults.lose_reply(FaultPlan::next(StoreCall::PutIfAbsent, INTENTS).ever());
        stage.faults.fail(FaultPlan::next(StoreCall::PutIfAbsent, INTENTS).at(2).ever());
        stage.faults.fail(FaultPlan::next(StoreCall::Get, INTENTS).ever());
        let operation = fresh();
        let failure = stage.write(operation).await.unwrap_err();
        let Problem::RecoveryRequired { operation_id, .. } = &failure.problem else { panic!("{kind:?}: {failure:?}") };
        assert_eq!((*operation_id, failure.effect), (operation, Effect::Unknown), "{kind:?}");
        late.land().await;
        stage.shows_nothing().await;
        stage.goes_on(operation).await;
    }
}

/// Faults of one commit: refused, applied with a lost reply that cannot be read back, and applied late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommitFault {
    Refused,
    ReplyLost,
    Late,
}

async fn commit_fault(kind: StoreKind, fault: CommitFault, manifest: &'static str) {
    let stage = stage(kind).await;
    let put = FaultPlan::next(StoreCall::PutIfAbsent, manifest);
    let mut late = None;
    match fault {
        CommitFault::Refused => stage.faults.fail(put),
        CommitFault::ReplyLost => {
            stage.faults.lose_reply(put);
            stage.faults.fail(FaultPlan::next(StoreCall::Head, manifest));
            stage.faults.fail(FaultPlan::next(StoreCall::Get, manifest));
        }
        CommitFault::Late => late = Some(stage.faults.apply_late(put)),
    }
    let operation = fresh();
    let outcome = stage.write(operation).await;
    let at = format!("{kind:?} {fault:?} {manifest}: {outcome:?}");
    match &outcome {
        Ok(WriteOutcome::Committed(_)) => {}
        Ok(_) => panic!("{at}"),
        Err(failure) => {
            assert_eq!(failure.effect, Effect::None, "its owner has settled it: {at}");
            stage.shows_nothing().await;
        }
    }
    if let Some(late) = late {
        late.land().await;
        if outcome.is_err() {
            stage.shows_nothing().await;
        }
    }
    stage.goes_on(operation).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn table_commit_that_fails_or_lands_late_is_settled_by_its_owner() {
    for kind in EVERY_STORE {
        for fault in [CommitFault::Refused, CommitFault::ReplyLost, CommitFault::Late] {
            commit_fault(kind, fault, TABLE_MANIFEST).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn graph_manifest_put_that_fails_or_lands_late_is_settled_by_its_owner() {
    for kind in EVERY_STORE {
        for fault in [CommitFault::Refused, CommitFault::ReplyLost, CommitFault::Late] {
            commit_fault(kind, fault, GRAPH_MANIFEST).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn store_that_stays_down_after_arm_asks_for_recovery_and_the_next_process_recovers() {
    for kind in EVERY_STORE {
        for manifest in [TABLE_MANIFEST, GRAPH_MANIFEST] {
            let stage = stage(kind).await;
            stage.faults.fail(FaultPlan::next(StoreCall::PutIfAbsent, manifest).ever());
            for call in [StoreCall::PutIfAbsent, StoreCall::Put] {
                stage.faults.fail(FaultPlan::next(call, "__manifest").at(4).ever());
            }
            stage.faults.fail(FaultPlan::next(StoreCall::PutIfAbsent, GRAPH_MANIFEST).ever());
            let operation = fresh();
            let failure = stage.write(operation).await.unwrap_err();
            let Problem::RecoveryRequired { operation_id, .. } = &failure.problem else {
                panic!("{kind:?}: {failure:?}")
            };
            assert_eq!((*operation_id, failure.effect), (operation, Effect::Unknown), "{kind:?} {manifest}");
            stage.goes_on(operation).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn intent_that_cannot_be_read_fails_the_write_and_no_read() {
    for kind in EVERY_STORE {
        let stage = stage(kind).await;
        // Somebody holds the next version: a writer that died right after it armed.
        let dying = failing("g/load.A.after=lose");
        let down = Arc::new(FaultHook::default());
        let hooks: Vec<Arc<dyn StoreHook>> = vec![down.clone()];
        let dead = stage.world.process_with(hooks, dying).await;
        down.fail(FaultPlan::next(StoreCall::PutIfAbsent, GRAPH_MANIFEST).ever());
        dead.append(fresh(), "dead", &TABLES).await.unwrap_err();
        stage.faults.fail(FaultPlan::next(StoreCall::Get, INTENTS).ever());
        let operation = fresh();
        let failure = stage.write(operation).await.unwrap_err();
        // Whoever holds the version may be this very attempt: only a read could tell.
        let Problem::RecoveryRequired { operation_id, .. } = &failure.problem else { panic!("{kind:?}: {failure:?}") };
        assert_eq!((*operation_id, failure.effect), (operation, Effect::Unknown), "{kind:?}");
        let read = stage.faulty.ids(&stage.faulty.newest().await).await;
        assert_eq!(read.iter().map(|ids| ids.len()).sum::<usize>(), 0, "{kind:?}: reads go on");
        stage.goes_on(operation).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn torn_intent_stops_writes_to_its_branch_alone_and_the_branch_can_be_deleted() {
    for kind in EVERY_STORE {
        let stage = stage(kind).await;
        row(create(&stage.sound, fresh(), "dev").await);
        let dev = named("dev");
        stage.faults.tear(FaultPlan::next(StoreCall::PutIfAbsent, INTENTS));
        for process in [&stage.faulty, &stage.sound] {
            let failure = process.append_on(&dev, fresh(), "mine", &TABLES).await.unwrap_err();
            assert!(matches!(failure.problem, Problem::Corrupt { .. }), "{kind:?}: {failure:?}");
        }
        stage.sound.append(fresh(), "main", &TABLES).await.expect("other branches go on");
        let read = stage.sound.ids(&stage.sound.newest_on(&dev).await).await;
        assert!(read.iter().all(|ids| ids.is_empty()), "{kind:?}: reads go on");
        row(delete(&stage.sound, fresh(), "dev").await);
        row(create(&stage.faulty, fresh(), "dev").await);
        stage.sound.append_on(&dev, fresh(), "again", &TABLES).await.expect("the name is free");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn disk_full_or_store_down_mid_load_leaves_nothing_visible() {
    for kind in EVERY_STORE {
        let stage = stage(kind).await;
        stage.faults.fail(FaultPlan::next(StoreCall::Put, "/data/").at(2).ever());
        let operation = fresh();
        let failure = stage.write(operation).await.unwrap_err();
        assert_eq!((&failure.problem, failure.effect), (&Problem::StorageUnavailable, Effect::None), "{kind:?}");
        stage.shows_nothing().await;
        stage.goes_on(operation).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn torn_graph_manifest_is_reported_as_corrupt_and_no_write_goes_past_it() {
    for kind in EVERY_STORE {
        let stage = stage(kind).await;
        stage.faults.tear(FaultPlan::next(StoreCall::PutIfAbsent, GRAPH_MANIFEST));
        let failure = stage.write(fresh()).await.unwrap_err();
        assert_eq!(failure.effect, Effect::Unknown, "{kind:?}: {failure:?}");
        let failure = stage.sound.append(fresh(), "plain", &TABLES).await.unwrap_err();
        assert!(matches!(failure.problem, Problem::Corrupt { .. }), "{kind:?}: {failure:?}");
    }
}
