//! Repairs and checks.

use futures::StreamExt;
use futures::stream::BoxStream;
use omnigraph_types::{BranchName, CheckPart, Confirmation, Effect, GraphName, Repair, RepairPart, RepairReport};
use omnigraph_wire::v1::maintenance_service_client::MaintenanceServiceClient;
use omnigraph_wire::{AnswerCodec, RequestCodec, v1};
use tonic::Streaming;
use tonic::transport::Channel;

use crate::client::Client;
use crate::deadline::Deadline;
use crate::error::ClientError;

/// The parts of a check, as they arrive. Complete when the last part is the summary.
pub type CheckParts = BoxStream<'static, Result<CheckPart, ClientError>>;

fn service(client: &Client) -> MaintenanceServiceClient<Channel> {
    let bytes = client.options().message_bytes_max;
    MaintenanceServiceClient::new(client.channel()).max_decoding_message_size(bytes).max_encoding_message_size(bytes)
}

impl Client {
    /// Reports what blocks writes and needs a person, or does what was confirmed. Sent again, under the same operation id, where its
    /// failure says that helps.
    pub async fn repair(&self, graph: &GraphName, mut repair: Repair) -> Result<RepairReport, ClientError> {
        let deadline = Deadline::after(self.options().timeout);
        let effect = match repair.confirmation {
            Confirmation::None => Effect::None,
            Confirmation::Given(_) => Effect::Unknown,
        };
        repair.operation_id.get_or_insert_with(Self::mint_operation_id);
        let message = v1::RepairRequest::to_wire((graph.clone(), repair));
        let report = self.retrying(deadline, || {
            let request = deadline.request(message.clone());
            let mut service = service(self);
            async move {
                let failed = |status| ClientError::from_status(status, effect, deadline);
                let mut stream = service.repair(request).await.map_err(failed)?.into_inner();
                while let Some(response) = stream.message().await.map_err(failed)? {
                    match v1::RepairResponse::from_wire(response)? {
                        RepairPart::Progress(_) => {}
                        RepairPart::Report(report) => return Ok(report),
                    }
                }
                Err(ClientError::Answer { what: "a repair without a result" })
            }
        });
        report.await
    }

    /// Checks one branch of a graph, or all of it, and changes nothing.
    pub async fn check_graph(&self, graph: &GraphName, branch: Option<&BranchName>) -> Result<CheckParts, ClientError> {
        let deadline = Deadline::after(self.options().timeout);
        let failed = move |status| ClientError::from_status(status, Effect::None, deadline);
        let message = v1::CheckGraphRequest::to_wire((graph.clone(), branch.cloned()));
        let stream: Streaming<v1::CheckGraphResponse> = self
            .retrying(deadline, || {
                let request = deadline.request(message.clone());
                let mut service = service(self);
                async move { Ok(service.check_graph(request).await.map_err(failed)?.into_inner()) }
            })
            .await?;
        let parts = stream.map(move |response| Ok(v1::CheckGraphResponse::from_wire(response.map_err(failed)?)?));
        Ok(parts.boxed())
    }
}
