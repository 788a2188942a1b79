//! File writers and what they leave.

use std::sync::Arc;

use arrow::array::{Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use futures::TryStreamExt;
use omnigraph_storage::{
    FileWriterOptions, ObjectPath, ScanOrder, ScanRequest, StagedChange, StagedFiles, StorageError, Store, StoreCall,
};
use omnigraph_testkit::{FaultHook, FaultPlan, TempStore, fresh_mark, ids_in, node_batch, node_schema, staged_rows};

use crate::{committed, main_tree, table_path, table_with};

async fn numbers(store: &Store, rows: i64, rows_per_file_max: u64) -> StagedFiles {
    let mut writer = store.write_files(&table_path(), None, node_schema(), FileWriterOptions { rows_per_file_max });
    for start in (0..rows).step_by(100) {
        let ids: Vec<String> = (start..rows.min(start + 100)).map(|number| format!("{number:06}")).collect();
        writer.write(node_batch(ids.iter().map(String::as_str).zip(start..))).await.unwrap();
    }
    writer.finish().await.unwrap()
}

fn data_files(temp: &TempStore) -> usize {
    std::fs::read_dir(temp.folder().join("tables/nodes/1/data")).map_or(0, Iterator::count)
}

#[tokio::test]
async fn writer_splits_files_and_staged_scan_keeps_the_order() {
    let temp = TempStore::open().await;
    let table = table_with(&temp.store, &["old"]).await;
    let files = numbers(&temp.store, 1_000, 300).await;
    assert_eq!((files.rows(), data_files(&temp)), (1_000, 1 + 4));
    assert!(files.bytes() > 1_000 && !files.is_empty());
    let request = ScanRequest {
        columns: Some(vec!["value".to_owned()]),
        ordered: ScanOrder::Physical,
        batch_rows: Some(128),
        ..ScanRequest::default()
    };
    let batches: Vec<RecordBatch> = table.scan_staged(&files, request).await.unwrap().try_collect().await.unwrap();
    assert!(batches.iter().all(|batch| batch.num_columns() == 1 && batch.num_rows() <= 128));
    let values: Vec<i64> = batches
        .iter()
        .flat_map(|batch| batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap().values().to_vec())
        .collect();
    assert_eq!(values, (0..1_000).collect::<Vec<_>>());
    let next = committed(temp.store.commit_exact(&table, &table.stage_append(files, fresh_mark())).await);
    assert_eq!((next.count_rows().await.unwrap(), next.fragments().len()), (1_001, 5));
}

#[tokio::test]
async fn staged_rows_are_invisible_until_committed() {
    let temp = TempStore::open().await;
    let table = table_with(&temp.store, &["a"]).await;
    staged_rows(&temp.store, &table_path(), vec![node_batch([("b", 0)])]).await.unwrap();
    let seen = temp.reopen(vec![]).await.open_table(&table.pin()).await.unwrap();
    assert_eq!(ids_in(&seen).await.unwrap(), ["a"]);
    assert_eq!(temp.store.head(&main_tree()).await.unwrap(), Some(table.version()));
}

#[tokio::test]
async fn staged_files_survive_serialization_and_concatenation() {
    let temp = TempStore::open().await;
    let table = table_with(&temp.store, &[]).await;
    let (first, second) = (numbers(&temp.store, 10, 5).await, numbers(&temp.store, 3, 5).await);
    let text = serde_json::to_string(&first).unwrap();
    let both = serde_json::from_str::<StagedFiles>(&text).unwrap().concat(second).concat(StagedFiles::empty());
    assert_eq!(both.rows(), 13);
    let change = table.stage_append(both, fresh_mark());
    assert_eq!(committed(temp.store.commit_exact(&table, &change).await).count_rows().await.unwrap(), 13);
}

#[tokio::test]
async fn table_is_created_with_its_rows() {
    let temp = TempStore::open().await;
    let files = staged_rows(&temp.store, &table_path(), vec![node_batch([("a", 1), ("b", 2)])]).await.unwrap();
    let creation = StagedChange::create_with(node_schema(), files, fresh_mark());
    let table = committed(temp.store.create_dataset(&table_path(), creation).await);
    assert_eq!(ids_in(&table).await.unwrap(), ["a", "b"]);
    assert_eq!(table.schema().field(0).metadata()["lance-schema:unenforced-primary-key"], "true");
}

#[tokio::test]
async fn writer_without_rows_leaves_no_file() {
    let temp = TempStore::open().await;
    let files = numbers(&temp.store, 0, 10).await;
    assert!(files.is_empty());
    assert_eq!((files.rows(), files.bytes(), data_files(&temp)), (0, 0, 0));
}

#[tokio::test]
async fn aborted_writer_leaves_no_file() {
    let temp = TempStore::open().await;
    let options = FileWriterOptions { rows_per_file_max: 2 };
    let mut writer = temp.store.write_files(&table_path(), None, node_schema(), options);
    for id in ["a", "b", "c", "d", "e"] {
        writer.write(node_batch([(id, 0)])).await.unwrap();
    }
    writer.abort().await;
    assert_eq!(data_files(&temp), 0);
}

#[tokio::test]
async fn writer_whose_store_fails_tells_at_the_latest_at_the_end() {
    let faults = Arc::new(FaultHook::default());
    let temp = TempStore::with_hooks(vec![faults.clone()]).await;
    faults.fail(FaultPlan::next(StoreCall::Put, "/data/"));
    let options = FileWriterOptions { rows_per_file_max: 1 };
    let mut writer = temp.store.write_files(&table_path(), None, node_schema(), options);
    let mut result = Ok(());
    for _ in 0..100 {
        result = writer.write(node_batch([("a", 0)])).await;
        if result.is_err() {
            break;
        }
    }
    let error = result.unwrap_err();
    assert!(matches!(error, StorageError::Store { .. }), "{error:?}");
    assert!(writer.finish().await.is_err());
}

#[tokio::test]
async fn batch_of_other_columns_is_refused_and_the_writer_goes_on() {
    let temp = TempStore::open().await;
    let options = FileWriterOptions { rows_per_file_max: 10 };
    let mut writer = temp.store.write_files(&table_path(), None, node_schema(), options);
    let refused = writer.write(omnigraph_testkit::edge_batch([("e", "a", "b")])).await;
    assert!(matches!(refused, Err(StorageError::Mismatch { .. })), "{refused:?}");
    writer.write(node_batch([("a", 0)])).await.unwrap();
    assert_eq!(writer.finish().await.unwrap().rows(), 1);
}

#[tokio::test]
async fn files_with_columns_in_another_order_land_in_the_right_columns() {
    let temp = TempStore::open().await;
    let table = table_with(&temp.store, &["a"]).await;
    let schema = Arc::new(Schema::new(vec![
        Field::new("value", DataType::Int64, true),
        Field::new("id", DataType::Utf8, false),
    ]));
    let columns: Vec<Arc<dyn Array>> =
        vec![Arc::new(Int64Array::from(vec![7])), Arc::new(StringArray::from(vec!["b"]))];
    let rows = RecordBatch::try_new(schema, columns).unwrap();
    let files = staged_rows(&temp.store, &table_path(), vec![rows]).await.unwrap();
    let staged: Vec<_> = table.scan_staged(&files, ScanRequest::default()).await.unwrap().try_collect().await.unwrap();
    assert_eq!(staged[0].column_by_name("value").unwrap().as_any().downcast_ref::<Int64Array>().unwrap().value(0), 7);
    let next = committed(temp.store.commit_exact(&table, &table.stage_append(files, fresh_mark())).await);
    assert_eq!(ids_in(&next).await.unwrap(), ["a", "b"]);
}

#[tokio::test]
async fn files_with_a_foreign_column_are_refused_at_the_commit() {
    let temp = TempStore::open().await;
    let table = table_with(&temp.store, &["a"]).await;
    let rows = omnigraph_testkit::edge_batch([("e", "a", "b")]);
    let files = staged_rows(&temp.store, &table_path(), vec![rows]).await.unwrap();
    let outcome = temp.store.commit_exact(&table, &table.stage_append(files, fresh_mark())).await;
    assert!(matches!(outcome, Err(StorageError::Mismatch { .. })), "{outcome:?}");
}

#[tokio::test]
async fn large_files_are_written_in_parts_that_hooks_see() {
    let counts = Arc::new(omnigraph_testkit::CountingHook::default());
    let temp = TempStore::with_hooks(vec![counts.clone()]).await;
    let options = FileWriterOptions { rows_per_file_max: 10_000_000 };
    let schema = Arc::new(Schema::new(vec![Field::new("number", DataType::Int64, false)]));
    let mut writer = temp.store.write_files(&ObjectPath::new("big"), None, schema.clone(), options);
    let mut number = 1_i64;
    for _ in 0..20 {
        let column: Int64Array = std::iter::repeat_with(|| {
            // Numbers that no encoding makes smaller.
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Some(number)
        })
        .take(100_000)
        .collect();
        writer.write(RecordBatch::try_new(schema.clone(), vec![Arc::new(column)]).unwrap()).await.unwrap();
    }
    let files = writer.finish().await.unwrap();
    let puts = counts.count(StoreCall::Put);
    assert!(puts > 1, "{puts} puts for {} bytes", files.bytes());
    let creation = StagedChange::create_with(schema, files, fresh_mark());
    let table = committed(temp.store.create_dataset(&ObjectPath::new("big"), creation).await);
    assert_eq!(table.count_rows().await.unwrap(), 2_000_000);
}
