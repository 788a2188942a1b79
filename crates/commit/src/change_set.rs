//! What a writer stages: which tables change, how each change is staged, and what the publication says about it.
//!
//! A writer knows kinds of rows and rules; from here on the protocol knows only effects, private trees and pins.

use std::sync::Arc;

use omnigraph_catalog::{Precondition, PublicationKind, TableRow};
use omnigraph_storage::{Pin, StagedChange, Table, TransactionMark};
use omnigraph_types::mutant;
use omnigraph_types::{AttemptId, Clock, CommitId, CommitKind, OperationId, TableId, TableVersion, TreeId};

use crate::effect::Effect;
use crate::error::CommitError;

/// One try of an operation.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Names everything that this try stages.
    pub id: AttemptId,
    /// The operation.
    pub operation_id: OperationId,
    clock: Arc<dyn Clock>,
}

impl Attempt {
    pub(crate) fn new(operation_id: OperationId, clock: Arc<dyn Clock>) -> Self {
        Self { id: AttemptId(clock.mint()), operation_id, clock }
    }

    /// The name of a tree of this try, fresh each time.
    pub fn tree(&self) -> TreeId {
        TreeId(self.clock.mint())
    }

    /// A mark with a fresh transaction UUID.
    pub fn mark(&self) -> TransactionMark {
        TransactionMark { uuid: self.clock.mint().to_string(), operation_id: self.operation_id, attempt_id: self.id }
    }
}

/// Uncommitted transactions on a tree that the branch owns. They are committed after arm, in order, at exactly the versions that follow the
/// pinned one.
#[derive(Debug, Clone)]
pub struct StagedEffect {
    /// The table opened at its pin.
    pub base: Table,
    /// The first transaction, staged on `base`.
    pub first: Box<StagedChange>,
    /// Further ones, in order, each staged on `base` and valid after those before it.
    pub rest: Vec<StagedChange>,
}

impl StagedEffect {
    /// The transactions in order.
    pub(crate) fn transactions(&self) -> impl Iterator<Item = &StagedChange> {
        std::iter::once(self.first.as_ref()).chain(&self.rest)
    }

    /// The effect as an intent records it.
    pub(crate) fn planned(&self, table: TableId, type_name: String) -> Effect {
        Effect {
            table,
            type_name,
            tree: self.base.pin().tree,
            expected: self.base.version(),
            transactions: self.transactions().map(|change| change.mark().uuid.clone()).collect(),
        }
    }

    /// Where the publication will pin the table.
    pub(crate) fn pin_after(&self) -> Pin {
        let transactions = self.rest.len() as u64 + 1;
        self.base.pin().tree.at(TableVersion(self.base.version().0 + transactions))
    }
}

/// How a change of one table is staged.
#[derive(Debug, Clone)]
pub enum Staged {
    /// As an effect, made after arm.
    Effect(StagedEffect),
    /// As a tree of the attempt's own, complete and named by nothing: no effect. The publication names it, and the branch becomes its owner.
    Private(Table),
    /// As the pin that another branch has for the table: its tree stays that branch's, and the next write here makes a private tree.
    TakenOver(Box<TableRow>),
}

impl Staged {
    /// One transaction, as an effect on the table opened at its pin.
    pub fn effect(base: Table, change: StagedChange) -> Self {
        Self::Effect(StagedEffect { base, first: Box::new(change), rest: Vec::new() })
    }
}

/// What a change does to the rows of its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsChange {
    /// Nothing: the same rows, in other files.
    Same,
    /// It changes them.
    Changed(RowCounts),
}

/// How many rows a change concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowCounts {
    /// Rows that are new.
    pub inserted: u64,
    /// Rows that are replaced.
    pub updated: u64,
    /// Rows that go.
    pub deleted: u64,
    /// Rows afterwards.
    pub after: u64,
}

/// A staged change of one table.
#[derive(Debug, Clone)]
pub struct TableChange {
    /// The table.
    pub table: TableId,
    /// How it is staged.
    pub staged: Staged,
    /// What it does to the rows.
    pub rows: RowsChange,
}

/// Another contract, and what it does to the set of tables.
#[derive(Debug, Clone)]
pub struct SchemaChange {
    /// Hash of the contract, in hexadecimal. It is stored already.
    pub hash: String,
    /// Tables that are new, empty or filled by the attempt.
    pub added: Vec<TableRow>,
    /// Tables that go.
    pub dropped: Vec<TableId>,
    /// Tables whose types get other names.
    pub renamed: Vec<(TableId, String)>,
}

/// What kind of publication a writer makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// A commit: it moves the head.
    Commit(CommitKind),
    /// A publication of this kind that keeps the head, such as `Index` or `Optimize`.
    KeepsHead(PublicationKind),
}

impl ChangeKind {
    pub(crate) fn publication(self) -> PublicationKind {
        match self {
            Self::Commit(_) => PublicationKind::Commit,
            Self::KeepsHead(kind) => kind,
        }
    }
}

/// What a writer staged.
#[derive(Debug, Clone, Default)]
pub struct ChangeSet {
    /// Heads that the commit follows besides the branch's own.
    pub parents: Vec<CommitId>,
    /// Another contract.
    pub schema: Option<SchemaChange>,
    /// What must hold besides the token, the operation's novelty and the expected head.
    pub preconditions: Vec<Precondition>,
    /// At most one change per table.
    pub tables: Vec<TableChange>,
}

impl ChangeSet {
    /// Changes of tables alone.
    pub fn of_tables(tables: Vec<TableChange>) -> Self {
        Self { tables, ..Self::default() }
    }

    /// A publication that keeps the head changes neither rows nor schema and has no parents: who watches the branch would not see it.
    pub(crate) fn check_kind(&self, kind: ChangeKind) -> Result<(), CommitError> {
        match kind {
            ChangeKind::Commit(_) => return Ok(()),
            ChangeKind::KeepsHead(PublicationKind::Commit) => {}
            ChangeKind::KeepsHead(_) => {
                let rows_stay = mutant!(86, self.tables.iter().all(|change| change.rows == RowsChange::Same), true);
                if rows_stay && self.schema.is_none() && self.parents.is_empty() {
                    return Ok(());
                }
            }
        }
        Err(CommitError::Violation {
            object: "what was staged for a publication that keeps the head".to_owned(),
            expected: "neither changed rows nor another schema, and no parents".to_owned(),
        })
    }

    /// Whether there is nothing to publish.
    pub(crate) fn is_empty(&self) -> bool {
        self.parents.is_empty() && self.schema.is_none() && self.tables.is_empty()
    }
}
