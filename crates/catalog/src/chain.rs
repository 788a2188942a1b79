//! Publishing: writing exactly version N+1 of a branch's chain, the only way anything becomes visible.
//!
//! `Catalog::stage` computes and writes the next state's files, which nothing names; `Catalog::publish` is the one put that decides.
//! Whoever loses that put learns so as a value and must look again.

use omnigraph_storage::{CommitOutcome, FileWriterOptions, StagedChange, StagedFiles, Store, TransactionMark, TreeRef};
use omnigraph_types::{BranchName, GraphVersion, TreeId};

use crate::base::rebase;
use crate::catalog::Catalog;
use crate::error::CatalogError;
use crate::format::{encode_state, manifest_schema};
use crate::history;
use crate::publication::{self, Precondition, Publication};
use crate::rows::PublicationKind;
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

impl Catalog {
    /// Checks the preconditions on `base` and writes the next state's files.
    ///
    /// Fails with `Unmet` where a precondition does not hold.
    pub async fn stage(&self, base: &Snapshot, publication: &Publication) -> Result<StagedPublication, CatalogError> {
        let mut seen = None;
        for precondition in &publication.preconditions {
            if let Precondition::OperationUnseen(operation) = precondition {
                let rows = history::operation_rows(base, *operation).await?;
                seen = rows.into_iter().rev().find(|row| row.kind != PublicationKind::Abort);
            }
        }
        if base.state().retired.is_some() {
            return Err(self.ended(base.branch_name()));
        }
        let seen = |_| seen.as_ref().map(|row| format!("published as version {}", row.version));
        publication::check(base.state(), &publication.preconditions, &seen).map_err(CatalogError::Unmet)?;
        let mut next = base.state().apply(publication);
        let fragments = base.manifest().fragments();
        let state_fragment = fragments.iter().map(|fragment| fragment.id).max().unwrap_or(0);
        let spill = history::spill(base, &mut next, state_fragment + 1).await?;
        let tree = base.manifest().pin().tree;
        let mut files = StagedFiles::empty();
        let written = spill.batches.len() as u64;
        for batch in spill.batches {
            files = files.concat(write_file(self.store(), &tree, batch).await?);
        }
        let mut removed = spill.removed;
        if let Some(rebased) = rebase(&mut next, state_fragment + 1 + written)? {
            files = files.concat(write_file(self.store(), &tree, rebased.batch).await?);
            removed.extend(rebased.removed);
        }
        files = files.concat(write_file(self.store(), &tree, encode_state(&next)?).await?);
        removed.push(state_fragment);
        let mark = TransactionMark {
            uuid: self.clock().mint().to_string(),
            operation_id: publication.operation_id,
            attempt_id: publication.attempt_id,
        };
        let change = base.manifest().stage_replace(&removed, files, mark);
        Ok(StagedPublication { base: base.clone(), next, change })
    }

    /// Writes version N+1: the one decision. A store failure whose outcome cannot be told is an error; look at the newest version then.
    pub async fn publish(&self, staged: StagedPublication) -> Result<PublishOutcome, CatalogError> {
        let proof = Proof::now(self.clock());
        match self.store().commit_exact(staged.base.manifest(), &staged.change).await? {
            CommitOutcome::Committed(table) => {
                let chain = staged.base.chain().clone();
                let snapshot = Snapshot::new(self.store().clone(), chain, (table, staged.next), Author::Here, proof);
                snapshot.adopt(staged.base.adopted());
                self.remember(&snapshot);
                Ok(PublishOutcome::Published(snapshot))
            }
            CommitOutcome::Occupied { .. } => Ok(PublishOutcome::Lost),
        }
    }
}

impl Catalog {
    /// What is told of a chain that has ended: main's was the graph's.
    pub fn ended(&self, name: &BranchName) -> CatalogError {
        match name {
            BranchName::Main => CatalogError::GraphDeleted(self.name().clone()),
            BranchName::Named(_) => CatalogError::BranchNotFound(name.clone()),
        }
    }

    /// Clones a version of a branch as a chain of its own, which nothing names. Costs the same whatever the graph holds.
    pub async fn clone_chain(&self, from: &Snapshot) -> Result<TreeId, CatalogError> {
        let chain = TreeId(self.clock().mint());
        self.store().create_tree(&from.manifest().pin(), chain).await?;
        Ok(chain)
    }
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
