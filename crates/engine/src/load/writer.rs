//! A load as the write protocol sees it: what it reads, and what it stages on each version it is tried on.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use omnigraph_catalog::{Snapshot, TableRow};
use omnigraph_commit::{Attempt, Place, Prepared, TableChange, Writer};
use omnigraph_storage::{ScanOrder, ScanRequest, Store, Table};
use omnigraph_types::{BranchId, Failure, TableId};

use crate::error::{EngineError, Result};
use crate::graph::{TypeCounts, type_kind};
use crate::load::LoadMode;
use crate::load::validate::{StagedType, Tables, Validator};

/// The column that names rows.
const KEY_COLUMN: &str = "id";

/// What a load did, or would have done.
pub(crate) type CountsSlot = Arc<Mutex<Vec<TypeCounts>>>;

/// Validates and stages one load.
#[derive(Debug)]
pub(crate) struct LoadWriter {
    store: Store,
    branch_id: BranchId,
    validator: Validator,
    counts: CountsSlot,
}

impl LoadWriter {
    /// A writer of staged rows. `counts` is told what the last preparation would do.
    pub(crate) fn new(store: Store, branch_id: BranchId, validator: Validator, counts: CountsSlot) -> Self {
        Self { store, branch_id, validator, counts }
    }

    async fn prepare_on(&mut self, base: &Snapshot, attempt: &Attempt) -> Result<Prepared> {
        self.check_base(base)?;
        let mut tables = Tables::new(base);
        for (id, staged) in &self.validator.types {
            if !tables.get(*id).await?.takes(&staged.files) {
                let (here, there) = ("files of another branch".to_owned(), "its own tree".to_owned());
                return Err(moved(base, format!("table:{}", row_of(base, *id)?.type_name), here, there));
            }
        }
        self.validator.validate(&mut tables).await?;
        let mut prepared = Prepared::default();
        let mut counts = Vec::new();
        for (id, staged) in &self.validator.types {
            let row = row_of(base, *id)?;
            let pinned = tables.get(*id).await?;
            let change = self.stage(base, row, staged, pinned, attempt).await?;
            counts.push(TypeCounts {
                type_name: row.type_name.clone(),
                kind: type_kind(row.kind),
                inserted: change.inserted,
                updated: change.updated,
                deleted: change.deleted,
                row_count: change.rows_after,
            });
            prepared.changes.push(change);
        }
        *self.counts.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = counts;
        Ok(prepared)
    }

    /// The branch must be the one that the load began on, whatever its name means by now, and the schema the one that the rows were checked by.
    fn check_base(&self, base: &Snapshot) -> Result<()> {
        if base.branch_id() != self.branch_id {
            return Err(moved(base, "branch".to_owned(), self.branch_id.to_string(), base.branch_id().to_string()));
        }
        let expected = &self.validator.schema.hash;
        if base.schema_hash() == expected {
            return Ok(());
        }
        Err(moved(base, "schema".to_owned(), expected.clone(), base.schema_hash().to_owned()))
    }

    /// Stages a table's rows: on its tree, where the branch owns it, else in a tree of the attempt's own.
    async fn stage(
        &self,
        base: &Snapshot,
        row: &TableRow,
        staged: &StagedType,
        pinned: Table,
        attempt: &Attempt,
    ) -> Result<TableChange> {
        let place = Place::of(base, row.id, pinned, &self.store, attempt).await?;
        let table = place.table();
        let (rows, before) = (staged.rows, row.row_count);
        let replaced = self.validator.replaced.get(&row.id).copied().unwrap_or_default();
        let files = staged.files.clone();
        let (change, updated, deleted) = match self.validator.mode {
            LoadMode::Append => (table.stage_append(files, attempt.mark()), 0, 0),
            LoadMode::Overwrite => (table.stage_overwrite(files, attempt.mark()), 0, before),
            // Validation has proven that no id is there yet, so this is an append.
            LoadMode::Merge if replaced == 0 => (table.stage_append(files, attempt.mark()), 0, 0),
            LoadMode::Merge => {
                let request = ScanRequest { ordered: ScanOrder::Physical, ..ScanRequest::default() };
                let rows = table.scan_staged(&staged.files, request).await?;
                (table.stage_upsert(rows, KEY_COLUMN, attempt.mark()).await?, replaced, 0)
            }
        };
        let inserted = rows - updated;
        let rows_after = before - deleted + inserted;
        let staged = place.stage(change).await?;
        Ok(TableChange { table: row.id, staged, inserted, updated, deleted, rows_after })
    }
}

fn moved(base: &Snapshot, member: String, expected: String, actual: String) -> EngineError {
    EngineError::Moved { branch: base.branch_name().clone(), member, expected, actual }
}

fn row_of(base: &Snapshot, id: TableId) -> Result<&TableRow> {
    base.table(id).ok_or(EngineError::Defect("a type of the schema has no table"))
}

#[async_trait]
impl Writer for LoadWriter {
    fn read_set(&self, _base: &Snapshot) -> Vec<TableId> {
        self.validator.read_set()
    }

    async fn prepare(&mut self, base: &Snapshot, attempt: &Attempt) -> Result<Prepared, Failure> {
        Ok(self.prepare_on(base, attempt).await?)
    }
}
