//! The queries that a server has not finished.

use omnigraph_types::{QueryId, RunningQuery};
use serde_json::{Value, json};

use super::Session;
use crate::error::CliError;
use crate::output::{print_list, time};

const COLUMNS: [&str; 10] =
    ["id", "state", "graph", "branch", "actor", "started", "age_ms", "rows_sent", "memory_bytes", "text"];

/// Lists the queries.
pub(super) async fn list(session: &Session) -> Result<(), CliError> {
    print(session, &session.client.list_queries().await?)
}

/// Cancels a query and prints it as it is then.
pub(super) async fn cancel(session: &Session, id: QueryId) -> Result<(), CliError> {
    print(session, &[session.client.cancel_query(id).await?])
}

fn print(session: &Session, queries: &[RunningQuery]) -> Result<(), CliError> {
    let rows: Vec<Vec<Value>> = queries.iter().map(row).collect();
    session.print(|out| print_list(session.output, &COLUMNS, &rows, out))
}

fn row(query: &RunningQuery) -> Vec<Value> {
    vec![
        json!(query.id.to_string()),
        json!(query.state.as_str()),
        json!(query.graph.as_str()),
        json!(query.branch.as_str()),
        json!(query.actor),
        json!(time(query.started_ms)),
        json!(query.age_ms),
        json!(query.rows_sent),
        json!(query.memory_bytes),
        json!(query.text),
    ]
}
