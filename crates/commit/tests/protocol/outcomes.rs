//! What a request is answered about its effect is true, whatever becomes of its puts.

use std::sync::Arc;
use std::time::Duration;

use omnigraph_commit::{BranchOutcome, BranchRequest, FailPoints, WriteOutcome};
use omnigraph_storage::{StoreCall, StoreHook};
use omnigraph_testkit::{FaultHook, FaultPlan};
use omnigraph_types::{BranchName, Effect, Failure, OperationId, Problem, ReadAt, RequestEffect, WriteMode};
use tokio::time::Instant;

use crate::branches::{create, named, row};
use crate::world::{TABLES, World, fresh};

fn request(operation_id: OperationId, name: &str) -> BranchRequest {
    BranchRequest {
        operation_id,
        digest: format!("digest of {name}"),
        actor: "test".to_owned(),
        name: named(name),
        expected_head: None,
        deadline: None,
        mode: WriteMode::Commit,
    }
}

/// The last version of a branch has an unknown outcome and lands late; meanwhile the request is answered with an effect.
async fn unknown_removal(deadline: Option<Duration>, fail_data: bool) -> (Result<BranchOutcome, Failure>, bool) {
    let world = World::new().await;
    let sound = world.process().await;
    row(create(&sound, fresh(), "dev").await);
    let faults = Arc::new(FaultHook::default());
    let hooks: Vec<Arc<dyn StoreHook>> = vec![faults.clone()];
    let faulty = world.process_with(hooks, FailPoints::default()).await;
    let late = faults.apply_late(FaultPlan::next(StoreCall::PutIfAbsent, "__manifest/tree"));
    if fail_data {
        faults.fail(FaultPlan::next(StoreCall::Put, "__manifest/tree").at(3).ever());
    }
    // The look of the second round comes after the deadline.
    let _slow = deadline.map(|_| faults.pause_before(FaultPlan::next(StoreCall::Head, "__manifest/_versions").at(2)));
    let deadline = deadline.map(|after| Instant::now() + after);
    let request = BranchRequest { deadline, ..request(fresh(), "dev") };
    let committer = faulty.committer.clone();
    let asked = tokio::spawn(async move { committer.delete_branch(&request).await });
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    drop(_slow);
    let outcome = asked.await.unwrap();
    println!("answered: {outcome:?}");
    late.land().await;
    let gone = sound.committer.catalog().newest(&named("dev")).await.is_err();
    (outcome, gone)
}

