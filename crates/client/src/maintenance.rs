//! Repair, and looking a graph over.

use futures::StreamExt;
use futures::stream::BoxStream;
use omnigraph_types::{BranchName, Effect, GraphName, OperationId};
use omnigraph_wire::v1;
use omnigraph_wire::v1::maintenance_service_client::MaintenanceServiceClient;
use tonic::Streaming;

use crate::client::limited;
use crate::model::present;
use crate::options::Deadline;
use crate::{CheckPart, Client, ClientError, RepairReport};

/// A repair to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The graph.
    pub graph: GraphName,
    /// The branch.
    pub branch: BranchName,
    /// The types; empty means all.
    pub types: Vec<String>,
    /// The idempotency key.
    pub operation_id: OperationId,
    /// The confirmation of an earlier report: do what it told. None: tell, and do nothing.
    pub confirmation: Option<String>,
}

impl Repair {
    /// A look at what stands in the way on a branch.
    pub fn preview(graph: GraphName, branch: BranchName) -> Self {
        let operation_id = Client::mint_operation_id();
        Self { graph, branch, types: Vec::new(), operation_id, confirmation: None }
    }

    fn to_wire(&self) -> v1::RepairRequest {
        v1::RepairRequest {
            graph: self.graph.to_string(),
            branch: self.branch.to_string(),
            types: self.types.clone(),
            operation_id: self.operation_id.to_string(),
            validate_only: false,
            confirmation: self.confirmation.clone().unwrap_or_default(),
        }
    }
}

/// The findings of a check, as they come. Whole when the last part is the summary.
pub type CheckParts = BoxStream<'static, Result<CheckPart, ClientError>>;

impl Client {
    /// Tells what stands in the way of writes and needs a person, or does what was confirmed. Sent again, under the same operation id, where
    /// its failure says that helps.
    pub async fn repair(&self, repair: &Repair) -> Result<RepairReport, ClientError> {
        let deadline = Deadline::after(self.options().timeout);
        let effect = if repair.confirmation.is_some() { Effect::Unknown } else { Effect::None };
        let result = self.retrying(deadline, || {
            let request = deadline.request(repair.to_wire());
            let mut service = limited!(self, MaintenanceServiceClient);
            async move {
                let failed = |status| ClientError::from_status(status, effect, deadline);
                let mut stream = service.repair(request).await.map_err(failed)?.into_inner();
                while let Some(response) = stream.message().await.map_err(failed)? {
                    match present(response.part, "an empty part of a repair")? {
                        v1::repair_response::Part::Progress(_) => {}
                        v1::repair_response::Part::Result(result) => return Ok(result),
                    }
                }
                Err(ClientError::Answer { what: "a repair without a result" })
            }
        });
        RepairReport::from_wire(result.await?)
    }

    /// Looks over one branch of a graph, or all of it, and changes nothing.
    pub async fn check_graph(&self, graph: &GraphName, branch: Option<&BranchName>) -> Result<CheckParts, ClientError> {
        let deadline = Deadline::after(self.options().timeout);
        let message = v1::CheckGraphRequest {
            graph: graph.to_string(),
            branch: branch.map(ToString::to_string).unwrap_or_default(),
        };
        let stream: Streaming<v1::CheckGraphResponse> = self
            .retrying(deadline, || {
                let request = deadline.request(message.clone());
                let mut service = limited!(self, MaintenanceServiceClient);
                async move {
                    let response = service.check_graph(request).await;
                    let response = response.map_err(|status| ClientError::from_status(status, Effect::None, deadline));
                    Ok(response?.into_inner())
                }
            })
            .await?;
        let parts = stream.map(move |response| {
            let response = response.map_err(|status| ClientError::from_status(status, Effect::None, deadline))?;
            Ok(CheckPart::from_wire(present(response.part, "an empty part of a check")?))
        });
        Ok(parts.boxed())
    }
}
