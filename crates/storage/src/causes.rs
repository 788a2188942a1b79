//! The causes of an error, from itself to its root, and what the last of them says in one phrase.

use std::error::Error as StdError;
use std::io;

use object_store::client::{HttpError, HttpErrorKind};
use omnigraph_types::os_phrase;

/// The error and its causes, in order.
pub(crate) fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| {
        let error: &'a (dyn StdError + 'static) = *error;
        // An I/O error around another one reports that one's cause as its own, and leaves it out.
        let inside = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inside.map(|inside| inside as &(dyn StdError + 'static)).or_else(|| error.source())
    })
}

/// The deepest error of the operating system.
fn of_system<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a io::Error> {
    let found = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
    found.filter(|found| found.raw_os_error().is_some()).last()
}

/// What a person does about an error of the operating system, where that is known.
pub(crate) fn way_out(error: &(dyn StdError + 'static)) -> Option<&'static str> {
    match of_system(error)?.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some("free space on the disk of the server's root")
        }
        io::ErrorKind::ReadOnlyFilesystem => Some("make the file system of the server's root writable"),
        io::ErrorKind::PermissionDenied => Some("let the user of the server's process write below its root"),
        _ => None,
    }
}

/// What the operating system or the store said, without any path; none where it said nothing that is known.
pub(crate) fn phrase(error: &(dyn StdError + 'static)) -> Option<String> {
    if let Some(found) = of_system(error) {
        return Some(os_phrase(found));
    }
    let of_store = causes(error).filter_map(|cause| cause.downcast_ref::<object_store::Error>()).find_map(said);
    of_store.or_else(|| {
        let of_client = causes(error).find_map(|cause| cause.downcast_ref::<HttpError>());
        of_client.and_then(|found| reached(found.kind())).map(str::to_owned)
    })
}

/// What the store answered, where its client knows the answer.
fn said(error: &object_store::Error) -> Option<String> {
    match error {
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
            Some("access denied".to_owned())
        }
        _ => None,
    }
}

/// Why the store gave no answer.
fn reached(kind: HttpErrorKind) -> Option<&'static str> {
    match kind {
        HttpErrorKind::Connect => Some("it cannot be reached"),
        HttpErrorKind::Timeout => Some("it did not answer in time"),
        HttpErrorKind::Interrupted => Some("the connection was interrupted"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the object store wraps an error of the operating system, with paths around it.
    fn wrapped(code: i32) -> object_store::Error {
        let inside = object_store::Error::Generic {
            store: "LocalFileSystem",
            source: Box::new(io::Error::from_raw_os_error(code)),
        };
        let inside = io::Error::other(inside);
        object_store::Error::NotFound { path: "/secret/place".to_owned(), source: Box::new(inside) }
    }

    #[test]
    fn phrase_is_what_the_deepest_system_error_says() {
        assert_eq!(phrase(&wrapped(28)).as_deref(), Some("no space left on device"));
        assert_eq!(phrase(&wrapped(30)).as_deref(), Some("read-only file system"));
        let denied = object_store::Error::PermissionDenied { path: "/secret".to_owned(), source: "403".into() };
        assert_eq!(phrase(&denied).as_deref(), Some("access denied"));
        let unknown = object_store::Error::Generic { store: "S3", source: "https://secret".into() };
        assert_eq!(phrase(&unknown), None);
    }
}
