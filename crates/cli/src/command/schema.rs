//! `schema show`.

use clap::Subcommand;
use omnigraph_client::ReadAt;
use omnigraph_types::{BranchName, GraphName};
use serde_json::{Value, json};

use super::Session;
use crate::error::CliError;
use crate::output::{Output, print_record};

/// `schema ...`
#[derive(Debug, Subcommand)]
pub(crate) enum SchemaCommand {
    /// Print the schema as it was accepted
    Show {
        /// The graph
        graph: GraphName,
        /// The branch
        #[arg(long, default_value = "main")]
        branch: BranchName,
    },
}

/// Runs one of the commands.
pub(crate) async fn run(session: &Session, command: SchemaCommand) -> Result<(), CliError> {
    match command {
        SchemaCommand::Show { graph, branch } => show(session, &graph, branch).await,
    }
}

/// Shows the schema of a branch.
async fn show(session: &Session, graph: &GraphName, branch: BranchName) -> Result<(), CliError> {
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
