//! `commit.proto`: the history of a graph.

use omnigraph_types::{BranchName, Commit, CommitId, Failure, GraphName, Page, PageRequest};

use super::field::{all, branch_name, commit_id, decoded, each, graph_name};
use super::message::{AnswerCodec, MalformedAnswer, RequestCodec};
use crate::v1;

impl RequestCodec for v1::GetCommitRequest {
    type Value = (GraphName, CommitId);

    fn to_wire((graph, commit): Self::Value) -> Self {
        Self { graph: graph.into(), commit: commit.to_string() }
    }

    fn from_wire(request: Self) -> Result<Self::Value, Failure> {
        Ok((graph_name("graph", &request.graph)?, commit_id("commit", &request.commit)?))
    }
}

impl AnswerCodec for v1::GetCommitResponse {
    type Value = Commit;

    fn to_wire(commit: Commit) -> Self {
        Self { commit: Some(v1::Commit::to_wire(commit)) }
    }

    fn from_wire(response: Self) -> Result<Commit, MalformedAnswer> {
        decoded("GetCommitResponse.commit", response.commit)
    }
}

impl RequestCodec for v1::ListCommitsRequest {
    type Value = (GraphName, BranchName, PageRequest);

    fn to_wire((graph, branch, page): Self::Value) -> Self {
        Self { graph: graph.into(), branch: branch.into(), page_size: page.size, page_token: page.token }
    }

    fn from_wire(request: Self) -> Result<Self::Value, Failure> {
        let graph = graph_name("graph", &request.graph)?;
        let branch = branch_name("branch", &request.branch)?;
        Ok((graph, branch, PageRequest { size: request.page_size, token: request.page_token }))
    }
}

impl AnswerCodec for v1::ListCommitsResponse {
    type Value = Page<Commit>;

    fn to_wire(page: Page<Commit>) -> Self {
        Self { commits: each(page.items), next_page_token: page.next }
    }

    fn from_wire(response: Self) -> Result<Page<Commit>, MalformedAnswer> {
        Ok(Page { items: all(response.commits)?, next: response.next_page_token })
    }
}
