//! OperationService: what became of writes.

use omnigraph_engine::{Graph, OperationState};
use omnigraph_flight::{convert, refuse};
use omnigraph_types::{BranchName, Effect, Failure, OperationId, Phase, Problem};
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::operation_service_server::OperationService;
use tonic::{Request, Response, Status, async_trait};

use super::{Api, open, refuse_call};

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
        _: Request<wire::ListRecoveriesRequest>,
    ) -> Result<Response<wire::ListRecoveriesResponse>, Status> {
        refuse_call("ListRecoveries")
    }

    async fn recover(&self, _: Request<wire::RecoverRequest>) -> Result<Response<wire::RecoverResponse>, Status> {
        refuse_call("Recover")
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
