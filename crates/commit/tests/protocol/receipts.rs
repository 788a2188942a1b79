//! Receipts on chains that have ended: found while the name is still registered, beside damaged chains, at a cost that does not grow.

use std::sync::Arc;

use omnigraph_catalog::BranchRow;
use omnigraph_commit::{BranchOutcome, BranchRequest, FailPoints, OperationState, WriteOutcome};
use omnigraph_storage::{StoreCall, StoreHook};
use omnigraph_testkit::{CountingHook, FaultHook, FaultPlan};
use omnigraph_types::{BranchName, Effect, Limits, OperationId, Problem, SystemClock, WriteMode};
use ulid::Ulid;

use crate::branches::{create, delete, named, row};
use crate::world::{Process, TABLES, World, failing, fresh, limits};

fn committed(outcome: WriteOutcome) -> omnigraph_catalog::CommitRow {
    match outcome {
        WriteOutcome::Committed(commit) => commit,
        other => panic!("expected a commit, got {other:?}"),
    }
}

/// A removed branch is registered until its remover, or whoever comes next, has published that on main.
#[tokio::test(flavor = "multi_thread")]
async fn receipt_is_found_while_a_removed_branch_is_still_registered() {
    let world = World::new().await;
    let remover = world.process_with(Vec::new(), failing("g/branch_remove.A.before=error")).await;
    let (writer, stranger) = (world.process().await, world.process().await);
    row(create(&remover, fresh(), "dev").await);
    let (written, removal) = (fresh(), fresh());
    let commit = committed(writer.append_on(&named("dev"), written, "a", &TABLES).await.unwrap());
    row(delete(&remover, removal, "dev").await);
    assert!(stranger.newest().await.state().live_branch(&named("dev")).is_some(), "the name is not free yet");
    for process in [&remover, &writer, &stranger] {
        let state = process.committer.operation(&named("dev"), written).await.unwrap();
        assert_eq!(state, OperationState::Committed(Box::new(commit.clone())));
        let resent = process.append_on(&named("dev"), written, "a", &TABLES).await.unwrap();
        assert!(matches!(resent, WriteOutcome::Replayed(row) if row == commit), "I-8");
        let state = process.committer.operation(&BranchName::Main, removal).await.unwrap();
        assert!(matches!(state, OperationState::Done { .. }), "the removal is done: {state:?}");
        let never = process.committer.operation(&BranchName::Main, fresh()).await.unwrap();
        assert_eq!(never, OperationState::Unknown);
    }
    assert!(stranger.newest().await.state().live_branch(&named("dev")).is_some(), "reads free no name");
    assert!(matches!(delete(&stranger, removal, "dev").await.unwrap(), BranchOutcome::Done(_)));
    let state = writer.committer.operation(&named("dev"), written).await.unwrap();
    assert_eq!(state, OperationState::Committed(Box::new(commit)));
}

/// Makes every version of a branch's own chain unreadable.
fn damage(world: &World, branch: &BranchRow) {
    let tree = branch.tree.to_string();
    let mut damaged = 0;
    let mut folders = vec![world.temp.folder().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().contains(&tree) && path.to_string_lossy().contains("_versions") {
                std::fs::write(path, b"").unwrap();
                damaged += 1;
            }
        }
    }
    assert!(damaged > 0, "the chain has versions");
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_branch_hides_no_commit_of_another() {
    let world = World::new().await;
    let process = world.process().await;
    let mut rows = Vec::new();
    let mut commits = Vec::new();
    for name in ["a", "b", "c"] {
        rows.push(row(create(&process, fresh(), name).await));
        commits.push(committed(process.append_on(&named(name), fresh(), name, &TABLES).await.unwrap()));
    }
    damage(&world, &rows[1]);
    let other = world.process().await;
    for place in [0, 2] {
        assert_eq!(other.committer.catalog().commit(commits[place].id).await.unwrap(), commits[place]);
    }
    // Nothing else has it, so that the damage is the answer.
    let failure = other.committer.catalog().commit(commits[1].id).await.unwrap_err().failure();
    assert!(matches!(failure.problem, Problem::Corrupt { .. }), "{failure:?}");
    let state = other.committer.operation(&BranchName::Main, fresh()).await.unwrap();
    assert_eq!(state, OperationState::Unknown, "nor does it hide what is not there");
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_chain_of_a_name_hides_no_receipt_of_another() {
    let world = World::new().await;
    let process = world.process().await;
    let dev = named("dev");
    // Minted in this order, a millisecond apart.
    let now = fresh().timestamp_ms();
    let [before, within, after, later] = [4, 3, 2, 1].map(|ago| OperationId(Ulid::from_parts(now - ago, 7)));
    row(create(&process, fresh(), "dev").await);
    let commit = committed(process.append_on(&dev, within, "within", &TABLES).await.unwrap());
    row(delete(&process, fresh(), "dev").await);
    let damaged = row(create(&process, fresh(), "dev").await);
    for (operation, id) in [(before, "before"), (after, "after")] {
        process.append_on(&dev, operation, id, &TABLES).await.unwrap();
    }
    row(delete(&process, fresh(), "dev").await);
    damage(&world, &damaged);
    row(create(&process, fresh(), "dev").await);

    let other = world.process().await;
    let resent = other.append_on(&dev, within, "within", &TABLES).await.unwrap();
    assert!(matches!(resent, WriteOutcome::Replayed(row) if row == commit), "another chain answers");
    let failure = other.append_on(&dev, after, "after", &TABLES).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::Corrupt { .. }), "I-8: it may have been applied there: {failure:?}");
    assert_eq!(failure.effect, Effect::None);
    committed(other.append_on(&dev, later, "later", &TABLES).await.unwrap());
}

