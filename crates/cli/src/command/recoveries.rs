//! `recoveries`.

use clap::Args;
use omnigraph_client::{RecoveredTable, Recovery, RecoveryOutcome};
use omnigraph_types::{BranchName, GraphName};
use serde_json::{Value, json};

use super::{Session, pages};
use crate::error::CliError;
use crate::output::{Output, print_list, time};

/// Shown below the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  omnigraph recoveries airline
  omnigraph recoveries airline --branch trial --limit 3 --output json

A server that dies within a write leaves it to be settled. Outcomes:
  completed  the write had got far enough: it is stored
  undone     nothing of it is stored; it may be sent again under the same operation id
  put back   tables that an undone write had touched are as before";

/// `recoveries`
#[derive(Debug, Args)]
pub(crate) struct RecoveriesArguments {
    /// The graph
    graph: GraphName,
    /// The branch
    #[arg(long, default_value = "main")]
    branch: BranchName,
    /// Most recoveries
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

/// Lists the newest recoveries of a branch.
pub(crate) async fn run(session: &Session, arguments: &RecoveriesArguments) -> Result<(), CliError> {
    let RecoveriesArguments { graph, branch, limit } = arguments;
    let fetch = async |page| session.client.list_recoveries(graph, branch, page).await;
    print(session, &pages::first(*limit, fetch).await?)
}

/// Prints recoveries; `recover` prints the same.
pub(super) fn print(session: &Session, recoveries: &[Recovery]) -> Result<(), CliError> {
    let rows: Vec<Vec<Value>> = recoveries.iter().map(|recovery| row(recovery, session.output)).collect();
    let columns = ["time", "outcome", "writer", "operation", "actor", "tables", "version"];
    session.print(|out| print_list(session.output, &columns, &rows, out))
}

fn row(recovery: &Recovery, output: Output) -> Vec<Value> {
    vec![
        json!(time(recovery.time_ms)),
        json!(outcome(recovery.outcome)),
        json!(recovery.writer.as_str()),
        json!(recovery.operation_id.to_string()),
        json!(recovery.actor),
        tables(&recovery.tables, output),
        json!(recovery.version.0),
    ]
}

/// What became of the interrupted write, in a person's words.
fn outcome(outcome: RecoveryOutcome) -> &'static str {
    match outcome {
        RecoveryOutcome::RolledForward => "completed",
        RecoveryOutcome::RolledBack => "undone",
        RecoveryOutcome::Settled => "put back",
        RecoveryOutcome::Newer => "newer",
    }
}

/// Versions of tables: `Airport 4 -> 6` for people, objects for programs.
fn tables(tables: &[RecoveredTable], output: Output) -> Value {
    match output {
        Output::Json => {
            let object =
                |table: &RecoveredTable| json!({ "type": table.type_name, "from": table.from.0, "to": table.to.0 });
            tables.iter().map(object).collect()
        }
        Output::Table | Output::Csv => {
            let text = |table: &RecoveredTable| format!("{} {} -> {}", table.type_name, table.from, table.to);
            Value::from(tables.iter().map(text).collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use omnigraph_types::{BranchName, GraphVersion, TableVersion, WriterName};

    use super::*;

    fn recovery() -> Recovery {
        let table = |name: &str, from, to| RecoveredTable {
            type_name: name.to_owned(),
            from: TableVersion(from),
            to: TableVersion(to),
        };
        Recovery {
            operation_id: "01JZ8Q6Y3V5B7N9D1F3H5K7M9P".parse().unwrap(),
            branch: BranchName::Main,
            writer: WriterName::known("load"),
            actor: "anonymous".to_owned(),
            outcome: RecoveryOutcome::Settled,
            tables: vec![table("Airport", 4, 6), table("Route", 2, 3)],
            time_ms: 0,
            version: GraphVersion(9),
        }
    }

    #[test]
    fn recovery_tells_its_outcome_and_tables_in_words() {
        let cells = row(&recovery(), Output::Csv);
        let expected = json!([
            "1970-01-01T00:00:00.000Z",
            "put back",
            "load",
            "01JZ8Q6Y3V5B7N9D1F3H5K7M9P",
            "anonymous",
            "Airport 4 -> 6, Route 2 -> 3",
            9,
        ]);
        assert_eq!(Value::from(cells), expected);
    }

    #[test]
    fn recovery_tells_its_tables_to_programs_as_objects() {
        let cells = row(&recovery(), Output::Json);
        assert_eq!(cells[5][0], json!({ "type": "Airport", "from": 4, "to": 6 }));
    }
}
