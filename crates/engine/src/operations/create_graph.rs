//! Creating a graph: its name, its schema and its first commit. The same operation id again returns the graph that it made.

use std::sync::Arc;

use omnigraph_catalog::{CatalogError, Made, NewGraph, NewTable};
use omnigraph_lang::schema::{ParsedSchema, Schema, parse_schema};
use omnigraph_types::{
    BranchName, CreateGraph, Diagnostic, FeatureName, GraphName, GraphReceipt, OperationId, OperationState, TypeKind,
    WriteMode, WriteOutcome,
};

use crate::caller::Caller;
use crate::cause::Defect;
use crate::digest::request_digest;
use crate::error::{EngineError, Result, is_graph_gone};
use crate::execute::{Access, Execute, run};
use crate::failpoints::{AFTER_GRAPH_CREATED, BEFORE_GRAPH_CREATED, failed};
use crate::open_graphs::OpenGraphs;
use crate::operations::get_graph::GetGraph;
use crate::operations::get_operation::GetOperation;
use crate::schema::{GraphSchema, TypePlan};

/// The answer to a request for a new graph, with what is odd about its schema's text without being wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphCreated {
    /// The graph and its first commit.
    pub receipt: GraphReceipt,
    /// Warnings about the schema's text.
    pub warnings: Vec<Diagnostic>,
}

impl Execute for CreateGraph {
    type Target = OpenGraphs;
    type Answer = GraphCreated;
    const NAME: &'static str = "create_graph";
    const ACCESS: Access = Access::Write;

    async fn execute(&self, graphs: &OpenGraphs, caller: &Caller) -> Result<GraphCreated> {
        if self.mode == WriteMode::ValidateOnly {
            return Err(EngineError::Unimplemented { feature: FeatureName::GraphValidation });
        }
        let limits = graphs.context().limits();
        let (asked, value) = (self.schema_source.len() as u64, limits.schema_text_bytes_max);
        if asked > value {
            let advice = "shorten the schema, or raise the limit";
            return Err(EngineError::Limit { limit: "schema_text_bytes_max", value, asked, advice });
        }
        let parsed: ParsedSchema = parse_schema(&self.schema_source)?;
        let schema = GraphSchema::new(Schema::accept_first(&parsed))?;
        let operation_id = graphs.context().operation_id(self.operation_id);
        let new = new_graph(self, &schema, operation_id, caller);
        let failpoints = graphs.context().failpoints();
        let point = BEFORE_GRAPH_CREATED;
        failpoints.hit(&self.name, point).await.map_err(|injected| failed(point, injected))?;
        let made = publish(graphs, caller, new).await?;
        let point = AFTER_GRAPH_CREATED;
        failpoints.hit(&self.name, point).await.map_err(|injected| failed(point, injected))?;
        let mut receipt = receipt(graphs, caller, &self.name, operation_id).await?;
        if made == Made::Before {
            receipt.receipt.outcome = WriteOutcome::Replayed;
        }
        Ok(GraphCreated { receipt, warnings: parsed.warnings })
    }
}

fn new_graph(request: &CreateGraph, schema: &GraphSchema, operation_id: OperationId, caller: &Caller) -> NewGraph {
    let table = |plan: &Arc<TypePlan>| NewTable {
        id: plan.def.id,
        kind: if plan.def.is_edge() { TypeKind::Edge } else { TypeKind::Node },
        type_name: plan.name().to_owned(),
        schema: plan.arrow.clone(),
    };
    NewGraph {
        name: request.name.clone(),
        contract: schema.schema.to_canonical_json().into(),
        contract_hash: schema.hash.clone(),
        tables: schema.types().map(table).collect(),
        operation_id,
        digest: request_digest(CreateGraph::NAME, &[request.name.as_str(), &schema.hash]),
        actor: caller.actor.clone(),
    }
}

/// Publishes the graph under its name. A name whose graph was deleted and that is not removed yet is removed first.
async fn publish(graphs: &OpenGraphs, caller: &Caller, new: NewGraph) -> Result<Made> {
    let names = graphs.context().names();
    match names.create(new.clone(), &caller.effect).await {
        Err(CatalogError::GraphExists(name)) => {
            // Reading the graph that has the name detects its deletion and removes the name, also where this process has the graph open.
            let named = match graphs.handle(&name).await.map_err(EngineError::failure) {
                Ok(handle) => run(&handle, caller, &GetGraph).await,
                Err(failure) => Err(failure),
            };
            match named {
                Err(failure) if is_graph_gone(&failure) => Ok(names.create(new, &caller.effect).await?.1),
                Ok(_) | Err(_) => Err(CatalogError::GraphExists(name).into()),
            }
        }
        created => Ok(created?.1),
    }
}

/// The graph as it is now, and the commit that created it: the head may have moved on where the request is a repetition.
async fn receipt(graphs: &OpenGraphs, caller: &Caller, name: &GraphName, id: OperationId) -> Result<GraphReceipt> {
    let handle = graphs.handle(name).await?;
    let graph = run(&handle, caller, &GetGraph).await?;
    let first = run(&handle, caller, &GetOperation { branch: BranchName::Main, id }).await?;
    match first.state {
        OperationState::Committed(receipt) => Ok(GraphReceipt { graph: Some(graph), receipt: *receipt }),
        OperationState::Unknown
        | OperationState::InProgress
        | OperationState::RolledBack(_)
        | OperationState::InDoubt(_) => Err(EngineError::from(Defect::FirstCommitUnreadable)),
    }
}
