//! The subject of a cell: its graph before the fault, the requests to it, and how they ended.

use std::sync::Arc;

use omnigraph_client::ClientError;
use omnigraph_types::{Effect, Failure, GraphName, OperationId};

use crate::cell::Cell;
use crate::deed::{Deed, Plan};
use crate::model::{Fate, Rows};
use crate::stand::Stand;

/// The graph of a cell, as it was before the fault.
pub(crate) struct World {
    pub(crate) stand: Arc<Stand>,
    pub(crate) cell: Cell,
    pub(crate) plan: Plan,
    pub(crate) graph: GraphName,
    /// Its id, if it existed.
    pub(crate) graph_id: Option<String>,
    /// The id of `dev`, if it existed.
    pub(crate) dev_id: Option<String>,
    pub(crate) start: Rows,
}

/// How a request ended.
#[derive(Debug)]
pub(crate) enum Reply {
    Acknowledged(String),
    Failed(Box<Failure>),
    /// The client cancelled it.
    Cancelled,
}

impl Reply {
    pub(crate) fn of(outcome: Result<String, ClientError>) -> Self {
        match outcome {
            Ok(id) => Self::Acknowledged(id),
            Err(error) => Self::Failed(Box::new(error.failure())),
        }
    }

    /// What it states about the operation before anything is sent again.
    pub(crate) fn fate(&self) -> Fate {
        match self {
            Self::Acknowledged(_) => Fate::There,
            Self::Failed(failure) if failure.effect == Effect::None => Fate::Absent,
            Self::Failed(_) | Self::Cancelled => Fate::Open,
        }
    }
}

/// One operation of a cell.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) deed: Deed,
    pub(crate) id: OperationId,
    pub(crate) reply: Reply,
    pub(crate) minted_by: MintedBy,
}

/// By whose clock an operation's id was minted: a server whose clock differs by years refuses an id that it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MintedBy {
    /// The clock of all servers but the one that meets the fault.
    Sound,
    /// The clock of the server that meets the fault.
    Victim,
}

/// Where the plain write was committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plain {
    /// In the graph that existed.
    Written,
    /// That graph is removed: in a new one of its name.
    InNewGraph,
}
