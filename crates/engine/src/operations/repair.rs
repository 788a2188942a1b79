//! Repair of what needs a person: it reports what blocks writes, or does what was confirmed.

use omnigraph_catalog::Snapshot;
use omnigraph_commit::{RepairOutcome, RepairRequest, RepairView};
use omnigraph_types::{Confirmation, OperationId, Repair, RepairReport, RepairState, TableId, UnreadableIntent};

use crate::caller::Caller;
use crate::digest::request_digest;
use crate::error::{EngineError, Result};
use crate::execute::{Access, Execute};
use crate::graph_context::GraphContext;
use crate::open_graphs::GraphHandle;
use crate::transactions::table_to_repair;

impl Execute for Repair {
    type Target = GraphHandle;
    type Answer = RepairReport;
    const NAME: &'static str = "repair";
    const ACCESS: Access = Access::Write;

    async fn execute(&self, on: &GraphHandle, caller: &Caller) -> Result<RepairReport> {
        let graph = &on.graph;
        let operation_id = graph.context().operation_id(self.operation_id);
        let newest = graph.newest(&self.branch).await?;
        let tables = chosen(&newest, &self.types)?;
        let confirmation = match &self.confirmation {
            Confirmation::None => return preview(graph, operation_id, &newest, &tables).await,
            Confirmation::Given(confirmation) => confirmation,
        };
        let confirmed = RepairRequest {
            operation_id,
            digest: digest(graph, self, confirmation),
            actor: caller.actor.clone(),
            tables,
            confirmation: confirmation.clone(),
            deadline: caller.ticket_deadline(graph.context().limits()),
        };
        let committer = graph.committer().answering(&caller.effect);
        let RepairOutcome { view, version, left } = committer.repair(newest.chain(), confirmed).await?;
        let done = RepairView { version, intent: None, tables: Vec::new(), tables_fenced: 0, confirmation: None };
        let done = view.map_or(done, |view| RepairView { version, confirmation: None, ..view });
        Ok(RepairReport { types_left: left, ..report(operation_id, RepairState::Done, done) })
    }
}

async fn preview(
    graph: &GraphContext,
    operation_id: OperationId,
    newest: &Snapshot,
    tables: &[TableId],
) -> Result<RepairReport> {
    let view = graph.committer().preview_repair(newest.chain(), tables).await?;
    let state = match (&view.confirmation, view.tables.is_empty()) {
        (Some(_), _) => RepairState::Preview,
        (None, true) => RepairState::Nothing,
        (None, false) => RepairState::Impossible,
    };
    Ok(report(operation_id, state, view))
}

fn digest(graph: &GraphContext, request: &Repair, confirmation: &str) -> String {
    let id = graph.id().to_string();
    let fixed = [id.as_str(), request.branch.as_str(), confirmation];
    let parts: Vec<&str> = fixed.into_iter().chain(request.types.iter().map(String::as_str)).collect();
    request_digest(Repair::NAME, &parts)
}

fn chosen(newest: &Snapshot, types: &[String]) -> Result<Vec<TableId>> {
    let find = |name: &String| {
        let row = newest.tables().find(|row| row.type_name == *name);
        row.map(|row| row.id).ok_or_else(|| EngineError::TypeNotFound {
            name: name.clone(),
            defined: newest.tables().map(|row| row.type_name.clone()).collect(),
        })
    };
    types.iter().map(find).collect()
}

fn report(operation_id: OperationId, state: RepairState, view: RepairView) -> RepairReport {
    RepairReport {
        operation_id,
        state,
        intent: view.intent.map(|found| UnreadableIntent { version: found.version, format: found.format }),
        tables: view.tables.iter().map(table_to_repair).collect(),
        tables_fenced: view.tables_fenced as u64,
        confirmation: view.confirmation,
        version: view.version,
        types_left: Vec::new(),
    }
}
