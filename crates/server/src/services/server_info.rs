//! ServerService: what this server is.

use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::server_service_server::ServerService;
use tonic::{Request, Response, Status, async_trait};

use super::Api;

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

#[async_trait]
impl ServerService for Api {
    async fn get_server_info(
        &self,
        _: Request<wire::GetServerInfoRequest>,
    ) -> Result<Response<wire::GetServerInfoResponse>, Status> {
        let limits = self.engine.limits().entries().into_iter().map(|limit| wire::Limit {
            name: limit.name.to_owned(),
            value: limit.value,
            default_value: limit.default,
            unit: limit.unit.to_owned(),
            description: limit.description.to_owned(),
        });
        let features = FEATURES.into_iter().map(|(name, enabled, description)| wire::Feature {
            name: name.to_owned(),
            enabled,
            description: description.to_owned(),
        });
        Ok(Response::new(wire::GetServerInfoResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            storage_format: omnigraph_engine::STORAGE_FORMAT,
            limits: limits.collect(),
            features: features.collect(),
        }))
    }
}
