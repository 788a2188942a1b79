//! What recoveries did about interrupted writes.

use crate::named::named_enum;
use crate::{BranchName, GraphVersion, OperationId, TableVersion, WriterName};

named_enum! {
    /// How a recovery decided.
    pub enum RecoveryOutcome {
        /// The interrupted write was completed.
        RolledForward = "rolled_forward",
        /// The interrupted write was undone.
        RolledBack = "rolled_back",
        /// Tables that an undone write could still have changed were put out of its reach.
        Settled = "settled",
        /// An outcome that only a newer program knows.
        Newer = "newer",
    }
}

/// What a recovery did to one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredTable {
    /// The type.
    pub type_name: String,
    /// The table's version that was pinned before.
    pub from: TableVersion,
    /// The table's version that is pinned since.
    pub to: TableVersion,
}

/// What one recovery did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// The operation that was interrupted.
    pub operation_id: OperationId,
    /// The branch.
    pub branch: BranchName,
    /// The writer that was interrupted.
    pub writer: WriterName,
    /// Who had sent the write.
    pub actor: String,
    /// How it was decided.
    pub outcome: RecoveryOutcome,
    /// What was done to each table.
    pub tables: Vec<RecoveredTable>,
    /// When: milliseconds since 1970-01-01T00:00:00Z.
    pub time_ms: u64,
    /// The version of the branch's chain that decided.
    pub version: GraphVersion,
}
