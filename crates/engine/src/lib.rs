#![doc = include_str!("../README.md")]
// A `Failure` is made once per failed request; its size matters less than its being plain data.
#![allow(clippy::result_large_err)]

mod branches;
mod check;
mod deletion;
mod engine;
mod error;
mod graph;
mod load;
mod recovery;
mod repair;
mod schema;
mod snapshot;

pub use branches::{BranchInfo, BranchReceipt, CreateBranch, DeleteBranch};
pub use check::{
    CheckFinding, CheckKind, CheckPart, CheckSeverity, CheckStream, CheckSummary, FileAge, UnnamedFiles, UnnamedKind,
};
pub use deletion::DeleteGraph;
pub use engine::{CreateGraph, Engine, EngineOptions, GraphInfo};
pub use graph::{CommitInfo, Graph, OperationState, ReadAt, TypeCounts};
pub use load::{Load, LoadMode, LoadOutcome, LoadReceipt, LoadRequest, OnConflict, TypeStream, ValidateOnly};
pub use omnigraph_catalog::STORAGE_FORMAT;
pub use omnigraph_commit::SettleReport;
pub use omnigraph_storage::{Durability, StoreHook};
pub use recovery::{BranchSettled, RecoveredTable, RecoveryInfo, RecoveryOutcome};
pub use repair::{
    Confirmation, Damage, FoundTransaction, RepairReport, RepairRequest, RepairState, TableToRepair, UnreadableIntent,
};
pub use snapshot::{BatchStream, ColumnInfo, ColumnType, GraphSnapshot, QueryRequest, QueryStream, TypeInfo, TypeKind};
