//! Which chain a branch's name means.
//!
//! A name is resolved by main's registry. What this process remembers of it is checked by the chain itself: a removed branch's chain ends
//! with a `retired` version, and a caller that reads one resolves the name again.

use std::cmp::Reverse;

use omnigraph_types::mutant;
use omnigraph_types::{BranchId, BranchName, OperationId};

use crate::chain::Chain;
use crate::context::Context;
use crate::error::CatalogError;
use crate::history::{self, Applied};
use crate::rows::BranchRow;
use crate::snapshot::Snapshot;
use crate::state::State;

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
            if mutant!(103, newest.state().retired.is_none(), true) {
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
        let goes_on = mutant!(104, known.state().retired.is_none(), true);
        (known.is_own_and_recent(self.clock.as_ref()) && goes_on).then_some(known)
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

    /// The last version of a branch that had this name, ended, and applied an operation.
    ///
    /// Called after the name was resolved: what this process knows of the registry then holds every chain of the name that ended before. A chain
    /// that cannot be read is reported only if no other answers: the operation may have been applied there.
    pub(crate) async fn removed_with(
        &self,
        name: &BranchName,
        operation: OperationId,
    ) -> Result<Option<Snapshot>, CatalogError> {
        if *name == BranchName::Main {
            return Ok(None);
        }
        let registry = match self.known(self.main_branch_id) {
            Some(known) => known,
            None => self.registry().await?,
        };
        let mut unreadable = None;
        for row in of_name(registry.state(), name, operation) {
            match self.applied_before_its_end(row, operation).await {
                Ok(Some(last)) => return Ok(Some(last)),
                Ok(None) => {}
                Err(error) => unreadable = unreadable.or(Some(error)),
            }
        }
        unreadable.map_or(Ok(None), Err)
    }

    /// The last version of a branch, if it has ended and applied an operation. It may be registered still: a chain ends before its name is free.
    async fn applied_before_its_end(
        &self,
        row: &BranchRow,
        operation: OperationId,
    ) -> Result<Option<Snapshot>, CatalogError> {
        let known = match row.is_live() {
            // Resolving the name has read this version.
            true => self.known(row.branch_id),
            false => None,
        };
        let last = match known {
            Some(known) => known,
            None => self.newest_of(&row.chain()).await?,
        };
        let may_hold = last.state().retired.is_some() && last.state().own_ids.may_hold(operation);
        if may_hold && history::applied(&last, operation).await? == Applied::Yes { Ok(Some(last)) } else { Ok(None) }
    }
}

/// The branches of a name on which an operation may have been applied: the registered one, then the removed ones, newest first.
fn of_name<'a>(registry: &'a State, name: &BranchName, operation: OperationId) -> Vec<&'a BranchRow> {
    let may_hold =
        |row: &&BranchRow| row.name == *name && row.removed.is_none_or(|removal| removal.own_ids.may_hold(operation));
    let mut rows: Vec<&BranchRow> = registry.branches.values().filter(may_hold).collect();
    rows.sort_by_key(|row| Reverse(row.removed.map_or(u64::MAX, |removal| removal.time_ms)));
    rows
}
