//! `log` and `operation`.

use std::time::{SystemTime, UNIX_EPOCH};

use omnigraph_client::{Commit, OperationState, TypeCounts};
use omnigraph_types::{Limits, OperationId};
use serde_json::{Value, json};

use super::graph::time;
use super::{Session, pages};
use crate::arguments::{LogArguments, OperationArguments};
use crate::error::CliError;
use crate::output::{Output, count, print_list, print_record};
use crate::report::reason;

/// Lists the newest commits of a branch.
pub(crate) async fn log(session: &Session, arguments: &LogArguments) -> Result<(), CliError> {
    let LogArguments { graph, branch, limit } = arguments;
    let commits = pages::first(*limit, async |page| session.client.list_commits(graph, branch, page).await).await?;
    let rows: Vec<Vec<Value>> = commits.iter().map(|commit| row(commit, session.output)).collect();
    let columns = ["commit", "time", "kind", "actor", "changes", "operation"];
    session.print(|out| print_list(session.output, &columns, &rows, out))
}

fn row(commit: &Commit, output: Output) -> Vec<Value> {
    vec![
        json!(commit.id.to_string()),
        json!(time(commit.time_ms)),
        json!(commit.kind.as_str()),
        json!(commit.actor),
        changes(&commit.counts, output),
        json!(commit.operation_id.to_string()),
    ]
}

/// Rows changed by type: `Airport +3,376` for people, objects for programs.
pub(crate) fn changes(counts: &[TypeCounts], output: Output) -> Value {
    match output {
        Output::Json => {
            let object = |counts: &TypeCounts| {
                json!({
                    "type": counts.type_name, "inserted": counts.inserted, "updated": counts.updated,
                    "deleted": counts.deleted, "total": counts.row_count,
                })
            };
            counts.iter().map(object).collect()
        }
        Output::Table | Output::Csv => Value::from(counts.iter().map(change).collect::<Vec<_>>().join(", ")),
    }
}

fn change(counts: &TypeCounts) -> String {
    let mut text = counts.type_name.clone();
    for (sign, rows) in [("+", counts.inserted), ("~", counts.updated), ("-", counts.deleted)] {
        if rows > 0 {
            text.push_str(&format!(" {sign}{}", count(rows)));
        }
    }
    text
}

/// What to do about an operation that nothing is known of. Its record is kept for longer than a server accepts its id.
fn next_of_unknown(id: OperationId, now: SystemTime) -> &'static str {
    let now_ms = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let (made_ms, limits) = (u128::from(id.timestamp_ms()), Limits::default());
    if made_ms + u128::from(limits.operation_id_behind_ms) < now_ms {
        "its id is older than operations are remembered for: look for its rows before you send it again, under a fresh id"
    } else {
        "nothing of it is stored on this branch so far: if its request has ended, send it under the same operation id"
    }
}

/// Prints the outcome of an operation.
pub(crate) async fn operation(session: &Session, arguments: &OperationArguments) -> Result<(), CliError> {
    let operation = session.client.get_operation(&arguments.graph, &arguments.branch, arguments.operation_id).await?;
    let mut fields = vec![("operation", json!(operation.id.to_string()))];
    match &operation.state {
        OperationState::Unknown => {
            fields.push(("state", json!("unknown")));
            fields.push(("next", json!(next_of_unknown(operation.id, SystemTime::now()))));
        }
        OperationState::InProgress => {
            fields.push(("state", json!("in progress")));
            fields.push((
                "next",
                json!("ask again; if its server is gone, the next write settles it, or `omnigraph recover`"),
            ));
        }
        OperationState::Committed(receipt) => {
            fields.push(("state", json!("committed")));
            fields.push(("commit", json!(receipt.commit.as_ref().map(|commit| commit.id.to_string()))));
            fields.push(("changes", changes(&receipt.counts, session.output)));
        }
        OperationState::RolledBack(failure) => {
            fields.push(("state", json!("rolled back")));
            fields.push(("reason", json!(reason(failure))));
            fields.push(("message", json!(failure.message)));
            fields.push(("next", json!("nothing of it is stored; it may be sent again under the same operation id")));
        }
        OperationState::InDoubt(failure) => {
            fields.push(("state", json!("in doubt")));
            fields.push(("reason", json!(reason(failure))));
            fields.push(("message", json!(failure.message)));
            fields.push((
                "next",
                json!("do what the message says; what settling can decide, the next write to the branch settles"),
            ));
        }
    }
    session.print(|out| print_record(session.output, &fields, out))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn unknown_operation_is_sent_again_only_while_it_would_be_recognized() {
        let id: OperationId = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        let made = UNIX_EPOCH + Duration::from_millis(id.timestamp_ms());
        assert!(next_of_unknown(id, made + Duration::from_secs(60)).contains("under the same operation id"));
        assert!(next_of_unknown(id, made + Duration::from_secs(9 * 86_400)).contains("under a fresh id"));
    }
}
