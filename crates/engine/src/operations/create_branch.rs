//! Creating a branch: the cost does not depend on what the graph holds.

use omnigraph_commit::{BranchOutcome, BranchRequest};
use omnigraph_types::{BranchReceipt, CreateBranch, ReadAt};

use crate::caller::Caller;
use crate::digest::request_digest;
use crate::error::Result;
use crate::execute::{Access, Execute};
use crate::graph_info::registered_info;
use crate::open_graphs::GraphHandle;

impl Execute for CreateBranch {
    type Target = GraphHandle;
    type Answer = BranchReceipt;
    const NAME: &'static str = "create_branch";
    const ACCESS: Access = Access::Write;

    async fn execute(&self, on: &GraphHandle, caller: &Caller) -> Result<BranchReceipt> {
        let graph = &on.graph;
        let operation_id = graph.context().operation_id(self.operation_id);
        let source_text = source_text(&self.source);
        let request = BranchRequest {
            operation_id,
            digest: request_digest(Self::NAME, &[&graph.id().to_string(), self.name.as_str(), &source_text]),
            actor: caller.actor.clone(),
            name: self.name.clone(),
            expected_head: self.expected_head,
            deadline: caller.deadline,
            mode: self.mode,
        };
        let branch = match graph.committer().answering(&caller.effect).create_branch(&request, &self.source).await? {
            // A fresh branch's head is the commit that it began at.
            BranchOutcome::Done(row) => Some(registered_info(graph, &row, row.source_commit).await?),
            BranchOutcome::Replayed(row) => {
                let newest = graph.catalog().newest_of(&row.chain()).await?;
                Some(registered_info(graph, &row, newest.head()).await?)
            }
            BranchOutcome::Validated => None,
        };
        Ok(BranchReceipt { operation_id, branch })
    }
}

/// The source, for the digest.
fn source_text(source: &ReadAt) -> String {
    match source {
        ReadAt::Branch(branch) => format!("branch {branch}"),
        ReadAt::Commit(commit) => format!("commit {commit}"),
        ReadAt::BranchAtTime { branch, time_ms } => format!("time {time_ms} {branch}"),
    }
}
