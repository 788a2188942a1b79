//! Lance's defaults, where this crate exists because of them. Each test names the promise that the default would break.

use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::StreamExt;
use lance::Dataset;
use lance::dataset::transaction::{Operation, Transaction};
use lance::dataset::{CommitBuilder, InsertBuilder, WriteMode, WriteParams};
use omnigraph_storage::{StoreCall, StoreHook};
use omnigraph_testkit::{CountingHook, TempStore, node_batch};
use omnigraph_types::TableVersion;

use crate::{committed, main_tree, table_with};

async fn plain(temp: &TempStore) -> Arc<Dataset> {
    let path = temp.folder().join("tables/nodes/1");
    Arc::new(Dataset::open(path.to_str().unwrap()).await.unwrap())
}

async fn plain_append(dataset: &Arc<Dataset>, rows: RecordBatch) -> Transaction {
    let params = WriteParams { mode: WriteMode::Append, ..WriteParams::default() };
    InsertBuilder::new(Arc::clone(dataset)).with_params(&params).execute_uncommitted(vec![rows]).await.unwrap()
}

async fn plain_commit(dataset: &Arc<Dataset>, transaction: Transaction) -> lance::Result<Dataset> {
    CommitBuilder::new(Arc::clone(dataset)).with_max_retries(0).execute(transaction).await
}

#[tokio::test]
async fn default_append_with_no_retries_lands_after_a_newer_head() {
    let temp = TempStore::open().await;
    table_with(&temp.store, &["a"]).await;
    let first = plain(&temp).await;
    let (early, late) =
        (plain_append(&first, node_batch([("b", 0)])).await, plain_append(&first, node_batch([("c", 0)])).await);
    plain_commit(&first, early).await.unwrap();
    let landed = plain_commit(&first, late).await.unwrap();
    assert_eq!(landed.version().version, 3);
}

#[tokio::test]
async fn default_append_carries_a_dead_writers_rows_along() {
    let temp = TempStore::open().await;
    let pinned = table_with(&temp.store, &["a"]).await;
    let first = plain(&temp).await;
    let dead = plain_append(&first, node_batch([("dead", 0)])).await;
    let ours = plain_append(&first, node_batch([("b", 0)])).await;
    plain_commit(&first, dead).await.unwrap();
    plain_commit(&first, ours).await.unwrap();
    let third = temp.store.open_table(&main_tree().at(TableVersion(3))).await.unwrap();
    assert_eq!(omnigraph_testkit::ids_in(&third).await.unwrap(), ["a", "b", "dead"]);
    assert_eq!(pinned.version(), TableVersion(1));
}

#[tokio::test]
async fn default_restore_lands_after_any_head() {
    let temp = TempStore::open().await;
    table_with(&temp.store, &["a"]).await;
    let first = plain(&temp).await;
    for id in ["b", "c"] {
        let append = plain_append(&first, node_batch([(id, 0)])).await;
        plain_commit(&first, append).await.unwrap();
    }
    let restore = Transaction::new(1, Operation::Restore { version: 1 }, None);
    assert_eq!(plain_commit(&first, restore).await.unwrap().version().version, 4);
}

#[tokio::test]
async fn default_commits_write_a_version_hint() {
    let temp = TempStore::open().await;
    table_with(&temp.store, &["a"]).await;
    let first = plain(&temp).await;
    let append = plain_append(&first, node_batch([("b", 0)])).await;
    plain_commit(&first, append).await.unwrap();
    assert!(temp.folder().join("tables/nodes/1/_versions/latest_version_hint.json").exists());
}

#[tokio::test]
async fn plain_local_paths_bypass_every_wrapper() {
    let counts = Arc::new(CountingHook::default());
    let hooks: Vec<Arc<dyn StoreHook>> = vec![counts.clone()];
    let temp = TempStore::with_hooks(hooks).await;
    let table = table_with(&temp.store, &["a"]).await;
    counts.take();
    let change = crate::append_of(&temp.store, &table, &["b"]).await;
    committed(temp.store.commit_exact(&table, &change).await);
    assert_eq!(counts.count(StoreCall::Put), 2, "data and transaction are seen through our scheme");
    counts.take();
    let dataset = plain(&temp).await;
    let rows: Vec<_> = dataset.scan().try_into_stream().await.unwrap().collect().await;
    assert!(rows.iter().all(Result::is_ok));
    assert_eq!(counts.total(), 0);
}
