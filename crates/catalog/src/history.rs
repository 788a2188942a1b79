//! Keeps a version flat in history: older commits and operations leave the state for immutable fragments.
//!
//! A state holds at most `WINDOW_ROWS_MAX` operations. What spills becomes one fragment; `FAN_IN` fragments of one level are merged into
//! one of the next, so the number of fragments grows with the logarithm of the history. For each fragment the state keeps the ranges of
//! versions, operation ids and commit ids inside, so a look-up reads only fragments that can hold the answer - for a fresh operation
//! id normally none.

use arrow::array::RecordBatch;
use futures::TryStreamExt;
use omnigraph_storage::{ScanOrder, ScanRequest, Table};
use omnigraph_types::{CommitId, GraphVersion, OperationId};

use crate::error::CatalogError;
use crate::format::{decode_lineage, encode_lineage};
use crate::rows::{CommitRow, HistoryRow, OperationRow, PublicationKind};
use crate::snapshot::Snapshot;
use crate::state::State;

/// Operations kept in a state before some spill.
const WINDOW_ROWS_MAX: usize = 48;
/// Operations left in a state after a spill.
const WINDOW_ROWS_KEPT: usize = 16;
/// Fragments of one level that are merged into one of the next.
const FAN_IN: usize = 16;

/// What a spill writes and takes away, beside the next state.
#[derive(Debug, Default)]
pub(crate) struct Spill {
    /// History files to write, in order; each is one fragment.
    pub(crate) batches: Vec<RecordBatch>,
    /// Fragments whose rows moved into one of the files.
    pub(crate) removed: Vec<u64>,
}

/// Moves what the window no longer holds out of `next`. `first_fragment` is the id that the first new fragment will get.
pub(crate) async fn spill(base: &Snapshot, next: &mut State, first_fragment: u64) -> Result<Spill, CatalogError> {
    let mut spill = Spill::default();
    if next.operations.len() <= WINDOW_ROWS_MAX {
        return Ok(spill);
    }
    merge_oldest_full_level(base, next, first_fragment, &mut spill).await?;
    let operations: Vec<OperationRow> = next.operations.drain(..next.operations.len() - WINDOW_ROWS_KEPT).collect();
    let cut = operations.last().map_or(GraphVersion(0), |row| row.version);
    let head = next.head;
    let (commits, kept): (Vec<_>, Vec<_>) =
        next.commits.drain(..).partition(|commit| commit.version <= cut && commit.id != head);
    next.commits = kept;
    let fragment = first_fragment + spill.batches.len() as u64;
    spill.batches.push(encode_lineage(&commits, &operations)?);
    next.history.extend(describe(fragment, 0, &commits, &operations));
    Ok(spill)
}

/// `FAN_IN` neighbours of one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeDue {
    /// Place of the oldest.
    first: usize,
    /// Their level.
    level: u32,
}

/// The lowest level that has `FAN_IN` fragments beside each other, and the oldest of them.
pub(crate) fn merge_due(history: &[HistoryRow]) -> Option<MergeDue> {
    let runs = history.windows(FAN_IN).enumerate();
    let alike = runs.filter(|(_, rows)| rows.iter().all(|row| row.level == rows[0].level));
    alike.map(|(first, rows)| MergeDue { first, level: rows[0].level }).min_by_key(|due| due.level)
}

/// Merges the oldest `FAN_IN` fragments of one level, where there are so many.
async fn merge_oldest_full_level(
    base: &Snapshot,
    next: &mut State,
    fragment: u64,
    spill: &mut Spill,
) -> Result<(), CatalogError> {
    let Some(MergeDue { first, level }) = merge_due(&next.history) else { return Ok(()) };
    let (mut commits, mut operations) = (Vec::new(), Vec::new());
    let merged: Vec<HistoryRow> = next.history.drain(first..first + FAN_IN).collect();
    for row in &merged {
        let (more_commits, more_operations) = read_fragment(base, row.fragment).await?;
        commits.extend(more_commits);
        operations.extend(more_operations);
        spill.removed.push(row.fragment);
    }
    spill.batches.push(encode_lineage(&commits, &operations)?);
    let row = describe(fragment, level + 1, &commits, &operations);
    next.history.splice(first..first, row);
    Ok(())
}

