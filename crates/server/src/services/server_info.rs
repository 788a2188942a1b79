//! ServerService: what this server is, and the reads that it has not finished.

use omnigraph_call::answer;
use omnigraph_engine::Engine;
use omnigraph_types::{Feature, FeatureName, ServerInfo};
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::server_service_server::ServerService;
use omnigraph_wire::{AnswerCodec, RequestCodec};
use tonic::{Request, Response, Status, async_trait};

use crate::contract::SERVICES;

/// Calls that answer `UNIMPLEMENTED`; every other call is offered.
const DECLINED: [&str; 24] = [
    "Mutate",
    "DiffCommits",
    "WatchCommits",
    "EnsureIndices",
    "Optimize",
    "Cleanup",
    "Explain",
    "GetEntity",
    "ReadBlob",
    "PlanSchema",
    "ApplySchema",
    "LintQuery",
    "PreviewMerge",
    "MergeBranch",
    "BeginLoad",
    "UploadPart",
    "CommitLoad",
    "AbortLoad",
    "GetLoad",
    "Handshake",
    "PollFlightInfo",
    "DoExchange",
    "DoAction",
    "ListActions",
];

/// What is offered beside calls.
const OFFERED: [FeatureName; 1] = [FeatureName::Flight];

/// The service over one engine.
#[derive(Debug, Clone)]
pub(crate) struct ServerFacts {
    engine: Engine,
}

impl ServerFacts {
    /// The service of an engine.
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine }
    }
}

#[async_trait]
impl ServerService for ServerFacts {
    async fn get_server_info(
        &self,
        request: Request<wire::GetServerInfoRequest>,
    ) -> Result<Response<wire::GetServerInfoResponse>, Status> {
        answer(request, |_, _| async { Ok(wire::GetServerInfoResponse::to_wire(self.info())) }).await
    }

    async fn list_queries(
        &self,
        request: Request<wire::ListQueriesRequest>,
    ) -> Result<Response<wire::ListQueriesResponse>, Status> {
        answer(request, |_, _| async { Ok(wire::ListQueriesResponse::to_wire(self.engine.queries())) }).await
    }

    async fn cancel_query(
        &self,
        request: Request<wire::CancelQueryRequest>,
    ) -> Result<Response<wire::CancelQueryResponse>, Status> {
        answer(request, |_, request| async {
            let id = wire::CancelQueryRequest::from_wire(request)?;
            self.engine.cancel_query(id).map(wire::CancelQueryResponse::to_wire)
        })
        .await
    }
}

impl ServerFacts {
    fn info(&self) -> ServerInfo {
        let calls = SERVICES.iter().flat_map(|service| service.calls.iter().map(move |call| (service, call)));
        let calls = calls.map(|(service, call)| Feature {
            name: call.clone(),
            enabled: !DECLINED.contains(&call.as_str()),
            description: format!("The call {call} of {}", service.name),
        });
        let beside = FeatureName::ALL.iter().map(|name| Feature {
            name: name.to_string(),
            enabled: OFFERED.contains(name),
            description: name.description().to_owned(),
        });
        ServerInfo {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            storage_format: omnigraph_engine::STORAGE_FORMAT,
            limits: self.engine.limits().entries().into_iter().map(|limit| limit.into_owned()).collect(),
            features: calls.chain(beside).collect(),
            root_id: self.engine.root_id(),
            root: self.engine.root().to_owned(),
        }
    }
}
