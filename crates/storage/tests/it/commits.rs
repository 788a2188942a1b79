//! Exact commits, restores, and what faults make of them.

use std::sync::Arc;

use omnigraph_storage::{
    Certainty, CommitOutcome, Existence, Predicate, StagedChange, StagedFiles, StorageError, StoreCall,
    TransactionKind, TreeRef,
};
use omnigraph_testkit::{
    CountingHook, FaultHook, FaultPlan, TempStore, create_table, fresh_mark, ids_in, node_batch, node_schema,
    staged_rows,
};
use omnigraph_types::TableVersion;

use crate::{append_marked, append_of, committed, main_tree, occupant, table_path, table_with};

#[tokio::test]
async fn append_lands_at_the_next_version_with_its_mark() {
    let temp = TempStore::open().await;
    let table = table_with(&temp.store, &["a"]).await;
    let mark = fresh_mark();
    let change = append_marked(&temp.store, &table, &["b"], mark.clone()).await;
    assert_eq!((change.read_version(), change.mark()), (TableVersion(1), &mark));
    let next = committed(temp.store.commit_exact(&table, &change).await);
    assert_eq!(next.version(), TableVersion(2));
    assert_eq!(ids_in(&next).await.unwrap(), ["a", "b"]);
    assert_eq!(next.count_rows().await.unwrap(), 2);
    let made_by = temp.reopen(vec![]).await.transaction_at(&main_tree(), TableVersion(2)).await.unwrap().unwrap();
    assert_eq!((made_by.uuid, made_by.kind), (mark.uuid, TransactionKind::Append));
    assert_eq!((made_by.operation_id, made_by.attempt_id), (Some(mark.operation_id), Some(mark.attempt_id)));
}

#[tokio::test]
async fn late_append_meets_an_occupied_slot() {
    let temp = TempStore::open().await;
    let table = table_with(&temp.store, &["a"]).await;
    let (first, second) = (append_of(&temp.store, &table, &["b"]).await, append_of(&temp.store, &table, &["c"]).await);
    committed(temp.store.commit_exact(&table, &first).await);
    let by = occupant(temp.store.commit_exact(&table, &second).await);
    assert_eq!(by.uuid, first.mark().uuid);
    assert_eq!(temp.store.head(&main_tree()).await.unwrap(), Some(TableVersion(2)));
}

#[tokio::test]
async fn late_overwrite_meets_an_occupied_slot() {
    let temp = TempStore::open().await;
    let table = table_with(&temp.store, &["a"]).await;
    let append = append_of(&temp.store, &table, &["b"]).await;
    let overwrite = table.stage_overwrite(StagedFiles::empty(), fresh_mark());
    committed(temp.store.commit_exact(&table, &append).await);
    assert_eq!(occupant(temp.store.commit_exact(&table, &overwrite).await).uuid, append.mark().uuid);
}

#[tokio::test]
async fn late_append_from_another_process_meets_an_occupied_slot() {
    let temp = TempStore::open().await;
    let table = table_with(&temp.store, &["a"]).await;
    let other = temp.reopen(vec![]).await;
    let stale = other.open_table(&table.pin()).await.unwrap();
    let late = append_of(&other, &stale, &["c"]).await;
    let first = append_of(&temp.store, &table, &["b"]).await;
    committed(temp.store.commit_exact(&table, &first).await);
    assert_eq!(occupant(other.commit_exact(&stale, &late).await).uuid, first.mark().uuid);
}

#[tokio::test]
async fn change_that_landed_is_committed_again_at_the_same_version() {
    let temp = TempStore::open().await;
    let table = table_with(&temp.store, &["a"]).await;
    let change = append_of(&temp.store, &table, &["b"]).await;
    let later = append_of(&temp.store, &table, &["never"]).await;
    let second = committed(temp.store.commit_exact(&table, &change).await);
    assert_eq!(committed(temp.store.commit_exact(&table, &change).await).version(), TableVersion(2));
    let third = append_of(&temp.store, &second, &["c"]).await;
    committed(temp.store.commit_exact(&second, &third).await);
    assert_eq!(committed(temp.store.commit_exact(&table, &change).await).version(), TableVersion(2));
    occupant(temp.store.commit_exact(&table, &later).await);
    assert_eq!(temp.store.head(&main_tree()).await.unwrap(), Some(TableVersion(3)));
    let transactions = temp.folder().join("tables/nodes/1/_transactions");
    let kept = std::fs::read_dir(transactions).unwrap().count();
    assert_eq!(kept, 3, "the loser's transaction file is removed, those that landed stay");
}

