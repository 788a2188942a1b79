//! Which chain a branch's name means, and where a commit lies.
//!
//! A name is resolved by main's registry. What this process remembers of it is checked by the chain itself: a removed branch's chain ends
//! with a `retired` version, and whoever meets one asks the registry again.

use futures::{StreamExt, TryStreamExt, stream};
use omnigraph_storage::TreeRef;
use omnigraph_types::{BranchId, BranchName, CommitId, OperationId, TreeId};

use crate::catalog::Catalog;
use crate::error::CatalogError;
use crate::history;
use crate::rows::{BranchRow, CommitRow};
use crate::snapshot::Snapshot;
use crate::state::State;

/// Branches looked into at once.
const CONCURRENCY: usize = 8;
/// How far clocks of servers may differ when a commit's id says when it was made.
const CLOCK_SKEW_MS: u64 = 24 * 60 * 60 * 1_000;
/// Times that a name is resolved again because its chain had ended.
const RESOLVE_MAX: usize = 4;

/// One branch's chain of versions: which branch it is, whatever its name means today.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Chain {
    /// The branch.
    pub branch_id: BranchId,
    /// The name under which it was found.
    pub name: BranchName,
    /// Its tree of the manifest dataset; none for main.
    pub tree: Option<TreeId>,
}

impl BranchRow {
    /// The branch's chain.
    pub fn chain_of_versions(&self) -> Chain {
        Chain { branch_id: self.branch_id, name: self.name.clone(), tree: Some(self.chain) }
    }

    /// Whether something made at `earliest` or later, and not after `latest`, can have been made on this branch.
    fn lived_within(&self, earliest: u64, latest: u64) -> bool {
        self.created_ms <= latest && self.removed_ms.is_none_or(|removed| removed >= earliest)
    }
}

impl Catalog {
    /// The chain of main.
    pub fn main_chain(&self) -> Chain {
        Chain { branch_id: self.main_branch_id(), name: BranchName::Main, tree: None }
    }

    pub(crate) fn tree_of(&self, chain: &Chain) -> TreeRef {
        TreeRef { path: self.paths().manifest(), tree: chain.tree }
    }

    /// The newest version of main: the registry of branches. `GraphDeleted` if main's chain has ended.
    pub async fn registry(&self) -> Result<Snapshot, CatalogError> {
        let newest = self.newest_of(&self.main_chain()).await?;
        match newest.state().retired {
            Some(_) => Err(CatalogError::GraphDeleted(self.name().clone())),
            None => Ok(newest),
        }
    }

    /// The newest version of a branch by name, proven newest. `BranchNotFound` for a removed one.
    pub async fn newest(&self, name: &BranchName) -> Result<Snapshot, CatalogError> {
        if *name == BranchName::Main {
            return self.registry().await;
        }
        if let Some(chain) = self.known_chain(name) {
            let newest = self.newest_of(&chain).await?;
            if newest.state().retired.is_none() {
                return Ok(newest);
            }
        }
        for _ in 0..RESOLVE_MAX {
            let registry = self.registry().await?;
            let row = registry.state().live_branch(name);
            let chain = row.map(BranchRow::chain_of_versions);
            let Some(chain) = chain else { break };
            let newest = self.newest_of(&chain).await?;
            if newest.state().retired.is_none() {
                return Ok(newest);
            }
            if self.registry().await?.version() == registry.version() {
                break;
            }
        }
        Err(CatalogError::BranchNotFound(name.clone()))
    }

    fn known_chain(&self, name: &BranchName) -> Option<Chain> {
        let known = self.known(self.main_branch_id())?;
        known.state().live_branch(name).map(BranchRow::chain_of_versions)
    }

    /// The version that this process published moments ago, presumed newest without asking the store.
    ///
    /// Another process may have gone on since. A ticket for the next version proves it newest; who refuses anything on its ground must prove it
    /// first, with `newest`.
    pub fn presumed_newest(&self, name: &BranchName) -> Option<Snapshot> {
        let chain = match name {
            BranchName::Main => self.main_chain(),
            BranchName::Named(_) => self.known_chain(name)?,
        };
        let known = self.known(chain.branch_id)?;
        (known.is_own_and_recent(self.clock()) && known.state().retired.is_none()).then_some(known)
    }