async fn calls_of_writes(world: &World) -> Vec<usize> {
    let counts = Arc::new(CountingHook::default());
    let hooks: Vec<Arc<dyn StoreHook>> = vec![counts.clone()];
    let process = world.process_with(hooks, FailPoints::default()).await;
    let mut calls = Vec::new();
    for id in ["first", "second"] {
        counts.take();
        committed(process.append_on(&named("dev"), fresh(), id, &TABLES[..1]).await.unwrap());
        calls.push(counts.take().len());
    }
    calls
}

#[tokio::test(flavor = "multi_thread")]
async fn write_to_a_name_costs_the_same_however_often_it_was_made_again() {
    let world = World::new().await;
    let process = world.process().await;
    let again = |times: usize| {
        let process = &process;
        async move {
            for _ in 0..times {
                row(create(process, fresh(), "dev").await);
                process.append_on(&named("dev"), fresh(), "old", &TABLES[..1]).await.unwrap();
                row(delete(process, fresh(), "dev").await);
            }
            row(create(process, fresh(), "dev").await);
        }
    };
    again(5).await;
    let after_5 = calls_of_writes(&world).await;
    row(delete(&process, fresh(), "dev").await);
    again(44).await;
    assert_eq!(calls_of_writes(&world).await, after_5, "after 50");
}

#[tokio::test(flavor = "multi_thread")]
async fn chain_that_has_ended_is_not_asked_for_again() {
    let world = World::new().await;
    let process = world.process().await;
    row(create(&process, fresh(), "dev").await);
    let operation = fresh();
    let commit = committed(process.append_on(&named("dev"), operation, "a", &TABLES).await.unwrap());
    let removed = row(delete(&process, fresh(), "dev").await);
    let counts = Arc::new(CountingHook::default());
    let hooks: Vec<Arc<dyn StoreHook>> = vec![counts.clone()];
    let other = world.process_with(hooks, FailPoints::default()).await;
    let mut last_calls = Vec::new();
    for _ in 0..3 {
        counts.take();
        let state = other.committer.operation(&named("dev"), operation).await.unwrap();
        assert_eq!(state, OperationState::Committed(Box::new(commit.clone())));
        let tree = removed.tree.to_string();
        last_calls.push(counts.take().iter().filter(|seen| seen.path.contains(&tree)).count());
    }
    assert!(last_calls[0] > 0, "it was read once");
    assert_eq!(last_calls[1..], [0, 0]);
}

/// The newest versions of the branches that were used last are kept, and main's always.
#[tokio::test(flavor = "multi_thread")]
async fn branches_kept_in_memory_give_way_to_those_used_later() {
    let world = World::new().await;
    let limits = Limits { branches_cached_max: 3, ..limits() };
    let process: Process = world.process_of(limits, Arc::new(SystemClock), Vec::new(), FailPoints::default()).await;
    let mut rows = Vec::new();
    for name in ["a", "b", "c"] {
        rows.push(row(create(&process, fresh(), name).await));
    }
    let known = |place: usize| process.committer.catalog().known(rows[place].branch_id).is_some();
    for name in ["a", "b", "a", "c"] {
        process.newest_on(&named(name)).await;
    }
    assert_eq!([0, 1, 2].map(known), [true, false, true], "b was used least recently");
    let main = process.committer.catalog().main_branch_id();
    assert!(process.committer.catalog().known(main).is_some(), "the registry is always kept");
    process.newest_on(&named("b")).await;
    process.newest_on(&named("a")).await;
    assert_eq!([0, 1, 2].map(known), [true, true, false]);
    assert!(process.committer.catalog().known(main).is_some());
}

