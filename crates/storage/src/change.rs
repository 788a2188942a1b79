//! Changes that are staged and not committed, and the description of a committed transaction.
//!
//! Invariants: a change knows the version that it is committed on and is committed nowhere else; its Lance transaction has the UUID that the
//! attempt minted, so that readers of a version recognise it.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use lance::dataset::transaction::{Operation, Transaction};
use lance_core::datatypes::{LANCE_UNENFORCED_PRIMARY_KEY, Schema as LanceSchema};
use omnigraph_types::{AttemptId, OperationId, TableVersion, TransactionKind};
use serde::{Deserialize, Serialize};

use crate::files::Bases;
use crate::unfit::Unfit;
use crate::{Pin, StagedFiles, Table};

/// Transaction property that holds the operation id.
const OPERATION_PROPERTY: &str = "omnigraph.operation_id";
/// Transaction property that holds the attempt id.
const ATTEMPT_PROPERTY: &str = "omnigraph.attempt_id";
/// The column that is declared as the unenforced primary key of a new table.
const KEY_COLUMN: &str = "id";

/// The operation and attempt that made a transaction. Stored in the Lance transaction: the UUID as its own, the ids as properties.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionMark {
    /// Lance's transaction UUID, minted by the attempt.
    pub uuid: String,
    /// The operation.
    pub operation_id: OperationId,
    /// The attempt.
    pub attempt_id: AttemptId,
}

impl TransactionMark {
    /// The transaction that does `operation` on `read_version` under this mark.
    pub(crate) fn transaction(&self, read_version: TableVersion, operation: Operation) -> Transaction {
        let properties = HashMap::from([
            (OPERATION_PROPERTY.to_owned(), self.operation_id.to_string()),
            (ATTEMPT_PROPERTY.to_owned(), self.attempt_id.to_string()),
        ]);
        Transaction {
            read_version: read_version.0,
            uuid: self.uuid.clone(),
            operation,
            tag: None,
            transaction_properties: Some(Arc::new(properties)),
        }
    }
}

/// A committed transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionInfo {
    /// Lance's transaction UUID.
    pub uuid: String,
    /// What it does.
    pub kind: TransactionKind,
    /// The operation, if one of ours wrote it.
    pub operation_id: Option<OperationId>,
    /// The attempt, if one of ours wrote it.
    pub attempt_id: Option<AttemptId>,
}

impl TransactionInfo {
    pub(crate) fn of(transaction: &Transaction) -> Self {
        let kind = match &transaction.operation {
            Operation::Append { .. } => TransactionKind::Append,
            Operation::Overwrite { .. } => TransactionKind::Overwrite,
            Operation::Delete { .. } => TransactionKind::Delete,
            Operation::Update { .. } => TransactionKind::Update,
            Operation::Restore { version } => TransactionKind::Restore(TableVersion(*version)),
            other => TransactionKind::Other(other.to_string()),
        };
        Self {
            uuid: transaction.uuid.clone(),
            kind,
            operation_id: property(transaction, OPERATION_PROPERTY),
            attempt_id: property(transaction, ATTEMPT_PROPERTY),
        }
    }
}

fn property<T: FromStr>(transaction: &Transaction, name: &str) -> Option<T> {
    transaction.transaction_properties.as_ref()?.get(name)?.parse().ok()
}

/// The version that a change is committed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Base {
    /// None: it creates the table.
    Creation(RowIds),
    /// One exact version.
    At(Pin),
    /// A later version, which earlier transactions of the same effect made.
    After {
        /// The version that the change was staged on.
        staged_on: Pin,
        /// The version that it is committed on.
        made: Pin,
    },
}

/// How rows of a new table are identified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowIds {
    /// By ids that survive compaction.
    Stable,
    /// By place.
    Addresses,
}

/// A change of one table, bound to the version that it was staged on. Invisible until committed.
///
/// A change that does not fit its table is refused by the commit, before anything is written.
#[derive(Debug, Clone)]
pub struct StagedChange {
    mark: TransactionMark,
    base: Base,
    operation: Result<Operation, Unfit>,
}

impl StagedChange {
    pub(crate) fn on(pin: Pin, operation: Result<Operation, Unfit>, mark: TransactionMark) -> Self {
        Self { mark, base: Base::At(pin), operation }
    }

