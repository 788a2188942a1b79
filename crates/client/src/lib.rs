#![doc = include_str!("../README.md")]

mod branches;
mod client;
mod endpoint;
mod error;
mod load;
mod maintenance;
mod model;
mod options;
mod query;
mod recoveries;
mod retry;
mod scan;
mod upload;
mod value;

pub use branches::{DeleteBranch, NewBranch};
pub use client::{Client, NewGraph};
pub use error::ClientError;
pub use load::{Capture, Compression, LoadMode, LoadOptions, LoadTarget, Loader, NdjsonLoader, OnConflict, Purpose};
pub use maintenance::{CheckParts, Repair};
pub use model::{
    BranchInfo, CheckFinding, CheckPart, CheckSeverity, CheckSummary, Commit, CommitKind, Feature, FoundTransaction,
    GraphInfo, Operation, OperationState, Outcome, Page, PageRequest, Receipt, RecoveredTable, Recovery,
    RecoveryOutcome, RepairReport, RepairState, SchemaInfo, ServerInfo, ServerLimit, TableDamage, TableToRepair,
    TypeCounts, TypeKind, UnnamedFiles, UnreadableIntent,
};
pub use omnigraph_types as types;
pub use options::{ClientOptions, ReadAt, Timeout};
pub use query::{Query, QueryName, QueryResult, Row, RowResult};
pub use retry::RetryPolicy;
pub use scan::{BatchStream, Columns, Scan, TypeRows};
pub use value::Value;
