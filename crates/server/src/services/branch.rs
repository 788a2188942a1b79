//! BranchService: the branches of a graph. Merges are declared and not offered.

use futures::stream::BoxStream;
use omnigraph_engine::{BranchInfo, CreateBranch, DeleteBranch, Graph};
use omnigraph_flight::{convert, refuse};
use omnigraph_types::Failure;
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::branch_service_server::BranchService;
use tonic::{Request, Response, Status, async_trait};

use super::{Api, open, refuse_call};
use crate::page::{PageScope, page_size};

#[async_trait]
impl BranchService for Api {
    type PreviewMergeStream = BoxStream<'static, Result<wire::PreviewMergeResponse, Status>>;

    async fn create_branch(
        &self,
        request: Request<wire::CreateBranchRequest>,
    ) -> Result<Response<wire::CreateBranchResponse>, Status> {
        self.create_branch(request).await.map(Response::new).map_err(refuse)
    }

    async fn get_branch(
        &self,
        request: Request<wire::GetBranchRequest>,
    ) -> Result<Response<wire::GetBranchResponse>, Status> {
        self.branch(request).await.map(Response::new).map_err(refuse)
    }

    async fn list_branches(
        &self,
        request: Request<wire::ListBranchesRequest>,
    ) -> Result<Response<wire::ListBranchesResponse>, Status> {
        self.branches(request).await.map(Response::new).map_err(refuse)
    }

    async fn delete_branch(
        &self,
        request: Request<wire::DeleteBranchRequest>,
    ) -> Result<Response<wire::DeleteBranchResponse>, Status> {
        self.delete_branch(request).await.map(Response::new).map_err(refuse)
    }

    async fn preview_merge(
        &self,
        _: Request<wire::PreviewMergeRequest>,
    ) -> Result<Response<Self::PreviewMergeStream>, Status> {
        refuse_call("PreviewMerge")
    }

    async fn merge_branch(
        &self,
        _: Request<wire::MergeBranchRequest>,
    ) -> Result<Response<wire::MergeBranchResponse>, Status> {
        refuse_call("MergeBranch")
    }
}

impl Api {
    async fn create_branch(
        &self,
        request: Request<wire::CreateBranchRequest>,
    ) -> Result<wire::CreateBranchResponse, Failure> {
        let (context, request) = open(request)?;
        let graph = self.graph(&context, &request.graph).await?;
        let create = CreateBranch {
            name: convert::branch_name("branch", &request.branch)?,
            source: convert::read_point("source", request.source)?,
            operation_id: convert::operation_id(&request.operation_id)?,
            expected_head: convert::expected_head(&request.expected_head)?,
            validate_only: convert::validate_only(request.validate_only),
            actor: context.actor().to_owned(),
            deadline: Some(context.deadline()),
        };
        let receipt = graph.create_branch(create).await?;
        Ok(wire::CreateBranchResponse {
            branch: receipt.branch.map(|info| encode(&graph, &info)),
            operation_id: receipt.operation_id.to_string(),
        })
    }

    async fn branch(&self, request: Request<wire::GetBranchRequest>) -> Result<wire::GetBranchResponse, Failure> {
        let (context, request) = open(request)?;
        let name = convert::branch_name("branch", &request.branch)?;
        let graph = self.graph(&context, &request.graph).await?;
        let info = graph.branch(&name).await?;
        Ok(wire::GetBranchResponse { branch: Some(encode(&graph, &info)) })
    }

    async fn branches(
        &self,
        request: Request<wire::ListBranchesRequest>,
    ) -> Result<wire::ListBranchesResponse, Failure> {
        let (context, request) = open(request)?;
        let scope = PageScope { call: "ListBranches", fields: &[&request.graph] };
        let after = scope.cursor(&request.page_token)?;
        let after = after.map(|name| convert::branch_name("page_token", &name)).transpose()?;
        let size = page_size(request.page_size, self.engine.limits());
        let graph = self.graph(&context, &request.graph).await?;
        // One more than the page tells whether another page follows.
        let mut branches = graph.list_branches(after.as_ref(), size.saturating_add(1)).await?;
        let more = branches.len() > size;
        branches.truncate(size);
        let last = branches.last().filter(|_| more);
        Ok(wire::ListBranchesResponse {
            next_page_token: last.map(|info| scope.token(info.name.as_str())).unwrap_or_default(),
            branches: branches.iter().map(|info| encode(&graph, info)).collect(),
        })
    }

    async fn delete_branch(
        &self,
        request: Request<wire::DeleteBranchRequest>,
    ) -> Result<wire::DeleteBranchResponse, Failure> {
        let (context, request) = open(request)?;
        let graph = self.graph(&context, &request.graph).await?;
        let delete = DeleteBranch {
            name: convert::branch_name("branch", &request.branch)?,
            operation_id: convert::operation_id(&request.operation_id)?,
            expected_head: convert::expected_head(&request.expected_head)?,
            validate_only: convert::validate_only(request.validate_only),
            actor: context.actor().to_owned(),
            deadline: Some(context.deadline()),
        };
        let receipt = graph.delete_branch(delete).await?;
        Ok(wire::DeleteBranchResponse { operation_id: receipt.operation_id.to_string() })
    }
}

fn encode(graph: &Graph, info: &BranchInfo) -> wire::Branch {
    wire::Branch {
        name: format!("graphs/{}/branches/{}", graph.name(), info.name),
        graph: graph.name().to_string(),
        branch: info.name.to_string(),
        branch_id: info.id.to_string(),
        head: info.head.to_string(),
        source_branch: info.source.as_ref().map(ToString::to_string).unwrap_or_default(),
        source_commit: info.source_commit.map(|commit| commit.to_string()).unwrap_or_default(),
        create_time: Some(convert::timestamp(info.created_ms)),
        schema_hash: info.schema_hash.clone(),
    }
}
