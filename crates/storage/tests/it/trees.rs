//! Private trees.

use futures::TryStreamExt;
use omnigraph_storage::{FileWriterOptions, Table};
use omnigraph_storage::{Pin, ScanRequest, StorageError, Store, TransactionKind, TreeRef};
use omnigraph_testkit::{TempStore, fresh_mark, ids_in, node_batch};
use omnigraph_types::{TableVersion, TreeId};
use ulid::Ulid;

use crate::{append_of, committed, main_tree, occupant, table_path, table_with};

fn fresh_tree() -> TreeId {
    TreeId(Ulid::new())
}

async fn append_to(store: &Store, table: &Table, id: &str) -> Table {
    let pin = table.pin();
    let rows = node_batch([(id, 0)]);
    let options = FileWriterOptions { rows_per_file_max: 10 };
    let mut writer = store.write_files(&pin.tree.path, pin.tree.tree, rows.schema(), options);
    writer.write(rows).await.unwrap();
    let files = writer.finish().await.unwrap();
    let staged: Vec<_> = table.scan_staged(&files, ScanRequest::default()).await.unwrap().try_collect().await.unwrap();
    assert_eq!(staged.len(), 1, "staged files of a private tree can be read");
    committed(store.commit_exact(table, &table.stage_append(files, fresh_mark())).await)
}

#[tokio::test]
async fn private_tree_grows_and_main_stays() {
    let temp = TempStore::open().await;
    let store = &temp.store;
    let first = table_with(store, &["a"]).await;
    let change = append_of(store, &first, &["b"]).await;
    let second = committed(store.commit_exact(&first, &change).await);

    let tree = store.create_tree(&second.pin(), fresh_tree()).await.unwrap();
    assert_eq!(store.head(&tree).await.unwrap(), Some(TableVersion(2)));
    let cloned = store.open_table(&tree.at(TableVersion(2))).await.unwrap();
    assert_eq!(ids_in(&cloned).await.unwrap(), ["a", "b"]);
    let made_by = store.transaction_at(&tree, TableVersion(2)).await.unwrap().unwrap();
    assert_eq!(made_by.kind, TransactionKind::Other("Clone".to_owned()));

    let third = append_to(store, &cloned, "private").await;
    assert_eq!(third.pin(), tree.at(TableVersion(3)));
    assert_eq!(ids_in(&third).await.unwrap(), ["a", "b", "private"]);
    assert_eq!(store.head(&main_tree()).await.unwrap(), Some(TableVersion(2)));
    assert_eq!(ids_in(&store.open_table(&second.pin()).await.unwrap()).await.unwrap(), ["a", "b"]);

    let reopened = temp.reopen(vec![]).await.open_table(&third.pin()).await.unwrap();
    assert_eq!(ids_in(&reopened).await.unwrap(), ["a", "b", "private"]);
}

#[tokio::test]
async fn commits_of_a_private_tree_are_exact() {
    let temp = TempStore::open().await;
    let store = &temp.store;
    let first = table_with(store, &["a"]).await;
    let tree = store.create_tree(&first.pin(), fresh_tree()).await.unwrap();
    let base = store.open_table(&tree.at(TableVersion(1))).await.unwrap();
    append_to(store, &base, "b").await;
    let late = base.stage_overwrite(omnigraph_storage::StagedFiles::empty(), fresh_mark());
    let by = occupant(store.commit_exact(&base, &late).await);
    assert_eq!(by.kind, TransactionKind::Append);
    let restored = store.restore_exact(&tree, TableVersion(1), TableVersion(3), &fresh_mark()).await;
    assert_eq!(ids_in(&committed(restored)).await.unwrap(), ["a"]);
}

#[tokio::test]
async fn tree_of_a_tree_reads_both_parents() {
    let temp = TempStore::open().await;
    let store = &temp.store;
    let first = table_with(store, &["main"]).await;
    let outer = store.create_tree(&first.pin(), fresh_tree()).await.unwrap();
    let outer = append_to(store, &store.open_table(&outer.at(TableVersion(1))).await.unwrap(), "outer").await;
    let inner = store.create_tree(&outer.pin(), fresh_tree()).await.unwrap();
    let inner = append_to(store, &store.open_table(&inner.at(TableVersion(2))).await.unwrap(), "inner").await;
    assert_eq!(ids_in(&inner).await.unwrap(), ["inner", "main", "outer"]);
    assert_eq!(ids_in(&outer).await.unwrap(), ["main", "outer"]);
}

