//! Commits: found by id, by time, or listed.

use futures::{StreamExt, stream};
use omnigraph_types::{BranchId, BranchName, CommitId, GraphVersion};

use crate::chain::Chain;
use crate::context::Context;
use crate::error::CatalogError;
use crate::history;
use crate::rows::{BranchRow, CommitRow};
use crate::snapshot::Snapshot;

/// Branches searched at once.
const CONCURRENCY: usize = 8;

impl Context {
    /// One commit, on whichever branch it was made. A branch that cannot be read is reported only if no other has the commit.
    pub(crate) async fn commit(&self, id: CommitId) -> Result<CommitRow, CatalogError> {
        let registry = self.registry().await?;
        let mut unreadable = match history::commit(&registry, id).await {
            Ok(Some(row)) => return Ok(row),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        let may_hold = |row: &&BranchRow| row.removed.is_none_or(|removal| removal.own_ids.may_hold_commit(id));
        let chains: Vec<Chain> = registry.state().branches.values().filter(may_hold).map(BranchRow::chain).collect();
        let found = stream::iter(chains.into_iter().rev()).map(|chain| async move {
            let newest = self.newest_of(&chain).await?;
            history::commit(&newest, id).await
        });
        let mut found = found.buffer_unordered(CONCURRENCY);
        while let Some(searched) = found.next().await {
            match searched {
                Ok(Some(row)) => return Ok(row),
                Ok(None) => {}
                Err(error) => unreadable = unreadable.or(Some(error)),
            }
        }
        Err(unreadable.unwrap_or(CatalogError::CommitNotFound(id)))
    }

    /// The commit that a publication of a branch is, read on that branch's own chain.
    pub(crate) async fn commit_at(
        &self,
        branch: BranchId,
        version: GraphVersion,
        id: CommitId,
    ) -> Result<CommitRow, CatalogError> {
        let snapshot = match self.known(branch).filter(|known| known.version() >= version) {
            Some(known) => known,
            None => self.newest_of(&self.chain(branch).await?).await?,
        };
        let row = history::commit(&snapshot, id).await?;
        row.ok_or_else(|| CatalogError::Corrupt {
            object: format!("the chain of branch {}", snapshot.branch_name()),
            expected: format!("commit {id}, which is its version {version}"),
        })
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
