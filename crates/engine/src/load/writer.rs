//! A load as the write protocol sees it: what it reads, and what it stages on each version it is tried on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use omnigraph_catalog::{Snapshot, TableRow};
use omnigraph_commit::{Attempt, Prepared, TableChange, Writer};
use omnigraph_storage::{ScanOrder, ScanRequest, Table, TreeRef};
use omnigraph_types::{Failure, TableId};

use crate::error::{EngineError, Result};
use crate::graph::TypeCounts;
use crate::load::LoadMode;
use crate::load::validate::{StagedType, Tables, Validator};

/// The column that names rows.
const KEY_COLUMN: &str = "id";

/// What a load did, or would have done.
pub(crate) type CountsSlot = Arc<Mutex<Vec<TypeCounts>>>;

/// Validates and stages one load.
#[derive(Debug)]
pub(crate) struct LoadWriter {
    validator: Validator,
    /// Where the files were written.
    places: BTreeMap<TableId, TreeRef>,
    counts: CountsSlot,
}

impl LoadWriter {
    /// A writer of staged rows. `counts` is told what the last preparation would do.
    pub(crate) fn new(validator: Validator, places: BTreeMap<TableId, TreeRef>, counts: CountsSlot) -> Self {
        Self { validator, places, counts }
    }

    async fn prepare_on(&mut self, base: &Snapshot, attempt: &Attempt) -> Result<Prepared> {
        self.check_places(base)?;
        let mut tables = Tables::new(base);
        self.validator.validate(&mut tables).await?;
        let mut prepared = Prepared::default();
        let mut counts = Vec::new();
        for (id, staged) in &self.validator.types {
            let row = row_of(base, *id)?;
            let change = self.stage(row, staged, tables.get(*id).await?, attempt).await?;
            counts.push(TypeCounts {
                type_name: row.type_name.clone(),
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

    /// The files must belong to the trees that are written, and the schema be the one the rows were checked by.
    fn check_places(&self, base: &Snapshot) -> Result<()> {
        let moved = |member: String, expected: String, actual: String| {
            Err(EngineError::Moved { branch: base.branch_name().clone(), member, expected, actual })
        };
        if base.schema_hash() != self.validator.schema.hash {
            return moved("schema".to_owned(), self.validator.schema.hash.clone(), base.schema_hash().to_owned());
        }
        for (id, place) in &self.places {
            let row = row_of(base, *id)?;
            if row.tree_ref() != *place {
                let tree = |tree: &TreeRef| tree.tree.map_or("main".to_owned(), |id| id.to_string());
                return moved(format!("table:{}", row.type_name), tree(place), tree(&row.tree_ref()));
            }
        }
        Ok(())
    }

    async fn stage(&self, row: &TableRow, staged: &StagedType, base: Table, attempt: &Attempt) -> Result<TableChange> {
        let (rows, before) = (staged.rows, row.row_count);
        let replaced = self.validator.replaced.get(&row.id).copied().unwrap_or_default();
        let files = staged.files.clone();
        let (change, updated, deleted) = match self.validator.mode {
            LoadMode::Append => (base.stage_append(files, attempt.mark()), 0, 0),
            LoadMode::Overwrite => (base.stage_overwrite(files, attempt.mark()), 0, before),
            // Validation has proven that no id is there yet, so this is an append.
            LoadMode::Merge if replaced == 0 => (base.stage_append(files, attempt.mark()), 0, 0),
            LoadMode::Merge => {
                let request = ScanRequest { ordered: ScanOrder::Physical, ..ScanRequest::default() };
                let rows = base.scan_staged(&staged.files, request).await?;
                (base.stage_upsert(rows, KEY_COLUMN, attempt.mark()).await?, replaced, 0)
            }
        };
        let inserted = rows - updated;
        let rows_after = before - deleted + inserted;
        Ok(TableChange { table: row.id, base, staged: change, inserted, updated, deleted, rows_after })
    }
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