    /// The creation of an empty table; see `create_with`.
    pub fn create_empty(schema: SchemaRef, mark: TransactionMark) -> StagedChange {
        Self::create_with(schema, StagedFiles::empty(), mark)
    }

    /// The creation of a table with rows: stable row ids, file format 2.2, and a non-null column `id` declared as Lance's unenforced primary
    /// key.
    pub fn create_with(schema: SchemaRef, files: StagedFiles, mark: TransactionMark) -> StagedChange {
        let operation = readable(&schema)
            .and_then(|schema| {
                let declared = with_key_declared(schema);
                LanceSchema::try_from(&declared).map_err(|error| Unfit::Schema { reason: error.to_string() })
            })
            .and_then(|schema| {
                let fragments = files.fragments_for(&schema, &Bases::Own)?;
                Ok(Operation::Overwrite { fragments, schema, config_upsert_values: None, initial_bases: None })
            });
        Self { mark, base: Base::Creation(RowIds::Stable), operation }
    }

    /// For a creation: rows are identified by place alone, which keeps the manifests of a table that is rewritten all the time small.
    pub fn without_stable_row_ids(mut self) -> StagedChange {
        if let Base::Creation(row_ids) = &mut self.base {
            *row_ids = RowIds::Addresses;
        }
        self
    }

    /// The operation and attempt that made the change.
    pub fn mark(&self) -> &TransactionMark {
        &self.mark
    }

    /// The version that the change is committed on; 0 for a creation.
    pub fn read_version(&self) -> TableVersion {
        match &self.base {
            Base::Creation(_) => TableVersion(0),
            Base::At(pin) | Base::After { made: pin, .. } => pin.version,
        }
    }

    /// The fragments that the change removes or rewrites; those of a change that replaces the whole table are none.
    pub(crate) fn fragments_touched(&self) -> Vec<u64> {
        match &self.operation {
            Ok(Operation::Update { removed_fragment_ids: removed, updated_fragments: rewritten, .. })
            | Ok(Operation::Delete { deleted_fragment_ids: removed, updated_fragments: rewritten, .. }) => {
                removed.iter().copied().chain(rewritten.iter().map(|fragment| fragment.id)).collect()
            }
            // Every other operation that this crate stages adds rows, or replaces the whole table.
            Ok(_) | Err(_) => Vec::new(),
        }
    }

    /// The same change on a later version of its tree: one that earlier transactions of the same effect made. The commit refuses it if they
    /// changed a fragment that this change removes or rewrites. A change of another tree, or a creation, stays as it is.
    pub fn after(&self, made: &Table) -> StagedChange {
        let base = match &self.base {
            Base::At(staged_on) | Base::After { staged_on, .. } if staged_on.tree == made.pin().tree => {
                Base::After { staged_on: staged_on.clone(), made: made.pin() }
            }
            Base::At(_) | Base::After { .. } | Base::Creation(_) => self.base.clone(),
        };
        Self { base, ..self.clone() }
    }

    /// What the change does; none if it does not fit its table.
    pub(crate) fn operation(&self) -> Option<&Operation> {
        self.operation.as_ref().ok()
    }

    pub(crate) fn base(&self) -> &Base {
        &self.base
    }

    pub(crate) fn transaction(&self) -> Result<Transaction, Unfit> {
        Ok(self.mark.transaction(self.read_version(), self.operation.clone()?))
    }
}

fn readable(schema: &Schema) -> Result<&Schema, Unfit> {
    match schema.fields().iter().find(|field| field.name().contains(['`', '.'])) {
        Some(field) => Err(Unfit::ColumnName { name: field.name().clone() }),
        None => Ok(schema),
    }
}

/// The schema with its key column declared as Lance's unenforced primary key.
fn with_key_declared(schema: &Schema) -> Schema {
    let declare = |field: &Arc<Field>| {
        if field.name() != KEY_COLUMN || field.is_nullable() {
            return Arc::clone(field);
        }
        let mut metadata = field.metadata().clone();
        metadata.insert(LANCE_UNENFORCED_PRIMARY_KEY.to_owned(), "true".to_owned());
        Arc::new(field.as_ref().clone().with_metadata(metadata))
    };
    let fields: Vec<_> = schema.fields().iter().map(declare).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}
