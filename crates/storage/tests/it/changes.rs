//! Staged changes of every kind.

use arrow::array::{Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use futures::{StreamExt, TryStreamExt, stream};
use omnigraph_storage::{
    BatchStream, Predicate, ScanOrder, ScanRequest, StagedChange, StagedFiles, StorageError, Table, TransactionKind,
};
use omnigraph_testkit::{TempStore, create_table, fresh_mark, ids_in, node_batch, node_schema, staged_rows};
use omnigraph_types::TableVersion;

use crate::{append_of, committed, main_tree, table_path, table_with};

fn rows_of(batch: RecordBatch) -> BatchStream {
    stream::iter([Ok(batch)]).boxed()
}

async fn values(table: &Table) -> Vec<(String, i64)> {
    let request = ScanRequest { ordered: ScanOrder::Physical, ..ScanRequest::default() };
    let batches: Vec<RecordBatch> = table.scan(request).await.unwrap().try_collect().await.unwrap();
    let mut found = Vec::new();
    for batch in &batches {
        let ids = batch.column(0).as_any().downcast_ref::<StringArray>().unwrap();
        let numbers = batch.column(1).as_any().downcast_ref::<Int64Array>().unwrap();
        found.extend((0..batch.num_rows()).map(|row| (ids.value(row).to_owned(), numbers.value(row))));
    }
    found.sort();
    found
}

fn pairs(expected: &[(&str, i64)]) -> Vec<(String, i64)> {
    expected.iter().map(|(id, value)| ((*id).to_owned(), *value)).collect()
}

#[tokio::test]
async fn overwrite_by_nothing_empties_the_table_and_keeps_the_schema() {
    let temp = TempStore::open().await;
    let first = table_with(&temp.store, &["a", "b"]).await;
    let change = first.stage_overwrite(StagedFiles::empty(), fresh_mark());
    let second = committed(temp.store.commit_exact(&first, &change).await);
    assert_eq!((second.count_rows().await.unwrap(), second.fragments().len()), (0, 0));
    assert_eq!(second.schema(), first.schema());
    assert_eq!(ids_in(&second).await.unwrap(), Vec::<String>::new());
    let change = append_of(&temp.store, &second, &["c"]).await;
    assert_eq!(ids_in(&committed(temp.store.commit_exact(&second, &change).await)).await.unwrap(), ["c"]);
}

#[tokio::test]
async fn upsert_updates_and_inserts() {
    let temp = TempStore::open().await;
    let rows = vec![node_batch([("a", 1), ("b", 2)])];
    let first = create_table(&temp.store, &table_path(), node_schema(), rows).await.unwrap();
    let mark = fresh_mark();
    let upsert = rows_of(node_batch([("b", 20), ("c", 30)]));
    let change = first.stage_upsert(upsert, "id", mark.clone()).await.unwrap();
    assert_eq!(values(&first).await, pairs(&[("a", 1), ("b", 2)]));
    let second = committed(temp.store.commit_exact(&first, &change).await);
    assert_eq!(values(&second).await, pairs(&[("a", 1), ("b", 20), ("c", 30)]));
    let made_by = temp.store.transaction_at(&main_tree(), TableVersion(2)).await.unwrap().unwrap();
    assert_eq!((made_by.uuid, made_by.kind), (mark.uuid, TransactionKind::Update));
    let manifest = std::fs::read_dir(temp.folder().join("tables/nodes/1/_versions")).unwrap();
    let largest = manifest.map(|entry| entry.unwrap().metadata().unwrap().len()).max().unwrap();
    assert!(largest < 8 * 1024, "no key filter is stored: {largest} bytes");
}

#[tokio::test]
async fn upsert_of_nothing_is_a_change_of_nothing() {
    let temp = TempStore::open().await;
    let first = table_with(&temp.store, &["a"]).await;
    let change = first.stage_upsert(stream::empty().boxed(), "id", fresh_mark()).await.unwrap();
    assert_eq!(ids_in(&committed(temp.store.commit_exact(&first, &change).await)).await.unwrap(), ["a"]);
}

#[tokio::test]
async fn upsert_hands_its_sources_error_on() {
    let temp = TempStore::open().await;
    let first = table_with(&temp.store, &["a"]).await;
    let broken = || StorageError::UnsupportedScheme { scheme: "test".to_owned() };
    let rows: BatchStream = stream::iter([Ok(node_batch([("b", 0)])), Err(broken())]).boxed();
    assert!(first.stage_upsert(rows, "id", fresh_mark()).await.is_err());
}

#[tokio::test]
async fn delete_removes_matching_rows_and_nothing_matching_is_none() {
    let temp = TempStore::open().await;
    let first = table_with(&temp.store, &["a", "b", "c"]).await;
    let among = |values: &[&str]| Predicate::IsIn {
        column: "id".to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    assert!(first.stage_delete(&among(&["x"]), fresh_mark()).await.unwrap().is_none());
    assert!(first.stage_delete(&among(&[]), fresh_mark()).await.unwrap().is_none());
    let change = first.stage_delete(&among(&["b", "x"]), fresh_mark()).await.unwrap().unwrap();
    let second = committed(temp.store.commit_exact(&first, &change).await);
    assert_eq!(ids_in(&second).await.unwrap(), ["a", "c"]);
    assert_eq!(second.count_rows().await.unwrap(), 2);
    let fragment = second.fragments()[0];
    assert_eq!((fragment.physical_rows, fragment.deletions), (3, 1));
    let change = second.stage_delete(&among(&["a", "c"]), fresh_mark()).await.unwrap().unwrap();
    assert_eq!(committed(temp.store.commit_exact(&second, &change).await).count_rows().await.unwrap(), 0);
}

#[tokio::test]
async fn replaced_fragments_go_and_the_others_keep_their_ids() {
    let temp = TempStore::open().await;
    for stable_row_ids in [true, false] {
        let path = table_path().child(format!("stable-{stable_row_ids}"));
        let creation = StagedChange::create_empty(node_schema(), fresh_mark());
        let creation = if stable_row_ids { creation } else { creation.without_stable_row_ids() };
        let mut table = committed(temp.store.create_dataset(&path, creation).await);
        for id in ["history 1", "history 2", "state"] {
            let files = staged_rows(&temp.store, &path, vec![node_batch([(id, 0)])]).await.unwrap();
            table = committed(temp.store.commit_exact(&table, &table.stage_append(files, fresh_mark())).await);
        }
        let before: Vec<u64> = table.fragments().iter().map(|fragment| fragment.id).collect();
        let spill = staged_rows(&temp.store, &path, vec![node_batch([("history 3", 0)])]).await.unwrap();
        let state = staged_rows(&temp.store, &path, vec![node_batch([("new state", 0)])]).await.unwrap();
        let change = table.stage_replace(&[before[2]], spill.concat(state), fresh_mark());
        let next = committed(temp.store.commit_exact(&table, &change).await);
        let after: Vec<u64> = next.fragments().iter().map(|fragment| fragment.id).collect();
        assert_eq!(after, [before[0], before[1], before[2] + 1, before[2] + 2]);
        let last = ScanRequest::default();
        let batches: Vec<RecordBatch> =
            next.scan_fragments(&[after[3]], last).await.unwrap().try_collect().await.unwrap();
        let ids = batches[0].column(0).as_any().downcast_ref::<StringArray>().unwrap();
        assert_eq!(ids.value(0), "new state");
        assert_eq!(next.count_rows().await.unwrap(), 4);
        let absent = next.stage_replace(&[before[2]], StagedFiles::empty(), fresh_mark());
        let refused = temp.store.commit_exact(&next, &absent).await;
        assert!(matches!(refused, Err(StorageError::Mismatch { .. })), "{refused:?}");
    }
}

#[tokio::test]
async fn late_replacement_meets_an_occupied_slot() {
    let temp = TempStore::open().await;
    let first = table_with(&temp.store, &["a"]).await;
    let replace = first.stage_replace(&[first.fragments()[0].id], StagedFiles::empty(), fresh_mark());
    let append = append_of(&temp.store, &first, &["b"]).await;
    committed(temp.store.commit_exact(&first, &append).await);
    assert_eq!(crate::occupant(temp.store.commit_exact(&first, &replace).await).uuid, append.mark().uuid);
}

#[tokio::test]
async fn column_name_that_lance_cannot_read_is_refused_at_the_creation() {
    let temp = TempStore::open().await;
    for name in ["with `ticks`", "a.b"] {
        let schema = std::sync::Arc::new(Schema::new(vec![Field::new(name, DataType::Utf8, true)]));
        let creation = StagedChange::create_empty(schema, fresh_mark());
        let refused = temp.store.create_dataset(&table_path(), creation).await;
        assert!(matches!(refused, Err(StorageError::Mismatch { .. })), "{refused:?}");
    }
    assert_eq!(temp.store.head(&main_tree()).await.unwrap(), None);
}
