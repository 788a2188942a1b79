//! Transactions of a table after the version that a branch pins, as answers show them.

use omnigraph_commit::{Standing, TableCondition};
use omnigraph_types::{FoundTransaction, TableToRepair};

/// Transactions of one table that are listed one by one.
const LISTED_MAX: usize = 100;

/// A table that blocks writes.
pub(crate) fn table_to_repair(table: &TableCondition) -> TableToRepair {
    let damage = match table.standing {
        Standing::Damaged { version, damage } => Some((version, table_damage(damage))),
        Standing::Level | Standing::Pending | Standing::Occupied(_) => None,
    };
    TableToRepair {
        type_name: table.pinned.type_name.clone(),
        pinned: table.pinned.version,
        transactions: found_transactions(table),
        transactions_total: table.undone().len() as u64,
        damage,
    }
}

/// The damage of a version.
pub(crate) fn table_damage(damage: omnigraph_commit::Damage) -> omnigraph_types::TableDamage {
    match damage {
        omnigraph_commit::Damage::Missing => omnigraph_types::TableDamage::Missing,
        omnigraph_commit::Damage::Unreadable => omnigraph_types::TableDamage::Unreadable,
        omnigraph_commit::Damage::TooMany => omnigraph_types::TableDamage::TooMany,
    }
}

/// The first transactions after a pin, with what each changed.
pub(crate) fn found_transactions(table: &TableCondition) -> Vec<FoundTransaction> {
    let mut rows_before = table.pinned.row_count;
    let mut listed = Vec::new();
    for found in table.undone().iter().take(LISTED_MAX) {
        listed.push(FoundTransaction {
            version: found.version,
            transaction: found.transaction.uuid.clone(),
            kind: found.transaction.kind.clone(),
            rows_change: i64::try_from(i128::from(found.rows) - i128::from(rows_before)).unwrap_or_default(),
            operation_id: found.transaction.operation_id,
        });
        rows_before = found.rows;
    }
    listed
}
