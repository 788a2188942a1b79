//! `operation.proto`: outcomes of writes, and recoveries.

use omnigraph_types::{
    BranchName, Failure, GraphName, GraphVersion, Operation, OperationId, OperationState, Page, PageRequest,
    RecoveredTable, Recovery, RecoveryOutcome, TableVersion, WriterName,
};

use super::common::{receipt_from_wire, receipt_to_wire};
use super::field::{
    all, branch_name, decoded, each, graph_name, moment, parsed, present, required_operation_id, timestamp,
};
use super::message::{AnswerCodec, MalformedAnswer, RequestCodec};
use crate::google::rpc;
use crate::status::{from_rpc_status, to_rpc_status};
use crate::v1;

impl AnswerCodec for v1::Operation {
    type Value = Operation;

    fn to_wire(operation: Operation) -> Self {
        let (state, receipt, error) = match operation.state {
            OperationState::Unknown => (v1::OperationState::Unknown, None, None),
            OperationState::InProgress => (v1::OperationState::InProgress, None, None),
            OperationState::Committed(receipt) => {
                (v1::OperationState::Committed, Some(receipt_to_wire(*receipt)), None)
            }
            OperationState::RolledBack(failure) => {
                (v1::OperationState::RolledBack, None, Some(to_rpc_status(&failure)))
            }
            OperationState::InDoubt(failure) => (v1::OperationState::InDoubt, None, Some(to_rpc_status(&failure))),
        };
        Self {
            operation_id: operation.id.to_string(),
            graph: operation.graph.into(),
            branch: operation.branch.into(),
            state: state.into(),
            receipt,
            error,
        }
    }

    fn from_wire(operation: Self) -> Result<Operation, MalformedAnswer> {
        let failure = |error: Option<rpc::Status>| {
            present("Operation.error", error).map(|error| Box::new(from_rpc_status(&error)))
        };
        let state = match v1::OperationState::try_from(operation.state) {
            Ok(v1::OperationState::Unknown) => OperationState::Unknown,
            Ok(v1::OperationState::InProgress) => OperationState::InProgress,
            Ok(v1::OperationState::Committed) => {
                OperationState::Committed(Box::new(receipt_from_wire("Operation.receipt", operation.receipt, 0)?))
            }
            Ok(v1::OperationState::RolledBack) => OperationState::RolledBack(failure(operation.error)?),
            Ok(v1::OperationState::InDoubt) => OperationState::InDoubt(failure(operation.error)?),
            Ok(v1::OperationState::Unspecified) | Err(_) => return Err(MalformedAnswer { field: "Operation.state" }),
        };
        Ok(Operation {
            id: parsed("Operation.operation_id", &operation.operation_id)?,
            graph: parsed("Operation.graph", &operation.graph)?,
            branch: parsed("Operation.branch", &operation.branch)?,
            state,
        })
    }
}

impl RequestCodec for v1::GetOperationRequest {
    type Value = (GraphName, BranchName, OperationId);

    fn to_wire((graph, branch, operation_id): Self::Value) -> Self {
        Self { graph: graph.into(), branch: branch.into(), operation_id: operation_id.to_string() }
    }

    fn from_wire(request: Self) -> Result<Self::Value, Failure> {
        let graph = graph_name("graph", &request.graph)?;
        let branch = branch_name("branch", &request.branch)?;
        Ok((graph, branch, required_operation_id(&request.operation_id)?))
    }
}

impl AnswerCodec for v1::GetOperationResponse {
    type Value = Operation;

    fn to_wire(operation: Operation) -> Self {
        Self { operation: Some(v1::Operation::to_wire(operation)) }
    }

    fn from_wire(response: Self) -> Result<Operation, MalformedAnswer> {
        decoded("GetOperationResponse.operation", response.operation)
    }
}

fn outcome_to_wire(outcome: RecoveryOutcome) -> i32 {
    let outcome = match outcome {
        RecoveryOutcome::RolledForward => v1::RecoveryOutcome::RolledForward,
        RecoveryOutcome::RolledBack => v1::RecoveryOutcome::RolledBack,
        RecoveryOutcome::Settled => v1::RecoveryOutcome::Settled,
        RecoveryOutcome::Newer => v1::RecoveryOutcome::Unspecified,
    };
    outcome.into()
}

