#![doc = include_str!("../README.md")]

mod base;
mod birth;
mod catalog;
mod chain;
mod check;
mod commits;
mod context;
mod digest;
mod error;
pub mod format;
mod graphs;
mod history;
mod name_entry;
mod names;
mod newer;
mod operations;
mod own_ids;
mod paths;
mod publication;
mod publish;
mod registry;
mod rows;
mod snapshot;
mod stamp;
mod state;
#[doc(hidden)]
pub mod stored;
#[cfg(test)]
mod tests;
mod versions;

pub use birth::{NewGraph, NewTable};
pub use catalog::Catalog;
pub use chain::Chain;
pub use digest::sha256_hex;
pub use error::CatalogError;
pub use graphs::{GraphEntry, Graphs, Made, NameRemoval, ToDelete};
pub use newer::{Newer, Reading};
pub use operations::{OPERATIONS_MAX, OperationEntry, Operations};
pub use own_ids::{IdRange, OwnIds};
pub use paths::GraphPaths;
pub use publication::{Change, Incoherent, PinChange, Precondition, Publication, Unmet};
pub use publish::{PublishOutcome, StagedPublication};
pub use rows::{
    BranchRow, CommitOperation, CommitRow, DecidedBy, Decision, GROUP_ACTOR, OperationRow, PlannedTransactions,
    PublicationKind, PublicationResult, PublicationRow, RecoveryRow, Removal, RetentionRow, RetiredRow, TableCounts,
    TableRow, TableTransition, UnsettledRow,
};
pub use snapshot::Snapshot;
pub use stamp::STORAGE_FORMAT;
pub use state::State;
