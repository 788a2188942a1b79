//! The branches of a graph: create, show, list, delete.

use omnigraph_types::{BranchName, CommitId, Effect, GraphName, OperationId};
use omnigraph_wire::v1;
use omnigraph_wire::v1::branch_service_client::BranchServiceClient;

use crate::client::limited;
use crate::{BranchInfo, Client, ClientError, Page, PageRequest, ReadAt};

/// A branch to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBranch {
    /// The graph.
    pub graph: GraphName,
    /// The branch's name.
    pub name: BranchName,
    /// Where it starts.
    pub source: ReadAt,
    /// The idempotency key.
    pub operation_id: OperationId,
    /// Make it only if the head of the source is still this commit.
    pub expected_head: Option<CommitId>,
}

impl NewBranch {
    /// A branch from the head of `main` under a fresh operation id.
    pub fn new(graph: GraphName, name: BranchName) -> Self {
        Self {
            graph,
            name,
            source: ReadAt::Branch(BranchName::Main),
            operation_id: Client::mint_operation_id(),
            expected_head: None,
        }
    }
}

/// A branch to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteBranch {
    /// The graph.
    pub graph: GraphName,
    /// The branch's name.
    pub name: BranchName,
    /// The idempotency key.
    pub operation_id: OperationId,
    /// Delete it only if its head is still this commit.
    pub expected_head: Option<CommitId>,
}

impl DeleteBranch {
    /// The deletion of a branch, whatever its head, under a fresh operation id.
    pub fn new(graph: GraphName, name: BranchName) -> Self {
        Self { graph, name, operation_id: Client::mint_operation_id(), expected_head: None }
    }
}

/// A commit's id as the contract has it, where none is the empty text.
fn optional(commit: Option<CommitId>) -> String {
    commit.map(|commit| commit.to_string()).unwrap_or_default()
}

impl Client {
    /// Makes a branch; no rows are copied. Sent again, under the same operation id, where its failure says that helps.
    pub async fn create_branch(&self, branch: NewBranch) -> Result<BranchInfo, ClientError> {
        let message = v1::CreateBranchRequest {
            graph: branch.graph.to_string(),
            branch: branch.name.to_string(),
            source: Some(branch.source.to_wire()),
            operation_id: branch.operation_id.to_string(),
            expected_head: optional(branch.expected_head),
            validate_only: false,
        };
        let response = self
            .unary(message, Effect::Unknown, |request| {
                let mut service = limited!(self, BranchServiceClient);
                async move { service.create_branch(request).await }
            })
            .await?;
        BranchInfo::expected(response.branch)
    }

    /// One branch.
    pub async fn get_branch(&self, graph: &GraphName, branch: &BranchName) -> Result<BranchInfo, ClientError> {
        let message = v1::GetBranchRequest { graph: graph.to_string(), branch: branch.to_string() };
        let response = self
            .unary(message, Effect::None, |request| {
                let mut service = limited!(self, BranchServiceClient);
                async move { service.get_branch(request).await }
            })
            .await?;
        BranchInfo::expected(response.branch)
    }

    /// The branches of a graph: `main`, then the others by name.
    pub async fn list_branches(&self, graph: &GraphName, page: PageRequest) -> Result<Page<BranchInfo>, ClientError> {
        let message =
            v1::ListBranchesRequest { graph: graph.to_string(), page_size: page.size, page_token: page.token };
        let response = self
            .unary(message, Effect::None, |request| {
                let mut service = limited!(self, BranchServiceClient);
                async move { service.list_branches(request).await }
            })
            .await?;
        let items = response.branches.into_iter().map(BranchInfo::from_wire).collect::<Result<_, _>>()?;
        Ok(Page { items, next: response.next_page_token })
    }

    /// Deletes a branch and tells the operation's id; branches made from it stay. Sent again, under the same operation
    /// id, where its failure says that helps.
    pub async fn delete_branch(&self, branch: DeleteBranch) -> Result<OperationId, ClientError> {
        let message = v1::DeleteBranchRequest {
            graph: branch.graph.to_string(),
            branch: branch.name.to_string(),
            operation_id: branch.operation_id.to_string(),
            expected_head: optional(branch.expected_head),
            validate_only: false,
        };
        let response = self
            .unary(message, Effect::Unknown, |request| {
                let mut service = limited!(self, BranchServiceClient);
                async move { service.delete_branch(request).await }
            })
            .await?;
        response.operation_id.parse().map_err(|_| ClientError::Answer { what: "an operation's id" })
    }
}