fn describe(fragment: u64, level: u32, commits: &[CommitRow], operations: &[OperationRow]) -> Option<HistoryRow> {
    let versions = operations.iter().map(|row| row.version).chain(commits.iter().map(|row| row.version));
    let ids = operations.iter().map(|row| row.operation_id);
    let commit_ids = commits.iter().map(|row| row.id);
    Some(HistoryRow {
        fragment,
        level,
        version_min: versions.clone().min()?,
        version_max: versions.max()?,
        operation_min: ids.clone().min()?,
        operation_max: ids.max()?,
        commits: commit_ids.clone().min().zip(commit_ids.max()),
    })
}

/// Reads every row of some fragments of a manifest version.
pub(crate) async fn read_rows(table: &Table, fragments: &[u64]) -> Result<Vec<RecordBatch>, CatalogError> {
    let request = ScanRequest { ordered: ScanOrder::Physical, ..ScanRequest::default() };
    Ok(table.scan_fragments(fragments, request).await?.try_collect().await?)
}

async fn read_fragment(
    snapshot: &Snapshot,
    fragment: u64,
) -> Result<(Vec<CommitRow>, Vec<OperationRow>), CatalogError> {
    let batches = read_rows(snapshot.manifest(), &[fragment]).await?;
    decode_lineage(&batches, snapshot.version())
}

/// Everything recorded of an operation, oldest first.
pub(crate) async fn operation_rows(
    snapshot: &Snapshot,
    operation: OperationId,
) -> Result<Vec<OperationRow>, CatalogError> {
    let state = snapshot.state();
    let mut found = Vec::new();
    for row in &state.history {
        if (row.operation_min..=row.operation_max).contains(&operation) {
            let (_, operations) = read_fragment(snapshot, row.fragment).await?;
            // A branch inherits its source's history; an operation belongs to the branch it was sent to.
            let own = |row: &OperationRow| row.operation_id == operation && row.branch_id == state.branch_id;
            found.extend(operations.into_iter().filter(own));
        }
    }
    found.extend(state.operations.iter().filter(|row| row.operation_id == operation).cloned());
    Ok(found)
}

/// The commit of an operation, if one of its publications is one.
pub(crate) async fn committed(
    snapshot: &Snapshot,
    operation: OperationId,
) -> Result<Option<OperationRow>, CatalogError> {
    if let Some(row) = snapshot.state().recent_commit_of(operation) {
        return Ok(Some(row.clone()));
    }
    let rows = operation_rows(snapshot, operation).await?;
    Ok(rows.into_iter().rev().find(|row| row.kind == PublicationKind::Commit))
}

/// One commit of the chain, by id.
pub(crate) async fn commit(snapshot: &Snapshot, id: CommitId) -> Result<Option<CommitRow>, CatalogError> {
    let state = snapshot.state();
    if let Some(row) = state.commits.iter().rev().find(|row| row.id == id) {
        return Ok(Some(row.clone()));
    }
    for row in state.history.iter().rev() {
        if row.commits.is_some_and(|(min, max)| (min..=max).contains(&id)) {
            let (commits, _) = read_fragment(snapshot, row.fragment).await?;
            if let Some(found) = commits.into_iter().find(|row| row.id == id) {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// Commits older than `before`, newest first, at most `most`, as far as `wanted` says yes.
pub(crate) async fn commits_before(
    snapshot: &Snapshot,
    before: GraphVersion,
    most: usize,
    wanted: &(dyn Fn(&CommitRow) -> bool + Sync),
) -> Result<Vec<CommitRow>, CatalogError> {
    let state = snapshot.state();
    let mut found: Vec<CommitRow> = Vec::new();
    let take = |rows: Vec<CommitRow>, found: &mut Vec<CommitRow>| {
        let rows = rows.into_iter().rev().filter(|row| row.version < before && wanted(row));
        found.extend(rows.take(most - found.len()));
    };
    take(state.commits.clone(), &mut found);
    for row in state.history.iter().rev() {
        if found.len() >= most {
            break;
        }
        if row.version_min < before {
            let (commits, _) = read_fragment(snapshot, row.fragment).await?;
            take(commits, &mut found);
        }
    }
    Ok(found)
}
