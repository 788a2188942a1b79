//! `operation`.

use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use omnigraph_client::OperationState;
use omnigraph_types::{BranchName, GraphName, Limits, OperationId};
use serde_json::json;

use super::Session;
use super::changes::changes;
use super::values::parse_id;
use crate::error::CliError;
use crate::output::print_record;
use crate::report::reason;

/// Shown below the help.
pub(super) const EXAMPLES: &str = "\
Example:
  omnigraph operation airline 01JZ8Q6Y3V5B7N9D1F3H5K7M9P

A write whose outcome is not known may always be sent again with the same --operation-id:
it is applied at most once.";

/// `operation`
#[derive(Debug, Args)]
pub(crate) struct OperationArguments {
    /// The graph
    graph: GraphName,
    /// The operation's id
    #[arg(value_parser = parse_id::<OperationId>)]
    operation_id: OperationId,
    /// The branch that it was sent for
    #[arg(long, default_value = "main")]
    branch: BranchName,
}

/// Prints the outcome of an operation.
pub(crate) async fn run(session: &Session, arguments: &OperationArguments) -> Result<(), CliError> {
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
