//! Writers that die or lose replies: at every store call, and at every fail point.

use std::sync::Arc;

use bytes::Bytes;
use omnigraph_commit::{FailPoint, FailPoints, WriteOutcome};
use omnigraph_storage::{CommitOutcome, StoreHook, StoreKind};
use omnigraph_testkit::{EVERY_STORE, fresh_mark, node_batch, staged_rows};
use omnigraph_types::{Effect, OperationId, Problem};

use crate::world::{DyingHook, HalfHook, LOAD, Process, TABLES, World, failing, fresh, points};

/// Bound on the store calls of one write of two tables; the loops below end when a write survives.
const CALLS_MAX: i64 = 60;

/// After a process died in `operation`, another one goes on: a plain write, the resent operation, and the oracle.
async fn goes_on(world: &World, survivor: &Process, operation: OperationId, acknowledged: bool) {
    survivor.append(fresh(), "plain", &TABLES).await.expect("a plain write from another process");
    if acknowledged {
        let ids = survivor.ids(&survivor.newest().await).await;
        assert!(ids.iter().all(|ids| ids.contains("mine")), "I-4: an acknowledged write is lost");
    }
    let resent = survivor.append(operation, "mine", &TABLES).await.expect("the resent operation");
    assert!(matches!(resent, WriteOutcome::Committed(_) | WriteOutcome::Replayed(_)), "{resent:?}");
    survivor.settle().await;
    for ids in world.quiesced().await {
        assert_eq!(ids.into_iter().collect::<Vec<_>>(), ["mine", "plain"]);
    }
}

async fn die_at_every_call(kind: StoreKind, more_tables: u32, kill: impl Fn(&DyingHook, i64)) {
    for calls in 0..CALLS_MAX {
        let world = World::with_more_tables(kind, more_tables).await;
        let hook = DyingHook::immortal();
        let hooks: Vec<Arc<dyn StoreHook>> = vec![hook.clone()];
        let dying = world.process_with(hooks, FailPoints::default()).await;
        let survivor = world.process().await;
        let operation = fresh();
        kill(&hook, calls);
        let outcome = dying.append(operation, "mine", &TABLES).await;
        if let Err(failure) = &outcome {
            assert!(hook.is_dead(), "call {calls}: {failure:?}");
        }
        let acknowledged = outcome.is_ok();
        goes_on(&world, &survivor, operation, acknowledged).await;
        if acknowledged && !hook.is_dead() {
            return;
        }
    }
    panic!("a write takes more than {CALLS_MAX} store calls");
}

