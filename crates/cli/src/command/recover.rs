//! `recover`.

use clap::Args;
use omnigraph_types::{BranchName, GraphName};

use super::{Session, recoveries};
use crate::error::CliError;
use crate::output::Output;

/// Shown below the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  omnigraph recover airline
  omnigraph recover airline --branch trial

This is optional: the next write to the branch does the same, and so does a server at its start.
It prints what was decided, as `omnigraph recoveries` does.";

/// `recover`
#[derive(Debug, Args)]
pub(crate) struct RecoverArguments {
    /// The graph
    graph: GraphName,
    /// The branch
    #[arg(long, default_value = "main")]
    branch: BranchName,
}

/// Settles what is pending on a branch, and lists what was decided.
pub(crate) async fn run(session: &Session, arguments: &RecoverArguments) -> Result<(), CliError> {
    let recovered = session.client.recover(&arguments.graph, &arguments.branch).await?;
    if recovered.is_empty() && session.output == Output::Table {
        // Instead of a table without rows.
        eprintln!("nothing was pending on branch {:?}", arguments.branch.as_str());
        return Ok(());
    }
    recoveries::print(session, &recovered)
}
