#![doc = include_str!("../README.md")]

mod clock;
mod failure;
mod id;
mod limits;
mod name;
mod panics;
mod span;

pub use clock::{Clock, ManualClock, Moment, SystemClock};
pub use failure::{
    ConstraintKind, Diagnostic, Effect, Failure, MergeConflict, Phase, Problem, Resource, Retry, Violation,
};
pub use id::{
    AttemptId, BranchId, CommitId, GraphId, GraphVersion, LoadId, OperationId, PropertyId, TableId, TableVersion,
    TreeId,
};
pub use limits::{LimitEntry, Limits};
pub use name::{BranchName, GraphName, NameError};
pub use panics::{Contained, contain, contain_async, quiet_contained_panics};
pub use span::Span;
