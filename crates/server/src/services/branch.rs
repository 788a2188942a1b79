//! BranchService: declared and not offered. A graph has its branch `main`.

use futures::stream::BoxStream;
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::branch_service_server::BranchService;
use tonic::{Request, Response, Status, async_trait};

use super::{Api, refuse_call};

#[async_trait]
impl BranchService for Api {
    type PreviewMergeStream = BoxStream<'static, Result<wire::PreviewMergeResponse, Status>>;

    async fn create_branch(
        &self,
        _: Request<wire::CreateBranchRequest>,
    ) -> Result<Response<wire::CreateBranchResponse>, Status> {
        refuse_call("CreateBranch")
    }

    async fn get_branch(
        &self,
        _: Request<wire::GetBranchRequest>,
    ) -> Result<Response<wire::GetBranchResponse>, Status> {
        refuse_call("GetBranch")
    }

    async fn list_branches(
        &self,
        _: Request<wire::ListBranchesRequest>,
    ) -> Result<Response<wire::ListBranchesResponse>, Status> {
        refuse_call("ListBranches")
    }

    async fn delete_branch(
        &self,
        _: Request<wire::DeleteBranchRequest>,
    ) -> Result<Response<wire::DeleteBranchResponse>, Status> {
        refuse_call("DeleteBranch")
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
