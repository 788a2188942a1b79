#![doc = include_str!("../README.md")]

mod base;
mod branches;
mod catalog;
mod chain;
mod error;
mod format;
mod graphs;
mod history;
mod paths;
mod publication;
mod rows;
mod snapshot;
mod state;
#[doc(hidden)]
pub mod stored;

pub use branches::Chain;
pub use catalog::{Catalog, sha256_hex};
pub use chain::{PublishOutcome, StagedPublication};
pub use error::CatalogError;
pub use format::STORAGE_FORMAT;
pub use graphs::{GraphEntry, Graphs, NameRemoval, NewGraph, NewTable};
pub use paths::GraphPaths;
pub use publication::{PinChange, Precondition, Publication, Unmet};
pub use rows::{
    BranchRow, CommitKind, CommitRow, OperationRow, PlannedTransactions, PublicationKind, RecoveryRow, RetiredRow,
    TableCounts, TableKind, TableRow, TableTransition, UnsettledRow,
};
pub use snapshot::Snapshot;
pub use state::State;
