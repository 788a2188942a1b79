//! The history of a branch, page by page.

use omnigraph_types::{BranchName, Commit, CommitId};

use crate::caller::Caller;
use crate::error::Result;
use crate::execute::{Access, Execute};
use crate::open_graphs::GraphHandle;

/// Asks for commits of a branch, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListCommits {
    /// The branch.
    pub branch: BranchName,
    /// Only commits older than this one, if given.
    pub after: Option<CommitId>,
    /// Most commits.
    pub most: usize,
}

impl Execute for ListCommits {
    type Target = GraphHandle;
    type Answer = Vec<Commit>;
    const NAME: &'static str = "list_commits";
    const ACCESS: Access = Access::Read;

    async fn execute(&self, on: &GraphHandle, _: &Caller) -> Result<Vec<Commit>> {
        let rows = on.graph.catalog().list_commits(&self.branch, self.after, self.most).await?;
        let mut commits = Vec::with_capacity(rows.len());
        for row in rows {
            commits.push(on.graph.describe(row).await?);
        }
        Ok(commits)
    }
}
