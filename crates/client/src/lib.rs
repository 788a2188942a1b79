#![doc = include_str!("../README.md")]

mod branch;
mod client;
mod commit;
mod deadline;
mod endpoint;
mod error;
mod graph;
mod load;
mod maintenance;
mod operation;
mod options;
mod query;
mod retry;
mod scan;
mod schema;
mod server;
mod upload;
mod value;

pub use client::Client;
pub use deadline::Timeout;
pub use error::ClientError;
pub use load::{Compression, LoadOptions, LoadTarget, Loader, NdjsonLoader};
pub use maintenance::CheckParts;
pub use omnigraph_types as types;
pub use omnigraph_types::{
    BranchInfo, BranchReceipt, Capture, CheckFinding, CheckKind, CheckPart, CheckSeverity, CheckSummary, Columns,
    Commit, CommitKind, Confirmation, CreateBranch, CreateGraph, DeleteBranch, DeleteGraph, Feature, FileAge,
    FoundTransaction, GraphInfo, GraphReceipt, LanceBranch, ListTables, LoadMode, OnConflict, Operation,
    OperationState, Page, PageRequest, QueryName, QueryRequest, ReadAt, RecoveredTable, Recovery, RecoveryOutcome,
    Repair, RepairReport, RepairState, SchemaInfo, ServerInfo, TableDamage, TableInfo, TablePage, TableState,
    TableToRepair, TransactionKind, TypeChoice, TypeCounts, TypeKind, TypeScan, UnnamedFiles, UnnamedKind,
    UnreadableIntent, WriteMode, WriteOutcome, WriteReceipt,
};
pub use options::ClientOptions;
pub use query::{QueryResult, Row, RowResult};
pub use retry::RetryPolicy;
pub use scan::{BatchStream, TypeRows};
pub use value::Value;
