//! From errors of Lance and of the object store to the error of this crate.
//!
//! Why apart from `error`: what failed is judged by the wrappers around the store (hooks, bounds), and those have no part in what callers see.
//! Invariants: an error says `NotApplied` only if that is certain; content that cannot be read is `Corrupt`, and never a failure of the store.

use std::error::Error as StdError;

use lance_core::Error as LanceError;
use lance_core::error::CommitStatusUnknownError;

use crate::bounded::{TooLarge, TooShort};
use crate::causes::causes;
use crate::error::{Certainty, Source, StorageError};
use crate::hooked::HookFault;
use crate::marker::RootFault;
use crate::root::StoreKind;

/// What object_store calls the store that Lance makes of a file in memory. No root is one.
const WHOLE_FILE: &str = "memory";

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
    if RootFault::of(&error).is_some() {
        return StorageError::Store {
            action,
            object: object.to_string(),
            certainty: Certainty::NotApplied,
            source: Box::new(error),
        };
    }
    let certainty = match HookFault::of(&error) {
        Some(HookFault::Refused) => Certainty::NotApplied,
        Some(HookFault::ReplyLost | HookFault::Late | HookFault::Torn) | None => Certainty::Unknown,
    };
    StorageError::Store { action, object: object.to_string(), certainty, source: Box::new(error) }
}
