//! Keeps a version flat in history: older commits and publications leave the state for immutable fragments.
//!
//! A state's window is bounded by publications and by operations; the newest publication never leaves it. What spills becomes one fragment;
//! `FAN_IN` fragments of one level are merged into one of the next while the result stays small enough to be read whole, so the number of
//! fragments grows far slower than the history. For each fragment the state keeps the ranges of versions, operation ids and commit ids
//! inside, so a look-up reads only fragments that can hold the answer: for a fresh operation id normally none.

use std::collections::BTreeSet;

use arrow::array::RecordBatch;
use futures::TryStreamExt;
use omnigraph_storage::{ScanOrder, ScanRequest, Table};
use omnigraph_types::mutant;
use omnigraph_types::{CommitId, GraphVersion, OperationId};

use crate::error::CatalogError;
use crate::format::v2::{Lineage, decode_lineage, encode_lineage};
use crate::rows::{CommitRow, HistoryRow, OperationRow, PublicationKind, PublicationRow};
use crate::snapshot::Snapshot;
use crate::state::State;

/// Publications of a state's window before some spill.
const WINDOW_PUBLICATIONS_MAX: usize = 48;
/// Publications left in a window after a spill.
const WINDOW_PUBLICATIONS_KEPT: usize = 16;
/// Operations of a state's window before some publications spill.
const WINDOW_OPERATIONS_MAX: usize = 512;
/// Operations left in a window after a spill, unless the newest publication alone has more.
const WINDOW_OPERATIONS_KEPT: usize = 128;
/// Fragments of one level that are merged into one of the next.
const FAN_IN: usize = 16;
/// Operations of one fragment, at most: a fragment is read whole.
const FRAGMENT_OPERATIONS_MAX: u64 = 65_536;

/// The fragments that a spill writes and removes, beside the next state.
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
    let spilled = spilled(&next.publications);
    if spilled == 0 {
        return Ok(spill);
    }
    merge_oldest_full_level(base, next, first_fragment, &mut spill).await?;
    let publications: Vec<PublicationRow> = next.publications.drain(..spilled).collect();
    let cut = publications.last().map_or(GraphVersion(0), |row| row.version);
    let head = next.head;
    let (commits, kept): (Vec<_>, Vec<_>) =
        next.commits.drain(..).partition(|commit| commit.version <= cut && mutant!(98, commit.id != head, true));
    next.commits = kept;
    let fragment = first_fragment + spill.batches.len() as u64;
    spill.batches.push(encode_lineage(&commits, &publications)?);
    next.history.extend(describe(fragment, 0, &commits, &publications));
    Ok(spill)
}

/// How many of the oldest publications of a window leave it.
fn spilled(window: &[PublicationRow]) -> usize {
    let operations: usize = window.iter().map(|row| row.operations.count()).sum();
    if window.len() <= WINDOW_PUBLICATIONS_MAX && operations <= WINDOW_OPERATIONS_MAX {
        return 0;
    }
    let (mut kept, mut operations_kept) = (0, 0);
    for row in window.iter().rev().take(WINDOW_PUBLICATIONS_KEPT) {
        operations_kept += row.operations.count();
        if kept > 0 && operations_kept > WINDOW_OPERATIONS_KEPT {
            break;
        }
        kept += 1;
    }
    window.len() - kept
}

/// `FAN_IN` neighbours of one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeDue {
    /// Index of the oldest.
    first: usize,
    /// Their level.
    level: u32,
}

/// The lowest level that has `FAN_IN` fragments beside each other which are not too large together, and the oldest of them.
pub(crate) fn merge_due(history: &[HistoryRow]) -> Option<MergeDue> {
    let runs = history.windows(FAN_IN).enumerate();
    let due = runs.filter(|(_, rows)| {
        let operations = rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.operations));
        operations <= FRAGMENT_OPERATIONS_MAX && rows.iter().all(|row| row.level == rows[0].level)
    });
    due.map(|(first, rows)| MergeDue { first, level: rows[0].level }).min_by_key(|due| due.level)
}

/// Merges the oldest `FAN_IN` fragments of one level, where there are so many.
async fn merge_oldest_full_level(
    base: &Snapshot,
    next: &mut State,
    fragment: u64,
    spill: &mut Spill,
) -> Result<(), CatalogError> {
    let Some(MergeDue { first, level }) = merge_due(&next.history) else { return Ok(()) };
    let (mut commits, mut publications) = (Vec::new(), Vec::new());
    for row in &next.history[first..first + FAN_IN] {
        let lineage = read_fragment(base, row.fragment).await?;
        // Rows that only a newer program can write stay in their fragment: a merge saves reads and is nothing that must happen.
        if mutant!(99, lineage.newer.is_some(), false) {
            return Ok(());
        }
        commits.extend(lineage.commits);
        publications.extend(lineage.publications);
    }
    let merged: Vec<HistoryRow> = next.history.drain(first..first + FAN_IN).collect();
    spill.removed.extend(merged.iter().map(|row| row.fragment));
    spill.batches.push(encode_lineage(&commits, &publications)?);
    let row = describe(fragment, level.saturating_add(1), &commits, &publications);
    next.history.splice(first..first, row);
    Ok(())
}

