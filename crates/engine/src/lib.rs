#![doc = include_str!("../README.md")]
// A `Failure` is made once per failed request; its size matters less than its being plain data.
#![allow(clippy::result_large_err)]

mod branches;
mod deletion;
mod engine;
mod error;
mod graph;
mod load;
mod recovery;
mod schema;
mod snapshot;

pub use branches::{BranchInfo, BranchReceipt, CreateBranch, DeleteBranch};
pub use deletion::DeleteGraph;
pub use engine::{CreateGraph, Engine, EngineOptions, GraphInfo};
pub use graph::{CommitInfo, Graph, OperationState, ReadAt, TypeCounts};
pub use load::{Load, LoadMode, LoadOutcome, LoadReceipt, LoadRequest, OnConflict, TypeStream, ValidateOnly};
pub use omnigraph_catalog::STORAGE_FORMAT;
pub use omnigraph_commit::SettleReport;
pub use omnigraph_storage::{Durability, StoreHook};
pub use recovery::{BranchSettled, RecoveredTable, RecoveryInfo, RecoveryOutcome};
pub use snapshot::{BatchStream, ColumnInfo, ColumnType, GraphSnapshot, QueryRequest, QueryStream, TypeInfo, TypeKind};
