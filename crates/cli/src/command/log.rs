//! `log`.

use clap::Args;
use omnigraph_client::Commit;
use omnigraph_types::{BranchName, GraphName};
use serde_json::{Value, json};

use super::changes::changes;
use super::{Session, pages};
use crate::error::CliError;
use crate::output::{Output, print_list, time};

/// Shown below the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  omnigraph log airline
  omnigraph log airline --limit 3 --output json";

/// `log`
#[derive(Debug, Args)]
pub(crate) struct LogArguments {
    /// The graph
    graph: GraphName,
    /// The branch
    #[arg(long, default_value = "main")]
    branch: BranchName,
    /// Most commits
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

/// Lists the newest commits of a branch.
pub(crate) async fn run(session: &Session, arguments: &LogArguments) -> Result<(), CliError> {
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
