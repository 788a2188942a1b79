//! The request of each writer, and the state that it finds.

use std::time::Duration;

use omnigraph_client::{
    Client, ClientError, CreateBranch, CreateGraph, DeleteBranch, DeleteGraph, LoadOptions, Timeout,
};
use omnigraph_commit::FailPoint;
use omnigraph_types::{BranchName, GraphName, OperationId, Phase};

use crate::cell::{Cell, Tables, Writer};
use crate::limits::REQUEST_TIMEOUT;
use crate::model::{LoadOf, SCHEMA};
use crate::points::{Action, ArmedPoint, BRANCH_CREATE, BRANCH_DELETE, GRAPH_DELETE, LOAD};

/// The branch that is created, removed, or written to.
pub(crate) fn dev() -> BranchName {
    BranchName::Named("dev/1".to_owned())
}

/// One request that changes something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deed {
    /// A load into a branch.
    Load(BranchName, LoadOf),
    /// `dev` is made.
    CreateBranch,
    /// `dev` is removed.
    DeleteBranch,
    /// The graph is made.
    CreateGraph,
    /// The graph is removed.
    DeleteGraph,
}

impl Deed {
    /// Its name in a violation.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Load(..) => "the load",
            Self::CreateBranch => "the new branch",
            Self::DeleteBranch => "the branch's removal",
            Self::CreateGraph => "the new graph",
            Self::DeleteGraph => "the graph's removal",
        }
    }

    /// Sends the request. Returns the id of what it created, or of the operation.
    pub(crate) async fn send(
        &self,
        client: &Client,
        graph: &GraphName,
        operation_id: OperationId,
    ) -> Result<String, ClientError> {
        self.send_within(client, graph, operation_id, REQUEST_TIMEOUT).await
    }

    /// The same, where a load has this deadline. Other requests have the client's.
    pub(crate) async fn send_within(
        &self,
        client: &Client,
        graph: &GraphName,
        operation_id: OperationId,
        deadline: Duration,
    ) -> Result<String, ClientError> {
        match self {
            Self::Load(branch, load) => {
                let timeout = Timeout::After(deadline);
                let options = LoadOptions { operation_id, timeout, ..LoadOptions::new(load.mode) };
                let mut loader = client.load_ndjson(graph, branch, options).await?;
                loader.write(load.text().into()).await?;
                let receipt = loader.finish().await?;
                Ok(receipt.commit.map_or_else(|| "no commit".to_owned(), |commit| commit.id.to_string()))
            }
            Self::CreateBranch => {
                let create = CreateBranch { operation_id: Some(operation_id), ..CreateBranch::new(dev()) };
                let made = client.create_branch(graph, create).await?.branch;
                Ok(made.ok_or(ClientError::Answer { what: "a created branch without its description" })?.id.to_string())
            }
            Self::DeleteBranch => {
                let delete = DeleteBranch { operation_id: Some(operation_id), ..DeleteBranch::new(dev()) };
                Ok(client.delete_branch(graph, delete).await?.operation_id.to_string())
            }
            Self::CreateGraph => {
                let create =
                    CreateGraph { operation_id: Some(operation_id), ..CreateGraph::new(graph.clone(), SCHEMA) };
                let made = client.create_graph(create).await?.graph;
                Ok(made.ok_or(ClientError::Answer { what: "a created graph without its description" })?.id.to_string())
            }
            Self::DeleteGraph => {
                let delete = DeleteGraph { operation_id: Some(operation_id), ..DeleteGraph::new(graph.clone()) };
                Ok(client.delete_graph(delete).await?.to_string())
            }
        }
    }
}

/// A process that dies before the cell's own writer starts: its request, and the points that stop it.
#[derive(Debug, Clone)]
pub(crate) struct Before {
    pub(crate) deed: Deed,
    pub(crate) points: Vec<ArmedPoint>,
}

/// The state that a cell's writer finds, and its request.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Where plain writes and loads go.
    pub(crate) branch: BranchName,
    /// Requests to the graph after its seed and before the fault.
    pub(crate) setting: Vec<Deed>,
    /// For a rescuer: the process that dies before.
    pub(crate) before: Option<Before>,
    /// The writer's request.
    pub(crate) deed: Deed,
}

impl Plan {
    pub(crate) fn of(cell: &Cell) -> Self {
        let tables = cell.tables;
        let on_main = |load: LoadOf| Self::plain(Deed::Load(BranchName::Main, load));
        let mine = || LoadOf::append("mine", tables);
        match cell.writer {
            Writer::LoadAppend => on_main(mine()),
            Writer::LoadMerge => on_main(LoadOf::merge("mine", tables)),
            Writer::LoadOverwrite => on_main(LoadOf::overwrite("mine", tables)),
            Writer::FirstWrite => {
                Self { branch: dev(), setting: vec![Deed::CreateBranch], ..Self::plain(Deed::Load(dev(), mine())) }
            }
            Writer::LoadOnBranch => Self {
                branch: dev(),
                setting: vec![Deed::CreateBranch, Deed::Load(dev(), LoadOf::append("first", tables))],
                ..Self::plain(Deed::Load(dev(), mine()))
            },
            Writer::BranchCreate => Self::plain(Deed::CreateBranch),
            Writer::BranchDelete => Self { setting: vec![Deed::CreateBranch], ..Self::plain(Deed::DeleteBranch) },
            Writer::GraphCreate => Self::plain(Deed::CreateGraph),
            Writer::GraphDelete => Self { setting: vec![Deed::CreateBranch], ..Self::plain(Deed::DeleteGraph) },
            Writer::RescueUndo => on_main(mine()).after(theirs(tables), half_done(tables)),
            Writer::RescueComplete => on_main(mine()).after(theirs(tables), vec![killed(LOAD.before(Phase::Publish))]),
            Writer::RescueCreate => {
                on_main(mine()).after(Deed::CreateBranch, vec![killed(BRANCH_CREATE.before(Phase::Publish))])
            }
            Writer::RescueRemoval => Self { setting: vec![Deed::CreateBranch], ..Self::plain(Deed::CreateBranch) }
                .after(Deed::DeleteBranch, vec![killed(BRANCH_DELETE.after(Phase::Publish))]),
            Writer::RescueDeletion => Self { setting: vec![Deed::CreateBranch], ..Self::plain(Deed::CreateGraph) }
                .after(Deed::DeleteGraph, vec![killed(GRAPH_DELETE.after(Phase::Publish))]),
        }
    }

    /// Whether the graph exists from the start.
    pub(crate) fn has_graph(&self) -> bool {
        self.deed != Deed::CreateGraph || self.before.is_some()
    }

    fn plain(deed: Deed) -> Self {
        Self { branch: BranchName::Main, setting: Vec::new(), before: None, deed }
    }

    fn after(self, deed: Deed, points: Vec<ArmedPoint>) -> Self {
        Self { before: Some(Before { deed, points }), ..self }
    }
}

fn killed(point: FailPoint) -> ArmedPoint {
    ArmedPoint::first(point, Action::Kill)
}

fn theirs(tables: Tables) -> Deed {
    Deed::Load(BranchName::Main, LoadOf::append("theirs", tables))
}

/// With one table, nothing is changed when the process dies; with three, at least one is, and at least one, whose writer is held, is not.
fn half_done(tables: Tables) -> Vec<ArmedPoint> {
    let held = ArmedPoint { point: LOAD.before(Phase::Apply), action: Action::Pause, hit: 2 };
    match tables {
        Tables::One => vec![killed(LOAD.after(Phase::Arm))],
        Tables::Three => vec![held, killed(LOAD.after(Phase::Apply))],
    }
}
