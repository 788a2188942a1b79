//! What is durable when a write returns, and what a sync that fails makes of it.

use std::sync::Arc;

use bytes::Bytes;
use omnigraph_storage::{
    Certainty, Durability, ObjectPath, PutOutcome, StorageError, Store, StoreCall, StoreOptions, SyncOf,
};
use omnigraph_testkit::{FaultHook, FaultPlan, SyncHook, TempStore, ids_in};
use omnigraph_types::Problem;

use crate::{append_of, committed, main_tree, table_with};

fn intent() -> ObjectPath {
    ObjectPath::new("g/__recovery/b/1.json")
}

const MINE: Bytes = Bytes::from_static(b"mine");

async fn synced() -> (TempStore, Arc<SyncHook>) {
    let syncs = Arc::new(SyncHook::default());
    (TempStore::with_hooks(vec![syncs.clone()]).await, syncs)
}

fn paths(syncs: &SyncHook) -> Vec<(SyncOf, String)> {
    syncs.take().into_iter().map(|seen| (seen.of, seen.path)).collect()
}

/// The table's folder, before a file of it.
fn of_table(name: &str) -> String {
    format!("tables/nodes/1/{name}")
}

#[tokio::test]
async fn put_syncs_the_file_before_it_has_its_place_and_its_folder_after() {
    let (temp, syncs) = synced().await;
    let file = |path: &str| (SyncOf::File, path.to_owned());
    let folder = |path: &str| (SyncOf::Folder, path.to_owned());
    let _created = temp.store.put_if_absent(&intent(), MINE).await.unwrap();
    let above = ["g/__recovery", "g", ""].map(folder);
    let of_the_put = [file("g/__recovery/b/1.json"), folder("g/__recovery/b")];
    assert_eq!(
        paths(&syncs),
        [&above[..], &of_the_put].concat(),
        "a new folder's entry is durable before anything is in it"
    );
    temp.store.put(&intent(), Bytes::from_static(b"other")).await.unwrap();
    assert_eq!(paths(&syncs), of_the_put);
    // A folder that another process made may not be durable yet: each process syncs its entry once.
    let again = Arc::new(SyncHook::default());
    let other = temp.reopen(vec![again.clone()]).await;
    other.put(&intent(), MINE).await.unwrap();
    assert_eq!(paths(&again), [&above[..], &of_the_put].concat());
}

#[tokio::test]
async fn commit_syncs_data_then_transaction_then_manifest() {
    let (temp, syncs) = synced().await;
    let table = table_with(&temp.store, &["a"]).await;
    syncs.take();
    let change = append_of(&temp.store, &table, &["b"]).await;
    committed(temp.store.commit_exact(&table, &change).await);
    let seen: Vec<_> = paths(&syncs);
    let shape: Vec<_> =
        seen.iter().map(|(of, path)| (*of, path.rsplit_once('/').map_or("", |(folder, _)| folder))).collect();
    let (data, transactions, versions) = (of_table("data"), of_table("_transactions"), of_table("_versions"));
    assert_eq!(
        shape,
        [
            (SyncOf::File, data.as_str()),
            (SyncOf::Folder, "tables/nodes/1"),
            (SyncOf::File, transactions.as_str()),
            (SyncOf::Folder, "tables/nodes/1"),
            (SyncOf::File, versions.as_str()),
            (SyncOf::Folder, "tables/nodes/1"),
        ],
        "{seen:?}"
    );
}

#[tokio::test]
async fn nothing_is_synced_where_the_operating_system_may_take_its_time() {
    let (temp, syncs) = (TempStore::open().await, Arc::new(SyncHook::default()));
    let options = StoreOptions { durability: Durability::Os, hooks: vec![syncs.clone()], ..StoreOptions::default() };
    let store = Store::open(&temp.folder().to_string_lossy(), options).await.unwrap();
    store.put(&intent(), MINE).await.unwrap();
    assert_eq!(paths(&syncs), []);
}

#[tokio::test]
async fn file_whose_content_cannot_be_synced_never_gets_its_place() {
    let (temp, syncs) = synced().await;
    syncs.fail("1.json", 1);
    let error = temp.store.put_if_absent(&intent(), MINE).await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::NotApplied, "{error:?}");
    assert_eq!(temp.store.get(&intent()).await.unwrap(), None);
    let folder = std::fs::read_dir(temp.folder().join("g/__recovery/b")).unwrap();
    assert_eq!(folder.count(), 0, "nothing is left behind");
    assert_eq!(temp.store.put_if_absent(&intent(), MINE).await.unwrap(), PutOutcome::Created);
}

