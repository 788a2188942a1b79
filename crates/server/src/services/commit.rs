//! CommitService: the history of a graph.

use futures::stream::BoxStream;
use omnigraph_flight::{convert, refuse};
use omnigraph_types::Failure;
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::commit_service_server::CommitService;
use tonic::{Request, Response, Status, async_trait};

use super::{Api, open, refuse_call};
use crate::page::{PageScope, page_size};

#[async_trait]
impl CommitService for Api {
    type DiffCommitsStream = BoxStream<'static, Result<wire::DiffCommitsResponse, Status>>;
    type WatchCommitsStream = BoxStream<'static, Result<wire::WatchCommitsResponse, Status>>;

    async fn get_commit(
        &self,
        request: Request<wire::GetCommitRequest>,
    ) -> Result<Response<wire::GetCommitResponse>, Status> {
        self.commit(request).await.map(Response::new).map_err(refuse)
    }

    async fn list_commits(
        &self,
        request: Request<wire::ListCommitsRequest>,
    ) -> Result<Response<wire::ListCommitsResponse>, Status> {
        self.commits(request).await.map(Response::new).map_err(refuse)
    }

    async fn diff_commits(
        &self,
        _: Request<wire::DiffCommitsRequest>,
    ) -> Result<Response<Self::DiffCommitsStream>, Status> {
        refuse_call("DiffCommits")
    }

    async fn watch_commits(
        &self,
        _: Request<wire::WatchCommitsRequest>,
    ) -> Result<Response<Self::WatchCommitsStream>, Status> {
        refuse_call("WatchCommits")
    }
}

impl Api {
    async fn commit(&self, request: Request<wire::GetCommitRequest>) -> Result<wire::GetCommitResponse, Failure> {
        let (context, request) = open(request)?;
        let id = convert::commit_id("commit", &request.commit)?;
        let graph = self.graph(&context, &request.graph).await?;
        let info = graph.commit(id).await?;
        Ok(wire::GetCommitResponse { commit: Some(convert::commit(graph.name(), &info)) })
    }

    async fn commits(&self, request: Request<wire::ListCommitsRequest>) -> Result<wire::ListCommitsResponse, Failure> {
        let (context, request) = open(request)?;
        let branch = convert::branch_name("branch", &request.branch)?;
        let scope = PageScope { call: "ListCommits", fields: &[&request.graph, &request.branch] };
        let after = scope.cursor(&request.page_token)?;
        let after = after.map(|id| convert::commit_id("page_token", &id)).transpose()?;
        let size = page_size(request.page_size, self.engine.limits());
        let graph = self.graph(&context, &request.graph).await?;
        // One more than the page tells whether another page follows.
        let mut commits = graph.list_commits(&branch, after, size.saturating_add(1)).await?;
        let more = commits.len() > size;
        commits.truncate(size);
        let last = commits.last().filter(|_| more);
        Ok(wire::ListCommitsResponse {
            next_page_token: last.map(|commit| scope.token(&commit.id.to_string())).unwrap_or_default(),
            commits: commits.iter().map(|info| convert::commit(graph.name(), info)).collect(),
        })
    }
}
