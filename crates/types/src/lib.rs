#![doc = include_str!("../README.md")]

mod branch;
mod certainty;
mod check;
mod clock;
mod commit;
pub mod date;
mod detail;
mod failure;
mod feature;
mod graph;
mod id;
mod limits;
mod load;
mod mutants;
mod name;
mod named;
mod operation;
mod os_error;
mod page;
mod panics;
mod problem;
mod progress;
mod query;
mod recent;
mod recovery;
mod repair;
mod request_effect;
mod schema;
mod server;
mod span;
mod table;
mod write;

pub use branch::{BranchInfo, BranchReceipt, CreateBranch, DeleteBranch};
pub use certainty::{Effect, Retry};
pub use check::{CheckFinding, CheckKind, CheckPart, CheckSeverity, CheckSummary, FileAge, UnnamedFiles, UnnamedKind};
pub use clock::{Clock, ManualClock, Moment, SystemClock};
pub use commit::{Commit, CommitKind, TypeCounts, TypeKind};
pub use detail::{
    ConstraintKind, Diagnostic, MergeConflict, MergeConflictKind, Phase, ReadSetMember, Resource, UnknownMember,
    Violation,
};
pub use failure::Failure;
pub use feature::{Feature, FeatureName};
pub use graph::{CreateGraph, DeleteGraph, GraphInfo, GraphReceipt};
pub use id::{
    AttemptId, BranchId, CommitId, GraphId, GraphVersion, LoadId, OperationId, PropertyId, QueryId, RootId, TableId,
    TableVersion, TreeId,
};
pub use limits::{LimitEntry, LimitRefused, LimitUnit, Limits};
pub use load::{Capture, LoadMode, LoadRequest, LoadedRows, TypeLoad, TypeLoadAnswer};
#[doc(hidden)]
pub use mutants::is_mutant;
pub use name::{BranchName, GraphName, NameError, WriterName};
pub use operation::{Operation, OperationState};
pub use os_error::os_phrase;
pub use page::{Page, PageRequest};
pub use panics::{Contained, contain, contain_async, quiet_contained_panics};
pub use problem::Problem;
pub use progress::Progress;
pub use query::{
    ColumnInfo, ColumnType, Columns, QueryHeader, QueryName, QueryRequest, QueryState, ReadAt, ResultFormat,
    RunningQuery, ScalarType, TypeInfo, TypeScan,
};
pub use recent::Recent;
pub use recovery::{RecoveredTable, Recovery, RecoveryOutcome};
pub use repair::{
    Confirmation, FoundTransaction, Repair, RepairPart, RepairReport, RepairState, TableDamage, TableToRepair,
    TransactionKind, UnreadableIntent,
};
pub use request_effect::{Answered, Deciding, RequestEffect, Share};
pub use schema::{Cardinality, PropertyInfo, SchemaInfo, TypeShape, TypeSummary};
pub use server::ServerInfo;
pub use span::Span;
pub use table::{LanceBranch, ListTables, TableInfo, TablePage, TableState, TypeChoice};
pub use write::{OnConflict, WriteMode, WriteOptions, WriteOutcome, WriteReceipt};