#[tokio::test]
async fn transactions_of_one_effect_land_in_order() {
    let temp = TempStore::open().await;
    let base = table_with(&temp.store, &["a", "b"]).await;
    let kept = base.fragments()[0].id;
    let (first, second) = (append_of(&temp.store, &base, &["c"]).await, append_of(&temp.store, &base, &["d"]).await);
    let rows = staged_rows(&temp.store, &table_path(), vec![node_batch([("e", 0)])]).await.unwrap();
    let third = base.stage_replace(&[kept], rows, fresh_mark());
    let made = committed(temp.store.commit_exact(&base, &first).await);
    assert!(temp.store.commit_exact(&made, &second).await.is_err(), "staged on the base, and not declared a later one");
    let made = committed(temp.store.commit_exact(&made, &second.after(&made)).await);
    assert_eq!(
        (made.version(), ids_in(&made).await.unwrap()),
        (TableVersion(3), vec!["a", "b", "c", "d"].into_iter().map(str::to_owned).collect())
    );
    let late = third.after(&made);
    assert_eq!(late.read_version(), TableVersion(3));
    let made = committed(temp.store.commit_exact(&made, &late).await);
    assert_eq!(
        (made.version(), ids_in(&made).await.unwrap()),
        (TableVersion(4), vec!["c", "d", "e"].into_iter().map(str::to_owned).collect())
    );
    let landed = temp.store.transaction_at(&main_tree(), TableVersion(3)).await.unwrap().unwrap();
    assert_eq!(&landed.uuid, &second.mark().uuid);
}

#[tokio::test]
async fn later_transaction_of_an_effect_meets_an_occupied_slot() {
    let temp = TempStore::open().await;
    let base = table_with(&temp.store, &["a"]).await;
    let (first, second) = (append_of(&temp.store, &base, &["b"]).await, append_of(&temp.store, &base, &["c"]).await);
    let made = committed(temp.store.commit_exact(&base, &first).await);
    let mark = fresh_mark();
    committed(temp.store.restore_exact(&main_tree(), base.version(), TableVersion(3), &mark).await);
    assert_eq!(occupant(temp.store.commit_exact(&made, &second.after(&made)).await).uuid, mark.uuid);
}

#[tokio::test]
async fn second_change_of_a_fragment_in_one_effect_is_refused() {
    let temp = TempStore::open().await;
    let base = table_with(&temp.store, &["a", "b", "c"]).await;
    let among = |id: &str| Predicate::IsIn { column: "id".to_owned(), values: vec![id.to_owned()] };
    let first = base.stage_delete(&among("a"), fresh_mark()).await.unwrap().unwrap();
    let second = base.stage_delete(&among("b"), fresh_mark()).await.unwrap().unwrap();
    let replacing = base.stage_replace(&[base.fragments()[0].id], StagedFiles::empty(), fresh_mark());
    let made = committed(temp.store.commit_exact(&base, &first).await);
    for change in [second, replacing] {
        let refused = temp.store.commit_exact(&made, &change.after(&made)).await;
        assert!(matches!(refused, Err(StorageError::Mismatch { .. })), "{refused:?}");
    }
    assert_eq!(temp.store.head(&main_tree()).await.unwrap(), Some(TableVersion(2)));
    assert_eq!(ids_in(&made).await.unwrap(), ["b", "c"]);
}

