//! Repair of what neither a write nor a recovery can settle: requests and answers.

use std::fmt;

use crate::named::named_enum;
use crate::{BranchName, GraphVersion, OperationId, Progress, TableVersion};

/// A request to repair a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The branch.
    pub branch: BranchName,
    /// The types; empty means all. An unreadable intent concerns all types.
    pub types: Vec<String>,
    /// The idempotency key; a fresh one is minted if none.
    pub operation_id: Option<OperationId>,
    /// Whether to repair.
    pub confirmation: Confirmation,
}

impl Repair {
    /// A report of what blocks writes to a branch, for all types.
    pub fn preview(branch: BranchName) -> Self {
        Self { branch, types: Vec::new(), operation_id: None, confirmation: Confirmation::None }
    }
}

/// Whether a repair changes anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confirmation {
    /// Report what blocks writes and what a repair would do; change nothing.
    None,
    /// Do what an earlier report listed, which had this confirmation.
    Given(String),
}

named_enum! {
    /// How a repair ended.
    pub enum RepairState {
        /// Nothing blocks writes.
        Nothing = "nothing",
        /// Something blocks writes, and nothing was changed.
        Preview = "preview",
        /// What was confirmed is done.
        Done = "done",
        /// What blocks writes cannot be repaired from what is stored.
        Impossible = "impossible",
        /// A state that only a newer program knows.
        Newer = "newer",
    }
}

/// What a transaction of a table did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionKind {
    /// Added rows.
    Append,
    /// Replaced all rows, or created the table.
    Overwrite,
    /// Removed rows.
    Delete,
    /// Changed rows or replaced fragments.
    Update,
    /// Returned to the content of this version.
    Restore(TableVersion),
    /// Anything else, by the name that the table format gives it; empty for a kind that only a newer program knows.
    Other(String),
}

impl fmt::Display for TransactionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Append => f.write_str("append"),
            Self::Overwrite => f.write_str("overwrite"),
            Self::Delete => f.write_str("delete"),
            Self::Update => f.write_str("update"),
            Self::Restore(version) => write!(f, "restore of version {version}"),
            Self::Other(name) => f.write_str(&name.to_lowercase()),
        }
    }
}

/// A transaction after the version that a branch pins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundTransaction {
    /// The version that it made.
    pub version: TableVersion,
    /// Its id.
    pub transaction: String,
    /// What it did.
    pub kind: TransactionKind,
    /// Rows that it added, or removed where negative.
    pub rows_change: i64,
    /// The operation, if an attempt of the graph made it.
    pub operation_id: Option<OperationId>,
}

named_enum! {
    /// What is wrong with a version that no repair can restore.
    pub enum TableDamage {
        /// It is missing.
        Missing = "missing",
        /// It cannot be read.
        Unreadable = "unreadable",
        /// More versions than can be examined follow the pinned one.
        TooMany = "too_many",
        /// Damage that only a newer program knows.
        Newer = "newer",
    }
}

/// A table that blocks writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableToRepair {
    /// The type.
    pub type_name: String,
    /// The version that the branch pins, which is restored.
    pub pinned: TableVersion,
    /// The first transactions that are undone, oldest first.
    pub transactions: Vec<FoundTransaction>,
    /// How many there are.
    pub transactions_total: u64,
    /// The damaged version, where the table cannot be repaired.
    pub damage: Option<(TableVersion, TableDamage)>,
}

/// An object in the place of an intent that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadableIntent {
    /// The version that it is a ticket for.
    pub version: GraphVersion,
    /// The format that it names, if another program wrote it.
    pub format: Option<u32>,
}

/// What blocks writes to a branch, and what was done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairReport {
    /// The operation.
    pub operation_id: OperationId,
    /// How it ended.
    pub state: RepairState,
    /// The intent that cannot be read.
    pub intent: Option<UnreadableIntent>,
    /// The tables.
    pub tables: Vec<TableToRepair>,
    /// Further tables that are put out of the reach of the intent's owner, and keep their rows.
    pub tables_fenced: u64,
    /// Confirms exactly this report, if there is something to do.
    pub confirmation: Option<String>,
    /// The branch's version that was examined; once done, the version that records the repair.
    pub version: GraphVersion,
    /// Types whose tables could not be restored.
    pub types_left: Vec<String>,
}

/// One part of a repair's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairPart {
    /// How far the repair has come.
    Progress(Progress),
    /// The last part.
    Report(RepairReport),
}
