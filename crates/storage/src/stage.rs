//! Changes of one exact version, staged and not committed.
//!
//! Invariant: staging writes data files that no manifest names, and builds a transaction in memory; nothing of it is visible.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::error::DataFusionError;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, TryStreamExt, stream};
use lance::dataset::transaction::Operation;
use lance::dataset::write::delete::DeleteBuilder;
use lance::dataset::{MergeInsertBuilder, WhenMatched, WhenNotMatched};

use crate::blame::lance_error;
use crate::unfit::Unfit;
use crate::{BatchStream, Predicate, StagedChange, StagedFiles, StorageError, Table, TransactionMark};

impl Table {
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
