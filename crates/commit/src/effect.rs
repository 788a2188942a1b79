//! An effect: transactions planned on a tree, and what the tree says of them.

use omnigraph_storage::{Existence, StorageError, Store, TransactionInfo, TransactionKind, TreeRef};
use omnigraph_types::{TableId, TableVersion};
use serde::{Deserialize, Serialize};

use crate::decide::Observation;

/// Transactions planned at exactly `expected + 1`, `expected + 2`, … of one tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// The table.
    pub table: TableId,
    /// The type's name, for people.
    pub type_name: String,
    /// The tree.
    pub tree: TreeRef,
    /// The version pinned before.
    pub expected: TableVersion,
    /// Lance transaction UUIDs, in order.
    pub transactions: Vec<String>,
}

/// How many of the planned transactions are there, and what stands behind them.
#[derive(Debug)]
pub(crate) struct Tail {
    /// Planned transactions found in order.
    pub(crate) ours: usize,
    /// The first slot behind them.
    pub(crate) slot: TableVersion,
    /// What stands in that slot.
    pub(crate) next: Option<TransactionInfo>,
}

/// Walks the slots behind the expected version: at most one read per planned transaction, and one more.
pub(crate) async fn tail(
    store: &Store,
    tree: &TreeRef,
    expected: TableVersion,
    transactions: &[String],
) -> Result<Tail, StorageError> {
    let mut slot = expected.next();
    for (ours, planned) in transactions.iter().enumerate() {
        match store.transaction_at(tree, slot).await? {
            Some(found) if found.uuid == *planned => slot = slot.next(),
            next => return Ok(Tail { ours, slot, next }),
        }
    }
    let next = store.transaction_at(tree, slot).await?;
    Ok(Tail { ours: transactions.len(), slot, next })
}

impl Effect {
    /// Looks at the tree.
    pub(crate) async fn observe(&self, store: &Store) -> Result<Observation, StorageError> {
        let tail = tail(store, &self.tree, self.expected, &self.transactions).await?;
        match tail.next {
            Some(found) if found.kind == TransactionKind::Restore(self.expected) => return Ok(Observation::Fenced),
            Some(found) => return Ok(Observation::Foreign { found: found.uuid }),
            None => {}
        }
        if tail.ours == self.transactions.len() {
            return Ok(Observation::Ours);
        }
        if tail.ours > 0 {
            return Ok(Observation::Partial);
        }
        match store.version_exists(&self.tree, self.expected).await? {
            Existence::Exists => Ok(Observation::Absent),
            Existence::Absent => Ok(Observation::Behind),
        }
    }
}
