//! Reading.

use std::sync::Arc;

use arrow::array::{Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use omnigraph_storage::{Predicate, ScanOrder, ScanRequest, StorageError, StoreCall, Table};
use omnigraph_testkit::{CountingHook, TempStore, create_table, node_batch, node_schema};

use crate::{append_of, committed, main_tree, table_path, table_with};

const ODD_NAMES: [&str; 6] = ["order", "repoName", "it's \"quoted\"", "*", "a b", "select"];

async fn odd_table(temp: &TempStore) -> Table {
    let fields: Vec<Field> = ODD_NAMES.iter().map(|name| Field::new(*name, DataType::Utf8, true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let column = |index: usize| -> Arc<dyn Array> {
        Arc::new(StringArray::from(vec![format!("{index}-x"), format!("{index}-y"), format!("{index}-it's")]))
    };
    let rows = RecordBatch::try_new(schema.clone(), (0..ODD_NAMES.len()).map(column).collect()).unwrap();
    create_table(&temp.store, &table_path(), schema, vec![rows]).await.unwrap()
}

async fn rows(table: &Table, request: ScanRequest) -> Vec<RecordBatch> {
    table.scan(request).await.unwrap().try_collect().await.unwrap()
}

fn texts(batches: &[RecordBatch], column: usize) -> Vec<String> {
    let values = |batch: &RecordBatch| {
        let column = batch.column(column).as_any().downcast_ref::<StringArray>().unwrap();
        column.iter().map(|value| value.unwrap().to_owned()).collect::<Vec<_>>()
    };
    batches.iter().flat_map(values).collect()
}

#[tokio::test]
async fn odd_column_names_are_projected_and_filtered_exactly() {
    let temp = TempStore::open().await;
    let table = odd_table(&temp).await;
    for (index, name) in ODD_NAMES.iter().enumerate() {
        let request = |filter| ScanRequest {
            columns: Some(vec![(*name).to_owned()]),
            filter: Some(filter),
            ordered: ScanOrder::Physical,
            ..ScanRequest::default()
        };
        let column = (*name).to_owned();
        let equal = rows(&table, request(Predicate::Equals { column, value: format!("{index}-it's") })).await;
        assert_eq!(equal[0].schema().field(0).name(), name);
        assert_eq!(texts(&equal, 0), [format!("{index}-it's")]);
        let (column, values) = ((*name).to_owned(), vec![format!("{index}-x"), format!("{index}-y"), "no".to_owned()]);
        let among = rows(&table, request(Predicate::IsIn { column, values })).await;
        assert_eq!(texts(&among, 0), [format!("{index}-x"), format!("{index}-y")]);
    }
}

#[tokio::test]
async fn empty_set_matches_nothing_and_columns_come_in_the_order_asked() {
    let temp = TempStore::open().await;
    let table = odd_table(&temp).await;
    let none = Predicate::IsIn { column: "order".to_owned(), values: vec![] };
    let empty = rows(&table, ScanRequest { filter: Some(none), ..ScanRequest::default() }).await;
    assert_eq!(empty.iter().map(RecordBatch::num_rows).sum::<usize>(), 0);
    let columns = Some(vec!["select".to_owned(), "order".to_owned()]);
    let two = rows(&table, ScanRequest { columns, limit: Some(2), ..ScanRequest::default() }).await;
    assert_eq!(texts(&two, 0).len(), 2);
    assert_eq!(two[0].schema().field(0).name(), "select");
}

#[tokio::test]
async fn unknown_column_is_a_mismatch() {
    let temp = TempStore::open().await;
    let table = odd_table(&temp).await;
    let request = ScanRequest { columns: Some(vec!["reponame".to_owned()]), ..ScanRequest::default() };
    let refused = table.scan(request).await.map(drop);
    assert!(matches!(refused, Err(StorageError::Mismatch { .. })), "{refused:?}");
}

#[tokio::test]
async fn scan_of_some_fragments_reads_only_those() {
    let temp = TempStore::open().await;
    let first = table_with(&temp.store, &["a"]).await;
    let change = append_of(&temp.store, &first, &["b"]).await;
    let second = committed(temp.store.commit_exact(&first, &change).await);
    let change = append_of(&temp.store, &second, &["c"]).await;
    let third = committed(temp.store.commit_exact(&second, &change).await);
    let ids: Vec<u64> = third.fragments().iter().map(|fragment| fragment.id).collect();
    assert_eq!(ids.len(), 3);
    let physical = || ScanRequest { ordered: ScanOrder::Physical, ..ScanRequest::default() };
    let stream = third.scan_fragments(&[ids[2], ids[0]], physical()).await.unwrap();
    let picked: Vec<RecordBatch> = stream.try_collect().await.unwrap();
    assert_eq!(texts(&picked, 0), ["c", "a"]);
    let none: Vec<RecordBatch> = third.scan_fragments(&[], physical()).await.unwrap().try_collect().await.unwrap();
    assert!(none.is_empty());
    let missing = third.scan_fragments(&[99], physical()).await.map(drop);
    assert!(matches!(missing, Err(StorageError::Mismatch { .. })), "{missing:?}");
}

#[tokio::test]
async fn provider_answers_sql_over_its_exact_version() {
    let temp = TempStore::open().await;
    let rows = vec![node_batch([("a", 1), ("b", 2), ("c", 3)])];
    let first = create_table(&temp.store, &table_path(), node_schema(), rows).await.unwrap();
    let change = append_of(&temp.store, &first, &["later"]).await;
    committed(temp.store.commit_exact(&first, &change).await);
    let context = SessionContext::new();
    context.register_table("nodes", first.provider()).unwrap();
    let query = "SELECT value, id FROM nodes WHERE value >= 2 AND id <> 'c' OR id = 'later'";
    let found = context.sql(query).await.unwrap().collect().await.unwrap();
    assert_eq!(texts(&found, 1), ["b"]);
    let counted = context.sql("SELECT count(*) FROM nodes").await.unwrap().collect().await.unwrap();
    assert_eq!(counted[0].column(0).as_any().downcast_ref::<Int64Array>().unwrap().value(0), 3);
    let limited = context.sql("SELECT id FROM nodes LIMIT 1").await.unwrap().collect().await.unwrap();
    assert_eq!(texts(&limited, 0), ["a"]);
}

#[tokio::test]
async fn scan_fails_with_the_store() {
    let faults = Arc::new(omnigraph_testkit::FaultHook::default());
    let temp = TempStore::open().await;
    table_with(&temp.store, &["a"]).await;
    let store = temp.reopen(vec![faults.clone()]).await;
    let table = store.open_table(&main_tree().at(omnigraph_types::TableVersion(1))).await.unwrap();
    faults.fail(omnigraph_testkit::FaultPlan::next(StoreCall::Get, "/data/").ever());
    let result: Result<Vec<_>, _> = match table.scan(ScanRequest::default()).await {
        Ok(stream) => stream.try_collect().await,
        Err(error) => Err(error),
    };
    let error = result.unwrap_err();
    assert!(matches!(error, StorageError::Store { .. }), "{error:?}");
    let failure = error.failure();
    assert!(!failure.message.contains("tables/"), "{}", failure.message);
}

#[tokio::test]
async fn projection_reads_fewer_bytes_than_the_whole_row() {
    let counts = Arc::new(CountingHook::default());
    let temp = TempStore::open().await;
    let table = odd_table(&temp).await;
    let store = temp.reopen(vec![counts.clone()]).await;
    let table = store.open_table(&table.pin()).await.unwrap();
    let request = ScanRequest { columns: Some(vec!["order".to_owned()]), ..ScanRequest::default() };
    let one = rows(&table, request).await;
    assert_eq!(one[0].num_columns(), 1);
    assert_eq!(counts.count(StoreCall::List), 0);
}
