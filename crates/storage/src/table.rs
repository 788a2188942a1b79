//! One exact version of one tree, opened, and the changes staged on it.
//!
//! Invariant: an opened version never moves; staging writes files and transactions in memory that no manifest names.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::error::DataFusionError;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, TryStreamExt, stream};
use lance::Dataset;
use lance::dataset::transaction::Operation;
use lance::dataset::write::delete::DeleteBuilder;
use lance::dataset::{MergeInsertBuilder, WhenMatched, WhenNotMatched};
use lance_table::format::Fragment;
use omnigraph_types::TableVersion;

use crate::change::Unfit;
use crate::error::lance_error;
use crate::files::Bases;
use crate::provider::VersionProvider;
use crate::{BatchStream, ObjectPath, Pin, Predicate, StagedChange, StagedFiles, StorageError, TransactionMark};

/// One fragment of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentInfo {
    /// Its id, unique in the history of its dataset.
    pub id: u64,
    /// Rows written, deleted ones included.
    pub physical_rows: u64,
    /// Rows deleted since.
    pub deletions: u64,
}

/// One exact version, opened. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Table {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    dataset: Arc<Dataset>,
    schema: SchemaRef,
    pin: Pin,
}

impl Table {
    pub(crate) fn new(dataset: Dataset, pin: Pin) -> Self {
        let schema = Arc::new(Schema::from(dataset.schema()));
        Self { inner: Arc::new(Inner { dataset: Arc::new(dataset), schema, pin }) }
    }

    pub(crate) fn dataset(&self) -> &Arc<Dataset> {
        &self.inner.dataset
    }

    /// Which version this is.
    pub fn pin(&self) -> Pin {
        self.inner.pin.clone()
    }