/// Main is the registry: without it a name is looked for in the store again.
#[tokio::test(flavor = "multi_thread")]
async fn registry_is_spared_when_branches_give_way() {
    let world = World::new().await;
    let limits = Limits { branches_cached_max: 2, ..limits() };
    let process: Process = world.process_of(limits, Arc::new(SystemClock), Vec::new(), FailPoints::default()).await;
    let mut chains = Vec::new();
    for name in ["a", "b", "c"] {
        let made = row(create(&process, fresh(), name).await);
        chains.push(process.committer.catalog().chain(made.branch_id).await.unwrap());
    }
    let catalog = process.committer.catalog();
    // Asked by their chains: main is not used meanwhile.
    for chain in &chains {
        catalog.newest_of(chain).await.unwrap();
    }
    assert!(catalog.known(catalog.main_branch_id()).is_some());
    assert_eq!(chains.iter().filter(|chain| catalog.known(chain.branch_id).is_some()).count(), 1);
}

/// A look that was held up finds an older version than this process knows by then.
#[tokio::test(flavor = "multi_thread")]
async fn version_that_was_read_late_does_not_replace_a_newer_one() {
    let world = World::new().await;
    let faults = Arc::new(FaultHook::default());
    let process = world.process_with(vec![faults.clone()], FailPoints::default()).await;
    process.newest().await;
    world.process().await.append(fresh(), "other", &TABLES).await.unwrap();
    let mut reading = faults.pause_before(FaultPlan::next(StoreCall::Get, "__manifest/"));
    let catalog = process.committer.catalog().clone();
    let late = tokio::spawn(async move { catalog.newest(&BranchName::Main).await.unwrap().version() });
    reading.reached().await;
    process.append(fresh(), "mine", &TABLES).await.unwrap();
    let newer = process.newest().await.version();
    reading.release();
    assert_eq!(late.await.unwrap().next(), newer);
    let catalog = process.committer.catalog();
    assert_eq!(catalog.known(catalog.main_branch_id()).unwrap().version(), newer);
}

/// A chain that has ended and is still registered is presumed to go on by nobody, and its end answers the request that ended it alone.
#[tokio::test(flavor = "multi_thread")]
async fn end_of_a_branch_answers_its_own_request_only() {
    let world = World::new().await;
    let remover = world.process_with(Vec::new(), failing("g/branch_remove.A.before=error")).await;
    row(create(&remover, fresh(), "dev").await);
    let removal = fresh();
    row(delete(&remover, removal, "dev").await);
    let catalog = remover.committer.catalog();
    assert!(catalog.presumed_newest(&named("dev")).is_none(), "I-9: it has ended");
    let request = |operation_id, digest: &str| BranchRequest {
        operation_id,
        digest: digest.to_owned(),
        actor: "test".to_owned(),
        name: named("dev"),
        expected_head: None,
        deadline: None,
        mode: WriteMode::Commit,
    };
    let reused = remover.committer.delete_branch(&request(removal, "another request")).await.unwrap_err();
    assert!(matches!(reused.problem, Problem::OperationIdReused { .. }), "I-8: {reused:?}");
    let own_digest = remover.committer.catalog().newest_of(&chain_of(&remover, "dev").await).await.unwrap();
    let own_digest = own_digest.state().retired.clone().unwrap().digest;
    let other = remover.committer.delete_branch(&request(fresh(), &own_digest)).await.unwrap_err();
    assert!(matches!(other.problem, Problem::NotFound { .. }), "I-8: {other:?}");
    assert_eq!(other.effect, Effect::None);
}

async fn chain_of(process: &Process, name: &str) -> omnigraph_catalog::Chain {
    let registry = process.newest().await;
    let branch = registry.state().live_branch(&named(name)).expect("a registered branch").branch_id;
    process.committer.catalog().chain(branch).await.unwrap()
}

/// An operation id belongs to the branch it was sent to. The removal of a branch is an operation on main.
#[tokio::test(flavor = "multi_thread")]
async fn removal_is_no_operation_of_the_branch_that_it_removed() {
    let world = World::new().await;
    let process = world.process().await;
    row(create(&process, fresh(), "dev").await);
    // The id of the removal lies between those of two commits of the branch.
    let now = fresh().timestamp_ms();
    let [first, removal, last] = [1, 2, 3].map(|random| OperationId(Ulid::from_parts(now, random)));
    for (operation, id) in [(first, "first"), (last, "last")] {
        process.append_on(&named("dev"), operation, id, &TABLES).await.unwrap();
    }
    row(delete(&process, removal, "dev").await);
    row(create(&process, fresh(), "dev").await);
    committed(process.append_on(&named("dev"), removal, "anew", &TABLES).await.unwrap());
    assert!(world.quiesced_on(&named("dev")).await.iter().all(|ids| ids.contains("anew")));
}