#[tokio::test]
async fn losers_data_file_stays() {
    let temp = TempStore::open().await;
    let table = table_with(&temp.store, &["a"]).await;
    let (first, second) = (append_of(&temp.store, &table, &["b"]).await, append_of(&temp.store, &table, &["c"]).await);
    committed(temp.store.commit_exact(&table, &first).await);
    occupant(temp.store.commit_exact(&table, &second).await);
    let data = temp.folder().join("tables/nodes/1/data");
    assert_eq!(std::fs::read_dir(data).unwrap().count(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_writers_fill_contiguous_versions_and_lose_nothing() {
    const WRITERS: usize = 4;
    const COMMITS: usize = 25;
    let temp = TempStore::open().await;
    table_with(&temp.store, &[]).await;
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let store = temp.reopen(vec![]).await;
        writers.push(tokio::spawn(async move {
            let mut known = TableVersion(1);
            for commit in 0..COMMITS {
                let id = format!("{writer}-{commit}");
                loop {
                    known = store.head_from(&main_tree(), known).await.unwrap();
                    let table = store.open_table(&main_tree().at(known)).await.unwrap();
                    let change = append_of(&store, &table, &[&id]).await;
                    match store.commit_exact(&table, &change).await.unwrap() {
                        CommitOutcome::Committed(_) => break,
                        CommitOutcome::Occupied { by } => assert_ne!(by.uuid, change.mark().uuid),
                    }
                }
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let last = TableVersion(1 + (WRITERS * COMMITS) as u64);
    assert_eq!(temp.store.head(&main_tree()).await.unwrap(), Some(last));
    assert_eq!(temp.store.head_from(&main_tree(), TableVersion(1)).await.unwrap(), last);
    let ids = ids_in(&temp.store.open_table(&main_tree().at(last)).await.unwrap()).await.unwrap();
    assert_eq!(ids.len(), WRITERS * COMMITS);
}

#[tokio::test]
async fn restore_is_exact_and_fences_a_late_append() {
    let temp = TempStore::open().await;
    let table = table_with(&temp.store, &["a"]).await;
    let (dead, late) = (append_of(&temp.store, &table, &["x"]).await, append_of(&temp.store, &table, &["y"]).await);
    let second = committed(temp.store.commit_exact(&table, &dead).await);
    let later = append_of(&temp.store, &second, &["z"]).await;
    let mark = fresh_mark();
    let restored = committed(temp.store.restore_exact(&main_tree(), TableVersion(1), TableVersion(3), &mark).await);
    assert_eq!(restored.version(), TableVersion(3));
    assert_eq!(ids_in(&restored).await.unwrap(), ["a"]);
    let made_by = temp.store.transaction_at(&main_tree(), TableVersion(3)).await.unwrap().unwrap();
    assert_eq!(made_by.kind, TransactionKind::Restore(TableVersion(1)));
    assert_eq!(made_by.operation_id, Some(mark.operation_id));
    assert_eq!(occupant(temp.store.commit_exact(&second, &later).await).uuid, mark.uuid);
    occupant(temp.store.commit_exact(&table, &late).await);
    let again = temp.store.restore_exact(&main_tree(), TableVersion(1), TableVersion(3), &mark).await;
    assert_eq!(committed(again).version(), TableVersion(3));
    let other = temp.store.restore_exact(&main_tree(), TableVersion(1), TableVersion(3), &fresh_mark()).await;
    assert_eq!(occupant(other).uuid, mark.uuid);
}

#[tokio::test]
async fn restore_behind_the_head_that_does_not_exist_is_not_found() {
    let temp = TempStore::open().await;
    table_with(&temp.store, &["a"]).await;
    let missing = temp.store.restore_exact(&main_tree(), TableVersion(1), TableVersion(9), &fresh_mark()).await;
    assert!(matches!(missing, Err(StorageError::TableNotFound { .. })), "{missing:?}");
}

#[tokio::test]
async fn unpublished_head_does_not_leak_into_the_next_commit() {
    let temp = TempStore::open().await;
    let pinned = table_with(&temp.store, &["a"]).await;
    let dead = append_of(&temp.store, &pinned, &["dead"]).await;
    committed(temp.store.commit_exact(&pinned, &dead).await);
    let change = append_of(&temp.store, &pinned, &["b"]).await;
    assert_eq!(occupant(temp.store.commit_exact(&pinned, &change).await).uuid, dead.mark().uuid);
    let restored =
        committed(temp.store.restore_exact(&main_tree(), TableVersion(1), TableVersion(3), &fresh_mark()).await);
    let retried = append_of(&temp.store, &restored, &["b"]).await;
    let fourth = committed(temp.store.commit_exact(&restored, &retried).await);
    assert_eq!(ids_in(&fourth).await.unwrap(), ["a", "b"]);
}

#[tokio::test]
async fn change_of_another_base_or_kind_is_refused_before_anything_is_written() {
    let counts = Arc::new(CountingHook::default());
    let temp = TempStore::with_hooks(vec![counts.clone()]).await;
    let table = table_with(&temp.store, &["a"]).await;
    let change = append_of(&temp.store, &table, &["b"]).await;
    let second = committed(temp.store.commit_exact(&table, &change).await);
    counts.take();
    let creation = StagedChange::create_empty(node_schema(), fresh_mark());
    let outcomes = [
        temp.store.commit_exact(&second, &change).await,
        temp.store.commit_exact(&table, &creation).await,
        temp.store.create_dataset(&table_path(), change).await,
    ];
    for outcome in outcomes {
        assert!(matches!(outcome, Err(StorageError::Mismatch { .. })), "{outcome:?}");
    }
    assert_eq!(counts.total(), 0);
}

#[tokio::test]
async fn creating_over_an_existing_table_meets_its_creator() {
    let temp = TempStore::open().await;
    let mark = fresh_mark();
    let ours = StagedChange::create_empty(node_schema(), mark.clone());
    let created = committed(temp.store.create_dataset(&table_path(), ours.clone()).await);
    assert_eq!((created.version(), created.count_rows().await.unwrap()), (TableVersion(1), 0));
    let theirs = StagedChange::create_empty(node_schema(), fresh_mark());
    assert_eq!(occupant(temp.store.create_dataset(&table_path(), theirs).await).uuid, mark.uuid);
    assert_eq!(committed(temp.store.create_dataset(&table_path(), ours).await).version(), TableVersion(1));
}

#[tokio::test]
async fn lost_reply_of_a_manifest_put_is_resolved() {
    let faults = Arc::new(FaultHook::default());
    let temp = TempStore::with_hooks(vec![faults.clone()]).await;
    faults.lose_reply(FaultPlan::next(StoreCall::PutIfAbsent, "_versions"));
    let table = table_with(&temp.store, &["a"]).await;
    faults.lose_reply(FaultPlan::next(StoreCall::PutIfAbsent, "_versions"));
    let change = append_of(&temp.store, &table, &["b"]).await;
    let second = committed(temp.store.commit_exact(&table, &change).await);
    assert_eq!(ids_in(&second).await.unwrap(), ["a", "b"]);
}

/// Lance reads a version back after an error, in three tries. Where it cannot, the slot is read once more.
#[tokio::test]
async fn lost_reply_that_lance_cannot_read_back_is_resolved() {
    let faults = Arc::new(FaultHook::default());
    let temp = TempStore::with_hooks(vec![faults.clone()]).await;
    let table = table_with(&temp.store, &["a"]).await;
    let change = append_of(&temp.store, &table, &["b"]).await;
    faults.lose_reply(FaultPlan::next(StoreCall::PutIfAbsent, "_versions"));
    faults.fail(FaultPlan { times: 3, ..FaultPlan::next(StoreCall::Head, "_versions") });
    let second = committed(temp.store.commit_exact(&table, &change).await);
    assert_eq!(ids_in(&second).await.unwrap(), ["a", "b"]);
}

#[tokio::test]
async fn lost_reply_that_cannot_be_read_back_is_unknown_and_the_same_change_resolves_it() {
    let faults = Arc::new(FaultHook::default());
    let temp = TempStore::with_hooks(vec![faults.clone()]).await;
    let table = table_with(&temp.store, &["a"]).await;
    let change = append_of(&temp.store, &table, &["b"]).await;
    faults.lose_reply(FaultPlan::next(StoreCall::PutIfAbsent, "_versions"));
    faults.fail(FaultPlan::next(StoreCall::Head, "_versions").ever());
    faults.fail(FaultPlan::next(StoreCall::Get, "_versions").ever());
    let error = temp.store.commit_exact(&table, &change).await.unwrap_err();
    assert!(matches!(error, StorageError::CommitUnknown { version: TableVersion(2), .. }), "{error:?}");
    assert_eq!(error.certainty(), Certainty::Unknown);
    faults.clear();
    assert_eq!(committed(temp.store.commit_exact(&table, &change).await).version(), TableVersion(2));
}

#[tokio::test]
async fn refused_manifest_put_is_certainly_not_applied() {
    let faults = Arc::new(FaultHook::default());
    let temp = TempStore::with_hooks(vec![faults.clone()]).await;
    let table = table_with(&temp.store, &["a"]).await;
    let change = append_of(&temp.store, &table, &["b"]).await;
    for fault in
        [FaultPlan::next(StoreCall::PutIfAbsent, "_versions"), FaultPlan::next(StoreCall::Put, "_transactions")]
    {
        faults.fail(fault);
        let error = temp.store.commit_exact(&table, &change).await.unwrap_err();
        assert!(matches!(error, StorageError::Store { certainty: Certainty::NotApplied, .. }), "{error:?}");
    }
    assert_eq!(temp.store.version_exists(&main_tree(), TableVersion(2)).await.unwrap(), Existence::Absent);
    assert_eq!(committed(temp.store.commit_exact(&table, &change).await).version(), TableVersion(2));
}

#[tokio::test]
async fn append_puts_data_then_transaction_then_manifest_and_lists_nothing() {
    let counts = Arc::new(CountingHook::default());
    let temp = TempStore::with_hooks(vec![counts.clone()]).await;
    let table = table_with(&temp.store, &["a"]).await;
    counts.take();
    let change = append_of(&temp.store, &table, &["b"]).await;
    committed(temp.store.commit_exact(&table, &change).await);
    let folder = |path: &str| path.trim_start_matches("tables/nodes/1/").split('/').next().unwrap().to_owned();
    let seen: Vec<_> = counts.take().iter().map(|seen| (seen.call, folder(&seen.path))).collect();
    assert_eq!(
        seen,
        [
            (StoreCall::Put, "data".to_owned()),
            (StoreCall::Put, "_transactions".to_owned()),
            (StoreCall::PutIfAbsent, "_versions".to_owned()),
        ]
    );
}

#[tokio::test]
async fn opening_a_version_never_lists_and_costs_nothing_when_known() {
    let counts = Arc::new(CountingHook::default());
    let temp = TempStore::open().await;
    let pin = table_with(&temp.store, &["a"]).await.pin();
    let store = temp.reopen(vec![counts.clone()]).await;
    store.open_table(&pin).await.unwrap();
    assert_eq!(counts.count(StoreCall::List), 0);
    assert_eq!(counts.take().len(), 2, "one head and one get");
    store.open_table(&pin).await.unwrap();
    assert_eq!(counts.total(), 0);
}

#[tokio::test]
async fn version_that_is_not_there_is_absent_for_every_question() {
    let temp = TempStore::open().await;
    let table = table_with(&temp.store, &["a"]).await;
    let (tree, store) = (main_tree(), &temp.store);
    assert_eq!(store.version_exists(&tree, TableVersion(1)).await.unwrap(), Existence::Exists);
    assert_eq!(store.version_exists(&tree, TableVersion(2)).await.unwrap(), Existence::Absent);
    assert_eq!(store.transaction_at(&tree, TableVersion(2)).await.unwrap(), None);
    let missing = store.open_table(&tree.at(TableVersion(2))).await;
    assert!(
        matches!(&missing, Err(StorageError::TableNotFound { pin }) if pin.version == TableVersion(2)),
        "{missing:?}"
    );
    let nowhere = TreeRef::main(table_path().child("not-here"));
    assert_eq!(store.head(&nowhere).await.unwrap(), None);
    assert_eq!(store.head_from(&tree, table.version()).await.unwrap(), TableVersion(1));
}

#[tokio::test]
async fn no_version_hint_is_written() {
    let temp = TempStore::open().await;
    let table = table_with(&temp.store, &["a"]).await;
    let change = append_of(&temp.store, &table, &["b"]).await;
    committed(temp.store.commit_exact(&table, &change).await);
    let names = temp.store.list_children(&table_path().child("_versions")).await.unwrap();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.iter().all(|name| name.ends_with(".manifest")), "{names:?}");
}

#[tokio::test]
async fn commit_that_waits_at_its_manifest_loses_to_one_that_does_not() {
    let faults = Arc::new(FaultHook::default());
    let temp = TempStore::with_hooks(vec![faults.clone()]).await;
    let table = table_with(&temp.store, &["a"]).await;
    let (slow, quick) = (append_of(&temp.store, &table, &["s"]).await, append_of(&temp.store, &table, &["q"]).await);
    let mut pause = faults.pause_before(FaultPlan::next(StoreCall::PutIfAbsent, "_versions"));
    let waiting = tokio::spawn({
        let (store, table) = (temp.store.clone(), table.clone());
        async move { store.commit_exact(&table, &slow).await }
    });
    pause.reached().await;
    committed(temp.store.commit_exact(&table, &quick).await);
    pause.release();
    assert_eq!(occupant(waiting.await.unwrap()).uuid, quick.mark().uuid);
}

#[tokio::test]
async fn reader_keeps_its_version_while_the_next_is_overwritten() {
    let temp = TempStore::open().await;
    let rows = vec![node_batch([("a", 1), ("b", 2)])];
    let first = create_table(&temp.store, &table_path(), node_schema(), rows).await.unwrap();
    let reader = temp.reopen(vec![]).await.open_table(&first.pin()).await.unwrap();
    let files = staged_rows(&temp.store, &table_path(), vec![node_batch([("z", 9)])]).await.unwrap();
    let second = committed(temp.store.commit_exact(&first, &first.stage_overwrite(files, fresh_mark())).await);
    assert_eq!(ids_in(&reader).await.unwrap(), ["a", "b"]);
    assert_eq!(ids_in(&second).await.unwrap(), ["z"]);
}
