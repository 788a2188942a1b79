//! `graph create`, `graph list`, `graph show` and `graph delete`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use omnigraph_client::{Client, ClientError, CreateGraph, DeleteGraph, GraphInfo, WriteMode};
use omnigraph_types::{GraphName, OperationId};
use serde_json::{Value, json};

use super::session::read_text;
use super::values::parse_id;
use super::{Global, Session, pages};
use crate::error::{Change, CliError};
use crate::output::{print_list, print_record, time};

/// `graph ...`
#[derive(Debug, Subcommand)]
pub(crate) enum GraphCommand {
    /// Make a graph with a schema
    #[command(after_help = "\
Example:
  omnigraph graph create airline --schema airline.pg

A schema declares node and edge types:
  node Airport { iata: String @key  name: String? }
  edge Route: Airport -> Airport { count: I64  @key(src, dst) }")]
    Create(CreateArguments),
    /// List the graphs of the server
    List,
    /// Show one graph
    Show {
        /// Its name
        name: GraphName,
    },
    /// Delete a graph with all of its branches and commits
    #[command(after_help = "\
Example:
  omnigraph graph delete airline --confirm airline

Its name is free afterwards. Nothing brings the graph back.")]
    Delete(DeleteGraphArguments),
}

/// `graph delete`
#[derive(Debug, Args)]
pub(crate) struct DeleteGraphArguments {
    /// Its name
    name: GraphName,
    /// Its name once more
    #[arg(long, value_name = "NAME")]
    confirm: GraphName,
    /// Idempotency key, to send a request again whose answer was lost
    #[arg(long, value_name = "ULID", value_parser = parse_id::<OperationId>)]
    operation_id: Option<OperationId>,
}

/// `graph create`
#[derive(Debug, Args)]
pub(crate) struct CreateArguments {
    /// Its name: a-z, 0-9, '_' and '-'
    name: GraphName,
    /// The schema's file; '-' is the standard input
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// Idempotency key, to send a request again whose answer was lost
    #[arg(long, value_name = "ULID", value_parser = parse_id::<OperationId>)]
    operation_id: Option<OperationId>,
}

/// Runs one of the commands.
pub(crate) async fn run(global: &Global, command: GraphCommand) -> Result<(), CliError> {
    match command {
        GraphCommand::Create(arguments) => {
            // A file that cannot be read is reported before a server is looked for.
            let schema = read_text(&arguments.schema)?;
            create(&Session::open(global).await?, arguments, schema).await
        }
        GraphCommand::List => list(&Session::open(global).await?).await,
        GraphCommand::Show { name } => show(&Session::open(global).await?, &name).await,
        GraphCommand::Delete(arguments) => delete(&Session::open(global).await?, arguments).await,
    }
}

/// Creates a graph.
async fn create(session: &Session, arguments: CreateArguments, schema: String) -> Result<(), CliError> {
    let operation_id = arguments.operation_id.unwrap_or_else(Client::mint_operation_id);
    let text = schema.clone();
    let create = CreateGraph {
        name: arguments.name,
        schema_source: schema,
        operation_id: Some(operation_id),
        mode: WriteMode::Commit,
    };
    let created = session.client.create_graph(create).await;
    let created = created.and_then(|created| {
        let nothing = ClientError::Answer { what: "a created graph without its description" };
        created.graph.map(|info| (info, created.receipt)).ok_or(nothing)
    });
    let (info, receipt) = created.map_err(|error| CliError::Schema { error, text, operation_id })?;
    let operation = json!(receipt.operation_id.to_string());
    let fields = fields(&info).into_iter().chain([("operation", operation)]);
    let fields: Vec<(&str, Value)> = fields.collect();
    session.print(|out| print_record(session.output, &fields, out))
}

/// Lists all graphs.
async fn list(session: &Session) -> Result<(), CliError> {
    let graphs = pages::all(async |page| session.client.list_graphs(page).await).await?;
    let row = |graph: &GraphInfo| vec![json!(graph.name), json!(graph.head.to_string()), json!(time(graph.created_ms))];
    let rows: Vec<Vec<Value>> = graphs.iter().map(row).collect();
    session.print(|out| print_list(session.output, &["graph", "head", "created"], &rows, out))
}

/// Deletes a graph.
async fn delete(session: &Session, arguments: DeleteGraphArguments) -> Result<(), CliError> {
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
async fn show(session: &Session, name: &GraphName) -> Result<(), CliError> {
    let info = session.client.get_graph(name).await?;
    session.print(|out| print_record(session.output, &fields(&info), out))
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
