//! `branch create`, `branch list`, `branch show` and `branch delete`.

use omnigraph_client::{BranchInfo, Client, ClientError, CreateBranch, DeleteBranch, WriteMode};
use omnigraph_types::{BranchName, GraphName};
use serde_json::{Value, json};

use super::graph::time;
use super::{Session, pages};
use crate::arguments::{BranchCommand, CreateBranchArguments, DeleteBranchArguments};
use crate::error::{Change, CliError};
use crate::output::{print_list, print_record};

/// Runs one of the commands.
pub(crate) async fn run(session: &Session, command: BranchCommand) -> Result<(), CliError> {
    match command {
        BranchCommand::Create(arguments) => create(session, arguments).await,
        BranchCommand::List { graph } => list(session, &graph).await,
        BranchCommand::Show { graph, name } => show(session, &graph, &name).await,
        BranchCommand::Delete(arguments) => delete(session, arguments).await,
    }
}

async fn create(session: &Session, arguments: CreateBranchArguments) -> Result<(), CliError> {
    let operation_id = arguments.operation_id.unwrap_or_else(Client::mint_operation_id);
    let create = CreateBranch {
        source: arguments.source(),
        name: arguments.name,
        operation_id: Some(operation_id),
        expected_head: arguments.expected_head,
        mode: WriteMode::Commit,
    };
    let failed = |error| CliError::Change { error, change: Change::CreateBranch, operation_id };
    let created = session.client.create_branch(&arguments.graph, create).await.map_err(failed)?;
    let info = created.branch.ok_or(ClientError::Answer { what: "a created branch without its description" })?;
    let mut fields = fields(&info);
    fields.push(("operation", json!(operation_id.to_string())));
    session.print(|out| print_record(session.output, &fields, out))
}

async fn list(session: &Session, graph: &GraphName) -> Result<(), CliError> {
    let branches = pages::all(async |page| session.client.list_branches(graph, page).await).await?;
    let row = |branch: &BranchInfo| {
        vec![
            json!(branch.name),
            json!(branch.head.to_string()),
            json!(time(branch.created_ms)),
            json!(branch.source),
            json!(branch.source_commit.map(|commit| commit.to_string())),
        ]
    };
    let rows: Vec<Vec<Value>> = branches.iter().map(row).collect();
    let columns = ["branch", "head", "created", "source", "source_commit"];
    session.print(|out| print_list(session.output, &columns, &rows, out))
}

async fn show(session: &Session, graph: &GraphName, name: &BranchName) -> Result<(), CliError> {
    let fields = fields(&session.client.get_branch(graph, name).await?);
    session.print(|out| print_record(session.output, &fields, out))
}

async fn delete(session: &Session, arguments: DeleteBranchArguments) -> Result<(), CliError> {
    let operation_id = arguments.operation_id.unwrap_or_else(Client::mint_operation_id);
    let name = arguments.name;
    let delete = DeleteBranch {
        operation_id: Some(operation_id),
        expected_head: arguments.expected_head,
        ..DeleteBranch::new(name.clone())
    };
    let failed = |error| CliError::Change { error, change: Change::DeleteBranch, operation_id };
    let operation_id = session.client.delete_branch(&arguments.graph, delete).await.map_err(failed)?.operation_id;
    let fields =
        [("outcome", json!("deleted")), ("branch", json!(name)), ("operation", json!(operation_id.to_string()))];
    session.print(|out| print_record(session.output, &fields, out))
}

fn fields(branch: &BranchInfo) -> Vec<(&'static str, Value)> {
    vec![
        ("branch", json!(branch.name)),
        ("graph", json!(branch.graph)),
        ("id", json!(branch.id.to_string())),
        ("head", json!(branch.head.to_string())),
        ("created", json!(time(branch.created_ms))),
        ("source", json!(branch.source)),
        ("source_commit", json!(branch.source_commit.map(|commit| commit.to_string()))),
        ("schema", json!(branch.schema_hash)),
    ]
}
