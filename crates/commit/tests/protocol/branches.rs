//! Branches: two creators, writers that race with a removal, deaths at every store call, names that come back.

use std::sync::Arc;

use futures::future::join_all;
use omnigraph_catalog::BranchRow;
use omnigraph_commit::{BranchOutcome, BranchRequest, FailPoints, OperationState, WriteOutcome};
use omnigraph_storage::StoreHook;
use omnigraph_types::{BranchName, Effect, Failure, OperationId, Problem, ReadAt, Resource, WriteMode};
use ulid::Ulid;

use crate::world::{DyingHook, Process, TABLES, World, failing, fresh, points};

/// Bound on the store calls of one request about a branch.
const CALLS_MAX: i64 = 60;

pub(crate) fn named(name: &str) -> BranchName {
    name.parse().expect("a legal name")
}

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

pub(crate) async fn create(process: &Process, operation: OperationId, name: &str) -> Result<BranchOutcome, Failure> {
    let source = ReadAt::Branch(BranchName::Main);
    process.committer.create_branch(&request(operation, name), &source).await
}

async fn create_from(process: &Process, name: &str, source: ReadAt) -> BranchRow {
    match process.committer.create_branch(&request(fresh(), name), &source).await.expect("a branch") {
        BranchOutcome::Done(row) => row,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn delete(process: &Process, operation: OperationId, name: &str) -> Result<BranchOutcome, Failure> {
    process.committer.delete_branch(&request(operation, name)).await
}

pub(crate) fn row(outcome: Result<BranchOutcome, Failure>) -> BranchRow {
    match outcome.expect("the request succeeds") {
        BranchOutcome::Done(row) | BranchOutcome::Replayed(row) => row,
        BranchOutcome::Validated => panic!("only validated"),
    }
}

fn is_missing(failure: &Failure) -> bool {
    matches!(&failure.problem, Problem::NotFound { resource: Resource::Branch, .. })
}

async fn ids(process: &Process, branch: &str) -> Vec<Vec<String>> {
    let snapshot = process.newest_on(&named(branch)).await;
    process.ids(&snapshot).await.into_iter().map(|ids| ids.into_iter().collect()).collect()
}

/// I-8: whatever kind of request an operation was, no other can be it.
#[tokio::test(flavor = "multi_thread")]
async fn operation_of_a_branch_is_not_used_again_by_a_write() {
    let world = World::new().await;
    let (process, other) = (world.process().await, world.process().await);
    let (made, removed) = (fresh(), fresh());
    row(create(&process, made, "dev").await);
    row(delete(&other, removed, "dev").await);
    for operation in [made, removed] {
        for writer in [&process, &other] {
            let failure = writer.append(operation, "again", &TABLES).await.unwrap_err();
            assert!(matches!(failure.problem, Problem::OperationIdReused { .. }), "{failure:?}");
            assert_eq!(failure.effect, Effect::None);
        }
    }
    assert!(world.quiesced().await.iter().all(|ids| ids.is_empty()));
    // Sent again honestly, each is what it was.
    assert!(matches!(create(&process, made, "dev").await, Ok(BranchOutcome::Replayed(_))));
    assert!(matches!(delete(&other, removed, "dev").await, Ok(BranchOutcome::Replayed(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn branch_and_main_go_their_own_ways() {
    let world = World::new().await;
    let (process, other) = (world.process().await, world.process().await);
    process.append(fresh(), "before", &TABLES).await.unwrap();
    let made = row(create(&process, fresh(), "dev").await);
    assert_eq!(made.source_commit, process.newest().await.head());
    assert_eq!(process.newest_on(&named("dev")).await.head(), process.newest().await.head(), "a head always exists");
    for round in 0..3 {
        other.append_on(&named("dev"), fresh(), &format!("dev-{round}"), &TABLES[..1]).await.unwrap();
    }
    process.append(fresh(), "main", &TABLES[..1]).await.unwrap();
    assert_eq!(ids(&process, "dev").await, [vec!["before", "dev-0", "dev-1", "dev-2"], vec!["before"]]);
    assert_eq!(ids(&other, "main").await, [vec!["before", "main"], vec!["before"]]);
    world.quiesced().await;
    world.quiesced_on(&named("dev")).await;
    let newest = other.newest_on(&named("dev")).await;
    let owners: Vec<bool> = newest.tables().map(|table| table.owner == newest.branch_id()).collect();
    assert_eq!(owners, [true, false], "I-3: only the table that was written has a tree of the branch");
    let log = other.committer.catalog().list_commits(&named("dev"), None, 100).await.unwrap();
    assert_eq!(log.len(), 5);
    for commit in log {
        assert_eq!(process.committer.catalog().commit(commit.id).await.unwrap(), commit);
        let snapshot = process.committer.catalog().snapshot_of_commit(commit.id).await.unwrap();
        assert_eq!(snapshot.head(), commit.id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn branch_begins_where_it_was_asked_to() {
    let world = World::new().await;
    let process = world.process().await;
    process.append(fresh(), "one", &TABLES[..1]).await.unwrap();
    let first = process.newest().await.head_commit().clone();
    process.append(fresh(), "two", &TABLES[..1]).await.unwrap();
    create_from(&process, "commit", ReadAt::Commit(first.id)).await;
    let at = ReadAt::BranchAtTime { branch: BranchName::Main, time_ms: first.time_ms };
    create_from(&process, "time", at).await;
    create_from(&process, "dev/é/1", ReadAt::Branch(named("commit"))).await;
    create_from(&process, "dev", ReadAt::Branch(BranchName::Main)).await;
    process.append_on(&named("dev/é/1"), fresh(), "leaf", &TABLES[..1]).await.unwrap();
    assert_eq!(ids(&process, "commit").await[0], ["one"]);
    assert_eq!(ids(&process, "time").await[0], ["one"]);
    assert_eq!(ids(&process, "dev/é/1").await[0], ["leaf", "one"]);
    assert_eq!(ids(&process, "dev").await[0], ["one", "two"]);
    let missing = process.committer.create_branch(&request(fresh(), "x"), &ReadAt::Branch(named("no"))).await;
    assert!(is_missing(&missing.unwrap_err()));
}

#[tokio::test(flavor = "multi_thread")]
async fn deeply_nested_branches_read_and_write() {
    let world = World::new().await;
    let process = world.process().await;
    let mut source = BranchName::Main;
    for depth in 0..12 {
        let name = format!("depth-{depth}");
        create_from(&process, &name, ReadAt::Branch(source)).await;
        source = named(&name);
        process.append_on(&source, fresh(), &format!("{depth:02}"), &TABLES[..1]).await.unwrap();
    }
    assert_eq!(ids(&process, "depth-11").await[0].len(), 12);
    assert_eq!(ids(&process, "main").await[0].len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_creators_one_wins_and_the_other_is_refused() {
    let world = World::new().await;
    let processes = [world.polite_process().await, world.polite_process().await];
    for round in 0..4 {
        let name = format!("b{round}");
        let both = join_all(processes.iter().map(|process| create(process, fresh(), &name))).await;
        let refused: Vec<&Failure> = both.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
        assert_eq!(refused.len(), 1, "I-9: {both:?}");
        let taken = Problem::AlreadyExists { resource: Resource::Branch, name };
        assert_eq!((&refused[0].problem, refused[0].effect), (&taken, Effect::None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn resent_requests_about_branches_are_answered_once() {
    let world = World::new().await;
    let (process, other) = (world.process().await, world.process().await);
    let (create_id, delete_id) = (fresh(), fresh());
    // Minted long before it was sent, which is allowed for days.
    let write_id = OperationId(Ulid::from_parts(fresh().timestamp_ms() - 7 * 86_400_000, 1));
    let made = row(create(&process, create_id, "dev").await);
    assert!(matches!(create(&other, create_id, "dev").await.unwrap(), BranchOutcome::Replayed(row) if row == made));
    let reused = create(&other, create_id, "other").await.unwrap_err();
    assert!(matches!(reused.problem, Problem::OperationIdReused { .. }), "{reused:?}");
    let commit = process.append_on(&named("dev"), write_id, "a", &TABLES).await.unwrap();
    let WriteOutcome::Committed(commit) = commit else { panic!("{commit:?}") };
    row(delete(&process, delete_id, "dev").await);
    assert!(matches!(delete(&other, delete_id, "dev").await.unwrap(), BranchOutcome::Replayed(_)));
    assert!(is_missing(&delete(&other, fresh(), "dev").await.unwrap_err()));
    // I-8: the write was sent to a branch that is gone, and to a name that another branch bears now.
    let resent = other.append_on(&named("dev"), write_id, "a", &TABLES).await.unwrap();
    assert!(matches!(resent, WriteOutcome::Replayed(row) if row == commit));
    row(create(&other, fresh(), "dev").await);
    let resent = process.append_on(&named("dev"), write_id, "a", &TABLES).await.unwrap();
    assert!(matches!(resent, WriteOutcome::Replayed(row) if row == commit));
    assert_eq!(ids(&process, "dev").await, [Vec::<String>::new(), Vec::new()]);
    let state = other.committer.operation(&named("dev"), write_id).await.unwrap();
    assert!(matches!(state, OperationState::Committed(row) if *row == commit));
}

#[tokio::test(flavor = "multi_thread")]
async fn write_whose_id_also_removed_its_branch_is_answered_with_its_commit() {
    let world = World::new().await;
    let process = world.process().await;
    row(create(&process, fresh(), "dev").await);
    let shared = fresh();
    let commit = process.append_on(&named("dev"), shared, "a", &TABLES).await.unwrap();
    let WriteOutcome::Committed(commit) = commit else { panic!("{commit:?}") };
    row(delete(&process, shared, "dev").await);
    let resent = process.append_on(&named("dev"), shared, "a", &TABLES).await.unwrap();
    assert!(matches!(resent, WriteOutcome::Replayed(row) if row == commit));
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_branch_refuses_writes_everywhere_and_its_descendants_stay() {
    let world = World::new().await;
    let (process, other) = (world.process().await, world.process().await);
    row(create(&process, fresh(), "parent").await);
    process.append_on(&named("parent"), fresh(), "kept", &TABLES).await.unwrap();
    let head = process.newest_on(&named("parent")).await.head();
    create_from(&other, "child", ReadAt::Branch(named("parent"))).await;
    row(delete(&process, fresh(), "parent").await);
    for process in [&process, &other] {
        let failure = process.append_on(&named("parent"), fresh(), "late", &TABLES).await.unwrap_err();
        assert!(is_missing(&failure) && failure.effect == Effect::None, "{failure:?}");
    }
    other.append_on(&named("child"), fresh(), "own", &TABLES[..1]).await.unwrap();
    assert_eq!(ids(&process, "child").await, [vec!["kept", "own"], vec!["kept"]]);
    let snapshot = other.committer.catalog().snapshot_of_commit(head).await.unwrap();
    assert_eq!(snapshot.head(), head, "commits of a removed branch stay readable");
    create_from(&process, "again", ReadAt::Commit(head)).await;
    assert_eq!(ids(&other, "again").await, [vec!["kept"], vec!["kept"]], "and branches can be made of them");
    assert_eq!(process.ids(&snapshot).await[0].len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_racing_a_removal_win_or_are_refused() {
    let world = World::new().await;
    let (writers, remover) = (world.polite_process().await, world.polite_process().await);
    for round in 0..4 {
        let name = format!("b{round}");
        row(create(&remover, fresh(), &name).await);
        let branch = named(&name);
        let writes = (0..6).map(|n| {
            let (writers, branch) = (&writers, &branch);
            async move { writers.append_on(branch, fresh(), &format!("row-{n}"), &TABLES[..1]).await }
        });
        let (written, removed) = tokio::join!(join_all(writes), delete(&remover, fresh(), &name));
        row(removed);
        let registry = remover.newest().await;
        let chain = registry.state().branches.values().find(|row| row.name == branch).unwrap().chain();
        let last = remover.committer.catalog().newest_of(&chain).await.unwrap();
        let there = writers.ids(&last).await[0].len();
        let acknowledged = written.iter().filter(|outcome| outcome.is_ok()).count();
        assert_eq!(there, acknowledged, "I-4, I-7: {written:?}");
        for failure in written.into_iter().filter_map(Result::err) {
            assert!(is_missing(&failure) && failure.effect == Effect::None, "{failure:?}");
        }
    }
}

/// Runs `attempt` in processes that die at every store call, until one survives.
async fn die_at_every_call<F>(kill: impl Fn(&DyingHook, i64), before: &[&str], attempt: impl Fn(Process) -> F)
where
    F: Future<Output = bool>,
{
    for calls in 0..CALLS_MAX {
        let world = World::new().await;
        let survivor = world.process().await;
        for name in before {
            row(create(&survivor, fresh(), name).await);
        }
        let hook = DyingHook::immortal();
        let hooks: Vec<Arc<dyn StoreHook>> = vec![hook.clone()];
        let dying = world.process_with(hooks, FailPoints::default()).await;
        kill(&hook, calls);
        let succeeded = attempt(dying).await;
        assert!(succeeded || hook.is_dead(), "call {calls}");
        // Whatever is left of it, a branch of the name can be made and deleted, and main can be written.
        survivor.append(fresh(), "plain", &TABLES).await.expect("a plain write");
        let there = survivor.committer.catalog().newest(&named("dev")).await.is_ok();
        if there {
            row(delete(&survivor, fresh(), "dev").await);
        }
        row(create(&survivor, fresh(), "dev").await);
        survivor.append_on(&named("dev"), fresh(), "mine", &TABLES).await.expect("a write on the branch");
        row(delete(&survivor, fresh(), "dev").await);
        survivor.settle().await;
        assert_eq!(world.quiesced().await[0].len(), 1);
        if succeeded && !hook.is_dead() {
            return;
        }
    }
    panic!("a request takes more than {CALLS_MAX} store calls");
}

#[tokio::test(flavor = "multi_thread")]
async fn creator_that_dies_at_any_store_call_leaves_a_branch_or_a_free_name() {
    let attempt = |process: Process| async move { create(&process, fresh(), "dev").await.is_ok() };
    die_at_every_call(DyingHook::die_after, &[], attempt).await;
    die_at_every_call(DyingHook::die_with_lost_reply_after, &[], attempt).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn remover_that_dies_at_any_store_call_leaves_a_branch_or_a_free_name() {
    let attempt = |process: Process| async move { delete(&process, fresh(), "dev").await.is_ok() };
    die_at_every_call(DyingHook::die_after, &["dev"], attempt).await;
    die_at_every_call(DyingHook::die_with_lost_reply_after, &["dev"], attempt).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fault_at_any_fail_point_of_a_branch_request_is_settled_by_its_process() {
    for point in points().into_iter().filter(|point| point.writer.as_str().starts_with("branch_")) {
        for action in ["error", "lose"] {
            let world = World::new().await;
            let failpoints = failing(&format!("g/{point}={action}"));
            let process = world.process_with(Vec::new(), failpoints.clone()).await;
            let (create_id, delete_id) = (fresh(), fresh());
            let created = create(&process, create_id, "dev").await;
            row(create(&process, create_id, "dev").await);
            process.append_on(&named("dev"), fresh(), "a", &TABLES).await.unwrap();
            let deleted = delete(&process, delete_id, "dev").await;
            row(delete(&process, delete_id, "dev").await);
            assert!(failpoints.is_spent(), "{point} was not hit");
            for failure in [created.err(), deleted.err()].into_iter().flatten() {
                assert_eq!(failure.problem, Problem::StorageUnavailable, "{point}={action}: {failure:?}");
            }
            row(create(&process, fresh(), "dev").await);
            process.settle().await;
            world.quiesced().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_intent_cannot_keep_a_branch() {
    let world = World::new().await;
    let process = world.process().await;
    row(create(&process, fresh(), "dev").await);
    let newest = process.newest_on(&named("dev")).await;
    let path = process.committer.catalog().paths().intent(newest.branch_id(), newest.version().next());
    world.temp.store.put(&path, bytes::Bytes::from_static(b"torn")).await.unwrap();
    let failure = process.append_on(&named("dev"), fresh(), "a", &TABLES).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::Corrupt { .. }), "{failure:?}");
    process.append(fresh(), "a", &TABLES).await.expect("other branches go on");
    row(delete(&process, fresh(), "dev").await);
    row(create(&process, fresh(), "dev").await);
    process.append_on(&named("dev"), fresh(), "b", &TABLES).await.unwrap();
}