fn describe(fragment: u64, level: u32, commits: &[CommitRow], publications: &[PublicationRow]) -> Option<HistoryRow> {
    let versions = publications.iter().map(|row| row.version).chain(commits.iter().map(|row| row.version));
    let ids = publications.iter().flat_map(|row| row.operations.iter()).map(|entry| entry.operation_id);
    let commit_ids = commits.iter().map(|row| row.id);
    Some(HistoryRow {
        fragment,
        level,
        operations: ids.clone().count() as u64,
        version_min: versions.clone().min()?,
        version_max: versions.max()?,
        operation_min: mutant!(6, ids.clone().min(), ids.clone().next())?,
        operation_max: mutant!(7, ids.max(), ids.min())?,
        commits: commit_ids.clone().min().zip(commit_ids.max()),
    })
}

/// Reads every row of some fragments of a manifest version.
pub(crate) async fn read_rows(table: &Table, fragments: &[u64]) -> Result<Vec<RecordBatch>, CatalogError> {
    let request = ScanRequest { ordered: ScanOrder::Physical, ..ScanRequest::default() };
    Ok(table.scan_fragments(fragments, request).await?.try_collect().await?)
}

async fn read_fragment(snapshot: &Snapshot, fragment: u64) -> Result<Lineage, CatalogError> {
    let batches = read_rows(snapshot.manifest(), &[fragment]).await?;
    decode_lineage(&batches, snapshot.version())
}

/// Everything recorded of an operation, oldest first.
pub(crate) async fn operation_rows(
    snapshot: &Snapshot,
    operation: OperationId,
) -> Result<Vec<OperationRow>, CatalogError> {
    rows_of_operations(snapshot, &BTreeSet::from([operation])).await
}

/// Everything recorded of some operations, oldest first. Reads a fragment once, however many of them it may hold.
pub(crate) async fn rows_of_operations(
    snapshot: &Snapshot,
    operations: &BTreeSet<OperationId>,
) -> Result<Vec<OperationRow>, CatalogError> {
    let state = snapshot.state();
    let of = |rows: &[PublicationRow]| -> Vec<OperationRow> {
        let asked = rows.iter().flat_map(|row| row.operations.iter().map(move |entry| (row, entry.operation_id)));
        asked.filter(|(_, id)| operations.contains(id)).filter_map(|(row, id)| row.operation(id)).collect()
    };
    let mut found = Vec::new();
    for row in &state.history {
        if operations.iter().any(|id| {
            mutant!(
                8,
                (row.operation_min..=row.operation_max).contains(id),
                (row.operation_min..row.operation_max).contains(id)
            )
        }) {
            let Lineage { mut publications, .. } = read_fragment(snapshot, row.fragment).await?;
            // A branch inherits its source's history; an operation belongs to the branch it was sent to.
            publications.retain(|row| mutant!(100, row.branch_id == state.branch_id, true));
            found.extend(of(&publications));
        }
    }
    found.extend(of(&state.publications));
    Ok(found)
}

/// Whether an operation was applied on the branch. Aborts undo; a retirement answers a request about the branch, which main records.
pub(crate) async fn applied(snapshot: &Snapshot, operation: OperationId) -> Result<Applied, CatalogError> {
    if snapshot.state().recent_commit_of(operation).is_some() {
        return Ok(Applied::Yes);
    }
    let rows = operation_rows(snapshot, operation).await?;
    let is_applied = |row: &OperationRow| !row.is_undone() && mutant!(101, row.kind != PublicationKind::Retire, true);
    Ok(if rows.iter().any(is_applied) { Applied::Yes } else { Applied::No })
}

/// Whether a branch has applied an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Applied {
    /// One of its publications did.
    Yes,
    /// None did.
    No,
}

/// One commit of the chain, by id.
pub(crate) async fn commit(snapshot: &Snapshot, id: CommitId) -> Result<Option<CommitRow>, CatalogError> {
    let state = snapshot.state();
    if let Some(row) = state.commits.iter().rev().find(|row| row.id == id) {
        return Ok(Some(row.clone()));
    }
    for row in state.history.iter().rev() {
        if row.commits.is_some_and(|(min, max)| (min..=max).contains(&id)) {
            let Lineage { commits, .. } = read_fragment(snapshot, row.fragment).await?;
            if let Some(found) = commits.into_iter().find(|row| row.id == id) {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// Commits older than `before` that are `wanted`, newest first, at most `most`.
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
            let Lineage { commits, .. } = read_fragment(snapshot, row.fragment).await?;
            take(commits, &mut found);
        }
    }
    Ok(found)
}
