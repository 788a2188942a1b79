//! ServerService: what this server is, and the reads that it has not finished.

use omnigraph_call::answer;
use omnigraph_engine::Engine;
use omnigraph_types::{Feature, ServerInfo};
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::server_service_server::ServerService;
use omnigraph_wire::{AnswerCodec, RequestCodec};
use tonic::{Request, Response, Status, async_trait};

/// Every feature that a client may ask about, whether it is on, and what it is.
const FEATURES: [(&str, bool, &str); 11] = [
    ("flight", true, "Bulk loads and reads over Arrow Flight on the same address"),
    ("flight_sql", false, "Flight SQL"),
    ("tls", false, "Encrypted connections"),
    ("authentication", false, "Calls by actors with credentials; without it every actor is anonymous"),
    ("branches", true, "Branches other than main"),
    ("merges", false, "Merges of a branch into another"),
    ("mutations", false, "Mutation queries"),
    ("schema_changes", false, "Changes of a graph's schema"),
    ("loads_in_parts", false, "Loads whose parts are uploaded apart"),
    ("maintenance", false, "Indexes, compaction and cleanup by call"),
    ("repair", true, "Repair of what needs a person, and checks of whole graphs"),
];

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
        let features = FEATURES.into_iter().map(|(name, enabled, description)| Feature {
            name: name.to_owned(),
            enabled,
            description: description.to_owned(),
        });
        ServerInfo {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            storage_format: omnigraph_engine::STORAGE_FORMAT,
            limits: self.engine.limits().entries().into_iter().map(|limit| limit.into_owned()).collect(),
            features: features.collect(),
        }
    }
}