#[tokio::test(flavor = "multi_thread")]
async fn removal_of_unknown_outcome_and_store_that_fails_then() {
    let (outcome, gone) = unknown_removal(None, true).await;
    println!("gone: {gone}");
    if let Err(failure) = outcome {
        assert!(!(gone && failure.effect == Effect::None), "effect none, and the branch is gone");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn removal_of_unknown_outcome_and_deadline() {
    let (outcome, gone) = unknown_removal(Some(Duration::from_millis(700)), false).await;
    println!("gone: {gone}");
    if let Err(failure) = outcome {
        assert!(!(gone && failure.effect == Effect::None), "effect none, and the branch is gone");
    }
}

/// Two tables of an undone write, the pinned version of one of them damaged: the other must go on.
#[tokio::test(flavor = "multi_thread")]
async fn damaged_table_of_an_undone_write_does_not_stop_the_other() {
    for damage in ["empty", "gone"] {
        let world = World::new().await;
        let sound = world.process().await;
        sound.append(fresh(), "base", &TABLES).await.unwrap();
        let faults = Arc::new(FaultHook::default());
        let hooks: Vec<Arc<dyn StoreHook>> = vec![faults.clone()];
        let dying = world.process_with(hooks, FailPoints::default()).await;
        // Armed, no effect made, nothing published.
        faults.fail(FaultPlan::next(StoreCall::PutIfAbsent, "_versions").ever());
        println!("died: {:?}", dying.append(fresh(), "dead", &TABLES).await.map_err(|failure| failure.problem));
        let newest = sound.newest().await;
        let pin = newest.table(TABLES[0]).unwrap().pin();
        let path = world.temp.folder().join(pin.manifest().as_str());
        match damage {
            "empty" => std::fs::write(&path, b"").unwrap(),
            _ => std::fs::remove_file(&path).unwrap(),
        }
        let other = world.process().await;
        let written = other.append(fresh(), "x", &TABLES[1..]).await;
        println!("{damage}: write to the sound table: {:?}", written.as_ref().map_err(|failure| &failure.problem));
        let again = other.append(fresh(), "y", &TABLES[1..]).await;
        println!("{damage}: again: {:?}", again.as_ref().map_err(|failure| &failure.problem));
        assert!(again.is_ok(), "{damage}: {again:?}");
    }
}

/// Strict append on a version that was only presumed newest.
#[tokio::test(flavor = "multi_thread")]
async fn strict_append_is_not_refused_for_what_was_acknowledged_before_it() {
    use omnigraph_commit::WriteRequest;
    use omnigraph_types::OnConflict;
    let world = World::new().await;
    let (one, two) = (world.process().await, world.process().await);
    one.append(fresh(), "a", &TABLES).await.unwrap();
    two.append(fresh(), "b", &TABLES).await.unwrap();
    // Begun after everything above was acknowledged.
    let request = WriteRequest { on_conflict: OnConflict::Fail, ..crate::world::request(fresh()) };
    let outcome = one.committer.write(request, one.appending("c", &TABLES)).await;
    println!("{outcome:?}");
    assert!(outcome.is_ok(), "{outcome:?}");
}

/// A repair whose publication has an unknown outcome, while the store fails then.
#[tokio::test(flavor = "multi_thread")]
async fn late_repair_is_answered_without_effect() {
    use omnigraph_commit::RepairRequest;
    let world = World::new().await;
    let sound = world.process().await;
    let newest = sound.newest().await;
    let path = sound.committer.catalog().paths().intent(newest.branch_id(), newest.version().next());
    world.temp.store.put(&path, bytes::Bytes::from_static(b"torn")).await.unwrap();
    let faults = Arc::new(FaultHook::default());
    let hooks: Vec<Arc<dyn StoreHook>> = vec![faults.clone()];
    let faulty = world.process_with(hooks, FailPoints::default()).await;
    let chain = faulty.committer.catalog().main_chain();
    let view = faulty.committer.preview_repair(&chain, &[]).await.unwrap();
    let late = faults.apply_late(FaultPlan::next(StoreCall::PutIfAbsent, "__manifest/_versions"));
    // The head of the look of the first round passes, and that of reading the commit back; later ones fail.
    faults.fail(FaultPlan::next(StoreCall::Head, "__manifest/_versions").at(3).ever());
    let request = RepairRequest {
        operation_id: fresh(),
        digest: "repair".to_owned(),
        actor: "test".to_owned(),
        tables: Vec::new(),
        confirmation: view.confirmation.unwrap(),
        deadline: Instant::now() + Duration::from_secs(5),
    };
    let outcome = faulty.committer.repair(&chain, request).await;
    println!("answered: {outcome:?}");
    late.land().await;
    let after = sound.newest().await;
    println!("version before {} after {} by {:?}", newest.version(), after.version(), after.state().published_by());
    let failure = outcome.unwrap_err();
    assert!(!(after.version() > newest.version() && failure.effect == Effect::None), "I-8: {failure:?}");
}

/// A store that refuses other puts of an object while one is under way: "exists", and not there to be read, is no ticket lost.
#[tokio::test(flavor = "multi_thread")]
async fn intent_that_exists_and_is_not_there_is_put_again_until_it_is_held() {
    let world = World::new().await;
    let faults = Arc::new(FaultHook::default());
    let process = world.process_with(vec![faults.clone()], FailPoints::default()).await;
    let mut late = faults.apply_late_alone(FaultPlan::next(StoreCall::PutIfAbsent, "__recovery/"));
    // Each refused put is followed by a read of the store's, and the first by one of the holder: the fourth belongs to a third put.
    let mut third = faults.pause_before(FaultPlan::next(StoreCall::Get, "__recovery/").at(4));
    let operation = fresh();
    let asked = tokio::spawn({
        let (committer, writer) = (process.committer.clone(), process.appending("mine", &TABLES));
        async move { committer.write(crate::world::request(operation), writer).await }
    });
    late.reached().await;
    third.reached().await;
    late.land().await;
    third.release();
    let outcome = asked.await.unwrap();
    assert!(matches!(outcome, Ok(WriteOutcome::Committed(_))), "{outcome:?}");
    let ids = world.quiesced().await;
    assert!(ids.iter().all(|ids| ids.len() == 1), "I-8: {ids:?}");
}

/// The same with a store that does not say more before the writer must answer.
#[tokio::test(flavor = "multi_thread")]
async fn intent_that_exists_and_is_not_there_leaves_the_outcome_unknown() {
    let world = World::new().await;
    let faults = Arc::new(FaultHook::default());
    let process = world.process_with(vec![faults.clone()], FailPoints::default()).await;
    let late = faults.apply_late_alone(FaultPlan::next(StoreCall::PutIfAbsent, "__recovery/"));
    let operation = fresh();
    let failure = process.append(operation, "mine", &TABLES).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::RecoveryRequired { .. }), "{failure:?}");
    assert_eq!(failure.effect, Effect::Unknown);
    late.land().await;
    process.append(operation, "mine", &TABLES).await.unwrap();
    assert!(world.quiesced().await.iter().all(|ids| ids.len() == 1), "I-8");
}

