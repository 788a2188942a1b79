//! Intents that only a newer server knows whole: refused as its, settled by nobody, and no obstacle to reads and other branches.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use omnigraph_catalog::STORAGE_FORMAT;
use omnigraph_commit::{FailPoints, IntentCondition, OperationState, inspect};
use omnigraph_storage::{ObjectPath, StoreCall, StoreHook};
use omnigraph_testkit::{FaultHook, FaultPlan};
use omnigraph_types::{BranchName, Effect, Failure, Problem};
use tokio::time::Instant;

use crate::branches::{create, named, row};
use crate::world::{TABLES, World, fresh};

/// A writer of both tables died after it armed, and its intent turns out to have `unknown` where this program writes `known`.
async fn of_a_newer_server(world: &World, known: &str, unknown: &str) -> (ObjectPath, Bytes) {
    let down = Arc::new(FaultHook::default());
    let hooks: Vec<Arc<dyn StoreHook>> = vec![down.clone()];
    let victim = world.process_with(hooks, FailPoints::default()).await;
    down.fail(FaultPlan::next(StoreCall::PutIfAbsent, "nodes/").ever());
    down.fail(FaultPlan::next(StoreCall::PutIfAbsent, "__manifest").ever());
    victim.append(fresh(), "theirs", &TABLES).await.unwrap_err();
    let newest = world.process().await.newest().await;
    let path = victim.committer.catalog().paths().intent(newest.branch_id(), newest.version().next());
    let stored = world.temp.store.get(&path).await.unwrap().expect("an intent").bytes;
    let text = String::from_utf8(stored.to_vec()).unwrap();
    assert!(text.contains(known), "{text}");
    let bytes = Bytes::from(text.replacen(known, unknown, 1));
    world.temp.store.put(&path, bytes.clone()).await.unwrap();
    (path, bytes)
}

#[track_caller]
fn is_newer(failure: &Failure, found: u32) {
    assert_eq!(failure.problem, Problem::StorageFormat { found, supported: STORAGE_FORMAT });
    assert_eq!(failure.effect, Effect::None);
    assert!(failure.message.contains("upgrade"), "{}", failure.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn intent_of_a_newer_server_is_settled_by_nobody_and_reads_go_on() {
    let replaced = [
        ("\"publication\":{\"kind\":\"commit\"", "\"publication\":{\"kind\":\"vacuum\"", STORAGE_FORMAT),
        ("\"change\":\"pin\"", "\"change\":\"pin_of_pins\"", STORAGE_FORMAT),
        ("{\"format\":2,", "{\"format\":3,", 3),
    ];
    for (known, unknown, found) in replaced {
        let world = World::new().await;
        let process = world.process().await;
        process.append(fresh(), "before", &TABLES).await.unwrap();
        row(create(&process, fresh(), "dev").await);
        let (path, bytes) = of_a_newer_server(&world, known, unknown).await;
        for writer in [&process, &world.process().await] {
            is_newer(&writer.append(fresh(), "mine", &TABLES).await.unwrap_err(), found);
            let main = writer.committer.catalog().main_chain();
            let deadline = Instant::now() + Duration::from_secs(2);
            is_newer(&writer.committer.settle(&main, deadline).await.unwrap_err(), found);
            is_newer(&writer.committer.preview_repair(&main, &[]).await.unwrap_err(), found);
            let condition = inspect(writer.committer.catalog(), &main).await.unwrap();
            assert!(matches!(condition.intent, IntentCondition::Newer(_)), "{unknown}: {condition:?}");
            let state = writer.committer.operation(&BranchName::Main, fresh()).await.unwrap();
            assert!(matches!(state, OperationState::InDoubt { .. }), "{unknown}: {state:?}");
            let ids = writer.ids(&writer.newest().await).await;
            assert!(ids.iter().all(|ids| ids.len() == 1), "{unknown}: reads go on");
            writer
                .append_on(&named("dev"), fresh(), &fresh().to_string(), &TABLES)
                .await
                .expect("other branches go on");
        }
        let stored = world.temp.store.get(&path).await.unwrap().expect("the intent").bytes;
        assert_eq!(stored, bytes, "{unknown}: untouched");
    }
}
