//! `branch ...`: the grammar.

use clap::{Args, Subcommand};
use omnigraph_client::ReadAt;
use omnigraph_types::{BranchName, CommitId, GraphName, OperationId};

use super::values::{Moment, parse_id, parse_moment};

/// `branch ...`
#[derive(Debug, Subcommand)]
pub(crate) enum BranchCommand {
    /// Make a branch from another one's head, a commit, or a moment
    #[command(after_help = "\
Examples:
  omnigraph branch create airline trial
  omnigraph branch create airline trial/prices --from trial
  omnigraph branch create airline before --from-commit 01JZ8Q6Y3V5B7N9D1F3H5K7M9P
  omnigraph branch create airline may --from main --at-time 2026-05-01T12:00:00Z

No rows are copied, so a branch of a large graph is made as fast as one of a small graph.
What is written to one branch is not seen on another:
  omnigraph load airline --branch trial --type Airport more.csv --mode append
  omnigraph query airline --branch trial -f airline.gq")]
    Create(CreateBranchArguments),
    /// List the branches of a graph
    #[command(after_help = "\
Examples:
  omnigraph branch list airline
  omnigraph branch list airline --output json")]
    List {
        /// The graph
        graph: GraphName,
    },
    /// Show one branch
    #[command(after_help = "\
Example:
  omnigraph branch show airline trial")]
    Show {
        /// The graph
        graph: GraphName,
        /// The branch
        name: BranchName,
    },
    /// Delete a branch
    #[command(after_help = "\
Examples:
  omnigraph branch delete airline trial
  omnigraph branch delete airline trial --expected-head 01JZ8Q6Y3V5B7N9D1F3H5K7M9P

Branches made from it stay as they are. `main` cannot be deleted.")]
    Delete(DeleteBranchArguments),
}

/// `branch create`
#[derive(Debug, Args)]
pub(crate) struct CreateBranchArguments {
    /// The graph
    pub(crate) graph: GraphName,
    /// The new branch's name: any text without control characters, such as trial/prices
    pub(crate) name: BranchName,
    /// Begin at the head of this branch
    #[arg(long, value_name = "BRANCH", default_value = "main", conflicts_with = "from_commit")]
    from: BranchName,
    /// Begin at this commit, on whichever branch it was made
    #[arg(long, value_name = "COMMIT", value_parser = parse_id::<CommitId>)]
    from_commit: Option<CommitId>,
    /// Begin at the branch of --from as it was at a moment, such as 2026-05-01T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_moment, conflicts_with = "from_commit")]
    at_time: Option<Moment>,
    /// Idempotency key, to send a request again whose answer was lost
    #[arg(long, value_name = "ULID", value_parser = parse_id::<OperationId>)]
    pub(crate) operation_id: Option<OperationId>,
    /// Make it only if the head of what it begins at is still this commit
    #[arg(long, value_name = "COMMIT", value_parser = parse_id::<CommitId>)]
    pub(crate) expected_head: Option<CommitId>,
}

impl CreateBranchArguments {
    /// Where the branch begins.
    pub(crate) fn source(&self) -> ReadAt {
        match (self.from_commit, self.at_time) {
            (Some(commit), _) => ReadAt::Commit(commit),
            (None, Some(moment)) => ReadAt::BranchAtTime { branch: self.from.clone(), time_ms: moment.0 },
            (None, None) => ReadAt::Branch(self.from.clone()),
        }
    }
}

/// `branch delete`
#[derive(Debug, Args)]
pub(crate) struct DeleteBranchArguments {
    /// The graph
    pub(crate) graph: GraphName,
    /// The branch
    pub(crate) name: BranchName,
    /// Idempotency key, to send a request again whose answer was lost
    #[arg(long, value_name = "ULID", value_parser = parse_id::<OperationId>)]
    pub(crate) operation_id: Option<OperationId>,
    /// Delete it only if its head is still this commit
    #[arg(long, value_name = "COMMIT", value_parser = parse_id::<CommitId>)]
    pub(crate) expected_head: Option<CommitId>,
}
