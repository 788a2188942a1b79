//! Servers whose clocks disagree by years: receipts and commits are found all the same.

use std::sync::Arc;

use omnigraph_commit::{FailPoints, OperationState, WriteOutcome};
use omnigraph_types::{Clock, ManualClock, OperationId};

use crate::branches::{create, delete, named, row};
use crate::world::{TABLES, World, fresh};

/// A server whose wall clock is years behind deletes a branch; the name comes back; a write that was sent to the first branch is resent.
#[tokio::test(flavor = "multi_thread")]
async fn clock_jump_of_the_remover_hides_the_receipt() {
    let world = World::new().await;
    let sound = world.process().await;
    let clock = Arc::new(ManualClock::default());
    let behind = world.process_by(clock.clone(), Vec::new(), FailPoints::default()).await;
    row(create(&sound, fresh(), "dev").await);
    let x = fresh();
    let first = sound.append_on(&named("dev"), x, "a", &TABLES).await.unwrap();
    println!("first: {first:?}");
    row(delete(&behind, OperationId(clock.mint()), "dev").await);
    row(create(&sound, fresh(), "dev").await);
    let resent = sound.append_on(&named("dev"), x, "a", &TABLES).await;
    println!("resent: {resent:?}");
    let there = sound.ids(&sound.newest_on(&named("dev")).await).await;
    println!("rows on the new dev: {there:?}");
    assert!(matches!(resent, Ok(WriteOutcome::Replayed(_))), "I-8: {resent:?}");
}

/// A server whose wall clock is years behind commits on a branch; the receipt of that very commit is asked for.
#[tokio::test(flavor = "multi_thread")]
async fn clock_jump_of_the_writer_hides_its_commit() {
    let world = World::new().await;
    let sound = world.process().await;
    let clock = Arc::new(ManualClock::default());
    let behind = world.process_by(clock.clone(), Vec::new(), FailPoints::default()).await;
    row(create(&sound, fresh(), "dev").await);
    let x = OperationId(clock.mint());
    let first = behind.append_on(&named("dev"), x, "a", &TABLES).await.unwrap();
    let WriteOutcome::Committed(first) = first else { panic!("{first:?}") };
    let by_id = behind.committer.catalog().commit(first.id).await;
    println!("by id: {by_id:?}");
    let resent = behind.append_on(&named("dev"), x, "a", &TABLES).await;
    println!("resent: {resent:?}");
    let state = behind.committer.operation(&named("dev"), x).await;
    println!("state: {state:?}");
    assert!(matches!(resent, Ok(WriteOutcome::Replayed(_))), "{resent:?}");
}

/// The same commit is found by its id, by everybody, while its branch lives and after its removal.
#[tokio::test(flavor = "multi_thread")]
async fn commit_of_a_server_years_behind_is_found_by_everybody() {
    let world = World::new().await;
    let sound = world.process().await;
    let clock = Arc::new(ManualClock::default());
    let behind = world.process_by(clock.clone(), Vec::new(), FailPoints::default()).await;
    row(create(&sound, fresh(), "dev").await);
    let x = OperationId(clock.mint());
    let written = behind.append_on(&named("dev"), x, "a", &TABLES).await.unwrap();
    let WriteOutcome::Committed(written) = written else { panic!("{written:?}") };
    for removed in [false, true] {
        if removed {
            row(delete(&sound, fresh(), "dev").await);
        }
        for process in [&sound, &behind, &world.process().await] {
            assert_eq!(process.committer.catalog().commit(written.id).await.unwrap(), written, "removed: {removed}");
            let state = process.committer.operation(&named("dev"), x).await.unwrap();
            assert_eq!(state, OperationState::Committed(Box::new(written.clone())), "removed: {removed}");
        }
    }
}

/// Times of branches follow those of their heads, whatever the clock of the server says that creates or removes them.
#[tokio::test(flavor = "multi_thread")]
async fn times_of_a_branch_are_monotone_with_its_head() {
    let world = World::new().await;
    let sound = world.process().await;
    let clock = Arc::new(ManualClock::default());
    let behind = world.process_by(clock.clone(), Vec::new(), FailPoints::default()).await;
    sound.append(fresh(), "base", &TABLES).await.unwrap();
    let base_ms = sound.newest().await.head_commit().time_ms;
    assert!(clock.wall_ms() < base_ms, "the clock is behind");
    behind.append(OperationId(clock.mint()), "behind", &TABLES).await.unwrap();
    let behind_ms = sound.newest().await.head_commit().time_ms;
    assert_eq!(behind_ms, base_ms + 1, "a commit follows its parent");
    let created = row(create(&behind, OperationId(clock.mint()), "dev").await);
    assert_eq!(created.created_ms, behind_ms + 1);
    sound.append_on(&named("dev"), fresh(), "a", &TABLES).await.unwrap();
    let head_ms = sound.newest_on(&named("dev")).await.head_commit().time_ms;
    let removed = row(delete(&behind, OperationId(clock.mint()), "dev").await).removed.expect("a tombstone");
    assert_eq!(removed.time_ms, head_ms + 1);
    let main = sound.newest().await;
    assert_eq!(main.state().branches[&created.branch_id].removed, Some(removed), "the registry says the same");
}
