//! OperationService: what became of writes.

use omnigraph_engine::{Graph, OperationState, RecoveredTable, RecoveryInfo, RecoveryOutcome};
use omnigraph_flight::{convert, refuse};
use omnigraph_types::{BranchName, Effect, Failure, GraphVersion, OperationId, Phase, Problem};
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::operation_service_server::OperationService;
use tonic::{Request, Response, Status, async_trait};

use super::{Api, open};
use crate::page::{PageScope, page_size};

#[async_trait]
impl OperationService for Api {
    async fn get_operation(
        &self,
        request: Request<wire::GetOperationRequest>,
    ) -> Result<Response<wire::GetOperationResponse>, Status> {
        self.operation(request).await.map(Response::new).map_err(refuse)
    }

    async fn list_recoveries(
        &self,
        request: Request<wire::ListRecoveriesRequest>,
    ) -> Result<Response<wire::ListRecoveriesResponse>, Status> {
        self.recoveries(request).await.map(Response::new).map_err(refuse)
    }

    async fn recover(&self, request: Request<wire::RecoverRequest>) -> Result<Response<wire::RecoverResponse>, Status> {
        self.recover(request).await.map(Response::new).map_err(refuse)
    }
}

impl Api {
    async fn operation(
        &self,
        request: Request<wire::GetOperationRequest>,
    ) -> Result<wire::GetOperationResponse, Failure> {
        let (context, request) = open(request)?;
        let branch = convert::branch_name("branch", &request.branch)?;
        let id = convert::required_operation_id(&request.operation_id)?;
        let graph = self.graph(&context, &request.graph).await?;
        let state = graph.operation(&branch, id).await?;
        Ok(wire::GetOperationResponse { operation: Some(encode(&graph, &branch, id, state)) })
    }

    async fn recoveries(
        &self,
        request: Request<wire::ListRecoveriesRequest>,
    ) -> Result<wire::ListRecoveriesResponse, Failure> {
        let (context, request) = open(request)?;
        let branch = convert::branch_name("branch", &request.branch)?;
        let scope = PageScope { call: "ListRecoveries", fields: &[&request.graph, &request.branch] };
        let before = scope.cursor(&request.page_token)?;
        let refused = |_| convert::invalid("page_token", "page_token is not one that this list gave");
        let before = before.map(|version| version.parse().map(GraphVersion).map_err(refused)).transpose()?;
        let size = page_size(request.page_size, self.engine.limits());
        let graph = self.graph(&context, &request.graph).await?;
        // One more than the page tells whether another page follows.
        let mut recoveries = graph.list_recoveries(&branch, before, size.saturating_add(1)).await?;
        let more = recoveries.len() > size;
        recoveries.truncate(size);
        let last = recoveries.last().filter(|_| more);
        Ok(wire::ListRecoveriesResponse {
            next_page_token: last.map(|info| scope.token(&info.version.to_string())).unwrap_or_default(),
            recoveries: recoveries.iter().map(|info| encode_recovery(&branch, info)).collect(),
        })
    }

    async fn recover(&self, request: Request<wire::RecoverRequest>) -> Result<wire::RecoverResponse, Failure> {
        let (context, request) = open(request)?;
        let branch = convert::branch_name("branch", &request.branch)?;
        let graph = self.graph(&context, &request.graph).await?;
        let recoveries = graph.recover(&branch, Some(context.deadline())).await?;
        Ok(wire::RecoverResponse { recoveries: recoveries.iter().map(|info| encode_recovery(&branch, info)).collect() })
    }
}

fn encode(graph: &Graph, branch: &BranchName, id: OperationId, state: OperationState) -> wire::Operation {
    let mut operation = wire::Operation {
        operation_id: id.to_string(),
        graph: graph.name().to_string(),
        branch: branch.to_string(),
        state: wire::OperationState::Unknown.into(),
        receipt: None,
        error: None,
    };
    let (code, failure) = match state {
        OperationState::Unknown => return operation,
        OperationState::InProgress => (wire::OperationState::InProgress, None),
        OperationState::Committed(info) => {
            operation.receipt = Some(convert::commit_receipt(graph.name(), &info));
            (wire::OperationState::Committed, None)
        }
        OperationState::Done { head } => {
            operation.receipt = Some(convert::head_receipt(id, head));
            (wire::OperationState::Committed, None)
        }
        OperationState::RolledBack { reason } => {
            let message = format!("operation {id} was interrupted and undone: {reason}");
            let problem = Problem::OperationRolledBack { operation_id: id, reason };
            (wire::OperationState::RolledBack, Some(Failure::new(problem, message)))
        }
        OperationState::InDoubt { reason } => (wire::OperationState::InDoubt, Some(in_doubt(branch, id, reason))),
    };
    operation.state = code.into();
    operation.error = failure.as_ref().map(omnigraph_wire::to_rpc_status);
    operation
}

fn encode_recovery(branch: &BranchName, info: &RecoveryInfo) -> wire::Recovery {
    let table = |table: &RecoveredTable| wire::RecoveredTable {
        r#type: table.type_name.clone(),
        from_version: table.from.0,
        to_version: table.to.0,
    };
    let outcome = match info.outcome {
        RecoveryOutcome::RolledForward => wire::RecoveryOutcome::RolledForward,
        RecoveryOutcome::RolledBack => wire::RecoveryOutcome::RolledBack,
        RecoveryOutcome::Settled => wire::RecoveryOutcome::Settled,
    };
    wire::Recovery {
        operation_id: info.operation_id.to_string(),
        branch: branch.to_string(),
        writer: info.writer.clone(),
        actor: info.actor.clone(),
        outcome: outcome.into(),
        tables: info.tables.iter().map(table).collect(),
        create_time: Some(convert::timestamp(info.time_ms)),
        graph_version: info.version.0,
    }
}

fn in_doubt(branch: &BranchName, operation_id: OperationId, reason: String) -> Failure {
    let message = format!("operation {operation_id} was interrupted and is not settled: {reason}");
    let problem = Problem::RecoveryRequired {
        operation_id,
        branch: branch.clone(),
        writer: "operation".to_owned(),
        phase: Phase::Apply,
        reason,
    };
    Failure::new(problem, message).with_effect(Effect::Unknown)
}