/// A read of the holder that fails after an own put of unknown outcome proves nothing about that put.
#[tokio::test(flavor = "multi_thread")]
async fn intent_put_of_unknown_outcome_and_store_that_cannot_be_read_then() {
    let world = World::new().await;
    let faults = Arc::new(FaultHook::default());
    let process = world.process_with(vec![faults.clone()], FailPoints::default()).await;
    let late = faults.apply_late_alone(FaultPlan::next(StoreCall::PutIfAbsent, "__recovery/"));
    faults.fail(FaultPlan::next(StoreCall::Get, "__recovery/").at(3).ever());
    let failure = process.append(fresh(), "mine", &TABLES).await.unwrap_err();
    assert_eq!(failure.effect, Effect::Unknown, "{failure:?}");
    faults.clear();
    late.land().await;
    process.settle().await;
    world.quiesced().await;
}

/// The decision itself: a version that exists and is not there is not known to be another's. It may be an own put that the client sent again.
#[tokio::test(flavor = "multi_thread")]
async fn version_that_exists_and_is_not_there_leaves_a_removal_unknown() {
    let world = World::new().await;
    let sound = world.process().await;
    row(create(&sound, fresh(), "dev").await);
    let faults = Arc::new(FaultHook::default());
    let faulty = world.process_with(vec![faults.clone()], FailPoints::default()).await;
    let second = world.process_with(vec![faults.clone()], FailPoints::default()).await;
    let mut late = faults.apply_late_alone(FaultPlan::next(StoreCall::PutIfAbsent, "__manifest/tree"));
    let committer = faulty.committer.clone();
    let first = tokio::spawn(async move { committer.delete_branch(&request(fresh(), "dev")).await });
    late.reached().await;
    for failure in [second.committer.delete_branch(&request(fresh(), "dev")).await, first.await.unwrap()] {
        let failure = failure.unwrap_err();
        assert_eq!(failure.effect, Effect::Unknown, "{failure:?}");
    }
    late.land().await;
    assert!(sound.committer.catalog().newest(&named("dev")).await.is_err(), "one of them was carried out");
}

/// A put of unknown outcome whose version another one has is no effect any more.
#[tokio::test(flavor = "multi_thread")]
async fn removal_of_unknown_outcome_is_refuted_once_its_version_is_taken() {
    let world = World::new().await;
    let sound = world.process().await;
    row(create(&sound, fresh(), "dev").await);
    let faults = Arc::new(FaultHook::default());
    let faulty = world.process_with(vec![faults.clone()], FailPoints::default()).await;
    let late = faults.apply_late(FaultPlan::next(StoreCall::PutIfAbsent, "__manifest/tree"));
    // The second look begins at main.
    let mut look = faults.pause_before(FaultPlan::next(StoreCall::Head, "__manifest/_versions").at(2));
    let expected = sound.newest_on(&named("dev")).await.head();
    let request = BranchRequest { expected_head: Some(expected), ..request(fresh(), "dev") };
    let committer = faulty.committer.clone();
    let asked = tokio::spawn(async move { committer.delete_branch(&request).await });
    look.reached().await;
    sound.append_on(&named("dev"), fresh(), "theirs", &TABLES).await.unwrap();
    look.release();
    let failure = asked.await.unwrap().unwrap_err();
    assert!(matches!(failure.problem, Problem::HeadMismatch { .. }), "{failure:?}");
    assert_eq!(failure.effect, Effect::None);
    late.land().await;
    assert!(sound.committer.catalog().newest(&named("dev")).await.is_ok(), "it was not carried out");
}

