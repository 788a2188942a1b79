//! What this crate promises and what it relies on in Lance, on real files. Where Lance's default would break the promise, the default is
//! shown next to it: an upgrade that changes either fails here.

mod changes;
mod commits;
mod defaults;
mod fences;
mod files;
mod objects;
mod roots;
mod scans;
mod stores;
mod syncs;
mod trees;

use omnigraph_storage::{
    CommitOutcome, ObjectPath, StagedChange, StorageError, Store, Table, TransactionInfo, TransactionMark, TreeRef,
};
use omnigraph_testkit::{create_table, fresh_mark, node_batch, node_schema, staged_rows};

/// Where the tests' table lies.
fn table_path() -> ObjectPath {
    ObjectPath::new("tables/nodes/1")
}

/// Its main chain.
fn main_tree() -> TreeRef {
    TreeRef::main(table_path())
}

/// The table at version 1, with these ids.
async fn table_with(store: &Store, ids: &[&str]) -> Table {
    let rows = if ids.is_empty() { Vec::new() } else { vec![node_batch(ids.iter().map(|id| (*id, 0)))] };
    create_table(store, &table_path(), node_schema(), rows).await.unwrap()
}

/// A staged append of these ids on `table`.
async fn append_of(store: &Store, table: &Table, ids: &[&str]) -> StagedChange {
    append_marked(store, table, ids, fresh_mark()).await
}

/// A staged append of these ids on `table`, under a mark.
async fn append_marked(store: &Store, table: &Table, ids: &[&str], mark: TransactionMark) -> StagedChange {
    let files = staged_rows(store, &table_path(), vec![node_batch(ids.iter().map(|id| (*id, 0)))]).await.unwrap();
    table.stage_append(files, mark)
}

/// The table that a commit made.
#[track_caller]
fn committed(outcome: Result<CommitOutcome, StorageError>) -> Table {
    match outcome.unwrap() {
        CommitOutcome::Committed(table) => table,
        CommitOutcome::Occupied { by } => panic!("the slot is taken by {by:?}"),
    }
}

/// Who holds the slot that a commit wanted.
#[track_caller]
fn occupant(outcome: Result<CommitOutcome, StorageError>) -> TransactionInfo {
    match outcome.unwrap() {
        CommitOutcome::Committed(table) => panic!("the commit landed at {}", table.pin()),
        CommitOutcome::Occupied { by } => by,
    }
}