fn outcome_from_wire(number: i32) -> RecoveryOutcome {
    match v1::RecoveryOutcome::try_from(number) {
        Ok(v1::RecoveryOutcome::RolledForward) => RecoveryOutcome::RolledForward,
        Ok(v1::RecoveryOutcome::RolledBack) => RecoveryOutcome::RolledBack,
        Ok(v1::RecoveryOutcome::Settled) => RecoveryOutcome::Settled,
        Ok(v1::RecoveryOutcome::Unspecified) | Err(_) => RecoveryOutcome::Newer,
    }
}

impl AnswerCodec for v1::RecoveredTable {
    type Value = RecoveredTable;

    fn to_wire(table: RecoveredTable) -> Self {
        Self { r#type: table.type_name, from_version: table.from.0, to_version: table.to.0 }
    }

    fn from_wire(table: Self) -> Result<RecoveredTable, MalformedAnswer> {
        Ok(RecoveredTable {
            type_name: table.r#type,
            from: TableVersion(table.from_version),
            to: TableVersion(table.to_version),
        })
    }
}

impl AnswerCodec for v1::Recovery {
    type Value = Recovery;

    fn to_wire(recovery: Recovery) -> Self {
        Self {
            operation_id: recovery.operation_id.to_string(),
            branch: recovery.branch.into(),
            writer: recovery.writer.into(),
            actor: recovery.actor,
            outcome: outcome_to_wire(recovery.outcome),
            tables: each(recovery.tables),
            create_time: Some(timestamp(recovery.time_ms)),
            graph_version: recovery.version.0,
        }
    }

    fn from_wire(recovery: Self) -> Result<Recovery, MalformedAnswer> {
        Ok(Recovery {
            operation_id: parsed("Recovery.operation_id", &recovery.operation_id)?,
            branch: parsed("Recovery.branch", &recovery.branch)?,
            writer: recovery.writer.parse().unwrap_or(WriterName::UNKNOWN),
            actor: recovery.actor,
            outcome: outcome_from_wire(recovery.outcome),
            tables: all(recovery.tables)?,
            time_ms: moment("Recovery.create_time", recovery.create_time)?,
            version: GraphVersion(recovery.graph_version),
        })
    }
}

impl RequestCodec for v1::ListRecoveriesRequest {
    type Value = (GraphName, BranchName, PageRequest);

    fn to_wire((graph, branch, page): Self::Value) -> Self {
        Self { graph: graph.into(), branch: branch.into(), page_size: page.size, page_token: page.token }
    }

    fn from_wire(request: Self) -> Result<Self::Value, Failure> {
        let graph = graph_name("graph", &request.graph)?;
        let branch = branch_name("branch", &request.branch)?;
        Ok((graph, branch, PageRequest { size: request.page_size, token: request.page_token }))
    }
}

impl AnswerCodec for v1::ListRecoveriesResponse {
    type Value = Page<Recovery>;

    fn to_wire(page: Page<Recovery>) -> Self {
        Self { recoveries: each(page.items), next_page_token: page.next }
    }

    fn from_wire(response: Self) -> Result<Page<Recovery>, MalformedAnswer> {
        Ok(Page { items: all(response.recoveries)?, next: response.next_page_token })
    }
}

impl RequestCodec for v1::RecoverRequest {
    type Value = (GraphName, BranchName);

    fn to_wire((graph, branch): Self::Value) -> Self {
        Self { graph: graph.into(), branch: branch.into() }
    }

    fn from_wire(request: Self) -> Result<Self::Value, Failure> {
        Ok((graph_name("graph", &request.graph)?, branch_name("branch", &request.branch)?))
    }
}

impl AnswerCodec for v1::RecoverResponse {
    type Value = Vec<Recovery>;

    fn to_wire(recoveries: Vec<Recovery>) -> Self {
        Self { recoveries: each(recoveries) }
    }

    fn from_wire(response: Self) -> Result<Vec<Recovery>, MalformedAnswer> {
        all(response.recoveries)
    }
}
