//! A check of a graph, which changes nothing: the condition of its branches, what of it cannot be read, which files nothing names.
//!
//! It reads through empty caches of its own, so that it sees the store and not what this process remembers.
//! Invariants: findings are streamed as found, and dropping the stream stops the check; memory follows the number of table versions that commits
//! name and of files of one table at a time, within named bounds.

mod accounts;
mod branch;
mod checker;
mod deletions;
mod files;
mod history;

use omnigraph_catalog::{BranchRow, CatalogError, Chain};
use omnigraph_types::BranchName;

use crate::check::accounts::Accounts;
pub(crate) use crate::check::checker::{Checker, Stopped};
use crate::error::is_damaged;

/// Checks one branch, or all branches and the graph's files.
pub(crate) async fn check(checker: &mut Checker, branch: Option<BranchName>) -> Result<(), Stopped> {
    let main = checker.catalog.main_chain();
    let registry = match checker.catalog.registry().await.map_err(CatalogError::failure) {
        Ok(registry) => registry,
        Err(failure) if is_damaged(&failure) => return checker.newest_unreadable(&main, &failure).await,
        Err(failure) => return Err(failure.into()),
    };
    let rows = registry.state().branches.values();
    let (live, removed): (Vec<&BranchRow>, Vec<&BranchRow>) = rows.partition(|row| row.is_live());
    let mut live: Vec<Chain> = live.into_iter().map(BranchRow::chain).collect();
    live.insert(0, main);
    let Some(name) = branch else {
        let mut accounts = Accounts::new(&registry);
        for chain in &live {
            checker.branch(chain).await?;
            checker.history(chain, &mut accounts).await?;
        }
        for chain in removed.into_iter().map(BranchRow::chain) {
            checker.history(&chain, &mut accounts).await?;
        }
        return checker.files(&mut accounts).await;
    };
    let chain = live.into_iter().find(|chain| chain.name == name);
    let chain = chain.ok_or(CatalogError::BranchNotFound(name))?;
    checker.branch(&chain).await?;
    checker.history(&chain, &mut Accounts::new(&registry)).await
}
