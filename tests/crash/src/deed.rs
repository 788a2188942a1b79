//! What a writer is asked to do, and what each kind of writer finds when it is asked.

use omnigraph_client::{Client, ClientError, DeleteBranch, LoadOptions, NewBranch, NewGraph, Timeout};
use omnigraph_commit::FailPoint;
use omnigraph_types::{BranchName, GraphName, OperationId};

use crate::cell::{Cell, Tables, Writer};
use crate::limits::REQUEST_TIMEOUT;
use crate::model::{LoadOf, SCHEMA};

/// The branch that comes, goes, or is written to.
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
    /// What it is called where something is wrong with it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Load(..) => "the load",
            Self::CreateBranch => "the new branch",
            Self::DeleteBranch => "the branch's removal",
            Self::CreateGraph => "the new graph",
            Self::DeleteGraph => "the graph's removal",
        }
    }

    /// Asks for it. The answer is the id of what it made, or of the operation.
    pub(crate) async fn send(
        &self,
        client: &Client,
        graph: &GraphName,
        operation_id: OperationId,
    ) -> Result<String, ClientError> {
        match self {
            Self::Load(branch, load) => {
                let timeout = Timeout::After(REQUEST_TIMEOUT);
                let options = LoadOptions { operation_id, timeout, ..LoadOptions::new(load.mode) };
                let mut loader = client.load_ndjson(graph, branch, options).await?;
                loader.write(load.text().into()).await?;
                let receipt = loader.finish().await?;
                Ok(receipt.commit.map_or_else(|| "no commit".to_owned(), |commit| commit.id.to_string()))
            }
            Self::CreateBranch => {
                let branch = NewBranch { operation_id, ..NewBranch::new(graph.clone(), dev()) };
                Ok(client.create_branch(branch).await?.id.to_string())
            }
            Self::DeleteBranch => {
                let branch = DeleteBranch { operation_id, ..DeleteBranch::new(graph.clone(), dev()) };
                Ok(client.delete_branch(branch).await?.to_string())
            }
            Self::CreateGraph => {
                let new = NewGraph { operation_id, ..NewGraph::new(graph.clone(), SCHEMA) };
                Ok(client.create_graph(new).await?.0.id.to_string())
            }
            Self::DeleteGraph => Ok(client.delete_graph(graph, operation_id).await?.to_string()),
        }
    }
}

/// A process that dies before the cell's own writer comes: what it was asked, and the actions of its fail points.
#[derive(Debug, Clone)]
pub(crate) struct Before {
    pub(crate) deed: Deed,
    pub(crate) actions: Vec<(FailPoint, &'static str)>,
}

/// What a cell's writer finds and does.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Where plain writes and loads go.
    pub(crate) branch: BranchName,
    /// What is done to the graph, after its seed, before anything goes wrong.
    pub(crate) setting: Vec<Deed>,
    /// Who died before, of a rescuer.
    pub(crate) before: Option<Before>,
    /// What the writer is asked.
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
            Writer::RescueComplete => {
                on_main(mine()).after(theirs(tables), vec![(FailPoint::LoadPublishBefore, "kill")])
            }
            Writer::RescueCreate => {
                on_main(mine()).after(Deed::CreateBranch, vec![(FailPoint::BranchCreatePublishBefore, "kill")])
            }
            Writer::RescueRemoval => Self { setting: vec![Deed::CreateBranch], ..Self::plain(Deed::CreateBranch) }
                .after(Deed::DeleteBranch, vec![(FailPoint::BranchRetirePublishAfter, "kill")]),
            Writer::RescueDeletion => Self { setting: vec![Deed::CreateBranch], ..Self::plain(Deed::CreateGraph) }
                .after(Deed::DeleteGraph, vec![(FailPoint::GraphDeletePublishAfter, "kill")]),
        }
    }

    /// Whether the graph is there from the start.
    pub(crate) fn has_graph(&self) -> bool {
        self.deed != Deed::CreateGraph || self.before.is_some()
    }

    fn plain(deed: Deed) -> Self {
        Self { branch: BranchName::Main, setting: Vec::new(), before: None, deed }
    }

    fn after(self, deed: Deed, actions: Vec<(FailPoint, &'static str)>) -> Self {
        Self { before: Some(Before { deed, actions }), ..self }
    }
}

fn theirs(tables: Tables) -> Deed {
    Deed::Load(BranchName::Main, LoadOf::append("theirs", tables))
}

/// Of one table nothing is changed when the process dies; of three at least one is, and at least one, whose writer is held, is not.
fn half_done(tables: Tables) -> Vec<(FailPoint, &'static str)> {
    match tables {
        Tables::One => vec![(FailPoint::LoadArmAfter, "kill")],
        Tables::Three => vec![(FailPoint::LoadApplyBefore, "pause@2"), (FailPoint::LoadApplyAfter, "kill")],
    }
}