#[tokio::test(flavor = "multi_thread")]
async fn process_that_dies_before_any_store_call_blocks_nobody() {
    for kind in EVERY_STORE {
        die_at_every_call(kind, 0, DyingHook::die_after).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn process_that_dies_after_any_store_call_with_its_reply_lost_blocks_nobody() {
    for kind in EVERY_STORE {
        die_at_every_call(kind, 0, DyingHook::die_with_lost_reply_after).await;
    }
}

/// The first write of a graph with so many tables moves their rows into a base.
#[tokio::test(flavor = "multi_thread")]
async fn process_that_dies_while_it_writes_a_base_blocks_nobody() {
    die_at_every_call(StoreKind::Local, 70, DyingHook::die_with_lost_reply_after).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fault_at_any_fail_point_of_a_load_leaves_it_whole_and_its_process_writing() {
    for point in points().into_iter().filter(|point| point.writer == LOAD) {
        for action in ["error", "lose"] {
            let world = World::new().await;
            let failpoints = failing(&format!("g/{point}={action}"));
            let process = world.process_with(Vec::new(), failpoints).await;
            let operation = fresh();
            let outcome = process.append(operation, "mine", &TABLES).await;
            if let Err(failure) = &outcome {
                assert_eq!(failure.effect, Effect::None, "{point}={action}: {failure:?}");
            }
            goes_on(&world, &process, operation, outcome.is_ok()).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rescuer_that_fails_at_any_point_is_followed_by_another() {
    let rescues = |point: &FailPoint| ["recover", "settle"].contains(&point.writer.as_str());
    for point in points().into_iter().filter(rescues) {
        let world = World::new().await;
        // The victim dies with one of its two effects made: that must be aborted and fenced.
        let hooks: Vec<Arc<dyn StoreHook>> = vec![Arc::new(HalfHook::default())];
        let victim = world.process_with(hooks, FailPoints::default()).await;
        let rescuer_points = failing(&format!("g/{point}=error"));
        let rescuer = world.process_with(Vec::new(), rescuer_points.clone()).await;
        let survivor = world.patient_process().await;
        let operation = fresh();
        let failure = victim.append(operation, "mine", &TABLES).await.unwrap_err();
        assert!(matches!(failure.problem, Problem::RecoveryRequired { .. }), "{point}: {failure:?}");
        assert_eq!(failure.effect, Effect::Unknown);
        // Whether the rescuer's own write succeeds depends on the point; that it leaves nothing half done does not.
        let _ = rescuer.append(fresh(), "rescuer", &TABLES[..1]).await;
        assert!(rescuer_points.is_spent(), "{point} was not hit");
        survivor.append(fresh(), "plain", &TABLES).await.unwrap_or_else(|failure| panic!("{point}: {failure:?}"));
        survivor.append(operation, "mine", &TABLES).await.unwrap_or_else(|failure| panic!("{point}: {failure:?}"));
        survivor.settle().await;
        let ids = world.quiesced().await;
        assert!(ids.iter().all(|ids| ids.contains("mine") && ids.contains("plain")), "{point}: {ids:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn intent_that_cannot_be_read_stops_writes_loudly_and_reads_not() {
    let world = World::new().await;
    let process = world.process().await;
    let newest = process.newest().await;
    let path = process.committer.catalog().paths().intent(newest.branch_id(), newest.version().next());
    world.temp.store.put(&path, Bytes::from_static(b"torn")).await.unwrap();
    let failure = process.append(fresh(), "a", &TABLES).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::Corrupt { .. }), "{failure:?}");
    assert_eq!(failure.effect, Effect::None);
    assert_eq!(process.ids(&process.newest().await).await[0].len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_that_is_nobodys_is_named_and_other_tables_go_on() {
    let world = World::new().await;
    let process = world.process().await;
    let newest = process.newest().await;
    let opened = newest.open_table(TABLES[0]).await.unwrap();
    let path = newest.table(TABLES[0]).unwrap().path.clone();
    let files = staged_rows(&world.temp.store, &path, vec![node_batch([("stranger", 1)])]).await.unwrap();
    let mark = fresh_mark();
    let outcome = world.temp.store.commit_exact(&opened, &opened.stage_append(files, mark.clone())).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Committed(_)));
    let failure = process.append(fresh(), "a", &TABLES[..1]).await.unwrap_err();
    let Problem::TableOccupied { table, found, .. } = &failure.problem else {
        panic!("{failure:?}");
    };
    assert_eq!((table.as_str(), found), ("A", &mark.uuid));
    process.append(fresh(), "b", &TABLES[1..]).await.unwrap();
    let ids = process.ids(&process.newest().await).await;
    assert_eq!((ids[0].len(), ids[1].len()), (0, 1), "the stranger's row is visible to nobody");
}

/// What may stand where a version belongs, made from the manifest of the version before.
fn damages(before: &Bytes) -> Vec<(&'static str, Bytes)> {
    vec![
        ("empty", Bytes::new()),
        ("three bytes", Bytes::from_static(b"abc")),
        ("half of a manifest", before.slice(..before.len() / 2)),
        ("the manifest of the version before", before.clone()),
        ("noise", (0..500_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn version_that_cannot_be_read_stops_its_table_alone_until_it_is_gone() {
    for which in 0..damages(&Bytes::from_static(b"..")).len() {
        let world = World::new().await;
        let (process, other) = (world.process().await, world.process().await);
        process.append(fresh(), "first", &TABLES).await.unwrap();
        let newest = process.newest().await;
        let row = newest.table(TABLES[0]).unwrap().clone();
        let manifest = |version: u64| row.path.child(format!("_versions/{:020}.manifest", u64::MAX - version));
        let before = world.temp.store.get(&manifest(row.version.0)).await.unwrap().unwrap().bytes;
        let (what, bytes) = damages(&before).swap_remove(which);
        let damaged = manifest(row.version.next().0);
        world.temp.store.put(&damaged, bytes).await.unwrap();

        let operation = fresh();
        process.append(operation, "mine", &TABLES[..1]).await.expect_err(what);
        for writer in [&process, &other] {
            writer
                .append(fresh(), &format!("b{}", fresh()), &TABLES[1..])
                .await
                .unwrap_or_else(|failure| panic!("{what}: {failure:?}"));
            let refused = writer.append(fresh(), "a", &TABLES[..1]).await.unwrap_err();
            assert!(
                matches!(&refused.problem, Problem::TableOccupied { table, .. } if table == "A"),
                "{what}: {refused:?}"
            );
            assert_eq!(refused.effect, Effect::None, "{what}");
        }
        world.temp.store.delete(&damaged).await.unwrap();
        for writer in [&process, &other] {
            writer
                .append(fresh(), &format!("a{}", fresh()), &TABLES[..1])
                .await
                .unwrap_or_else(|failure| panic!("{what}: {failure:?}"));
        }
        process.append(operation, "mine", &TABLES[..1]).await.unwrap();
        let ids = world.quiesced().await;
        assert_eq!((ids[0].len(), ids[1].len()), (4, 3), "{what}: {ids:?}");
    }
}