    fn chain_in(&self, registry: &State, branch: BranchId) -> Option<Chain> {
        if branch == registry.main_branch_id {
            return Some(self.main_chain());
        }
        registry.branches.get(&branch).map(BranchRow::chain_of_versions)
    }

    /// The chain of a branch by identity, live or removed, asking the store only for a branch that is new to this process.
    pub async fn chain(&self, branch: BranchId) -> Result<Chain, CatalogError> {
        if let Some(chain) = self.known(self.main_branch_id()).and_then(|known| self.chain_in(known.state(), branch)) {
            return Ok(chain);
        }
        let registry = self.registry().await?;
        self.chain_in(registry.state(), branch).ok_or_else(|| CatalogError::Corrupt {
            object: "the graph's registry of branches".to_owned(),
            expected: format!("a row for branch {branch}"),
        })
    }

    /// Chains of branches that bore this name and are gone, as far as an operation can lie on them; newest first. An operation may be sent as
    /// long after its id was minted, and before, as ids are accepted.
    pub fn removed_chains(&self, registry: &State, name: &BranchName, operation: OperationId) -> Vec<Chain> {
        let minted = operation.timestamp_ms();
        let earliest = minted.saturating_sub(self.limits().operation_id_ahead_ms).saturating_sub(CLOCK_SKEW_MS);
        let latest = minted.saturating_add(self.limits().operation_id_behind_ms).saturating_add(CLOCK_SKEW_MS);
        let bore =
            |row: &&BranchRow| row.removed_ms.is_some() && row.name == *name && row.lived_within(earliest, latest);
        let mut rows: Vec<&BranchRow> = registry.branches.values().filter(bore).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.removed_ms));
        rows.into_iter().map(BranchRow::chain_of_versions).collect()
    }

    /// The last version of a removed branch of this name on which an operation was committed.
    pub async fn removed_with(
        &self,
        name: &BranchName,
        operation: OperationId,
    ) -> Result<Option<Snapshot>, CatalogError> {
        let Some(registry) = self.known(self.main_branch_id()).filter(|_| *name != BranchName::Main) else {
            return Ok(None);
        };
        for chain in self.removed_chains(registry.state(), name, operation) {
            let last = self.newest_of(&chain).await?;
            if self.committed(&last, operation).await?.is_some() {
                return Ok(Some(last));
            }
        }
        Ok(None)
    }

    /// One commit, on whichever branch it was made.
    pub async fn commit(&self, id: CommitId) -> Result<CommitRow, CatalogError> {
        let registry = self.registry().await?;
        if let Some(row) = history::commit(&registry, id).await? {
            return Ok(row);
        }
        let made = id.timestamp_ms();
        let (earliest, latest) = (made.saturating_sub(CLOCK_SKEW_MS), made.saturating_add(CLOCK_SKEW_MS));
        let rows = registry.state().branches.values().filter(|row| row.lived_within(earliest, latest));
        let mut chains: Vec<Chain> = rows.map(BranchRow::chain_of_versions).collect();
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
    pub async fn snapshot_of_commit(&self, commit: CommitId) -> Result<Snapshot, CatalogError> {
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
    pub async fn snapshot_at_time(&self, name: &BranchName, time_ms: u64) -> Result<Snapshot, CatalogError> {
        let newest = self.newest(name).await?;
        let wanted = |row: &CommitRow| row.time_ms <= time_ms;
        let found = history::commits_before(&newest, newest.version().next(), 1, &wanted).await?;
        let row = found.first().ok_or_else(|| CatalogError::NoCommitAtTime { branch: name.clone(), time_ms })?;
        self.snapshot_of(row).await
    }

    /// A branch's commits, newest first: from its head, or from the one before `after`; at most `most`, which bounds the
    /// memory taken.
    pub async fn list_commits(
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
