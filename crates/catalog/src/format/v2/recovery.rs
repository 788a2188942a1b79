//! Aborted attempts: the tables still to be fenced, and what was decided.

use omnigraph_types::{AttemptId, GraphVersion, OperationId, TableId, TableVersion};
use serde::{Deserialize, Serialize};

use super::kinds::PublicationKind;
use super::table::Tree;
use crate::newer::Noticed;
use crate::rows;

/// Which transactions behind the expected version a restore undoes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannedTransactions {
    /// Those that the aborted attempt had planned, in order.
    Listed(Vec<String>),
    /// Those that a person confirmed, and those of any attempt of the graph itself.
    Confirmed(Vec<String>),
}

impl From<rows::PlannedTransactions> for PlannedTransactions {
    fn from(planned: rows::PlannedTransactions) -> Self {
        match planned {
            rows::PlannedTransactions::Listed(uuids) => Self::Listed(uuids),
            rows::PlannedTransactions::Confirmed { confirmed } => Self::Confirmed(confirmed),
        }
    }
}

impl From<PlannedTransactions> for rows::PlannedTransactions {
    fn from(planned: PlannedTransactions) -> Self {
        match planned {
            PlannedTransactions::Listed(uuids) => Self::Listed(uuids),
            PlannedTransactions::Confirmed(confirmed) => Self::Confirmed { confirmed },
        }
    }
}

/// A row `unsettled`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UnsettledBody {
    attempt_id: AttemptId,
    operation_id: OperationId,
    table: TableId,
    tree: Tree,
    expected: TableVersion,
    transactions: PlannedTransactions,
}

impl From<&rows::UnsettledRow> for UnsettledBody {
    fn from(row: &rows::UnsettledRow) -> Self {
        Self {
            attempt_id: row.attempt_id,
            operation_id: row.operation_id,
            table: row.table,
            tree: (&row.tree).into(),
            expected: row.expected,
            transactions: row.transactions.clone().into(),
        }
    }
}

impl From<UnsettledBody> for rows::UnsettledRow {
    fn from(body: UnsettledBody) -> Self {
        Self {
            attempt_id: body.attempt_id,
            operation_id: body.operation_id,
            table: body.table,
            tree: body.tree.into(),
            expected: body.expected,
            transactions: body.transactions.into(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TransitionBody {
    table: TableId,
    from: TableVersion,
    to: TableVersion,
}

/// A row `recovery`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecoveryBody {
    version: GraphVersion,
    kind: PublicationKind,
    writer: String,
    operation_id: OperationId,
    attempt_id: AttemptId,
    original_actor: String,
    time_ms: u64,
    reason: String,
    tables: Vec<TransitionBody>,
}

impl From<&rows::RecoveryRow> for RecoveryBody {
    fn from(row: &rows::RecoveryRow) -> Self {
        let moved = |row: &rows::TableTransition| TransitionBody { table: row.table, from: row.from, to: row.to };
        Self {
            version: row.version,
            kind: row.kind.into(),
            writer: row.writer.clone(),
            operation_id: row.operation_id,
            attempt_id: row.attempt_id,
            original_actor: row.original_actor.clone(),
            time_ms: row.time_ms,
            reason: row.reason.clone(),
            tables: row.tables.iter().map(moved).collect(),
        }
    }
}

impl RecoveryBody {
    pub(super) fn read(self, noticed: &mut Noticed) -> rows::RecoveryRow {
        let moved = |body: TransitionBody| rows::TableTransition { table: body.table, from: body.from, to: body.to };
        rows::RecoveryRow {
            version: self.version,
            kind: self.kind.read(noticed),
            writer: self.writer,
            operation_id: self.operation_id,
            attempt_id: self.attempt_id,
            original_actor: self.original_actor,
            time_ms: self.time_ms,
            reason: self.reason,
            tables: self.tables.into_iter().map(moved).collect(),
        }
    }
}
