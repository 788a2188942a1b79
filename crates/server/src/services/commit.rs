//! CommitService: the history of a graph.

use futures::stream::BoxStream;
use omnigraph_call::{CallContext, OpenPage, PageScope, answer, decline};
use omnigraph_engine::{Engine, GetCommit, ListCommits};
use omnigraph_flight::run;
use omnigraph_types::Failure;
use omnigraph_wire::codec::commit_id;
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::commit_service_server::CommitService;
use omnigraph_wire::{AnswerCodec, RequestCodec};
use tonic::{Request, Response, Status, async_trait};

use super::FEATURES_LISTED;

/// The service over one engine.
#[derive(Debug, Clone)]
pub(crate) struct Commits {
    engine: Engine,
}

impl Commits {
    /// The service of an engine.
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine }
    }
}

#[async_trait]
impl CommitService for Commits {
    type DiffCommitsStream = BoxStream<'static, Result<wire::DiffCommitsResponse, Status>>;
    type WatchCommitsStream = BoxStream<'static, Result<wire::WatchCommitsResponse, Status>>;

    async fn get_commit(
        &self,
        request: Request<wire::GetCommitRequest>,
    ) -> Result<Response<wire::GetCommitResponse>, Status> {
        answer(request, |context, message| self.get(context, message)).await
    }

    async fn list_commits(
        &self,
        request: Request<wire::ListCommitsRequest>,
    ) -> Result<Response<wire::ListCommitsResponse>, Status> {
        answer(request, |context, message| self.list(context, message)).await
    }

    async fn diff_commits(
        &self,
        request: Request<wire::DiffCommitsRequest>,
    ) -> Result<Response<Self::DiffCommitsStream>, Status> {
        decline(&request, FEATURES_LISTED)
    }

    async fn watch_commits(
        &self,
        request: Request<wire::WatchCommitsRequest>,
    ) -> Result<Response<Self::WatchCommitsStream>, Status> {
        decline(&request, FEATURES_LISTED)
    }
}

impl Commits {
    async fn get(
        &self,
        context: CallContext,
        request: wire::GetCommitRequest,
    ) -> Result<wire::GetCommitResponse, Failure> {
        let (graph, id) = wire::GetCommitRequest::from_wire(request)?;
        let commit = run::on_graph(&self.engine, &context, &graph, GetCommit { id }).await?;
        Ok(wire::GetCommitResponse::to_wire(commit))
    }

    async fn list(
        &self,
        context: CallContext,
        request: wire::ListCommitsRequest,
    ) -> Result<wire::ListCommitsResponse, Failure> {
        let (graph, branch, page) = wire::ListCommitsRequest::from_wire(request)?;
        let fields = [graph.to_string(), branch.to_string()];
        let scope = PageScope { call: context.call_name(), fields: &[&fields[0], &fields[1]] };
        let page = OpenPage::open(scope, &page, self.engine.limits())?;
        let after = page.cursor().map(|id| commit_id("page_token", id)).transpose()?;
        let list = ListCommits { branch, after, most: page.most() };
        let commits = run::on_graph(&self.engine, &context, &graph, list).await?;
        Ok(wire::ListCommitsResponse::to_wire(page.close(commits, |commit| commit.id.to_string())))
    }
}