/// A request that was answered with effect none begins to take none, although its task still runs.
#[tokio::test(flavor = "multi_thread")]
async fn request_that_was_answered_takes_no_effect_later() {
    let world = World::new().await;
    let process = world.process().await;
    row(create(&process, fresh(), "dev").await);
    let main = process.newest().await.version();
    let effect = RequestEffect::default();
    assert_eq!(effect.answer(), Effect::None);
    let answered = process.committer.answering(&effect);
    // What only validates begins nothing, so it goes on.
    let validated = BranchRequest { mode: WriteMode::ValidateOnly, ..request(fresh(), "dev") };
    assert!(matches!(answered.delete_branch(&validated).await, Ok(BranchOutcome::Validated)));
    let refused = [
        answered.delete_branch(&request(fresh(), "dev")).await.map(drop),
        answered.delete_graph(&request(fresh(), "main")).await.map(drop),
        answered.create_branch(&request(fresh(), "new"), &ReadAt::Branch(BranchName::Main)).await.map(drop),
        answered.write(crate::world::request(fresh()), process.appending("mine", &TABLES)).await.map(drop),
    ];
    for refused in refused {
        let failure = refused.unwrap_err();
        assert_eq!((failure.problem, failure.effect), (Problem::Cancelled, Effect::None));
    }
    assert_eq!(process.newest().await.version(), main);
    assert!(world.quiesced().await.iter().all(|ids| ids.is_empty()));
    process.newest_on(&named("dev")).await;
}

/// A branch is made anew while another one is created from it: main moves once, for the branch that is created.
#[tokio::test(flavor = "multi_thread")]
async fn source_that_is_made_anew_is_cloned_again() {
    let world = World::new().await;
    let sound = world.process().await;
    row(create(&sound, fresh(), "dev").await);
    let faults = Arc::new(FaultHook::default());
    let slow = world.process_with(vec![faults.clone()], FailPoints::default()).await;
    // The reference that completes the clone.
    let mut cloned = faults.pause_after(FaultPlan::next(StoreCall::PutIfAbsent, "__manifest/_refs/"));
    let committer = slow.committer.clone();
    let asked = tokio::spawn(async move {
        let source = ReadAt::Branch(named("dev"));
        committer.create_branch(&request(fresh(), "copy"), &source).await
    });
    cloned.reached().await;
    row(crate::branches::delete(&sound, fresh(), "dev").await);
    let anew = row(create(&sound, fresh(), "dev").await);
    let before = sound.newest().await.version();
    cloned.release();
    let copy = row(asked.await.unwrap());
    assert_eq!(copy.source, anew.branch_id);
    assert_eq!(sound.newest().await.version(), before.next(), "main moved for what was not done");
}

/// The end of a graph whose put has an unknown outcome is none once another publication has the version.
#[tokio::test(flavor = "multi_thread")]
async fn end_of_a_graph_of_unknown_outcome_is_refuted_once_its_version_is_taken() {
    let world = World::new().await;
    let sound = world.process().await;
    let faults = Arc::new(FaultHook::default());
    let faulty = world.process_with(vec![faults.clone()], FailPoints::default()).await;
    let late = faults.apply_late(FaultPlan::next(StoreCall::PutIfAbsent, "__manifest/_versions"));
    // The first look has one, reading the version back two, and the second look the fourth.
    let mut look = faults.pause_before(FaultPlan::next(StoreCall::Head, "__manifest/_versions").at(4));
    let committer = faulty.committer.clone();
    let asked = tokio::spawn(async move { committer.delete_graph(&request(fresh(), "main")).await });
    look.reached().await;
    sound.append(fresh(), "theirs", &TABLES).await.unwrap();
    faults.fail(FaultPlan::next(StoreCall::PutIfAbsent, "__manifest/_versions"));
    look.release();
    let failure = asked.await.unwrap().unwrap_err();
    assert_eq!(failure.effect, Effect::None, "{failure:?}");
    late.land().await;
    assert!(world.quiesced().await.iter().all(|ids| ids.contains("theirs")), "it was not carried out");
}

