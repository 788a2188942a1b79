//! `log`, `operation`, `recoveries`, `recover`, `check` and `repair`: the grammar.

use clap::Args;
use omnigraph_types::{BranchName, GraphName, OperationId};

use super::values::parse_id;

/// `log`
#[derive(Debug, Args)]
pub(crate) struct LogArguments {
    /// The graph
    pub(crate) graph: GraphName,
    /// The branch
    #[arg(long, default_value = "main")]
    pub(crate) branch: BranchName,
    /// Most commits
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
}

/// `operation`
#[derive(Debug, Args)]
pub(crate) struct OperationArguments {
    /// The graph
    pub(crate) graph: GraphName,
    /// The operation's id
    #[arg(value_parser = parse_id::<OperationId>)]
    pub(crate) operation_id: OperationId,
    /// The branch that it was sent for
    #[arg(long, default_value = "main")]
    pub(crate) branch: BranchName,
}

/// `recoveries`
#[derive(Debug, Args)]
pub(crate) struct RecoveriesArguments {
    /// The graph
    pub(crate) graph: GraphName,
    /// The branch
    #[arg(long, default_value = "main")]
    pub(crate) branch: BranchName,
    /// Most recoveries
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
}

/// `recover`
#[derive(Debug, Args)]
pub(crate) struct RecoverArguments {
    /// The graph
    pub(crate) graph: GraphName,
    /// The branch
    #[arg(long, default_value = "main")]
    pub(crate) branch: BranchName,
}

/// `check`
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The graph
    pub(crate) graph: GraphName,
    /// Only this branch, and not the graph's files
    #[arg(long)]
    pub(crate) branch: Option<BranchName>,
}

/// `repair`
#[derive(Debug, Args)]
pub(crate) struct RepairArguments {
    /// The graph
    pub(crate) graph: GraphName,
    /// The branch
    #[arg(long, default_value = "main")]
    pub(crate) branch: BranchName,
    /// Only the table of this type; may be given several times
    #[arg(long = "table", value_name = "TYPE")]
    pub(crate) tables: Vec<String>,
    /// Do what was shown with this confirmation; without it nothing is done
    #[arg(long, value_name = "TOKEN")]
    pub(crate) confirm: Option<String>,
    /// Idempotency key, to send a confirmed repair again whose answer was lost
    #[arg(long, value_name = "ULID", value_parser = parse_id::<OperationId>)]
    pub(crate) operation_id: Option<OperationId>,
}
