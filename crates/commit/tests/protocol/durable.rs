//! The order in which a write reaches the store. Every put is synced before it is answered, so this is the order that survives a loss of power: what names
//! something comes after it.

use std::sync::Arc;

use omnigraph_commit::FailPoints;
use omnigraph_storage::{StoreCall, StoreHook, StoreReply};
use omnigraph_testkit::CountingHook;

use crate::branches::{create, named, row};
use crate::world::{TABLES, World, fresh};

/// The places of successful puts whose path has all of these parts, among all puts.
fn places(puts: &[String], parts: &[&str]) -> Vec<usize> {
    let found: Vec<usize> = puts
        .iter()
        .enumerate()
        .filter(|(_, path)| parts.iter().all(|part| path.contains(part)))
        .map(|(place, _)| place)
        .collect();
    assert!(!found.is_empty(), "nothing is put at {parts:?}: {puts:#?}");
    found
}

fn puts(counts: &CountingHook) -> Vec<String> {
    let put = |call| matches!(call, StoreCall::Put | StoreCall::PutIfAbsent);
    let seen = counts.take().into_iter().filter(|seen| put(seen.call) && seen.reply == StoreReply::Ok);
    seen.map(|seen| seen.path).collect()
}

/// Each of `first` was answered before any of `then`.
fn before(puts: &[String], first: &[&str], then: &[&str]) {
    let (first_places, then_places) = (places(puts, first), places(puts, then));
    assert!(first_places.iter().max() < then_places.iter().min(), "{first:?} before {then:?}: {puts:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn write_is_put_in_an_order_that_a_loss_of_power_cannot_tear() {
    let world = World::new().await;
    let counts = Arc::new(CountingHook::default());
    let hooks: Vec<Arc<dyn StoreHook>> = vec![counts.clone()];
    let process = world.process_with(hooks, FailPoints::default()).await;
    counts.take();
    process.append(fresh(), "a", &TABLES).await.unwrap();
    let puts = puts(&counts);
    for table in ["nodes/1", "nodes/2"] {
        before(&puts, &[table, "/data/"], &["__recovery"]);
        before(&puts, &["__recovery"], &[table, "_versions"]);
        before(&puts, &[table, "_versions"], &["__manifest/_versions"]);
    }
    before(&puts, &["__manifest/data"], &["__manifest/_versions"]);
    assert_eq!(
        places(&puts, &["__manifest/_versions"]),
        [puts.len() - 1],
        "the publication is the last of all: {puts:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn private_trees_are_whole_before_the_intent_that_names_them() {
    let world = World::new().await;
    let counts = Arc::new(CountingHook::default());
    let hooks: Vec<Arc<dyn StoreHook>> = vec![counts.clone()];
    let process = world.process_with(hooks, FailPoints::default()).await;
    row(create(&process, fresh(), "dev").await);
    counts.take();
    process.append_on(&named("dev"), fresh(), "a", &TABLES).await.unwrap();
    let puts = puts(&counts);
    for table in ["nodes/1", "nodes/2"] {
        for part in ["/data/", "/_versions/", "_refs/branches"] {
            before(&puts, &[table, part], &["__recovery"]);
        }
    }
    before(&puts, &["__recovery"], &["__manifest/tree/", "_versions"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn branch_is_whole_before_it_is_registered() {
    let world = World::new().await;
    let counts = Arc::new(CountingHook::default());
    let hooks: Vec<Arc<dyn StoreHook>> = vec![counts.clone()];
    let process = world.process_with(hooks, FailPoints::default()).await;
    counts.take();
    row(create(&process, fresh(), "dev").await);
    let puts = puts(&counts);
    before(&puts, &["__manifest/tree/", "_versions"], &["__manifest/_refs/branches"]);
    before(&puts, &["__manifest/_refs/branches"], &["__recovery"]);
    before(&puts, &["__recovery"], &["__manifest/_versions"]);
}
