//! The one error of this crate.
//!
//! Invariant: store paths and Lance's words are in fields and sources, for the log; a `Failure`'s message holds none of them.

use std::error::Error as StdError;

use lance_core::Error as LanceError;
use lance_core::error::CommitStatusUnknownError;
use omnigraph_types::{Failure, Problem, TableVersion};
use thiserror::Error;

use crate::bounded::{TooLarge, TooShort};
use crate::hooked::HookFault;
use crate::object::OBJECT_BYTES_MAX;
use crate::root::StoreKind;
use crate::{Pin, TreeRef};

/// The cause, kept for the log.
pub(crate) type Source = Box<dyn StdError + Send + Sync>;

/// How a person learns which object it is: a message holds no paths.
const FIND_IT: &str = "`omnigraph check` with the graph's name tells which and what to do";

/// What object_store calls the store that Lance makes of a file in memory. No root is one.
const WHOLE_FILE: &str = "memory";

/// Whether a failed call may have changed the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// Proven: it was not applied and will not be.
    NotApplied,
    /// It may have been applied.
    Unknown,
}

/// What can stand where a small object belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misplaced {
    /// A folder, which only a local root has.
    Folder,
    /// An object that is too large to be read into memory.
    TooLarge {
        /// Its bytes.
        bytes: u64,
        /// Changes whenever it is written, where the store tells.
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
    /// The store does not let this process read and write below the root.
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
    /// Something that is no small object stands where one belongs.
    #[error("{object} is {found:?}, not an object")]
    Misplaced {
        /// The object.
        object: String,
        /// What stands there.
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
            | Self::StoreUnusable { .. }
            | Self::PutIfAbsentIgnored { .. }
            | Self::TableNotFound { .. }
            | Self::Corrupt { .. }
            | Self::Misplaced { .. }
            | Self::OtherRoot { .. }
            | Self::Mismatch { .. } => Certainty::NotApplied,
        }
    }

    /// The failure to show, with this error as its source.
    pub fn failure(self) -> Failure {
        let (problem, message) = match &self {
            Self::UnsupportedScheme { scheme } => (
                Problem::Unimplemented { feature: format!("roots of scheme {scheme}") },
                format!("roots of scheme {scheme:?} are not served: use a local path, file://, s3:// or az://"),
            ),
            Self::InvalidRoot { .. } => (
                Problem::StorageUnavailable,
                "the root cannot be opened: name a folder that this process may write, s3://bucket/prefix or az://container/prefix".to_owned(),
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
            Self::Store { action, .. } => (Problem::StorageUnavailable, format!("the store failed: {action}")),
            Self::CommitUnknown { .. } => {
                (Problem::StorageUnavailable, "the store did not tell the outcome of a commit".to_owned())
            }
            Self::InexactCommit { expected, landed, .. } => (
                Problem::InvariantViolation { object: "table".to_owned(), expected: format!("version {expected}") },
                format!("a commit for version {expected} of a table landed at version {landed}"),
            ),
            Self::Corrupt { expected, .. } => (
                Problem::Corrupt { object: "stored object".to_owned(), expected: (*expected).to_owned() },
                format!("a stored object is not what it must be, {expected}: {FIND_IT}"),
            ),
            Self::Misplaced { found, .. } => {
                let expected = format!("an object of at most {OBJECT_BYTES_MAX} bytes");
                let message = match found {
                    Misplaced::Folder => "a folder stands where an object belongs: remove it".to_owned(),
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
                (Problem::Internal, format!("what was to be done does not fit a table: {action}"))
            }
        };
        Failure::new(problem, message).with_source(self)
    }
}

/// The error of a Lance call that changes nothing others can see.
pub(crate) fn lance_error(action: &'static str, object: impl ToString, error: LanceError) -> StorageError {
    let object = object.to_string();
    match error {
        LanceError::External { source } => match source.downcast::<StorageError>() {
            Ok(own) => *own,
            Err(source) => StorageError::Store { action, object, certainty: Certainty::NotApplied, source },
        },
        LanceError::InvalidInput { .. }
        | LanceError::SchemaMismatch { .. }
        | LanceError::Schema { .. }
        | LanceError::Arrow { .. }
        | LanceError::FieldNotFound { .. }
        | LanceError::NotSupported { .. } => StorageError::Mismatch { action, object, source: Box::new(error) },
        error => match blame(&error) {
            Blame::Content(expected) => StorageError::Corrupt { object, expected, source: Box::new(error) },
            Blame::Store | Blame::Neither => {
                StorageError::Store { action, object, certainty: Certainty::NotApplied, source: Box::new(error) }
            }
        },
    }
}

pub(crate) fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| {
        let error: &'a (dyn StdError + 'static) = *error;
        error.source()
    })
}

