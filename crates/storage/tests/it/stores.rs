//! What holds on every kind of store: exact commits, private trees, small objects, and calls that land late or in part.

use std::sync::Arc;

use bytes::Bytes;
use omnigraph_storage::{
    Certainty, Existence, FileWriterOptions, ObjectPath, PutOutcome, StagedFiles, StorageError, StoreCall, StoreHook,
    StoreKind,
};
use omnigraph_testkit::{EVERY_STORE, FaultHook, FaultPlan, TempStore, fresh_mark, ids_in, node_batch};
use omnigraph_types::{TableVersion, TreeId};
use ulid::Ulid;

use crate::{append_marked, append_of, committed, main_tree, occupant, table_path, table_with};

fn intent() -> ObjectPath {
    ObjectPath::new("g/__recovery/b/00000000000000000002.json")
}

async fn faulty(kind: StoreKind) -> (TempStore, Arc<FaultHook>) {
    let faults = Arc::new(FaultHook::default());
    let hooks: Vec<Arc<dyn StoreHook>> = vec![faults.clone()];
    (TempStore::of_kind(kind, hooks).await, faults)
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_are_exact_between_processes() {
    for kind in EVERY_STORE {
        let temp = TempStore::of_kind(kind, Vec::new()).await;
        let first = table_with(&temp.store, &["a"]).await;
        let other = temp.reopen(Vec::new()).await;
        let seen = other.open_table(&first.pin()).await.unwrap();
        let (mine, theirs) = (append_of(&temp.store, &first, &["b"]).await, append_of(&other, &seen, &["c"]).await);
        let second = committed(temp.store.commit_exact(&first, &mine).await);
        assert_eq!(occupant(other.commit_exact(&seen, &theirs).await).uuid, mine.mark().uuid, "{kind:?}");
        assert_eq!(committed(temp.store.commit_exact(&first, &mine).await).version(), TableVersion(2), "{kind:?}");
        let read = other.open_table(&second.pin()).await.unwrap();
        assert_eq!(ids_in(&read).await.unwrap(), ["a", "b"], "{kind:?}");
        assert_eq!(other.head(&main_tree()).await.unwrap(), Some(TableVersion(2)), "{kind:?}");
        assert_eq!(other.version_exists(&main_tree(), TableVersion(3)).await.unwrap(), Existence::Absent, "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn private_tree_takes_files_of_the_tree_it_was_made_from_and_another_process_reads_it() {
    for kind in EVERY_STORE {
        let temp = TempStore::of_kind(kind, Vec::new()).await;
        let first = table_with(&temp.store, &["a"]).await;
        let tree = temp.store.create_tree(&first.pin(), TreeId(Ulid::new())).await.unwrap();
        let cloned = temp.store.open_table(&tree.at(TableVersion(1))).await.unwrap();
        let change = append_of(&temp.store, &cloned, &["b"]).await;
        let second = committed(temp.store.commit_exact(&cloned, &change).await);
        let read = temp.reopen(Vec::new()).await.open_table(&second.pin()).await.unwrap();
        assert_eq!(ids_in(&read).await.unwrap(), ["a", "b"], "{kind:?}");
        let fence = temp.store.restore_exact(&tree, TableVersion(1), TableVersion(3), &fresh_mark()).await;
        assert_eq!(ids_in(&committed(fence)).await.unwrap(), ["a"], "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn file_of_many_parts_is_written_whole() {
    let ids: Vec<String> = (0..200_000).map(|n| format!("{:064x}", n * 7_919_u64)).collect();
    for kind in EVERY_STORE {
        let temp = TempStore::of_kind(kind, Vec::new()).await;
        let table = table_with(&temp.store, &[]).await;
        let batch = node_batch(ids.iter().map(|id| (id.as_str(), 1)));
        let options = FileWriterOptions { rows_per_file_max: 1_000_000 };
        let mut writer = temp.store.write_files(&table_path(), None, batch.schema(), options);
        writer.write(batch).await.unwrap();
        let files = writer.finish().await.unwrap();
        let outcome = temp.store.commit_exact(&table, &table.stage_append(files, fresh_mark())).await;
        let read = temp.reopen(Vec::new()).await.open_table(&committed(outcome).pin()).await.unwrap();
        assert_eq!(ids_in(&read).await.unwrap().len(), ids.len(), "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn small_objects_are_put_once_read_listed_and_removed() {
    for kind in EVERY_STORE {
        let temp = TempStore::of_kind(kind, Vec::new()).await;
        let store = &temp.store;
        let puts = (0..8).map(|writer| store.put_if_absent(&INTENTS[0], Bytes::from(format!("writer {writer}"))));
        let outcomes = futures::future::join_all(puts).await;
        let won = outcomes.iter().filter(|outcome| matches!(outcome, Ok(PutOutcome::Created))).count();
        assert_eq!(won, 1, "{kind:?}: {outcomes:?}");
        store.put(&INTENTS[1], Bytes::from_static(b"two")).await.unwrap();
        let listed = store.list(&ObjectPath::new("g")).await.unwrap();
        assert_eq!(listed.iter().map(|meta| meta.path.clone()).collect::<Vec<_>>(), INTENTS.to_vec(), "{kind:?}");
        assert_eq!(store.list_children(&ObjectPath::new("g")).await.unwrap(), ["a b", "c é"], "{kind:?}");
        store.delete(&INTENTS[1]).await.unwrap();
        store.delete(&INTENTS[1]).await.unwrap();
        assert_eq!(store.get(&INTENTS[1]).await.unwrap(), None, "{kind:?}");
    }
}

/// Two objects with names that URLs encode.
static INTENTS: std::sync::LazyLock<[ObjectPath; 2]> =
    std::sync::LazyLock::new(|| [ObjectPath::new("g/a b/1.json"), ObjectPath::new("g/c é/2.json")]);

#[tokio::test(flavor = "multi_thread")]
async fn late_put_of_an_intent_is_unknown_and_the_same_put_again_finds_it() {
    for kind in EVERY_STORE {
        let (temp, faults) = faulty(kind).await;
        let late = faults.apply_late(FaultPlan::next(StoreCall::PutIfAbsent, "__recovery"));
        let error = temp.store.put_if_absent(&intent(), Bytes::from_static(b"mine")).await.unwrap_err();
        assert_eq!(error.certainty(), Certainty::Unknown, "{kind:?}");
        late.land().await;
        let again = temp.store.put_if_absent(&intent(), Bytes::from_static(b"mine")).await.unwrap();
        assert_eq!(again, PutOutcome::Created, "{kind:?}");
        let other = temp.store.put_if_absent(&intent(), Bytes::from_static(b"yours")).await.unwrap();
        assert_eq!(other, PutOutcome::AlreadyExists, "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn late_commit_is_unknown_and_lands_only_in_a_free_slot() {
    for kind in EVERY_STORE {
        let (temp, faults) = faulty(kind).await;
        let first = table_with(&temp.store, &["a"]).await;
        let late = faults.apply_late(FaultPlan::next(StoreCall::PutIfAbsent, "_versions"));
        let change = append_of(&temp.store, &first, &["b"]).await;
        let error = temp.store.commit_exact(&first, &change).await.unwrap_err();
        assert!(matches!(error, StorageError::CommitUnknown { version: TableVersion(2), .. }), "{kind:?}: {error:?}");
        late.land().await;
        let by = temp.store.transaction_at(&main_tree(), TableVersion(2)).await.unwrap().unwrap();
        assert_eq!(by.uuid, change.mark().uuid, "{kind:?}: it landed, and its transaction identifies it");
        let second = committed(temp.store.commit_exact(&first, &change).await);
        assert_eq!(ids_in(&second).await.unwrap(), ["a", "b"], "{kind:?}");

        let late = faults.apply_late(FaultPlan::next(StoreCall::PutIfAbsent, "_versions"));
        let stale = append_marked(&temp.store, &second, &["stale"], fresh_mark()).await;
        let error = temp.store.commit_exact(&second, &stale).await.unwrap_err();
        assert_eq!(error.certainty(), Certainty::Unknown, "{kind:?}");
        let fence = temp.store.restore_exact(&main_tree(), TableVersion(2), TableVersion(3), &fresh_mark()).await;
        committed(fence);
        late.land().await;
        let read = temp.reopen(Vec::new()).await.open_table(&main_tree().at(TableVersion(3))).await.unwrap();
        assert_eq!(ids_in(&read).await.unwrap(), ["a", "b"], "{kind:?}: a fence keeps a late commit out");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn torn_objects_are_reported_and_never_taken_for_whole() {
    for kind in EVERY_STORE {
        let (temp, faults) = faulty(kind).await;
        faults.tear(FaultPlan::next(StoreCall::PutIfAbsent, "__recovery"));
        let put = temp.store.put_if_absent(&intent(), Bytes::from_static(b"0123456789")).await;
        assert_eq!(put.unwrap(), PutOutcome::AlreadyExists, "{kind:?}: a foreign object has the path");
        assert_eq!(temp.store.get(&intent()).await.unwrap().unwrap().bytes, "01234", "{kind:?}");

        let first = table_with(&temp.store, &["a"]).await;
        let change = append_of(&temp.store, &first, &["b"]).await;
        faults.tear(FaultPlan::next(StoreCall::PutIfAbsent, "_versions"));
        let error = temp.store.commit_exact(&first, &change).await.unwrap_err();
        assert_eq!(error.certainty(), Certainty::Unknown, "{kind:?}: {error:?}");
        let other = temp.reopen(Vec::new()).await;
        let read = other.open_table(&main_tree().at(TableVersion(2))).await;
        assert!(matches!(read, Err(StorageError::Corrupt { .. })), "{kind:?}: {read:?}");
        assert_eq!(ids_in(&other.open_table(&first.pin()).await.unwrap()).await.unwrap(), ["a"], "{kind:?}");

        faults.tear(FaultPlan::next(StoreCall::Put, "/data/"));
        let rows = node_batch([("c", 1)]);
        let mut writer =
            temp.store.write_files(&table_path(), None, rows.schema(), FileWriterOptions { rows_per_file_max: 9 });
        let written = match writer.write(rows).await {
            Ok(()) => writer.finish().await,
            Err(error) => Err(error),
        };
        assert!(written.is_err(), "{kind:?}: a torn data file is never staged: {written:?}");
        let nothing = first.stage_overwrite(StagedFiles::empty(), fresh_mark());
        let error = temp.store.commit_exact(&first, &nothing).await.unwrap_err();
        assert_eq!(
            error.certainty(),
            Certainty::Unknown,
            "{kind:?}: the transaction of a torn slot cannot be identified: {error:?}"
        );
    }
}
