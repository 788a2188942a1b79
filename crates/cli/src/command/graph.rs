//! `graph create`, `graph list`, `graph show` and `schema show`.

use omnigraph_client::{Client, ClientError, CreateGraph, DeleteGraph, GraphInfo, ReadAt, WriteMode};
use omnigraph_lang::date::format_datetime;
use omnigraph_types::{BranchName, GraphName};
use serde_json::{Value, json};

use super::{Session, pages};
use crate::arguments::{CreateArguments, DeleteGraphArguments};
use crate::error::{Change, CliError};
use crate::output::{Output, print_list, print_record};

/// Creates a graph.
pub(crate) async fn create(session: &Session, arguments: CreateArguments, schema: String) -> Result<(), CliError> {
    let operation_id = arguments.operation_id.unwrap_or_else(Client::mint_operation_id);
    let text = schema.clone();
    let create = CreateGraph {
        name: arguments.name,
        schema_source: schema,
        operation_id: Some(operation_id),
        mode: WriteMode::Commit,
    };
    let created = session.client.create_graph(create).await;
    let created = created.map_err(|error| CliError::Schema { error, text, operation_id })?;
    let info = created.graph.ok_or(ClientError::Answer { what: "a created graph without its description" })?;
    let operation = json!(created.receipt.operation_id.to_string());
    let fields = fields(&info).into_iter().chain([("operation", operation)]);
    let fields: Vec<(&str, Value)> = fields.collect();
    session.print(|out| print_record(session.output, &fields, out))
}

/// Lists all graphs.
pub(crate) async fn list(session: &Session) -> Result<(), CliError> {
    let graphs = pages::all(async |page| session.client.list_graphs(page).await).await?;
    let row = |graph: &GraphInfo| vec![json!(graph.name), json!(graph.head.to_string()), json!(time(graph.created_ms))];
    let rows: Vec<Vec<Value>> = graphs.iter().map(row).collect();
    session.print(|out| print_list(session.output, &["graph", "head", "created"], &rows, out))
}

/// Deletes a graph.
pub(crate) async fn delete(session: &Session, arguments: DeleteGraphArguments) -> Result<(), CliError> {
    let DeleteGraphArguments { name, confirm, operation_id } = arguments;
    if confirm != name {
        return Err(CliError::usage(format!(
            "--confirm is {confirm}, and the graph is {name}: give its name once more"
        )));
    }
    let operation_id = operation_id.unwrap_or_else(Client::mint_operation_id);
    let failed = |error| CliError::Change { error, change: Change::DeleteGraph, operation_id };
    let delete = DeleteGraph { operation_id: Some(operation_id), ..DeleteGraph::new(name.clone()) };
    let operation_id = session.client.delete_graph(delete).await.map_err(failed)?;
    let fields = [("deleted", json!(name)), ("operation", json!(operation_id.to_string()))];
    session.print(|out| print_record(session.output, &fields, out))
}

/// Shows one graph.
pub(crate) async fn show(session: &Session, name: &GraphName) -> Result<(), CliError> {
    let info = session.client.get_graph(name).await?;
    session.print(|out| print_record(session.output, &fields(&info), out))
}

/// Shows the schema of a branch.
pub(crate) async fn schema(session: &Session, graph: &GraphName, branch: BranchName) -> Result<(), CliError> {
    let schema = session.client.get_schema(graph, &ReadAt::Branch(branch)).await?;
    session.print(|out| match session.output {
        Output::Table => Ok(writeln!(out, "{}", schema.source.trim_end())?),
        Output::Json | Output::Csv => {
            let contract: Value = serde_json::from_str(&schema.contract_json).unwrap_or(Value::Null);
            let fields = [
                ("commit", json!(schema.commit.id.to_string())),
                ("hash", json!(schema.hash)),
                ("source", json!(schema.source)),
                ("contract", contract),
            ];
            print_record(session.output, &fields, out)
        }
    })
}

fn fields(graph: &GraphInfo) -> [(&'static str, Value); 6] {
    [
        ("graph", json!(graph.name)),
        ("id", json!(graph.id.to_string())),
        ("created", json!(time(graph.created_ms))),
        ("head", json!(graph.head.to_string())),
        ("schema", json!(graph.schema_hash)),
        ("storage_format", json!(graph.storage_format)),
    ]
}

/// A moment as text.
pub(crate) fn time(milliseconds: u64) -> String {
    format_datetime(i64::try_from(milliseconds).unwrap_or(i64::MAX))
}
