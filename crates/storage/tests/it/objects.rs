//! Small objects.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use omnigraph_storage::{
    AfterVerdict, Certainty, HookVerdict, Misplaced, ObjectPath, PutOutcome, StorageError, Store, StoreCall, StoreHook,
    StoreOptions, StoreReply,
};
use omnigraph_testkit::{CountingHook, FaultHook, FaultPlan, TempStore};

fn intent() -> ObjectPath {
    ObjectPath::new("g/__recovery/b/1.json")
}

#[tokio::test]
async fn object_is_written_read_listed_and_deleted() {
    let temp = TempStore::open().await;
    let store = &temp.store;
    assert_eq!(store.get(&intent()).await.unwrap(), None);
    store.put(&intent(), Bytes::from_static(b"one")).await.unwrap();
    let first = store.get(&intent()).await.unwrap().unwrap();
    assert_eq!(first.bytes, "one");
    store.put(&intent(), Bytes::from_static(b"two!")).await.unwrap();
    let second = store.get(&intent()).await.unwrap().unwrap();
    assert_eq!(second.bytes, "two!");
    assert!(first.etag.is_some() && first.etag != second.etag, "{first:?} {second:?}");
    store.put(&ObjectPath::new("g/__recovery/a.json"), Bytes::new()).await.unwrap();

    let listed = store.list(&ObjectPath::new("g/__recovery")).await.unwrap();
    let paths: Vec<_> = listed.iter().map(|meta| meta.path.as_str()).collect();
    assert_eq!(paths, ["g/__recovery/a.json", "g/__recovery/b/1.json"]);
    assert_eq!((listed[1].size, &listed[1].etag), (4, &second.etag));
    assert!(listed[1].last_modified_ms > 1_600_000_000_000);
    assert_eq!(store.list_children(&ObjectPath::new("g/__recovery")).await.unwrap(), ["a.json", "b"]);
    assert_eq!(store.list_children(&ObjectPath::new("nowhere")).await.unwrap(), Vec::<String>::new());

    store.delete(&intent()).await.unwrap();
    store.delete(&intent()).await.unwrap();
    assert_eq!(store.get(&intent()).await.unwrap(), None);
}

#[tokio::test]
async fn second_put_if_absent_is_refused_and_changes_nothing() {
    let temp = TempStore::open().await;
    let first = temp.store.put_if_absent(&intent(), Bytes::from_static(b"mine")).await.unwrap();
    let second = temp.store.put_if_absent(&intent(), Bytes::from_static(b"theirs")).await.unwrap();
    assert_eq!((first, second), (PutOutcome::Created, PutOutcome::AlreadyExists));
    assert_eq!(temp.store.get(&intent()).await.unwrap().unwrap().bytes, "mine");
}

#[tokio::test]
async fn too_large_object_or_folder_is_reported_and_not_read() {
    let temp = TempStore::open().await;
    let (huge, folder) = (ObjectPath::new("g/huge.json"), ObjectPath::new("g/folder.json"));
    let place = |path: &ObjectPath| PathBuf::from(temp.store.root()).join(path.as_str());
    std::fs::create_dir_all(place(&folder)).unwrap();
    for (bytes, reads) in [(1 << 26, true), ((1 << 26) + 1, false), (1 << 40, false)] {
        std::fs::File::create(place(&huge)).unwrap().set_len(bytes).unwrap();
        match temp.store.get(&huge).await {
            Ok(Some(object)) => assert!(reads && object.bytes.len() as u64 == bytes),
            Err(StorageError::Misplaced { found: Misplaced::TooLarge { bytes: reported, .. }, .. }) => {
                assert!(!reads && reported == bytes);
            }
            other => panic!("{bytes}: {other:?}"),
        }
    }
    let found = temp.store.get(&folder).await;
    assert!(matches!(&found, Err(StorageError::Misplaced { found: Misplaced::Folder, .. })), "{found:?}");
    for path in [&huge, &folder] {
        let outcome = temp.store.put_if_absent(path, Bytes::from_static(b"mine")).await.unwrap();
        assert_eq!(outcome, PutOutcome::AlreadyExists, "{path}");
    }
    let long = Bytes::from(vec![0; (1 << 26) + 1]);
    let refused = temp.store.put_if_absent(&ObjectPath::new("g/new.json"), long).await.unwrap_err();
    assert!(matches!(refused, StorageError::Misplaced { .. }) && refused.certainty() == Certainty::NotApplied);
}

#[tokio::test]
async fn put_if_absent_of_equal_bytes_is_our_own_first_try() {
    let temp = TempStore::open().await;
    for _ in 0..2 {
        let outcome = temp.store.put_if_absent(&intent(), Bytes::from_static(b"mine")).await.unwrap();
        assert_eq!(outcome, PutOutcome::Created);
    }
}

#[tokio::test]
async fn one_of_many_racing_puts_if_absent_wins() {
    let temp = TempStore::open().await;
    let puts = (0..16).map(|writer| {
        let store = temp.store.clone();
        tokio::spawn(async move { store.put_if_absent(&intent(), Bytes::from(format!("writer {writer}"))).await })
    });
    let outcomes = futures::future::join_all(puts).await;
    let won = outcomes.into_iter().filter(|outcome| matches!(outcome, Ok(Ok(PutOutcome::Created)))).count();
    assert_eq!(won, 1);
}

