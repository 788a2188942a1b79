//! A load as a writer of the write protocol: its read set, and the change set that it stages on each version that it is tried on.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use omnigraph_catalog::{Snapshot, TableRow};
use omnigraph_commit::{
    Attempt, ChangeKind, ChangeSet, ConflictPolicy, Place, ReadSet, RowCounts, RowsChange, TableChange, Writer,
    WriterPoints,
};
use omnigraph_storage::{ScanOrder, ScanRequest, Store, Table};
use omnigraph_types::mutant;
use omnigraph_types::{CommitKind, Failure, LoadMode, ReadSetMember, TableId, TypeCounts};

use crate::cause::Defect;
use crate::error::{EngineError, Result};
use crate::load::left_behind::Written;
use crate::load::points::LOAD;
use crate::load::validate::{StagedType, Tables, Validator};

/// The column that identifies rows.
const KEY_COLUMN: &str = "id";

/// Rows that a load changed, or would have changed.
pub(crate) type CountsSlot = Arc<Mutex<Vec<TypeCounts>>>;

/// Validates and stages one load.
#[derive(Debug)]
pub(crate) struct LoadWriter {
    store: Store,
    begun_on: Snapshot,
    validator: Validator,
    counts: CountsSlot,
    written: Written,
}

impl LoadWriter {
    /// A writer of rows that were staged from the version `begun_on` on. `counts` receives what the last preparation would do.
    /// `written` receives what it stages.
    pub(crate) fn new(
        store: Store,
        begun_on: Snapshot,
        validator: Validator,
        counts: CountsSlot,
        written: Written,
    ) -> Self {
        Self { store, begun_on, validator, counts, written }
    }

    async fn prepare_on(&mut self, base: &Snapshot, attempt: &Attempt) -> Result<ChangeSet> {
        self.check_base(base)?;
        let mut tables = Tables::new(base);
        for (id, staged) in &self.validator.types {
            if !tables.get(*id).await?.takes(&staged.files) {
                let (here, there) = ("files of another branch".to_owned(), "its own tree".to_owned());
                return Err(moved(base, ReadSetMember::Table(row_of(base, *id)?.type_name.clone()), here, there));
            }
        }
        self.validator.validate(&mut tables).await?;
        let mut changes = Vec::new();
        let mut counts = Vec::new();
        for (id, staged) in &self.validator.types {
            let row = row_of(base, *id)?;
            let pinned = tables.get(*id).await?;
            let (change, rows) = self.stage(base, row, staged, pinned, attempt).await?;
            counts.push(TypeCounts {
                type_name: row.type_name.clone(),
                kind: Some(row.kind),
                inserted: rows.inserted,
                updated: rows.updated,
                deleted: rows.deleted,
                row_count: rows.after,
            });
            changes.push(change);
        }
        counts.sort_by(|a, b| a.type_name.cmp(&b.type_name));
        *self.counts.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = counts;
        Ok(ChangeSet::of_tables(changes))
    }

    /// The branch must be the one that the load began on, whatever its name means by now, and the schema the one that the rows were checked by.
    fn check_base(&self, base: &Snapshot) -> Result<()> {
        if mutant!(169, base.branch_id() != self.begun_on.branch_id(), false) {
            let (expected, actual) = (self.begun_on.branch_id().to_string(), base.branch_id().to_string());
            return Err(moved(base, ReadSetMember::Branch, expected, actual));
        }
        let expected = &self.validator.schema.hash;
        if base.schema_hash() == expected {
            return Ok(());
        }
        Err(moved(base, ReadSetMember::Schema, expected.clone(), base.schema_hash().to_owned()))
    }

    /// Stages a table's rows: on its tree, where the branch owns it, else in a tree of the attempt's own.
    async fn stage(
        &self,
        base: &Snapshot,
        row: &TableRow,
        staged: &StagedType,
        pinned: Table,
        attempt: &Attempt,
    ) -> Result<(TableChange, RowCounts)> {
        let place = Place::of(base, row.id, pinned, &self.store, attempt).await?;
        let table = place.table();
        if table.pin().tree != row.tree_ref() {
            self.written.tree(table.pin().tree);
        }
        let (rows, before) = (staged.rows, row.row_count);
        let replaced = self.validator.replaced.get(&row.id).copied().unwrap_or_default();
        let files = staged.files.clone();
        let (change, updated, deleted) = match self.validator.mode {
            LoadMode::Append => (table.stage_append(files, attempt.mark()), 0, 0),
            LoadMode::Overwrite => (table.stage_overwrite(files, attempt.mark()), 0, before),
            // Validation has proven that no id is there yet, so this is an append.
            LoadMode::Merge if mutant!(173, replaced == 0, true) => (table.stage_append(files, attempt.mark()), 0, 0),
            LoadMode::Merge => {
                let request = ScanRequest { ordered: ScanOrder::Physical, ..ScanRequest::default() };
                let rows = table.scan_staged(&staged.files, request).await?;
                let change = table.stage_upsert(rows, KEY_COLUMN, attempt.mark()).await?;
                self.written.files(table.added_files(&change));
                (change, replaced, 0)
            }
        };
        let inserted = rows - updated;
        let counts = RowCounts { inserted, updated, deleted, after: before - deleted + inserted };
        let staged = place.stage(change).await?;
        Ok((TableChange { table: row.id, staged, rows: RowsChange::Changed(counts) }, counts))
    }
}

fn moved(base: &Snapshot, member: ReadSetMember, expected: String, actual: String) -> EngineError {
    EngineError::Moved { branch: base.branch_name().clone(), member, expected, actual }
}

fn row_of(base: &Snapshot, id: TableId) -> Result<&TableRow> {
    base.table(id).ok_or(EngineError::from(Defect::TypeWithoutTable))
}

#[async_trait]
impl Writer for LoadWriter {
    fn name(&self) -> WriterPoints {
        LOAD
    }

    fn kind(&self) -> ChangeKind {
        ChangeKind::Commit(CommitKind::Load)
    }

    fn conflict_policy(&self) -> ConflictPolicy {
        match self.validator.mode {
            LoadMode::Append | LoadMode::Merge => ConflictPolicy::PrepareAgain,
            LoadMode::Overwrite => ConflictPolicy::Refuse,
        }
    }

    fn captured(&self) -> Option<&Snapshot> {
        match self.validator.mode {
            LoadMode::Append | LoadMode::Merge => None,
            LoadMode::Overwrite => Some(&self.begun_on),
        }
    }

    fn read_set(&self, _base: &Snapshot) -> ReadSet {
        ReadSet::of_tables(self.validator.read_set())
    }

    async fn prepare(&mut self, base: &Snapshot, attempt: &Attempt) -> Result<ChangeSet, Failure> {
        self.written.preparation_begins();
        Ok(self.prepare_on(base, attempt).await?)
    }
}