    /// The version.
    pub fn version(&self) -> TableVersion {
        self.inner.pin.version
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.inner.schema)
    }

    /// The trees whose files this version may name.
    pub(crate) fn bases(&self) -> Bases<'_> {
        let inside = |path: &str| {
            let (_, below) = path.split_once(self.inner.pin.tree.path.as_str())?;
            ObjectPath::parse_text(format!("{}{below}", self.inner.pin.tree.path)).ok()
        };
        let bases = self.dataset().manifest().base_paths.values();
        let clones_of = bases.filter_map(|base| Some((base.id, inside(&base.path)?))).collect();
        Bases::Of { tree: &self.inner.pin.tree, clones_of }
    }

    /// Whether files can become a part of this table: they were written for its tree, or for one that it was made from.
    pub fn takes(&self, files: &StagedFiles) -> bool {
        files.fragments_for(self.dataset().schema(), &self.bases()).is_ok()
    }

    /// Rows, from metadata.
    pub async fn count_rows(&self) -> Result<u64, StorageError> {
        let counted = self.dataset().count_rows(None).await;
        counted.map(|rows| rows as u64).map_err(|error| lance_error("count rows", self.pin(), error))
    }

    /// The fragments, in order.
    pub fn fragments(&self) -> Vec<FragmentInfo> {
        let info = |fragment: &Fragment| FragmentInfo {
            id: fragment.id,
            physical_rows: fragment.physical_rows.unwrap_or(0) as u64,
            deletions: fragment.deletion_file.as_ref().and_then(|file| file.num_deleted_rows).unwrap_or(0) as u64,
        };
        self.dataset().fragments().iter().map(info).collect()
    }

    /// This version for DataFusion, with projection, filter and limit pushdown.
    pub fn provider(&self) -> Arc<dyn TableProvider> {
        Arc::new(VersionProvider::new(self.clone()))
    }

    pub(crate) fn fragments_by_id(&self, ids: &[u64]) -> Result<Vec<Fragment>, Unfit> {
        let find = |id: &u64| {
            let found = self.dataset().fragments().iter().find(|fragment| fragment.id == *id);
            found.cloned().ok_or(Unfit::NoFragment { id: *id })
        };
        ids.iter().map(find).collect()
    }

    fn stage(&self, operation: Result<Operation, Unfit>, mark: TransactionMark) -> StagedChange {
        StagedChange::on(self.pin(), operation, mark)
    }

    /// Stages adding the files' rows.
    pub fn stage_append(&self, files: StagedFiles, mark: TransactionMark) -> StagedChange {
        let fragments = files.fragments_for(self.dataset().schema(), &self.bases());
        self.stage(fragments.map(|fragments| Operation::Append { fragments }), mark)
    }

    /// Stages replacing all rows by the files', which may be none. The schema stays.
    pub fn stage_overwrite(&self, files: StagedFiles, mark: TransactionMark) -> StagedChange {
        let schema = self.dataset().schema();
        let operation = files.fragments_for(schema, &self.bases()).map(|fragments| Operation::Overwrite {
            fragments,
            schema: schema.clone(),
            config_upsert_values: None,
            initial_bases: None,
        });
        self.stage(operation, mark)
    }

    /// Stages replacing some fragments by the files, keeping all others with their ids. The new fragments come last and get ascending ids in
    /// the files' order.
    pub fn stage_replace(
        &self,
        removed_fragment_ids: &[u64],
        files: StagedFiles,
        mark: TransactionMark,
    ) -> StagedChange {
        let present: HashSet<u64> = self.dataset().fragments().iter().map(|fragment| fragment.id).collect();
        let missing = removed_fragment_ids.iter().find(|id| !present.contains(id));
        let operation = match missing {
            Some(id) => Err(Unfit::NoFragment { id: *id }),
            None => {
                files.fragments_for(self.dataset().schema(), &self.bases()).map(|new_fragments| Operation::Update {
                    removed_fragment_ids: removed_fragment_ids.to_vec(),
                    updated_fragments: Vec::new(),
                    new_fragments,
                    fields_modified: Vec::new(),
                    compacted_sstables: Vec::new(),
                    fields_for_preserving_frag_bitmap: Vec::new(),
                    update_mode: None,
                    inserted_rows_filter: None,
                    updated_fragment_offsets: None,
                })
            }
        };
        self.stage(operation, mark)
    }

    /// Stages updating the rows whose key exists and inserting the others. The rows may hold a part of the columns. Joins in memory: bound
    /// the rows. One key twice is refused.
    pub async fn stage_upsert(
        &self,
        mut rows: BatchStream,
        key_column: &str,
        mark: TransactionMark,
    ) -> Result<StagedChange, StorageError> {
        let failed = |error| lance_error("stage an upsert", self.pin(), error);
        let Some(first) = rows.try_next().await? else {
            return Ok(self.stage_append(StagedFiles::empty(), mark));
        };
        let schema = first.schema();
        let rows = stream::iter([Ok(first)]).chain(rows);
        let rows = rows.map_err(|error| DataFusionError::External(Box::new(error)));
        let rows: SendableRecordBatchStream = Box::pin(RecordBatchStreamAdapter::new(schema, rows));
        let mut builder =
            MergeInsertBuilder::try_new(Arc::clone(self.dataset()), vec![key_column.to_owned()]).map_err(failed)?;
        builder.when_matched(WhenMatched::UpdateAll).when_not_matched(WhenNotMatched::InsertAll);
        builder.skip_auto_cleanup(true).conflict_retries(0);
        let staged = builder.try_build().map_err(failed)?.execute_uncommitted(rows).await.map_err(failed)?;
        let mut operation = staged.transaction.operation;
        if let Operation::Update { inserted_rows_filter, .. } = &mut operation {
            // It helps Lance's rebase, which exact commits never do, and costs tens of kilobytes in transaction and manifest.
            *inserted_rows_filter = None;
        }
        Ok(self.stage(Ok(operation), mark))
    }

    /// Stages removing rows; none if the predicate matches nothing.
    pub async fn stage_delete(
        &self,
        predicate: &Predicate,
        mark: TransactionMark,
    ) -> Result<Option<StagedChange>, StorageError> {
        let builder = DeleteBuilder::from_expr(Arc::clone(self.dataset()), predicate.expression());
        let staged = builder.execute_uncommitted().await;
        let staged = staged.map_err(|error| lance_error("stage a delete", self.pin(), error))?;
        if staged.num_deleted_rows == 0 {
            return Ok(None);
        }
        Ok(Some(self.stage(Ok(staged.transaction.operation), mark)))
    }
}
