//! What became of interrupted writes, as values.

use omnigraph_types::{BranchName, GraphVersion, OperationId, TableVersion};
use omnigraph_wire::v1;

use super::{milliseconds, parsed};
use crate::ClientError;

/// How a recovery decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecoveryOutcome {
    /// The interrupted write was completed.
    RolledForward,
    /// The interrupted write was undone.
    RolledBack,
    /// Tables that an undone write had touched were put back.
    Settled,
    /// An outcome that this client does not know.
    Other,
}

impl RecoveryOutcome {
    /// The outcome as one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RolledForward => "rolled_forward",
            Self::RolledBack => "rolled_back",
            Self::Settled => "settled",
            Self::Other => "other",
        }
    }
}

/// What a recovery did to one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredTable {
    /// The type.
    pub type_name: String,
    /// The table's version that it found.
    pub from: TableVersion,
    /// The table's version that it left.
    pub to: TableVersion,
}

/// What one recovery did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// The operation that it settled.
    pub operation_id: OperationId,
    /// The branch.
    pub branch: BranchName,
    /// The kind of write, such as `load`.
    pub writer: String,
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

impl Recovery {
    pub(crate) fn from_wire(recovery: v1::Recovery) -> Result<Self, ClientError> {
        let outcome = match recovery.outcome() {
            v1::RecoveryOutcome::RolledForward => RecoveryOutcome::RolledForward,
            v1::RecoveryOutcome::RolledBack => RecoveryOutcome::RolledBack,
            v1::RecoveryOutcome::Settled => RecoveryOutcome::Settled,
            v1::RecoveryOutcome::Unspecified => RecoveryOutcome::Other,
        };
        let table = |table: v1::RecoveredTable| RecoveredTable {
            type_name: table.r#type,
            from: TableVersion(table.from_version),
            to: TableVersion(table.to_version),
        };
        Ok(Self {
            operation_id: parsed(&recovery.operation_id, "a recovery's operation id")?,
            branch: parsed(&recovery.branch, "a recovery's branch")?,
            writer: recovery.writer,
            actor: recovery.actor,
            outcome,
            tables: recovery.tables.into_iter().map(table).collect(),
            time_ms: milliseconds(recovery.create_time),
            version: GraphVersion(recovery.graph_version),
        })
    }

    /// Every recovery of an answer.
    pub(crate) fn all(recoveries: Vec<v1::Recovery>) -> Result<Vec<Self>, ClientError> {
        recoveries.into_iter().map(Self::from_wire).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_keeps_its_tables_and_an_unknown_outcome_is_told_as_such() {
        let table = v1::RecoveredTable { r#type: "Airport".to_owned(), from_version: 4, to_version: 6 };
        let recovery = v1::Recovery {
            operation_id: "01JZ8Q6Y3V5B7N9D1F3H5K7M9P".to_owned(),
            branch: "main".to_owned(),
            writer: "load".to_owned(),
            actor: "anonymous".to_owned(),
            outcome: 99,
            tables: vec![table],
            create_time: None,
            graph_version: 9,
        };
        let recovery = Recovery::from_wire(recovery).unwrap();
        assert_eq!((recovery.outcome, recovery.version), (RecoveryOutcome::Other, GraphVersion(9)));
        let table = RecoveredTable { type_name: "Airport".to_owned(), from: TableVersion(4), to: TableVersion(6) };
        assert_eq!(recovery.tables, [table]);
    }
}
