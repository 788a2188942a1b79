//! Where a writer stages its change of a table: on the pinned tree if the branch owns it, else on a tree of the attempt's own.
//!
//! The first write of a branch to a table makes a private tree, cloned from the pinned version, and commits to it before arm: nobody can
//! see it, so it is no effect. An attempt that fails leaves it behind, named by nothing.

use omnigraph_catalog::Snapshot;
use omnigraph_storage::{CommitOutcome, StagedChange, StorageError, Store, Table};
use omnigraph_types::TableId;

use crate::change_set::{Attempt, Staged};

/// A table to stage on.
#[derive(Debug)]
pub struct Place {
    store: Store,
    table: Table,
    ownership: Ownership,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ownership {
    Branch,
    Attempt,
}

impl Place {
    /// The place for a change of `table` on `base`, where it is opened as `pinned`.
    pub async fn of(
        base: &Snapshot,
        table: TableId,
        pinned: Table,
        store: &Store,
        attempt: &Attempt,
    ) -> Result<Self, StorageError> {
        let store = store.clone();
        if base.table(table).is_some_and(|row| row.owner == base.branch_id()) {
            return Ok(Self { store, table: pinned, ownership: Ownership::Branch });
        }
        let pin = pinned.pin();
        let tree = store.create_tree(&pin, attempt.tree()).await?;
        let table = store.open_table(&tree.at(pin.version)).await?;
        Ok(Self { store, table, ownership: Ownership::Attempt })
    }

    /// The table, with the pinned version's rows.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Completes a change that was staged on `table()`: as an effect to be made, or by committing it to the attempt's own tree.
    pub async fn stage(self, change: StagedChange) -> Result<Staged, StorageError> {
        match self.ownership {
            Ownership::Branch => Ok(Staged::effect(self.table, change)),
            Ownership::Attempt => match self.store.commit_exact(&self.table, &change).await? {
                CommitOutcome::Committed(table) => Ok(Staged::Private(table)),
                CommitOutcome::Occupied { by } => Err(StorageError::Corrupt {
                    object: self.table.pin().to_string(),
                    expected: "a fresh tree without other commits",
                    source: format!("it holds transaction {}", by.uuid).into(),
                }),
            },
        }
    }
}
