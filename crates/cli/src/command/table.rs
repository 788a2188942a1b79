//! `table list` and `table locate`.

use clap::{Args, Subcommand};
use omnigraph_client::{LanceBranch, ListTables, PageRequest, ReadAt, TableInfo, TableState, TypeChoice};
use omnigraph_types::{BranchName, CommitId, GraphName};
use serde_json::{Value, json};

use super::values::parse_id;
use super::{Session, pages};
use crate::error::CliError;
use crate::output::{Output, print_list, print_record};

/// `table ...`
#[derive(Debug, Subcommand)]
pub(crate) enum TableCommand {
    /// List the Lance datasets that hold the types, with the version of each
    #[command(after_help = "\
Examples:
  omnigraph table list airline
  omnigraph table list airline --branch trial --output json")]
    List {
        /// The graph
        graph: GraphName,
        #[command(flatten)]
        at: At,
    },
    /// Print the lines of Python that open a type's rows with pylance
    #[command(after_help = "\
Examples:
  omnigraph table locate airline Airport
  omnigraph table locate airline Airport --at-commit 01JZ8Q6Y3V5B7N9D1F3H5K7M9P --output json

Only read what they open: what another program commits to a table stops the graph's writes to it.")]
    Locate {
        /// The graph
        graph: GraphName,
        /// The type
        #[arg(value_name = "TYPE")]
        type_name: String,
        #[command(flatten)]
        at: At,
    },
}

/// Which commit.
#[derive(Debug, Args)]
pub(crate) struct At {
    /// The branch
    #[arg(long, default_value = "main", conflicts_with = "at_commit")]
    branch: BranchName,
    /// An older commit
    #[arg(long, value_name = "COMMIT", value_parser = parse_id::<CommitId>)]
    at_commit: Option<CommitId>,
}

impl From<At> for ReadAt {
    fn from(at: At) -> Self {
        at.at_commit.map_or(Self::Branch(at.branch), Self::Commit)
    }
}

/// Runs one of the commands.
pub(crate) async fn run(session: &Session, command: TableCommand) -> Result<(), CliError> {
    match command {
        TableCommand::List { graph, at } => list(session, &graph, &at.into()).await,
        TableCommand::Locate { graph, type_name, at } => locate(session, &graph, type_name, at.into()).await,
    }
}

async fn list(session: &Session, graph: &GraphName, at: &ReadAt) -> Result<(), CliError> {
    let fetch = async |page| {
        let list = ListTables { at: at.clone(), types: TypeChoice::All, page };
        Ok(session.client.list_tables(graph, list).await?.page)
    };
    let tables = pages::all(fetch).await?;
    let rows: Vec<Vec<Value>> = tables.iter().map(values).collect();
    session.print(|out| print_list(session.output, &FIELDS, &rows, out))
}

async fn locate(session: &Session, graph: &GraphName, type_name: String, at: ReadAt) -> Result<(), CliError> {
    let list = ListTables { at, types: TypeChoice::Named(type_name), page: PageRequest::default() };
    let found = session.client.list_tables(graph, list).await?;
    let commit = found.commit.id;
    for table in &found.page.items {
        if let TableState::Damaged { reason } = &table.state {
            let (graph, type_name) = (graph.clone(), table.type_name.clone());
            return Err(CliError::DamagedTable { graph, type_name, reason: reason.clone() });
        }
        let python = python(table);
        session.print(|out| match session.output {
            Output::Table => Ok(writeln!(out, "{python}")?),
            Output::Json | Output::Csv => {
                let mut fields: Vec<_> = FIELDS.into_iter().zip(values(table)).collect();
                fields.extend([("commit", json!(commit.to_string())), ("python", json!(python))]);
                print_record(session.output, &fields, out)
            }
        })?;
    }
    Ok(())
}

/// The names of a table's fields.
const FIELDS: [&str; 9] = ["type", "kind", "key", "rows", "dataset", "lance_branch", "version", "base_paths", "damage"];

/// Their values.
fn values(table: &TableInfo) -> Vec<Value> {
    let (base_paths, damage) = match &table.state {
        TableState::Sound { base_paths } => (base_paths.as_slice(), None),
        TableState::Damaged { reason } => (&[][..], Some(reason)),
    };
    vec![
        json!(table.type_name),
        json!(table.kind.as_str()),
        json!(table.key),
        json!(table.row_count),
        json!(table.dataset),
        json!(lance_branch(table)),
        json!(table.version.0),
        json!(base_paths),
        json!(damage),
    ]
}

fn lance_branch(table: &TableInfo) -> Option<String> {
    match table.branch {
        LanceBranch::Main => None,
        LanceBranch::Named(tree) => Some(tree.to_string()),
    }
}

/// Lines of Python that open the version with pylance, as `table`. A text of JSON is one of Python.
fn python(table: &TableInfo) -> String {
    let (dataset, version) = (json!(table.dataset), table.version);
    let open = match lance_branch(table) {
        None => format!("lance.dataset({dataset}, version={version})"),
        Some(branch) => format!("lance.dataset({dataset}).checkout_version(({}, {version}))", json!(branch)),
    };
    format!("import lance\ntable = {open}")
}
