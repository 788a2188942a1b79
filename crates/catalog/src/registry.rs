//! Which chain a branch's name means.
//!
//! A name is resolved by main's registry. What this process remembers of it is checked by the chain itself: a removed branch's chain ends
//! with a `retired` version, and a caller that reads one resolves the name again.

use omnigraph_types::{BranchId, BranchName, OperationId};

use crate::chain::Chain;
use crate::context::Context;
use crate::error::CatalogError;
use crate::history::{self, Applied};
use crate::rows::BranchRow;
use crate::snapshot::Snapshot;
use crate::state::State;

/// How far clocks of servers may differ when the time in an id says when it was made.
pub(crate) const CLOCK_SKEW_MS: u64 = 24 * 60 * 60 * 1_000;
/// Times that a name is resolved again because its chain had ended.
const RESOLVE_MAX: usize = 4;

impl Context {
    /// The newest version of main: the registry of branches. `GraphDeleted` if main's chain has ended.
    pub(crate) async fn registry(&self) -> Result<Snapshot, CatalogError> {
        let newest = self.newest_of(&self.main_chain()).await?;
        match newest.state().retired {
            Some(_) => Err(CatalogError::GraphDeleted(self.name.clone())),
            None => Ok(newest),
        }
    }

    /// The newest version of a branch by name, proven newest. `BranchNotFound` for a removed one.
    pub(crate) async fn newest(&self, name: &BranchName) -> Result<Snapshot, CatalogError> {
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
            let chain = row.map(BranchRow::chain);
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
        let known = self.known(self.main_branch_id)?;
        known.state().live_branch(name).map(BranchRow::chain)
    }

    /// The version that this process published moments ago, presumed newest without asking the store.
    ///
    /// Another process may have published since. Taking the ticket for the next version confirms that this one is the newest. A caller that
    /// would refuse a request because of this version must first confirm it with `newest`.
    pub(crate) fn presumed_newest(&self, name: &BranchName) -> Option<Snapshot> {
        let chain = match name {
            BranchName::Main => self.main_chain(),
            BranchName::Named(_) => self.known_chain(name)?,
        };
        let known = self.known(chain.branch_id)?;
        (known.is_own_and_recent(self.clock.as_ref()) && known.state().retired.is_none()).then_some(known)
    }

    fn chain_in(&self, registry: &State, branch: BranchId) -> Option<Chain> {
        if branch == registry.main_branch_id {
            return Some(self.main_chain());
        }
        registry.branches.get(&branch).map(BranchRow::chain)
    }

    /// The chain of a branch by identity, live or removed, asking the store only for a branch that is new to this process.
    pub(crate) async fn chain(&self, branch: BranchId) -> Result<Chain, CatalogError> {
        if let Some(chain) = self.known(self.main_branch_id).and_then(|known| self.chain_in(known.state(), branch)) {
            return Ok(chain);
        }
        let registry = self.registry().await?;
        self.chain_in(registry.state(), branch).ok_or_else(|| CatalogError::Corrupt {
            object: "the graph's registry of branches".to_owned(),
            expected: format!("a row for branch {branch}"),
        })
    }

    /// Chains of removed branches that had this name while the operation can have been sent, newest first. An operation may be sent as
    /// long after its id was minted, and before, as ids are accepted.
    pub(crate) fn removed_chains(&self, registry: &State, name: &BranchName, operation: OperationId) -> Vec<Chain> {
        let minted = operation.timestamp_ms();
        let earliest = minted.saturating_sub(self.limits.operation_id_ahead_ms).saturating_sub(CLOCK_SKEW_MS);
        let latest = minted.saturating_add(self.limits.operation_id_behind_ms).saturating_add(CLOCK_SKEW_MS);
        let had_name =
            |row: &&BranchRow| row.removed_ms.is_some() && row.name == *name && row.lived_within(earliest, latest);
        let mut rows: Vec<&BranchRow> = registry.branches.values().filter(had_name).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.removed_ms));
        rows.into_iter().map(BranchRow::chain).collect()
    }

    /// The last version of a removed branch of this name on which an operation was applied.
    pub(crate) async fn removed_with(
        &self,
        name: &BranchName,
        operation: OperationId,
    ) -> Result<Option<Snapshot>, CatalogError> {
        let Some(registry) = self.known(self.main_branch_id).filter(|_| *name != BranchName::Main) else {
            return Ok(None);
        };
        for chain in self.removed_chains(registry.state(), name, operation) {
            let last = self.newest_of(&chain).await?;
            if history::applied(&last, operation).await? == Applied::Yes {
                return Ok(Some(last));
            }
        }
        Ok(None)
    }
}
