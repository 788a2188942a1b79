//! An effect: transactions planned on a tree, and which of them exist there.

use omnigraph_catalog::PlannedTransactions;
use omnigraph_storage::{Existence, StorageError, Store, TransactionInfo, TransactionKind, TreeRef};
use omnigraph_types::mutant;
use omnigraph_types::{TableId, TableVersion};

use crate::decide::{Found, Observation};

/// Most transactions of the graph's own attempts that are undone on a table besides those that were confirmed.
const UNKNOWN_MAX: usize = 64;

/// Transactions planned at exactly `expected + 1`, `expected + 2`, … of one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// How many of the planned transactions exist, and what follows them.
#[derive(Debug)]
pub(crate) struct Tail {
    /// Planned transactions found in order.
    pub(crate) ours: usize,
    /// The first version after them.
    pub(crate) slot: TableVersion,
    /// What that version is.
    pub(crate) next: Next,
}

/// What a version of a tree is.
#[derive(Debug)]
pub(crate) enum Next {
    /// It does not exist.
    Nothing,
    /// This transaction made it.
    Transaction(TransactionInfo),
    /// It exists and cannot be read.
    Unreadable,
}

/// Whether the transaction that follows `ours` planned ones is a planned one too.
fn is_planned(planned: &PlannedTransactions, ours: usize, found: &TransactionInfo) -> bool {
    match planned {
        PlannedTransactions::Listed(list) => list.get(ours).is_some_and(|uuid| mutant!(46, *uuid == found.uuid, true)),
        PlannedTransactions::Confirmed { confirmed } => {
            let of_an_attempt =
                found.attempt_id.is_some() && mutant!(47, !matches!(found.kind, TransactionKind::Restore(_)), true);
            ours < confirmed.len().saturating_add(UNKNOWN_MAX) && (confirmed.contains(&found.uuid) || of_an_attempt)
        }
    }
}

/// Reads the versions after the expected one: at most one read per planned transaction, and one more.
pub(crate) async fn tail(
    store: &Store,
    tree: &TreeRef,
    expected: TableVersion,
    planned: &PlannedTransactions,
) -> Result<Tail, StorageError> {
    let (mut slot, mut ours) = (expected.next(), 0);
    loop {
        let next = match store.transaction_at(tree, slot).await {
            Ok(Some(found)) if is_planned(planned, ours, &found) => {
                (slot, ours) = (slot.next(), ours + 1);
                continue;
            }
            Ok(Some(found)) => Next::Transaction(found),
            Ok(None) => Next::Nothing,
            // An unreadable version keeps this table from being written, and no other.
            Err(StorageError::Corrupt { .. }) => Next::Unreadable,
            Err(error) => return Err(error),
        };
        return Ok(Tail { ours, slot, next });
    }
}

impl Effect {
    /// The version that the last transaction makes.
    pub(crate) fn made(&self) -> TableVersion {
        TableVersion(self.expected.0.saturating_add(self.transactions.len() as u64))
    }

    /// The planned transactions, as an abort stores them.
    pub(crate) fn planned(&self) -> PlannedTransactions {
        PlannedTransactions::Listed(self.transactions.clone())
    }

    /// Reads the tree and says what became of the effect.
    pub(crate) async fn observe(&self, store: &Store) -> Result<Observation, StorageError> {
        let tail = tail(store, &self.tree, self.expected, &self.planned()).await?;
        match tail.next {
            Next::Transaction(found) if found.kind == TransactionKind::Restore(self.expected) => {
                return Ok(Observation::Fenced);
            }
            Next::Transaction(found) => return Ok(Observation::Foreign { found: Found::Transaction(found.uuid) }),
            Next::Unreadable => return Ok(Observation::Foreign { found: Found::Unreadable }),
            Next::Nothing => {}
        }
        if mutant!(16, tail.ours == self.transactions.len(), tail.ours > 0) {
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
