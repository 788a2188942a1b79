//! BranchService: the branches of a graph. Merges are declared and not offered.

use futures::stream::BoxStream;
use omnigraph_call::{CallContext, OpenPage, PageScope, answer, decline};
use omnigraph_engine::{Engine, GetBranch, ListBranches};
use omnigraph_flight::run;
use omnigraph_types::Failure;
use omnigraph_wire::codec::branch_name;
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::branch_service_server::BranchService;
use omnigraph_wire::{AnswerCodec, RequestCodec};
use tonic::{Request, Response, Status, async_trait};

use super::FEATURES_LISTED;

/// The service over one engine.
#[derive(Debug, Clone)]
pub(crate) struct Branches {
    engine: Engine,
}

impl Branches {
    /// The service of an engine.
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine }
    }
}

#[async_trait]
impl BranchService for Branches {
    type PreviewMergeStream = BoxStream<'static, Result<wire::PreviewMergeResponse, Status>>;

    async fn create_branch(
        &self,
        request: Request<wire::CreateBranchRequest>,
    ) -> Result<Response<wire::CreateBranchResponse>, Status> {
        answer(request, |context, message| self.create(context, message)).await
    }

    async fn get_branch(
        &self,
        request: Request<wire::GetBranchRequest>,
    ) -> Result<Response<wire::GetBranchResponse>, Status> {
        answer(request, |context, message| self.get(context, message)).await
    }

    async fn list_branches(
        &self,
        request: Request<wire::ListBranchesRequest>,
    ) -> Result<Response<wire::ListBranchesResponse>, Status> {
        answer(request, |context, message| self.list(context, message)).await
    }

    async fn delete_branch(
        &self,
        request: Request<wire::DeleteBranchRequest>,
    ) -> Result<Response<wire::DeleteBranchResponse>, Status> {
        answer(request, |context, message| self.delete(context, message)).await
    }

    async fn preview_merge(
        &self,
        request: Request<wire::PreviewMergeRequest>,
    ) -> Result<Response<Self::PreviewMergeStream>, Status> {
        decline(&request, FEATURES_LISTED)
    }

    async fn merge_branch(
        &self,
        request: Request<wire::MergeBranchRequest>,
    ) -> Result<Response<wire::MergeBranchResponse>, Status> {
        decline(&request, FEATURES_LISTED)
    }
}

impl Branches {
    async fn create(
        &self,
        context: CallContext,
        request: wire::CreateBranchRequest,
    ) -> Result<wire::CreateBranchResponse, Failure> {
        let (graph, create) = wire::CreateBranchRequest::from_wire(request)?;
        let receipt = run::on_graph(&self.engine, &context, &graph, create).await?;
        Ok(wire::CreateBranchResponse::to_wire(receipt))
    }

    async fn get(
        &self,
        context: CallContext,
        request: wire::GetBranchRequest,
    ) -> Result<wire::GetBranchResponse, Failure> {
        let (graph, name) = wire::GetBranchRequest::from_wire(request)?;
        let branch = run::on_graph(&self.engine, &context, &graph, GetBranch { name }).await?;
        Ok(wire::GetBranchResponse::to_wire(branch))
    }

    async fn list(
        &self,
        context: CallContext,
        request: wire::ListBranchesRequest,
    ) -> Result<wire::ListBranchesResponse, Failure> {
        let (graph, page) = wire::ListBranchesRequest::from_wire(request)?;
        let scope = PageScope { call: context.call_name(), fields: &[graph.as_str()] };
        let page = OpenPage::open(scope, &page, self.engine.limits())?;
        let after = page.cursor().map(|name| branch_name("page_token", name)).transpose()?;
        let list = ListBranches { after, most: page.most() };
        let branches = run::on_graph(&self.engine, &context, &graph, list).await?;
        Ok(wire::ListBranchesResponse::to_wire(page.close(branches, |branch| branch.name.to_string())))
    }

    async fn delete(
        &self,
        context: CallContext,
        request: wire::DeleteBranchRequest,
    ) -> Result<wire::DeleteBranchResponse, Failure> {
        let (graph, delete) = wire::DeleteBranchRequest::from_wire(request)?;
        let receipt = run::on_graph(&self.engine, &context, &graph, delete).await?;
        Ok(wire::DeleteBranchResponse::to_wire(receipt))
    }
}
