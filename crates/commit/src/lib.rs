#![doc = include_str!("../README.md")]

mod attempt;
mod branches;
mod committer;
mod condition;
mod decide;
mod deletion;
mod effect;
mod error;
mod failpoint;
mod gate;
mod inspect;
mod intent;
mod liveness;
mod operation;
mod place;
mod publish;
mod repair;
mod settle;
mod token;
mod write;

pub use branches::{BranchOutcome, BranchRequest, BranchSource};
pub use committer::{CommitOptions, Committer};
pub use condition::{Damage, FoundTransaction, Standing, TableCondition};
pub use decide::{Decision, Observation, Owner, PublishedBy, SlotState, decide};
pub use deletion::GraphOutcome;
pub use effect::Effect;
pub use error::repair_command;
pub use failpoint::{FailPoint, FailPoints, FailPointsError};
pub use inspect::{BranchCondition, IntentCondition, inspect};
pub use intent::{Intent, Unreadable};
pub use operation::OperationState;
pub use place::Place;
pub use repair::{RepairOutcome, RepairRequest, RepairView};
pub use settle::SettleReport;
pub use token::{Token, TokenCheck, TokenMismatch};
pub use write::{
    Attempt, OnConflict, Prepared, Staged, TableChange, WriteKind, WriteMode, WriteOutcome, WriteRequest, Writer,
};