/// The error of reading tables through another library.
///
/// # Errors
/// The cause itself, where neither the store nor what it holds is to blame.
pub fn reading_error(action: &'static str, cause: Source) -> Result<StorageError, Source> {
    const OBJECT: &str = "the tables read";
    match blame(cause.as_ref()) {
        Blame::Content(expected) => Ok(StorageError::Corrupt { object: OBJECT.to_owned(), expected, source: cause }),
        Blame::Store => {
            let (object, certainty) = (OBJECT.to_owned(), Certainty::NotApplied);
            Ok(StorageError::Store { action, object, certainty, source: cause })
        }
        Blame::Neither => Err(cause),
    }
}

/// Who is to blame for a failed read.
enum Blame {
    /// What the store holds: this was expected.
    Content(&'static str),
    /// The store, which may answer another time.
    Store,
    /// Neither.
    Neither,
}

fn blame(error: &(dyn StdError + 'static)) -> Blame {
    // A shared error passes for the one in it, except when it is asked for its type.
    let of_lance = |wanted: fn(&LanceError) -> bool| {
        causes(error).filter_map(|cause| cause.downcast_ref::<LanceError>()).any(|cause| wanted(cause.find_root()))
    };
    let of_store = |wanted: fn(&object_store::Error) -> bool| {
        causes(error).any(|cause| cause.downcast_ref::<object_store::Error>().is_some_and(wanted))
    };
    let absent = of_store(|error| matches!(error, object_store::Error::NotFound { .. }))
        || of_lance(|error| matches!(error, LanceError::NotFound { .. }));
    let through_lance = of_lance(|_| true);
    // Lance reads a small file whole and then from memory: a range that is not in it is the file's fault.
    let failed = of_store(|error| !matches!(error, object_store::Error::Generic { store, .. } if *store == WHOLE_FILE));
    if TooLarge::of(error).is_some() || TooShort::is_root_of(error) {
        return Blame::Content("a Lance file");
    }
    if absent {
        // A version names its files, and nobody removes one that is named.
        Blame::Content("a file that a table's version names")
    } else if failed || (through_lance && causes(error).any(|cause| cause.is::<std::io::Error>())) {
        Blame::Store
    } else if of_lance(|error| {
        matches!(
            error,
            LanceError::CorruptFile { .. }
                | LanceError::IO { .. }
                | LanceError::InvalidInput { .. }
                | LanceError::Arrow { .. }
        )
    }) {
        // The store gave the bytes, and Lance could not make sense of them. It calls a file that is none an invalid input.
        Blame::Content("a Lance file")
    } else {
        Blame::Neither
    }
}

/// Whether Lance itself could not tell if its commit landed.
pub(crate) fn is_status_unknown(error: &LanceError) -> bool {
    if matches!(error, LanceError::Timeout { .. }) {
        return true;
    }
    causes(error).any(|cause| cause.is::<CommitStatusUnknownError>())
}

/// Whether a call that failed may be applied yet, by a store that is not asked again. A local call that has returned is over.
pub(crate) fn may_land(error: &object_store::Error, place: StoreKind) -> bool {
    use object_store::Error as Failed;
    match HookFault::of(error) {
        Some(HookFault::Late) => true,
        Some(HookFault::Refused | HookFault::ReplyLost | HookFault::Torn) => false,
        None => match error {
            // The store has answered, and its answer is no.
            Failed::AlreadyExists { .. }
            | Failed::Precondition { .. }
            | Failed::NotFound { .. }
            | Failed::InvalidPath { .. }
            | Failed::NotSupported { .. }
            | Failed::NotImplemented { .. }
            | Failed::PermissionDenied { .. }
            | Failed::Unauthenticated { .. } => false,
            _ => place != StoreKind::Local,
        },
    }
}

/// The error of an object store call.
pub(crate) fn object_error(action: &'static str, object: impl ToString, error: object_store::Error) -> StorageError {
    let certainty = match HookFault::of(&error) {
        Some(HookFault::Refused) => Certainty::NotApplied,
        Some(HookFault::ReplyLost | HookFault::Late | HookFault::Torn) | None => Certainty::Unknown,
    };
    StorageError::Store { action, object: object.to_string(), certainty, source: Box::new(error) }
}