/// The same of a repair, which another one forestalls.
#[tokio::test(flavor = "multi_thread")]
async fn repair_of_unknown_outcome_is_refuted_once_its_version_is_taken() {
    use omnigraph_commit::RepairRequest;
    let world = World::new().await;
    let sound = world.process().await;
    let newest = sound.newest().await;
    let path = sound.committer.catalog().paths().intent(newest.branch_id(), newest.version().next());
    world.temp.store.put(&path, bytes::Bytes::from_static(b"torn")).await.unwrap();
    let faults = Arc::new(FaultHook::default());
    let faulty = world.process_with(vec![faults.clone()], FailPoints::default()).await;
    let chain = faulty.committer.catalog().main_chain();
    let confirmation = faulty.committer.preview_repair(&chain, &[]).await.unwrap().confirmation.unwrap();
    let repair = move || RepairRequest {
        operation_id: fresh(),
        digest: "repair".to_owned(),
        actor: "test".to_owned(),
        tables: Vec::new(),
        confirmation: confirmation.clone(),
        deadline: Instant::now() + Duration::from_secs(30),
    };
    let late = faults.apply_late(FaultPlan::next(StoreCall::PutIfAbsent, "__manifest/_versions"));
    // The first look has one, reading the version back two, and the second look the fourth.
    let mut look = faults.pause_before(FaultPlan::next(StoreCall::Head, "__manifest/_versions").at(4));
    let (committer, asked, main) = (faulty.committer.clone(), repair(), chain.clone());
    let asked = tokio::spawn(async move { committer.repair(&main, asked).await });
    look.reached().await;
    sound.committer.repair(&chain, repair()).await.expect("another repair");
    look.release();
    let failure = asked.await.unwrap().unwrap_err();
    assert!(matches!(failure.problem, Problem::ReadSetChanged { .. }), "{failure:?}");
    assert_eq!(failure.effect, Effect::None);
    late.land().await;
    world.quiesced().await;
}

/// Nothing is begun after a request's deadline.
#[tokio::test(flavor = "multi_thread")]
async fn request_past_its_deadline_begins_nothing() {
    let world = World::new().await;
    let process = world.process().await;
    row(create(&process, fresh(), "dev").await);
    let before = process.newest().await;
    let past = Some(Instant::now());
    let write = omnigraph_commit::WriteRequest { deadline: past, ..crate::world::request(fresh()) };
    let refused = [
        process.committer.write(write, process.appending("late", &TABLES)).await.map(drop),
        process.committer.delete_branch(&BranchRequest { deadline: past, ..request(fresh(), "dev") }).await.map(drop),
        process.committer.delete_graph(&BranchRequest { deadline: past, ..request(fresh(), "main") }).await.map(drop),
    ];
    for refused in refused {
        let failure = refused.unwrap_err();
        assert_eq!((failure.problem, failure.effect), (Problem::DeadlineExceeded, Effect::None));
    }
    let intent = process.committer.catalog().paths().intent(before.branch_id(), before.version().next());
    assert!(world.temp.store.get(&intent).await.unwrap().is_none(), "nothing was armed");
    assert_eq!(process.newest().await.version(), before.version());
    process.newest_on(&named("dev")).await;
}

/// A ticket that somebody holds, and whose holder cannot be read.
#[tokio::test(flavor = "multi_thread")]
async fn holder_of_a_ticket_that_cannot_be_read_leaves_the_outcome_unknown() {
    let world = World::new().await;
    let victim = crate::guards::dying_at(&world, "nodes/").await;
    victim.append(fresh(), "dead", &TABLES[..1]).await.unwrap_err();
    let faults = Arc::new(FaultHook::default());
    let process = world.process_with(vec![faults.clone()], FailPoints::default()).await;
    // The first read of the object is that of its put.
    faults.fail(FaultPlan::next(StoreCall::Get, "__recovery/").at(2));
    let failure = process.append(fresh(), "mine", &TABLES[1..]).await.unwrap_err();
    assert_eq!(failure.effect, Effect::Unknown, "I-8: {failure:?}");
    process.settle().await;
    world.quiesced().await;
}

/// What cannot be read where the own intent may be is not known to be another's.
#[tokio::test(flavor = "multi_thread")]
async fn unreadable_slot_after_a_put_of_unknown_outcome_leaves_it_unknown() {
    let world = World::new().await;
    let faults = Arc::new(FaultHook::default());
    let process = world.process_with(vec![faults.clone()], FailPoints::default()).await;
    let newest = process.newest().await;
    let path = process.committer.catalog().paths().intent(newest.branch_id(), newest.version().next());
    let late = faults.apply_late(FaultPlan::next(StoreCall::PutIfAbsent, "__recovery/"));
    let mut second = faults.pause_before(FaultPlan::next(StoreCall::PutIfAbsent, "__recovery/").at(2));
    let (committer, writer) = (process.committer.clone(), process.appending("mine", &TABLES));
    let asked = tokio::spawn(async move { committer.write(crate::world::request(fresh()), writer).await });
    second.reached().await;
    world.temp.store.put(&path, bytes::Bytes::from_static(b"torn")).await.unwrap();
    second.release();
    let failure = asked.await.unwrap().unwrap_err();
    assert_eq!(failure.effect, Effect::Unknown, "I-8: {failure:?}");
    late.land().await;
}
