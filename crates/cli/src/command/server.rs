//! `server`, `server queries` and `server cancel`.

use clap::{Args, Subcommand};
use omnigraph_types::QueryId;
use serde_json::json;

use super::values::parse_id;
use super::{Session, server_queries};
use crate::error::CliError;
use crate::output::{Output, print_list, print_record};

/// Shown below the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  omnigraph server
  omnigraph server queries
  omnigraph server cancel 01JZ8Q6Y3V5B7N9D1F3H5K7M9P";

/// `server`
#[derive(Debug, Args)]
pub(crate) struct ServerArguments {
    /// What to do; without it the server itself is shown
    #[command(subcommand)]
    command: Option<ServerCommand>,
}

#[derive(Debug, Subcommand)]
enum ServerCommand {
    /// List the queries, scans and exports that are not finished, oldest first
    Queries,
    /// Cancel a query, scan or export
    Cancel {
        /// Its id, as `server queries` shows it
        #[arg(value_parser = parse_id::<QueryId>)]
        id: QueryId,
    },
}

/// Shows what the server is, or lists or cancels its queries.
pub(crate) async fn run(session: &Session, arguments: ServerArguments) -> Result<(), CliError> {
    match arguments.command {
        None => show(session).await,
        Some(ServerCommand::Queries) => server_queries::list(session).await,
        Some(ServerCommand::Cancel { id }) => server_queries::cancel(session, id).await,
    }
}

async fn show(session: &Session) -> Result<(), CliError> {
    let info = session.client.server_info().await?;
    let limits: Vec<_> = info
        .limits
        .iter()
        .map(|limit| {
            vec![
                json!(limit.name),
                json!(limit.value),
                json!(limit.default),
                json!(limit.unit.as_str()),
                json!(limit.description),
            ]
        })
        .collect();
    let features: Vec<_> =
        info.features.iter().filter(|feature| feature.enabled).map(|feature| feature.name.clone()).collect();
    session.print(|out| {
        let mut fields = vec![
            ("version", json!(info.version)),
            ("root", json!(info.root)),
            ("root_id", json!(info.root_id.to_string())),
            ("storage_format", json!(info.storage_format)),
            ("features", json!(features)),
        ];
        match session.output {
            Output::Table | Output::Csv => {
                print_record(session.output, &fields, out)?;
                print_list(session.output, &["limit", "value", "default", "unit", "what it bounds"], &limits, out)
            }
            Output::Json => {
                let limits = info.limits.iter().map(|limit| (limit.name.clone(), json!(limit.value)));
                fields.push(("limits", limits.collect::<serde_json::Map<_, _>>().into()));
                print_record(session.output, &fields, out)
            }
        }
    })
}
