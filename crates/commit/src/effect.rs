//! An effect: transactions planned on a tree, and what the tree says of them.

use omnigraph_catalog::PlannedTransactions;
use omnigraph_storage::{Existence, StorageError, Store, TransactionInfo, TransactionKind, TreeRef};
use omnigraph_types::{TableId, TableVersion};
use serde::{Deserialize, Serialize};

use crate::decide::Observation;

/// Most transactions of the graph's own attempts that are undone on a table besides those that were confirmed.
const UNKNOWN_MAX: usize = 64;

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

/// Whether the transaction that follows `ours` planned ones is a planned one too.
fn is_planned(planned: &PlannedTransactions, ours: usize, found: &TransactionInfo) -> bool {
    match planned {
        PlannedTransactions::Listed(list) => list.get(ours).is_some_and(|uuid| *uuid == found.uuid),
        PlannedTransactions::Confirmed { confirmed } => {
            let of_an_attempt = found.attempt_id.is_some() && !matches!(found.kind, TransactionKind::Restore(_));
            ours < confirmed.len().saturating_add(UNKNOWN_MAX) && (confirmed.contains(&found.uuid) || of_an_attempt)
        }
    }
}

/// What is told as the transaction of a version that cannot be read.
pub(crate) const UNREADABLE: &str = "a version that cannot be read";

/// Stands for a version that cannot be read.
fn unreadable() -> TransactionInfo {
    TransactionInfo {
        uuid: UNREADABLE.to_owned(),
        kind: TransactionKind::Other("unreadable".to_owned()),
        operation_id: None,
        attempt_id: None,
    }
}

/// Walks the slots behind the expected version: at most one read per planned transaction, and one more.
pub(crate) async fn tail(
    store: &Store,
    tree: &TreeRef,
    expected: TableVersion,
    planned: &PlannedTransactions,
) -> Result<Tail, StorageError> {
    let (mut slot, mut ours) = (expected.next(), 0);
    loop {
        match store.transaction_at(tree, slot).await {
            Ok(Some(found)) if is_planned(planned, ours, &found) => (slot, ours) = (slot.next(), ours + 1),
            Ok(next) => return Ok(Tail { ours, slot, next }),
            // What cannot be read is nobody's: it keeps this table from being written, and no other.
            Err(StorageError::Corrupt { .. }) => return Ok(Tail { ours, slot, next: Some(unreadable()) }),
            Err(error) => return Err(error),
        }
    }
}

impl Effect {
    /// The planned transactions, as an abort stores them.
    pub(crate) fn planned(&self) -> PlannedTransactions {
        PlannedTransactions::Listed(self.transactions.clone())
    }

    /// Looks at the tree.
    pub(crate) async fn observe(&self, store: &Store) -> Result<Observation, StorageError> {
        let tail = tail(store, &self.tree, self.expected, &self.planned()).await?;
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

#[cfg(test)]
mod tests {
    use omnigraph_types::AttemptId;

    use super::*;

    fn found(uuid: &str, kind: TransactionKind, attempt: Option<AttemptId>) -> TransactionInfo {
        TransactionInfo { uuid: uuid.to_owned(), kind, operation_id: None, attempt_id: attempt }
    }

    #[test]
    fn confirmed_transactions_and_those_of_attempts_are_undone_and_no_others() {
        let planned = PlannedTransactions::Confirmed { confirmed: vec!["seen".to_owned()] };
        let attempt = "01JZ8Q6Y3V5B7N9D1F3H5K7M9P".parse().ok();
        let restore = TransactionKind::Restore(TableVersion(3));
        assert!(is_planned(&planned, 0, &found("seen", TransactionKind::Append, None)));
        assert!(is_planned(&planned, 0, &found("late", TransactionKind::Append, attempt)));
        assert!(!is_planned(&planned, 0, &found("stranger", TransactionKind::Append, None)));
        assert!(!is_planned(&planned, 0, &found("fence", restore, attempt)), "a fence is no effect");
        assert!(!is_planned(&planned, UNKNOWN_MAX + 1, &found("seen", TransactionKind::Append, None)));
    }

    #[test]
    fn listed_transactions_are_undone_in_their_order_only() {
        let planned = PlannedTransactions::Listed(vec!["a".to_owned(), "b".to_owned()]);
        let at = |ours, uuid| is_planned(&planned, ours, &found(uuid, TransactionKind::Append, None));
        assert!(at(0, "a") && at(1, "b"));
        assert!(!at(0, "b") && !at(2, "b"));
    }
}
