//! Publishing: writing exactly version N+1 of a branch's chain, the only way anything becomes visible.
//!
//! `stage` computes and writes the next state's files, which nothing names; `publish` is the one put that decides. Losing that put is a value:
//! the caller must look at the newest version again.

use std::collections::{BTreeMap, BTreeSet};

use omnigraph_storage::{CommitOutcome, FileWriterOptions, StagedChange, StagedFiles, Store, TransactionMark, TreeRef};
use omnigraph_types::mutant;
use omnigraph_types::{GraphVersion, OperationId, TreeId};

use crate::base::rebase;
use crate::check::check;
use crate::context::Context;
use crate::error::CatalogError;
use crate::format::raw::manifest_schema;
use crate::format::v2::encode_state;
use crate::history;
use crate::publication::{Precondition, Publication};
use crate::snapshot::{Author, Proof, Snapshot};
use crate::state::State;

/// Rows of one manifest file; a state stays far below.
const FILE_ROWS_MAX: u64 = 1_048_576;

/// The files of version N+1, written and named by nothing.
#[derive(Debug)]
pub struct StagedPublication {
    base: Snapshot,
    next: State,
    change: StagedChange,
}

impl StagedPublication {
    /// The version that this would publish.
    pub fn version(&self) -> GraphVersion {
        self.next.version
    }
}

/// What became of a publication.
#[must_use]
#[derive(Debug)]
pub enum PublishOutcome {
    /// It is version N+1.
    Published(Snapshot),
    /// Version N+1 is another's.
    Lost,
}

impl Context {
    pub(crate) async fn stage(
        &self,
        base: &Snapshot,
        publication: &Publication,
    ) -> Result<StagedPublication, CatalogError> {
        mutant!(89, base.state().refuse_newer(), Ok(()))?;
        publication.check_coherent().map_err(CatalogError::Incoherent)?;
        let ended = ended_operations(base, &publication.preconditions).await?;
        if mutant!(90, base.state().retired.is_some(), false) {
            return Err(self.ended(base.branch_name()));
        }
        let seen = |operation| ended.get(&operation).map(|version| format!("published as version {version}"));
        check(base.state(), &publication.preconditions, &seen).map_err(CatalogError::Unmet)?;
        let mut next = base.state().apply(publication);
        let fragments = base.manifest().fragments();
        let state_fragment = fragments.iter().map(|fragment| fragment.id).max().unwrap_or(0);
        let spill = history::spill(base, &mut next, state_fragment + 1).await?;
        let tree = base.manifest().pin().tree;
        let mut files = StagedFiles::empty();
        let written = spill.batches.len() as u64;
        for batch in spill.batches {
            files = files.concat(write_file(&self.store, &tree, batch).await?);
        }
        let mut removed = spill.removed;
        if let Some(batch) = rebase(&mut next, state_fragment + 1 + written)? {
            files = files.concat(write_file(&self.store, &tree, batch).await?);
        }
        removed.extend(base.state().base.filter(|fragment| next.base != Some(*fragment)));
        files = files.concat(write_file(&self.store, &tree, encode_state(&next)?).await?);
        removed.push(state_fragment);
        let mark = TransactionMark {
            uuid: self.clock.mint().to_string(),
            operation_id: publication.operations.first().operation_id,
            attempt_id: publication.decision.attempt_id,
        };
        let change = base.manifest().stage_replace(&removed, files, mark);
        Ok(StagedPublication { base: base.clone(), next, change })
    }

    /// Removes the files of a publication that will certainly not be made. What cannot be removed stays for the cleanup.
    pub(crate) async fn discard(&self, staged: StagedPublication) {
        let files = staged.base.manifest().added_files(&staged.change);
        if let Err(error) = self.store.discard(&files).await {
            tracing::warn!(%error, "files of a version that was not made stay for the cleanup");
        }
    }

    pub(crate) async fn publish(&self, staged: StagedPublication) -> Result<PublishOutcome, CatalogError> {
        let proof = Proof::now(self.clock.as_ref());
        match self.store.commit_exact(staged.base.manifest(), &staged.change).await? {
            CommitOutcome::Committed(table) => {
                let chain = staged.base.chain().clone();
                let snapshot = Snapshot::new(self.store.clone(), chain, (table, staged.next), Author::Here, proof);
                snapshot.adopt(staged.base.adopted());
                self.remember(&snapshot);
                Ok(PublishOutcome::Published(snapshot))
            }
            CommitOutcome::Occupied { .. } => Ok(PublishOutcome::Lost),
        }
    }
}

impl Context {
    pub(crate) async fn clone_chain(&self, from: &Snapshot) -> Result<TreeId, CatalogError> {
        let chain = TreeId(self.clock.mint());
        self.store.create_tree(&from.manifest().pin(), chain).await?;
        Ok(chain)
    }
}

/// The versions that ended those operations which must be unseen, and are not.
async fn ended_operations(
    base: &Snapshot,
    preconditions: &[Precondition],
) -> Result<BTreeMap<OperationId, GraphVersion>, CatalogError> {
    let asked: BTreeSet<OperationId> = preconditions.iter().filter_map(Precondition::unseen).collect();
    let rows = history::rows_of_operations(base, &asked).await?;
    Ok(rows
        .iter()
        .filter(|row| mutant!(91, !row.is_undone(), true))
        .map(|row| (row.operation_id, row.version))
        .collect())
}

/// Writes one batch as one data file of the manifest dataset.
pub(crate) async fn write_file(
    store: &Store,
    tree: &TreeRef,
    batch: arrow::array::RecordBatch,
) -> Result<StagedFiles, CatalogError> {
    let options = FileWriterOptions { rows_per_file_max: FILE_ROWS_MAX };
    let mut writer = store.write_files(&tree.path, tree.tree, manifest_schema(), options);
    writer.write(batch).await?;
    Ok(writer.finish().await?)
}