#[tokio::test]
async fn put_whose_folder_was_not_synced_is_believed_after_a_second_sync() {
    let (temp, syncs) = synced().await;
    syncs.fail("__recovery/b", 1);
    let outcome = temp.store.put_if_absent(&intent(), MINE).await.unwrap();
    assert_eq!(outcome, PutOutcome::Created);
    let folder = (SyncOf::Folder, "g/__recovery/b".to_owned());
    let seen = paths(&syncs).into_iter().filter(|seen| *seen == folder).count();
    assert_eq!(seen, 2, "the sync that failed was repeated");
}

#[tokio::test]
async fn put_whose_folder_cannot_be_synced_is_in_doubt_and_nothing_more_is_written() {
    let (temp, syncs) = synced().await;
    syncs.fail("__recovery/b", 2);
    let error = temp.store.put_if_absent(&intent(), MINE).await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::Unknown, "{error:?}");
    assert!(temp.store.get(&intent()).await.unwrap().is_some(), "the object has its place, and reads go on");
    // The disk answers again: what it says is not believed any more.
    for path in [intent(), ObjectPath::new("elsewhere/2.json")] {
        let again = temp.store.put_if_absent(&path, MINE).await.unwrap_err();
        assert_eq!(again.certainty(), Certainty::NotApplied, "{again:?}");
        let failure = again.failure();
        assert_eq!(failure.problem, Problem::StorageUnavailable);
        assert!(failure.message.contains("check the disk") && failure.message.contains("restart"), "{failure}");
        assert!(!failure.message.contains("__recovery"), "no path: {failure}");
    }
    let vouched = temp.store.vouch().await.unwrap_err();
    assert_eq!(vouched.certainty(), Certainty::Unknown);
    let restarted = temp.reopen(vec![]).await;
    assert_eq!(restarted.put_if_absent(&intent(), MINE).await.unwrap(), PutOutcome::Created);
}

#[tokio::test]
async fn commit_whose_folder_was_not_synced_is_believed_after_a_second_sync_and_else_in_doubt() {
    for (failures, is_believed) in [(1, true), (2, false)] {
        let (temp, syncs) = synced().await;
        let table = table_with(&temp.store, &["a"]).await;
        let change = append_of(&temp.store, &table, &["b"]).await;
        syncs.take();
        syncs.fail("_versions", failures);
        let outcome = temp.store.commit_exact(&table, &change).await;
        if is_believed {
            assert_eq!(ids_in(&committed(outcome)).await.unwrap(), ["a", "b"]);
            let last = paths(&syncs).pop().unwrap();
            assert_eq!(last, (SyncOf::Folder, of_table("_versions")), "the sync that failed was repeated");
        } else {
            let error = outcome.unwrap_err();
            assert!(matches!(error, StorageError::CommitUnknown { .. }), "{error:?}");
            let again = temp.store.commit_exact(&table, &change).await.unwrap_err();
            assert_eq!(again.certainty(), Certainty::Unknown, "its own version is there, and not believed: {again:?}");
            assert_eq!(temp.store.head(&main_tree()).await.unwrap(), Some(table.version().next()), "reads go on");
        }
    }
}

/// The failure belongs to a put of another object: what is believed later must not be lost with it.
#[tokio::test]
async fn own_object_is_believed_only_after_every_sync_that_failed() {
    let syncs = Arc::new(SyncHook::default());
    let faults = Arc::new(FaultHook::default());
    let temp = TempStore::with_hooks(vec![syncs.clone(), faults.clone()]).await;
    syncs.fail("data", 1);
    let _failed = temp.store.put(&ObjectPath::new("t/data/1"), MINE).await.unwrap_err();
    syncs.take();
    faults.lose_reply(FaultPlan::next(StoreCall::PutIfAbsent, "__recovery"));
    let _created = temp.store.put_if_absent(&intent(), MINE).await.unwrap();
    assert_eq!(paths(&syncs).first(), Some(&(SyncOf::Folder, "t/data".to_owned())), "before anything else is written");
}
