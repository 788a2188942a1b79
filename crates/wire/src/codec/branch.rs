//! `branch.proto`: branches.

use omnigraph_types::{
    BranchInfo, BranchName, BranchReceipt, CreateBranch, DeleteBranch, Failure, GraphName, Page, PageRequest,
};

use super::common::{read_at_from_wire, read_at_to_wire, write_mode_from_wire, write_mode_to_wire};
use super::field::{
    all, branch_name, decoded, each, graph_name, moment, optional, optional_commit_id, optional_operation_id, parsed,
    text, timestamp,
};
use super::message::{AnswerCodec, MalformedAnswer, RequestCodec};
use crate::ResourceName;
use crate::v1;

impl AnswerCodec for v1::Branch {
    type Value = BranchInfo;

    fn to_wire(branch: BranchInfo) -> Self {
        Self {
            name: ResourceName::Branch(branch.graph.clone(), branch.name.clone()).to_string(),
            graph: branch.graph.into(),
            branch: branch.name.into(),
            branch_id: branch.id.to_string(),
            head: branch.head.to_string(),
            source_branch: text(branch.source),
            source_commit: text(branch.source_commit),
            create_time: Some(timestamp(branch.created_ms)),
            schema_hash: branch.schema_hash,
        }
    }

    fn from_wire(branch: Self) -> Result<BranchInfo, MalformedAnswer> {
        Ok(BranchInfo {
            name: parsed("Branch.branch", &branch.branch)?,
            graph: parsed("Branch.graph", &branch.graph)?,
            id: parsed("Branch.branch_id", &branch.branch_id)?,
            head: parsed("Branch.head", &branch.head)?,
            source: optional("Branch.source_branch", &branch.source_branch)?,
            source_commit: optional("Branch.source_commit", &branch.source_commit)?,
            created_ms: moment("Branch.create_time", branch.create_time)?,
            schema_hash: branch.schema_hash,
        })
    }
}

impl RequestCodec for v1::CreateBranchRequest {
    type Value = (GraphName, CreateBranch);

    fn to_wire((graph, create): Self::Value) -> Self {
        Self {
            graph: graph.into(),
            branch: create.name.into(),
            source: Some(read_at_to_wire(create.source)),
            operation_id: text(create.operation_id),
            expected_head: text(create.expected_head),
            validate_only: write_mode_to_wire(create.mode),
        }
    }

    fn from_wire(request: Self) -> Result<Self::Value, Failure> {
        let graph = graph_name("graph", &request.graph)?;
        let create = CreateBranch {
            name: branch_name("branch", &request.branch)?,
            source: read_at_from_wire("source", request.source)?,
            operation_id: optional_operation_id(&request.operation_id)?,
            expected_head: optional_commit_id("expected_head", &request.expected_head)?,
            mode: write_mode_from_wire(request.validate_only),
        };
        Ok((graph, create))
    }
}

impl AnswerCodec for v1::CreateBranchResponse {
    type Value = BranchReceipt;

    fn to_wire(receipt: BranchReceipt) -> Self {
        Self { branch: receipt.branch.map(v1::Branch::to_wire), operation_id: receipt.operation_id.to_string() }
    }

    fn from_wire(response: Self) -> Result<BranchReceipt, MalformedAnswer> {
        Ok(BranchReceipt {
            operation_id: parsed("CreateBranchResponse.operation_id", &response.operation_id)?,
            branch: response.branch.map(v1::Branch::from_wire).transpose()?,
        })
    }
}

impl RequestCodec for v1::GetBranchRequest {
    type Value = (GraphName, BranchName);

    fn to_wire((graph, branch): Self::Value) -> Self {
        Self { graph: graph.into(), branch: branch.into() }
    }

    fn from_wire(request: Self) -> Result<Self::Value, Failure> {
        Ok((graph_name("graph", &request.graph)?, branch_name("branch", &request.branch)?))
    }
}

impl AnswerCodec for v1::GetBranchResponse {
    type Value = BranchInfo;

    fn to_wire(branch: BranchInfo) -> Self {
        Self { branch: Some(v1::Branch::to_wire(branch)) }
    }

    fn from_wire(response: Self) -> Result<BranchInfo, MalformedAnswer> {
        decoded("GetBranchResponse.branch", response.branch)
    }
}

impl RequestCodec for v1::ListBranchesRequest {
    type Value = (GraphName, PageRequest);

    fn to_wire((graph, page): Self::Value) -> Self {
        Self { graph: graph.into(), page_size: page.size, page_token: page.token }
    }

    fn from_wire(request: Self) -> Result<Self::Value, Failure> {
        let graph = graph_name("graph", &request.graph)?;
        Ok((graph, PageRequest { size: request.page_size, token: request.page_token }))
    }
}

impl AnswerCodec for v1::ListBranchesResponse {
    type Value = Page<BranchInfo>;

    fn to_wire(page: Page<BranchInfo>) -> Self {
        Self { branches: each(page.items), next_page_token: page.next }
    }

    fn from_wire(response: Self) -> Result<Page<BranchInfo>, MalformedAnswer> {
        Ok(Page { items: all(response.branches)?, next: response.next_page_token })
    }
}

impl RequestCodec for v1::DeleteBranchRequest {
    type Value = (GraphName, DeleteBranch);

    fn to_wire((graph, delete): Self::Value) -> Self {
        Self {
            graph: graph.into(),
            branch: delete.name.into(),
            operation_id: text(delete.operation_id),
            expected_head: text(delete.expected_head),
            validate_only: write_mode_to_wire(delete.mode),
        }
    }

    fn from_wire(request: Self) -> Result<Self::Value, Failure> {
        let graph = graph_name("graph", &request.graph)?;
        let delete = DeleteBranch {
            name: branch_name("branch", &request.branch)?,
            operation_id: optional_operation_id(&request.operation_id)?,
            expected_head: optional_commit_id("expected_head", &request.expected_head)?,
            mode: write_mode_from_wire(request.validate_only),
        };
        Ok((graph, delete))
    }
}

impl AnswerCodec for v1::DeleteBranchResponse {
    type Value = BranchReceipt;

    /// The message has no branch: a deletion returns none.
    fn to_wire(receipt: BranchReceipt) -> Self {
        Self { operation_id: receipt.operation_id.to_string() }
    }

    fn from_wire(response: Self) -> Result<BranchReceipt, MalformedAnswer> {
        let operation_id = parsed("DeleteBranchResponse.operation_id", &response.operation_id)?;
        Ok(BranchReceipt { operation_id, branch: None })
    }
}
