//! The one error of this crate.
//!
//! Invariant: store paths and Lance's words are in fields and sources, for the log; a `Failure`'s message holds none of them.

use std::error::Error as StdError;

use omnigraph_types::{Failure, Problem, TableVersion};
use thiserror::Error;

use crate::{Pin, TreeRef};

/// The cause, kept for the log.
pub(crate) type Source = Box<dyn StdError + Send + Sync>;

/// Whether a failed call may have changed the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// Proven: it was not applied and will not be.
    NotApplied,
    /// It may have been applied.
    Unknown,
}

/// Why a storage call failed.
#[derive(Debug, Error)]
pub enum StorageError {
    /// The root's scheme is not served.
    #[error("roots of scheme {scheme:?} are not served: use a local path or file://")]
    UnsupportedScheme {
        /// The scheme.
        scheme: String,
    },
    /// The root is no absolute or relative local path.
    #[error("root {root:?} cannot be opened")]
    InvalidRoot {
        /// The root as given.
        root: String,
        /// The cause.
        source: Source,
    },
    /// The store does not refuse a second put-if-absent of one key.
    #[error("the store does not honour put-if-absent: the second put of {object} was accepted")]
    PutIfAbsentIgnored {
        /// The probe object.
        object: String,
    },
    /// There is no such version.
    #[error("table version {pin} does not exist")]
    TableNotFound {
        /// What was asked for.
        pin: Pin,
    },
    /// The store failed.
    #[error("{action} failed for {object}")]
    Store {
        /// What was being done, as a verb phrase.
        action: &'static str,
        /// The object or table.
        object: String,
        /// Whether a write may have been applied. Reads are `NotApplied`.
        certainty: Certainty,
        /// The cause.
        source: Source,
    },
    /// A commit whose outcome could not be read back.
    #[error("the outcome of the commit of {tree} at version {version} is not known")]
    CommitUnknown {
        /// The tree.
        tree: TreeRef,
        /// The version that the commit was for.
        version: TableVersion,
        /// The cause.
        source: Source,
    },
    /// An object cannot be read as what it must be.
    #[error("{object} cannot be read as {expected}")]
    Corrupt {
        /// The object.
        object: String,
        /// What was expected.
        expected: &'static str,
        /// The cause.
        source: Source,
    },
    /// Batches, columns or filters do not fit the table.
    #[error("{action} does not fit {object}")]
    Mismatch {
        /// What was being done.
        action: &'static str,
        /// The table.
        object: String,
        /// The cause.
        source: Source,
    },
    /// A query ran out of its memory budget.
    #[error("{action} exceeded its memory budget on {object}")]
    Memory {
        /// What was being done.
        action: &'static str,
        /// The table.
        object: String,
        /// The cause.
        source: Source,
    },
}

impl StorageError {
    /// Whether the failed call may have changed the store.
    pub fn certainty(&self) -> Certainty {
        match self {
            Self::Store { certainty, .. } => *certainty,
            Self::CommitUnknown { .. } => Certainty::Unknown,
            Self::UnsupportedScheme { .. }
            | Self::InvalidRoot { .. }
            | Self::PutIfAbsentIgnored { .. }
            | Self::TableNotFound { .. }
            | Self::Corrupt { .. }
            | Self::Mismatch { .. }
            | Self::Memory { .. } => Certainty::NotApplied,
        }
    }

    /// The failure to show, with this error as its source.
    pub fn failure(self) -> Failure {
        let (problem, message) = match &self {
            Self::UnsupportedScheme { scheme } => (
                Problem::Unimplemented { feature: format!("roots of scheme {scheme}") },
                format!("roots of scheme {scheme:?} are not served: use a local path or file://"),
            ),
            Self::InvalidRoot { .. } => (
                Problem::StorageUnavailable,
                "the root cannot be opened: check that the path is a writable folder".into(),
            ),
            Self::PutIfAbsentIgnored { .. } => (
                Problem::StorageUnavailable,
                "the store accepts a second put-if-absent of one key: use a store that refuses it".into(),
            ),
            Self::TableNotFound { pin } => (
                Problem::Corrupt { object: "table".into(), expected: format!("version {}", pin.version) },
                format!("version {} of a table is gone from the store", pin.version),
            ),
            Self::Store { action, .. } => (Problem::StorageUnavailable, format!("{action} failed in the store")),
            Self::CommitUnknown { .. } => {
                (Problem::StorageUnavailable, "the store did not tell the outcome of a commit".into())
            }
            Self::Corrupt { expected, .. } => (
                Problem::Corrupt { object: "stored object".into(), expected: (*expected).into() },
                format!("a stored object cannot be read as {expected}"),
            ),
            Self::Mismatch { action, .. } => (Problem::Internal, format!("{action} does not fit the table")),
            Self::Memory { action, .. } => {
                (Problem::StorageUnavailable, format!("{action} exceeded its memory budget: ask for less at once"))
            }
        };
        Failure::new(problem, message).with_source(self)
    }
}
