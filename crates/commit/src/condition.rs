//! The versions after the pins of a branch, for repair and for a check. It reads and changes nothing.
//!
//! Invariant: what settling undoes or completes by itself is `Pending`; only what needs a person is `Occupied` or `Damaged`.

use futures::{StreamExt, TryStreamExt, stream};
use omnigraph_catalog::{Catalog, Chain, PlannedTransactions, Snapshot, TableRow, UnsettledRow};
use omnigraph_storage::{Existence, StorageError, Store, Table, TransactionInfo, TransactionKind};
use omnigraph_types::mutant;
use omnigraph_types::{TableId, TableVersion};

use crate::effect::{Next, tail};
use crate::error::CommitError;
use crate::rounds::Rounds;
use crate::ticket::{self, IntentSlot};

/// Tables read at once.
const CONCURRENCY: usize = 8;
/// Most versions after a pin that are read.
const VERSIONS_MAX: usize = 1_000;
/// Looks at a branch until two in a row agree on what is foreign.
const LOOKS_MAX: u32 = 8;

/// A transaction after a pin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundTransaction {
    /// The version that it made.
    pub version: TableVersion,
    /// What it is.
    pub transaction: TransactionInfo,
    /// Rows at that version.
    pub rows: u64,
}

/// What is wrong with a version that nothing stored can replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// It does not exist.
    Missing,
    /// It exists and cannot be read.
    Unreadable,
    /// More than a thousand versions follow the pin.
    TooMany,
}

/// What follows the pin of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Nothing: the pin is the head.
    Level,
    /// Transactions that the next write, or settling, undoes or completes.
    Pending,
    /// Foreign transactions: settling refuses the table.
    Occupied(Vec<FoundTransaction>),
    /// A version that no repair can bring back.
    Damaged {
        /// The version.
        version: TableVersion,
        /// What is wrong with it.
        damage: Damage,
    },
}

/// One table of a branch as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableCondition {
    /// What the branch pins.
    pub pinned: TableRow,
    /// Its aborted attempt that is still to be fenced.
    pub unsettled: Option<UnsettledRow>,
    /// What follows the pin.
    pub standing: Standing,
}

impl TableCondition {
    /// Transactions that a restore would undo: all after the pin, but restores of the pinned version at the end, which undo nothing more.
    pub fn undone(&self) -> &[FoundTransaction] {
        let Standing::Occupied(found) = &self.standing else { return &[] };
        let restore = TransactionKind::Restore(self.pinned.version);
        let kept = found.iter().rposition(|found| found.transaction.kind != restore).map_or(0, |last| last + 1);
        &found[..kept]
    }
}

/// A branch as it was found.
pub(crate) struct Looked {
    pub(crate) newest: Snapshot,
    pub(crate) slot: IntentSlot,
    pub(crate) tables: Vec<TableCondition>,
}

/// Reads the condition of a branch while others write to it.
///
/// A writer that armed after the intent was read makes changes that look foreign. A second look finds its intent, its publication or its
/// abort, so that what looks foreign twice at the same pin is foreign.
pub(crate) async fn look(catalog: &Catalog, chain: &Chain, chosen: &[TableId]) -> Result<Looked, CommitError> {
    let mut before: Option<Vec<TableCondition>> = None;
    let mut looks = Rounds::at_most(LOOKS_MAX);
    loop {
        looks.begin()?;
        let newest = catalog.newest_of(chain).await?;
        let slot = ticket::read(catalog, newest.branch_id(), newest.version().next()).await?;
        let tables = examine(catalog.store(), &newest, &slot, chosen).await?;
        let certain = |table: &TableCondition| match table.standing {
            Standing::Level | Standing::Pending | Standing::Damaged { .. } => true,
            Standing::Occupied(_) => mutant!(11, before.as_ref().is_some_and(|before| before.contains(table)), true),
        };
        if tables.iter().all(certain) {
            return Ok(Looked { newest, slot, tables });
        }
        before = Some(tables);
    }
}

/// Reads every table that the version pins, or at the chosen ones; sorted by id. Of trees that the branch does not own only the pinned
/// version is read: nothing is written after it for this branch.
pub(crate) async fn examine(
    store: &Store,
    newest: &Snapshot,
    slot: &IntentSlot,
    chosen: &[TableId],
) -> Result<Vec<TableCondition>, StorageError> {
    let is_chosen = |row: &&TableRow| chosen.is_empty() || chosen.contains(&row.id);
    let rows: Vec<TableRow> = newest.tables().filter(is_chosen).cloned().collect();
    let conditions = stream::iter(rows).map(|row| async move {
        let unsettled = newest.state().unsettled.iter().find(|unsettled| unsettled.table == row.id).cloned();
        let planned = planned(&row, unsettled.as_ref(), slot);
        let standing = match mutant!(80, row.owner == newest.branch_id(), true) {
            true => standing(store, &row, &planned).await?,
            false => pinned_only(store, &row).await?,
        };
        Ok(TableCondition { pinned: row, unsettled, standing })
    });
    conditions.buffered(CONCURRENCY).try_collect().await
}

