//! The one error of this crate.
//!
//! Invariant: store paths and Lance's messages are in fields and sources, for the log; a `Failure`'s message holds none of them.

use std::error::Error as StdError;

use omnigraph_types::{Failure, Problem, TableVersion};
use thiserror::Error;

use crate::bounded::OBJECT_BYTES_MAX;
use crate::causes::{phrase, way_out};
use crate::marker::RootFault;
use crate::{Pin, TreeRef};

/// The cause, kept for the log.
pub(crate) type Source = Box<dyn StdError + Send + Sync>;

/// How a person identifies the object: a message holds no paths.
const FIND_IT: &str = "`omnigraph check` with the graph's name identifies it and says what to do";

/// Whether a failed call may have changed the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// Proven: it was not applied and will not be.
    NotApplied,
    /// It may have been applied.
    Unknown,
}

/// What was found at the path of a small object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misplaced {
    /// A folder, which only a local root has.
    Folder,
    /// An object that is too large to be read into memory.
    TooLarge {
        /// Its bytes.
        bytes: u64,
        /// Changes whenever it is written, where the store reports it.
        etag: Option<String>,
    },
}

/// Why a storage call failed.
#[derive(Debug, Error)]
pub enum StorageError {
    /// The root's scheme is not served.
    #[error("roots of scheme {scheme:?} are not served: use a local path, file://, s3:// or az://")]
    UnsupportedScheme {
        /// The scheme.
        scheme: String,
    },
    /// The root is no folder that can be made and opened, and no place in a store that has a client.
    #[error("root {root:?} cannot be opened")]
    InvalidRoot {
        /// The root as given.
        root: String,
        /// The cause.
        source: Source,
    },
    /// No root was made here, and none is to be made.
    #[error("there is no root at {root:?}")]
    NoRoot {
        /// The root as it was named.
        root: String,
    },
    /// No root was made here, and something else is stored.
    #[error("{root:?} is no root, and not empty: it holds {}", content.join(", "))]
    RootNotEmpty {
        /// The root as it was resolved.
        root: String,
        /// The first names that are stored there.
        content: Vec<String>,
    },
    /// The store does not permit this process to read and write below the root.
    #[error("the store of the root cannot be used: {reason}")]
    StoreUnusable {
        /// Why, and the way out.
        reason: &'static str,
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
    /// A commit landed at another version than the one after its base.
    #[error("the commit of {tree} for version {expected} landed at {landed}")]
    InexactCommit {
        /// The tree.
        tree: TreeRef,
        /// The version that the commit was for.
        expected: TableVersion,
        /// Where it landed.
        landed: TableVersion,
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
    /// The path of a small object holds something else.
    #[error("{object} is {found:?}, not an object")]
    Misplaced {
        /// The object.
        object: String,
        /// What it holds.
        found: Misplaced,
    },
    /// A tree that was made in another root: the root was moved or copied.
    #[error("{object} was made in {made_in}, which is not this root")]
    OtherRoot {
        /// The tree and version.
        object: String,
        /// Where the tree that it was made from lies.
        made_in: String,
    },
    /// Batches, columns, filters or changes do not fit the table.
    #[error("{action} does not fit {object}")]
    Mismatch {
        /// What was being done, as a verb phrase.
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
            Self::CommitUnknown { .. } | Self::InexactCommit { .. } => Certainty::Unknown,
            Self::UnsupportedScheme { .. }
            | Self::InvalidRoot { .. }
            | Self::NoRoot { .. }
            | Self::RootNotEmpty { .. }
            | Self::StoreUnusable { .. }
            | Self::PutIfAbsentIgnored { .. }
            | Self::TableNotFound { .. }
            | Self::Corrupt { .. }
            | Self::Misplaced { .. }
            | Self::OtherRoot { .. }
            | Self::Mismatch { .. } => Certainty::NotApplied,
        }
    }

    /// Whether the root takes no writes: the same call again is refused too.
    pub fn is_refused_by_the_root(&self) -> bool {
        let cause = match self {
            Self::Store { source, .. } | Self::CommitUnknown { source, .. } => source,
            _ => return false,
        };
        RootFault::of(cause.as_ref()).is_some()
    }

    /// What the operating system or the store said, without any path, where a call failed.
    pub fn system_phrase(&self) -> Option<String> {
        match self {
            Self::Store { source, .. } | Self::CommitUnknown { source, .. } => phrase(source.as_ref()),
            _ => None,
        }
    }

    /// The failure to show, with this error as its source.
    pub fn failure(self) -> Failure {
        let (problem, message) = match &self {
            Self::UnsupportedScheme { scheme } => (
                Problem::Unimplemented { feature: format!("roots of scheme {scheme}") },
                format!("roots of scheme {scheme:?} are not served: use a local path, file://, s3:// or az://"),
            ),
            Self::InvalidRoot { source, .. } => (
                Problem::StorageUnavailable,
                format!(
                    "the root cannot be opened{}: name a folder that this process may write, s3://bucket/prefix or az://container/prefix",
                    said(source.as_ref())
                ),
            ),
            Self::NoRoot { root } => (
                Problem::InvalidRequest { field: "root".to_owned() },
                format!("nothing is stored at {root:?}: check the name, or give --init to make a root there"),
            ),
            Self::RootNotEmpty { root, content } => (
                Problem::InvalidRequest { field: "root".to_owned() },
                format!(
                    "{root:?} is no root, and something else is stored there ({}): check the name, or name an empty place and give --init",
                    content.join(", ")
                ),
            ),
            Self::StoreUnusable { reason, .. } => {
                (Problem::StorageUnavailable, format!("the store of the root cannot be used: {reason}"))
            }
            Self::PutIfAbsentIgnored { .. } => (
                Problem::StorageUnavailable,
                "the store accepts a second put-if-absent of one key: use a store that refuses it".to_owned(),
            ),
            Self::TableNotFound { pin } => (
                Problem::Corrupt { object: "table".to_owned(), expected: format!("version {}", pin.version) },
                format!("version {} of a table is not in the store: {FIND_IT}", pin.version),
            ),
            Self::Store { action, source, .. } => {
                (Problem::StorageUnavailable, explained(&format!("the store failed: {action}"), source.as_ref()))
            }
            Self::CommitUnknown { source, .. } => {
                let failed = "the outcome of a commit could not be read from the store";
                (Problem::StorageUnavailable, explained(failed, source.as_ref()))
            }
            Self::InexactCommit { expected, landed, .. } => (
                Problem::InvariantViolation { object: "table".to_owned(), expected: format!("version {expected}") },
                format!("a commit for version {expected} of a table landed at version {landed}"),
            ),
            Self::Corrupt { expected, .. } => (
                Problem::Corrupt { object: "stored object".to_owned(), expected: (*expected).to_owned() },
                format!("a stored object cannot be read as {expected}: {FIND_IT}"),
            ),
            Self::Misplaced { found, .. } => {
                let expected = format!("an object of at most {OBJECT_BYTES_MAX} bytes");
                let message = match found {
                    Misplaced::Folder => "a folder has the path of a stored object: remove the folder".to_owned(),
                    Misplaced::TooLarge { bytes, .. } => format!("a stored object has {bytes} bytes, which is not {expected}"),
                };
                (Problem::Corrupt { object: "stored object".to_owned(), expected }, message)
            }
            Self::OtherRoot { .. } => (
                Problem::Corrupt { object: "branch".to_owned(), expected: "a root that was not moved".to_owned() },
                "this root was moved or copied since its branches were made, and they name files by their old place: serve it from there, or \
                 read main"
                    .to_owned(),
            ),
            Self::Mismatch { action, .. } => {
                (Problem::Internal, format!("a change or a read does not fit a table: {action}"))
            }
        };
        Failure::new(problem, message).with_source(self)
    }
}

/// What failed, with its cause and the way out; or the root's fault, which explains it.
fn explained(failed: &str, source: &(dyn StdError + 'static)) -> String {
    match (RootFault::of(source), way_out(source)) {
        (Some(fault), _) => fault.advice().to_owned(),
        (None, Some(way_out)) => format!("{failed}{}: {way_out}; the server's log names the path", said(source)),
        (None, None) => format!("{failed}{}", said(source)),
    }
}

/// What the operating system or the store said, as the rest of a message.
fn said(source: &(dyn StdError + 'static)) -> String {
    phrase(source).map_or_else(String::new, |phrase| format!(" ({phrase})"))
}
