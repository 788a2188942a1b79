//! Commits: found by id, by time, or listed.

use futures::{StreamExt, TryStreamExt, stream};
use omnigraph_types::{BranchName, CommitId};

use crate::chain::Chain;
use crate::context::Context;
use crate::error::CatalogError;
use crate::history;
use crate::registry::CLOCK_SKEW_MS;
use crate::rows::{BranchRow, CommitRow};
use crate::snapshot::Snapshot;

/// Branches searched at once.
const CONCURRENCY: usize = 8;

impl Context {
    /// One commit, on whichever branch it was made.
    pub(crate) async fn commit(&self, id: CommitId) -> Result<CommitRow, CatalogError> {
        let registry = self.registry().await?;
        if let Some(row) = history::commit(&registry, id).await? {
            return Ok(row);
        }
        let made = id.timestamp_ms();
        let (earliest, latest) = (made.saturating_sub(CLOCK_SKEW_MS), made.saturating_add(CLOCK_SKEW_MS));
        let rows = registry.state().branches.values().filter(|row| row.lived_within(earliest, latest));
        let mut chains: Vec<Chain> = rows.map(BranchRow::chain).collect();
        chains.reverse();
        let found = stream::iter(chains).map(|chain| async move {
            let newest = self.newest_of(&chain).await?;
            history::commit(&newest, id).await
        });
        let mut found = found.buffer_unordered(CONCURRENCY);
        while let Some(row) = found.try_next().await? {
            if let Some(row) = row {
                return Ok(row);
            }
        }
        Err(CatalogError::CommitNotFound(id))
    }

    /// The version that a commit published.
    pub(crate) async fn snapshot_of_commit(&self, commit: CommitId) -> Result<Snapshot, CatalogError> {
        let registry = self.registry().await?;
        if registry.head() == commit {
            return Ok(registry);
        }
        self.snapshot_of(&self.commit(commit).await?).await
    }

    /// The version that a commit published.
    async fn snapshot_of(&self, row: &CommitRow) -> Result<Snapshot, CatalogError> {
        self.at_version(&self.chain(row.branch_id).await?, row.version).await
    }

    /// The newest commit at or before a time, in milliseconds since 1970-01-01T00:00:00Z.
    pub(crate) async fn snapshot_at_time(&self, name: &BranchName, time_ms: u64) -> Result<Snapshot, CatalogError> {
        let newest = self.newest(name).await?;
        let wanted = |row: &CommitRow| row.time_ms <= time_ms;
        let found = history::commits_before(&newest, newest.version().next(), 1, &wanted).await?;
        let row = found.first().ok_or_else(|| CatalogError::NoCommitAtTime { branch: name.clone(), time_ms })?;
        self.snapshot_of(row).await
    }

    /// A branch's commits, newest first: from its head, or from the one before `after`; at most `most`, which bounds the
    /// memory taken.
    pub(crate) async fn list_commits(
        &self,
        name: &BranchName,
        after: Option<CommitId>,
        most: usize,
    ) -> Result<Vec<CommitRow>, CatalogError> {
        let newest = self.newest(name).await?;
        let before = match after {
            None => newest.version().next(),
            Some(id) => history::commit(&newest, id).await?.ok_or(CatalogError::CommitNotFound(id))?.version,
        };
        history::commits_before(&newest, before, most, &|_| true).await
    }
}