/// What settling expects after the pin: by an `unsettled` row, or by the intent that is pending.
fn planned(row: &TableRow, unsettled: Option<&UnsettledRow>, slot: &IntentSlot) -> PlannedTransactions {
    let by_row = unsettled.filter(|unsettled| unsettled.tree == row.tree_ref() && unsettled.expected == row.version);
    let effects = slot.held().into_iter().flat_map(|intent| &intent.effects);
    let mut effects = effects.filter(|effect| effect.tree == row.tree_ref() && effect.expected == row.version);
    match (by_row, effects.next(), slot) {
        (Some(unsettled), _, _) => unsettled.transactions.clone(),
        (None, Some(effect), _) => effect.planned(),
        // Nobody here knows what it planned; transactions of attempts are its, or will be judged by a newer server.
        (None, None, IntentSlot::Newer(_)) => PlannedTransactions::Confirmed { confirmed: Vec::new() },
        (None, None, IntentSlot::Empty | IntentSlot::Held { .. } | IntentSlot::Unreadable(_)) => {
            PlannedTransactions::Listed(Vec::new())
        }
    }
}

async fn pinned_only(store: &Store, row: &TableRow) -> Result<Standing, StorageError> {
    Ok(match open(store, row, row.version).await? {
        Opened::Table(_) => Standing::Level,
        Opened::Damaged(damage) => Standing::Damaged { version: row.version, damage },
    })
}

async fn standing(store: &Store, row: &TableRow, planned: &PlannedTransactions) -> Result<Standing, StorageError> {
    if let damaged @ Standing::Damaged { .. } = pinned_only(store, row).await? {
        return Ok(damaged);
    }
    match tail(store, &row.tree_ref(), row.version, planned).await {
        Ok(tail) => match tail.next {
            Next::Nothing if tail.ours == 0 => Ok(Standing::Level),
            Next::Nothing => Ok(Standing::Pending),
            Next::Transaction(found)
                if mutant!(
                    50,
                    found.kind == TransactionKind::Restore(row.version),
                    matches!(found.kind, TransactionKind::Restore(_))
                ) =>
            {
                Ok(Standing::Pending)
            }
            Next::Transaction(_) | Next::Unreadable => occupied(store, row).await,
        },
        Err(StorageError::Corrupt { .. }) => occupied(store, row).await,
        Err(error) => Err(error),
    }
}

/// Everything after the pin.
async fn occupied(store: &Store, row: &TableRow) -> Result<Standing, StorageError> {
    let mut found = Vec::new();
    let mut version = row.version.next();
    while found.len() < VERSIONS_MAX {
        let table = match open(store, row, version).await? {
            Opened::Table(table) => table,
            Opened::Damaged(Damage::Missing) => return Ok(Standing::Occupied(found)),
            Opened::Damaged(damage) => return Ok(Standing::Damaged { version, damage }),
        };
        let transaction = match store.transaction_at(&row.tree_ref(), version).await {
            Ok(Some(transaction)) => transaction,
            Ok(None) => return Ok(Standing::Occupied(found)),
            Err(StorageError::Corrupt { .. }) => {
                return Ok(Standing::Damaged { version, damage: Damage::Unreadable });
            }
            Err(error) => return Err(error),
        };
        let rows = table.fragments().iter().map(|one| one.physical_rows.saturating_sub(one.deletions)).sum();
        found.push(FoundTransaction { version, transaction, rows });
        version = version.next();
    }
    Ok(Standing::Damaged { version, damage: Damage::TooMany })
}

enum Opened {
    Table(Table),
    Damaged(Damage),
}

async fn open(store: &Store, row: &TableRow, version: TableVersion) -> Result<Opened, StorageError> {
    // What this process has in memory proves nothing.
    if store.version_exists(&row.tree_ref(), version).await? == Existence::Absent {
        return Ok(Opened::Damaged(Damage::Missing));
    }
    match store.open_table(&row.tree_ref().at(version)).await {
        Ok(table) => Ok(Opened::Table(table)),
        Err(StorageError::TableNotFound { .. }) => Ok(Opened::Damaged(Damage::Missing)),
        Err(StorageError::Corrupt { .. }) => Ok(Opened::Damaged(Damage::Unreadable)),
        Err(error) => Err(error),
    }
}