#[tokio::test]
async fn plain_lance_lists_and_opens_private_trees() {
    let temp = TempStore::open().await;
    let first = table_with(&temp.store, &["main"]).await;
    let outer = temp.store.create_tree(&first.pin(), fresh_tree()).await.unwrap();
    let outer =
        append_to(&temp.store, &temp.store.open_table(&outer.at(TableVersion(1))).await.unwrap(), "outer").await;
    let inner = temp.store.create_tree(&outer.pin(), fresh_tree()).await.unwrap();
    let folder = temp.folder().join(table_path().as_str());
    let mut plain = lance::Dataset::open(folder.to_str().unwrap()).await.unwrap();
    let (outer, inner) = (outer.pin().tree.tree.unwrap().to_string(), inner.tree.unwrap().to_string());
    let listed = plain.list_branches().await.unwrap();
    assert_eq!(listed[&inner].parent_branch.as_deref(), Some(outer.as_str()));
    assert_eq!(listed[&inner].identifier.version_mapping[..1], listed[&outer].identifier.version_mapping[..]);
    assert_eq!(plain.checkout_branch(&inner).await.unwrap().count_rows(None).await.unwrap(), 2);
    let refused = plain.delete_branch(&outer).await;
    assert!(refused.is_err(), "it has a descendant: {refused:?}");
}

#[tokio::test]
async fn tree_name_is_used_once() {
    let temp = TempStore::open().await;
    let first = table_with(&temp.store, &["a"]).await;
    let name = fresh_tree();
    temp.store.create_tree(&first.pin(), name).await.unwrap();
    assert!(temp.store.create_tree(&first.pin(), name).await.is_err());
}

#[tokio::test]
async fn tree_of_a_missing_version_is_not_found() {
    let temp = TempStore::open().await;
    table_with(&temp.store, &["a"]).await;
    let pin = Pin { tree: TreeRef::main(table_path()), version: TableVersion(7) };
    let missing = temp.store.create_tree(&pin, fresh_tree()).await;
    assert!(matches!(missing, Err(StorageError::TableNotFound { .. })), "{missing:?}");
}

#[tokio::test]
async fn tree_of_a_root_that_was_moved_is_refused_and_main_is_read() {
    let temp = TempStore::open().await;
    let first = table_with(&temp.store, &["a"]).await;
    let tree = temp.store.create_tree(&first.pin(), fresh_tree()).await.unwrap();
    let moved = tempfile::tempdir().unwrap();
    let root = moved.path().join("moved");
    copy_folder(std::path::Path::new(temp.store.root()), &root);
    let store = Store::open(root.to_str().unwrap(), Default::default()).await.unwrap();
    assert_eq!(ids_in(&store.open_table(&first.pin()).await.unwrap()).await.unwrap(), ["a"]);
    let refused = store.open_table(&tree.at(TableVersion(1))).await;
    assert!(matches!(refused, Err(StorageError::OtherRoot { .. })), "{refused:?}");
}

fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[tokio::test]
async fn damaged_version_is_corrupt_and_no_panic() {
    for keep in [0, 1, 2, 3] {
        let temp = TempStore::open().await;
        let first = table_with(&temp.store, &["a"]).await;
        let versions = std::path::Path::new(temp.store.root()).join(first.pin().tree.path.as_str()).join("_versions");
        let file = std::fs::read_dir(versions).unwrap().next().unwrap().unwrap().path();
        let bytes = std::fs::read(&file).unwrap();
        let damaged: Vec<u8> = match keep {
            0 => bytes.iter().map(|byte| byte ^ 0x5a).collect(),
            parts => bytes[..bytes.len() * parts / 4].to_vec(),
        };
        std::fs::write(&file, damaged).unwrap();
        let opened = temp.reopen(vec![]).await.open_table(&first.pin()).await;
        assert!(matches!(opened, Err(StorageError::Corrupt { .. })), "{keep}: {opened:?}");
    }
}

#[tokio::test]
async fn manifest_of_another_version_is_corrupt() {
    let temp = TempStore::open().await;
    let first = table_with(&temp.store, &["a"]).await;
    let path = |version| std::path::Path::new(temp.store.root()).join(first.pin().tree.at(version).manifest().as_str());
    let second = first.pin().tree.at(first.version().next());
    std::fs::copy(path(first.version()), path(second.version)).unwrap();
    let opened = temp.reopen(vec![]).await.open_table(&second).await;
    assert!(matches!(opened, Err(StorageError::Corrupt { .. })), "{opened:?}");
}