#[tokio::test]
async fn lost_reply_of_a_put_if_absent_is_read_back() {
    let faults = Arc::new(FaultHook::default());
    let temp = TempStore::with_hooks(vec![faults.clone()]).await;
    faults.lose_reply(FaultPlan::next(StoreCall::PutIfAbsent, "__recovery"));
    let outcome = temp.store.put_if_absent(&intent(), Bytes::from_static(b"mine")).await.unwrap();
    assert_eq!(outcome, PutOutcome::Created);
}

#[tokio::test]
async fn lost_reply_that_cannot_be_read_back_is_unknown() {
    let faults = Arc::new(FaultHook::default());
    let temp = TempStore::with_hooks(vec![faults.clone()]).await;
    faults.lose_reply(FaultPlan::next(StoreCall::PutIfAbsent, "__recovery"));
    faults.fail(FaultPlan::next(StoreCall::Get, "__recovery"));
    let error = temp.store.put_if_absent(&intent(), Bytes::from_static(b"mine")).await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::Unknown);
    let again = temp.store.put_if_absent(&intent(), Bytes::from_static(b"mine")).await.unwrap();
    assert_eq!(again, PutOutcome::Created);
}

#[tokio::test]
async fn refused_put_is_certainly_not_applied() {
    let faults = Arc::new(FaultHook::default());
    let temp = TempStore::with_hooks(vec![faults.clone()]).await;
    faults.fail(FaultPlan::next(StoreCall::PutIfAbsent, ""));
    faults.fail(FaultPlan::next(StoreCall::Put, ""));
    let absent = temp.store.put_if_absent(&intent(), Bytes::from_static(b"mine")).await.unwrap_err();
    let plain = temp.store.put(&intent(), Bytes::from_static(b"mine")).await.unwrap_err();
    assert_eq!((absent.certainty(), plain.certainty()), (Certainty::NotApplied, Certainty::NotApplied));
    assert_eq!(temp.store.get(&intent()).await.unwrap(), None);
}

#[tokio::test]
async fn put_if_absent_proof_passes_and_leaves_nothing() {
    let temp = TempStore::open().await;
    temp.store.prove_put_if_absent().await.unwrap();
    assert_eq!(temp.store.list(&ObjectPath::new("__probe")).await.unwrap(), []);
}

/// Makes a store that forgets the probe between its two puts, so that it accepts the second.
#[derive(Debug)]
struct Forgetful(PathBuf);

#[async_trait::async_trait]
impl StoreHook for Forgetful {
    async fn before(&self, call: StoreCall, path: &str) -> HookVerdict {
        if call == StoreCall::PutIfAbsent {
            let _absent_at_first = std::fs::remove_file(self.0.join(path));
        }
        HookVerdict::Proceed
    }

    async fn after(&self, _call: StoreCall, _path: &str, _reply: StoreReply) -> AfterVerdict {
        AfterVerdict::Pass
    }
}

#[tokio::test]
async fn store_that_accepts_the_second_put_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let hooks: Vec<Arc<dyn StoreHook>> = vec![Arc::new(Forgetful(folder.path().to_owned()))];
    let options = StoreOptions { hooks, ..StoreOptions::default() };
    let store = Store::open(folder.path().to_str().unwrap(), options).await.unwrap();
    let refused = store.prove_put_if_absent().await;
    assert!(matches!(refused, Err(StorageError::PutIfAbsentIgnored { .. })), "{refused:?}");
}

#[tokio::test]
async fn hooks_see_every_small_object_call_by_its_path() {
    let counts = Arc::new(CountingHook::default());
    let temp = TempStore::with_hooks(vec![counts.clone()]).await;
    temp.store.put(&intent(), Bytes::from_static(b"one")).await.unwrap();
    temp.store.get(&intent()).await.unwrap();
    temp.store.list(&ObjectPath::new("g")).await.unwrap();
    temp.store.list_children(&ObjectPath::new("g")).await.unwrap();
    temp.store.delete(&intent()).await.unwrap();
    let seen: Vec<_> = counts.take().into_iter().map(|seen| (seen.call, seen.path)).collect();
    let path = intent().to_string();
    assert_eq!(
        seen,
        [
            (StoreCall::Put, path.clone()),
            (StoreCall::Get, path.clone()),
            (StoreCall::List, "g".to_owned()),
            (StoreCall::List, "g".to_owned()),
            (StoreCall::Delete, path),
        ]
    );
}

#[tokio::test]
async fn root_with_odd_characters_holds_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("my graphs #1 é %41");
    let store = Store::open(root.to_str().unwrap(), StoreOptions::default()).await.unwrap();
    let table = crate::table_with(&store, &["a"]).await;
    assert_eq!(omnigraph_testkit::ids_in(&table).await.unwrap(), ["a"]);
    let data = root.join("tables/nodes/1/data");
    assert!(data.is_dir(), "{data:?}");
}

#[tokio::test]
async fn root_of_an_unserved_scheme_is_refused_by_name() {
    for (root, scheme) in [("gs://bucket", "gs"), ("s3+ddb://bucket/a", "s3+ddb"), ("abfss://c@a/x", "abfss")] {
        let refused = Store::open(root, StoreOptions::default()).await.unwrap_err();
        assert!(
            matches!(&refused, StorageError::UnsupportedScheme { scheme: found } if found == scheme),
            "{refused:?}"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let file = format!("file://{}", folder.path().join("new").to_str().unwrap());
    assert!(Store::open(&file, StoreOptions::default()).await.is_ok());
}
