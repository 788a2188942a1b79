//! Deleting a branch. Branches created from it stay readable, and so do its commits as long as they are retained.

use omnigraph_commit::{BranchOutcome, BranchRequest};
use omnigraph_types::{BranchName, BranchReceipt, DeleteBranch};

use crate::caller::Caller;
use crate::digest::request_digest;
use crate::error::{EngineError, Result};
use crate::execute::{Access, Execute};
use crate::open_graphs::GraphHandle;

impl Execute for DeleteBranch {
    type Target = GraphHandle;
    type Answer = BranchReceipt;
    const NAME: &'static str = "delete_branch";
    const ACCESS: Access = Access::Write;

    async fn execute(&self, on: &GraphHandle, caller: &Caller) -> Result<BranchReceipt> {
        if self.name == BranchName::Main {
            return Err(EngineError::MainDeleted);
        }
        let graph = &on.graph;
        let operation_id = graph.context().operation_id(self.operation_id);
        let request = BranchRequest {
            operation_id,
            digest: request_digest(Self::NAME, &[&graph.id().to_string(), self.name.as_str()]),
            actor: caller.actor.clone(),
            name: self.name.clone(),
            expected_head: self.expected_head,
            deadline: caller.deadline,
            mode: self.mode,
        };
        match graph.committer().answering(&caller.effect).delete_branch(&request).await? {
            BranchOutcome::Done(_) | BranchOutcome::Replayed(_) | BranchOutcome::Validated => {}
        }
        Ok(BranchReceipt { operation_id, branch: None })
    }
}
