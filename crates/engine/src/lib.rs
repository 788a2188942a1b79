#![doc = include_str!("../README.md")]
// A `Failure` is made once per failed request; its size matters less than its being plain data.
#![allow(clippy::result_large_err)]

mod caller;
mod cause;
mod check;
mod context;
mod describe;
mod digest;
mod engine;
mod error;
mod execute;
mod failpoints;
mod graph;
mod graph_context;
mod graph_info;
mod load;
mod open_graphs;
mod operations;
mod queue;
mod reads;
mod schema;
mod snapshot;
mod transactions;
mod vouched;
mod words;

pub use caller::Caller;
pub use context::EngineOptions;
pub use engine::Engine;
pub use execute::{Access, Execute, Target};
pub use failpoints::fail_points;
pub use graph::Graph;
pub use load::{Load, TypeStream};
pub use omnigraph_catalog::STORAGE_FORMAT;
pub use omnigraph_commit::SettleReport;
pub use omnigraph_storage::{Durability, NewRoot, RootFault, RootOrigin, RootState, StoreHook};
pub use open_graphs::{GraphHandle, OpenGraphs};
pub use operations::{
    BranchSettled, CheckGraph, CheckStream, GetBranch, GetCommit, GetGraph, GetOperation, GetSchema, GraphCreated,
    ListBranches, ListCommits, ListGraphs, ListRecoveries, ListTables, PinCommit, QueryStream, Recover, Scan,
    SettleAll,
};
pub use snapshot::{BatchStream, GraphSnapshot};
