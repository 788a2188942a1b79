//! `branch create`, `branch list`, `branch show` and `branch delete`.

use clap::{Args, Subcommand};
use omnigraph_client::{BranchInfo, Client, ClientError, CreateBranch, DeleteBranch, ReadAt, WriteMode};
use omnigraph_types::{BranchName, CommitId, GraphName, OperationId};
use serde_json::{Value, json};

use super::values::{Moment, parse_id, parse_moment};
use super::{Session, pages};
use crate::error::{Change, CliError};
use crate::output::{print_list, print_record, time};

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
    graph: GraphName,
    /// The new branch's name: any text without control characters, such as trial/prices
    name: BranchName,
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
    operation_id: Option<OperationId>,
    /// Make it only if the head of what it begins at is still this commit
    #[arg(long, value_name = "COMMIT", value_parser = parse_id::<CommitId>)]
    expected_head: Option<CommitId>,
}

impl CreateBranchArguments {
    /// Where the branch begins.
    fn source(&self) -> ReadAt {
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
    graph: GraphName,
    /// The branch
    name: BranchName,
    /// Idempotency key, to send a request again whose answer was lost
    #[arg(long, value_name = "ULID", value_parser = parse_id::<OperationId>)]
    operation_id: Option<OperationId>,
    /// Delete it only if its head is still this commit
    #[arg(long, value_name = "COMMIT", value_parser = parse_id::<CommitId>)]
    expected_head: Option<CommitId>,
}

/// Runs one of the commands.
pub(crate) async fn run(session: &Session, command: BranchCommand) -> Result<(), CliError> {
    match command {
        BranchCommand::Create(arguments) => create(session, arguments).await,
        BranchCommand::List { graph } => list(session, &graph).await,
        BranchCommand::Show { graph, name } => show(session, &graph, &name).await,
        BranchCommand::Delete(arguments) => delete(session, arguments).await,
    }
}

async fn create(session: &Session, arguments: CreateBranchArguments) -> Result<(), CliError> {
    let operation_id = arguments.operation_id.unwrap_or_else(Client::mint_operation_id);
    let create = CreateBranch {
        source: arguments.source(),
        name: arguments.name,
        operation_id: Some(operation_id),
        expected_head: arguments.expected_head,
        mode: WriteMode::Commit,
    };
    let failed = |error| CliError::Change { error, change: Change::CreateBranch, operation_id };
    let created = session.client.create_branch(&arguments.graph, create).await.map_err(failed)?;
    let nothing = ClientError::Answer { what: "a created branch without its description" };
    let info = created.branch.ok_or(nothing).map_err(failed)?;
    let mut fields = fields(&info);
    fields.push(("operation", json!(operation_id.to_string())));
    session.print(|out| print_record(session.output, &fields, out))
}

async fn list(session: &Session, graph: &GraphName) -> Result<(), CliError> {
    let branches = pages::all(async |page| session.client.list_branches(graph, page).await).await?;
    let row = |branch: &BranchInfo| {
        vec![
            json!(branch.name),
            json!(branch.head.to_string()),
            json!(time(branch.created_ms)),
            json!(branch.source),
            json!(branch.source_commit.map(|commit| commit.to_string())),
        ]
    };
    let rows: Vec<Vec<Value>> = branches.iter().map(row).collect();
    let columns = ["branch", "head", "created", "source", "source_commit"];
    session.print(|out| print_list(session.output, &columns, &rows, out))
}

async fn show(session: &Session, graph: &GraphName, name: &BranchName) -> Result<(), CliError> {
    let fields = fields(&session.client.get_branch(graph, name).await?);
    session.print(|out| print_record(session.output, &fields, out))
}

async fn delete(session: &Session, arguments: DeleteBranchArguments) -> Result<(), CliError> {
    let operation_id = arguments.operation_id.unwrap_or_else(Client::mint_operation_id);
    let name = arguments.name;
    let delete = DeleteBranch {
        operation_id: Some(operation_id),
        expected_head: arguments.expected_head,
        ..DeleteBranch::new(name.clone())
    };
    let failed = |error| CliError::Change { error, change: Change::DeleteBranch, operation_id };
    let operation_id = session.client.delete_branch(&arguments.graph, delete).await.map_err(failed)?.operation_id;
    let fields =
        [("outcome", json!("deleted")), ("branch", json!(name)), ("operation", json!(operation_id.to_string()))];
    session.print(|out| print_record(session.output, &fields, out))
}

fn fields(branch: &BranchInfo) -> Vec<(&'static str, Value)> {
    vec![
        ("branch", json!(branch.name)),
        ("graph", json!(branch.graph)),
        ("id", json!(branch.id.to_string())),
        ("head", json!(branch.head.to_string())),
        ("created", json!(time(branch.created_ms))),
        ("source", json!(branch.source)),
        ("source_commit", json!(branch.source_commit.map(|commit| commit.to_string()))),
        ("schema", json!(branch.schema_hash)),
    ]
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use clap::error::ErrorKind;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        create: CreateBranchArguments,
    }

    fn parse(line: &str) -> Result<CreateBranchArguments, clap::Error> {
        Line::try_parse_from(line.split_whitespace()).map(|line| line.create)
    }

    #[test]
    fn branch_begins_at_a_head_a_commit_or_a_moment() {
        let source = |options: &str| parse(&format!("create g trial/a {options}")).unwrap().source();
        let trial = || "trial".parse::<BranchName>().unwrap();
        assert_eq!(source(""), ReadAt::Branch(BranchName::Main));
        assert_eq!(source("--from trial"), ReadAt::Branch(trial()));
        let id = "01JZ8Q6Y3V5B7N9D1F3H5K7M9P";
        assert_eq!(source(&format!("--from-commit {id}")), ReadAt::Commit(id.parse().unwrap()));
        let at = |branch| ReadAt::BranchAtTime { branch, time_ms: 1_001 };
        assert_eq!(source("--at-time 1970-01-01T00:00:01.001Z"), at(BranchName::Main));
        assert_eq!(source("--from trial --at-time 1970-01-01T00:00:01.001Z"), at(trial()));
        for options in ["--from trial", "--at-time 2026-05-01T12:00:00Z"] {
            let line = format!("create g a --from-commit {id} {options}");
            assert_eq!(parse(&line).unwrap_err().kind(), ErrorKind::ArgumentConflict, "{line}");
        }
    }
}
