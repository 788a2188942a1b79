#![doc = include_str!("../README.md")]

mod answer;
mod attempt;
mod change_set;
mod committer;
mod condition;
mod context;
mod create_branch;
mod decide;
mod delete_branch;
mod delete_graph;
mod door;
mod effect;
mod error;
mod failpoint;
mod fence;
mod gate;
mod inspect;
mod intent;
mod liveness;
mod operation;
mod place;
mod receipt;
mod registry;
mod repair;
mod repair_plan;
mod request;
mod rescue;
mod retirement;
mod round;
mod rounds;
mod settle;
mod ticket;
mod token;
mod write;
mod write_request;

pub use change_set::{
    Attempt, ChangeKind, ChangeSet, RowCounts, RowsChange, SchemaChange, Staged, StagedEffect, TableChange,
};
pub use committer::{Committer, fail_points};
pub use condition::{Damage, FoundTransaction, Standing, TableCondition};
pub use context::CommitOptions;
pub use decide::{Decision, Found, Observation, Owner, PublishedBy, SlotState, decide};
pub use delete_graph::GraphOutcome;
pub use effect::Effect;
pub use error::repair_command;
pub use failpoint::{FailPoint, FailPoints, FailPointsError, Follows, Injected, Side, WriterPoints};
pub use inspect::{BranchCondition, IntentCondition, inspect};
pub use intent::{Intent, NewerIntent, NotAnIntent, Unreadable};
pub use operation::OperationState;
pub use place::Place;
pub use registry::{BranchOutcome, BranchRequest};
pub use repair::RepairOutcome;
pub use repair_plan::{RepairRequest, RepairView};
pub use settle::SettleReport;
pub use token::{HeadRead, ReadSet, Token, TokenCheck, TokenMismatch};
pub use write_request::{ConflictPolicy, WriteOutcome, WriteRequest, Writer};
