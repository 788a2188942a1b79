//! What the call headers of a load say.
//!
//! A load by path says all of it in headers; one by `LoadCommand` says it in the command, and only how its end is known in a header. A header
//! that has no meaning for the call is refused.

use omnigraph_call::OwnHeaders;
use omnigraph_types::{Failure, LoadMode, OnConflict, WriteMode, WriteOptions};
use omnigraph_wire::codec::{optional_commit_id, optional_operation_id};

use crate::FlightFault;

pub(crate) const MODE: &str = "x-omnigraph-mode";
pub(crate) const OPERATION_ID: &str = "x-omnigraph-operation-id";
pub(crate) const EXPECTED_HEAD: &str = "x-omnigraph-expected-head";
pub(crate) const ON_CONFLICT: &str = "x-omnigraph-on-conflict";
pub(crate) const VALIDATE_ONLY: &str = "x-omnigraph-validate-only";
pub(crate) const END: &str = "x-omnigraph-end";

/// What makes the end of a stream an end that the client meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// A message without rows whose `app_metadata` is `end`, and then the end of the request body.
    Marked,
    /// The end of the request body alone: the client accepts that a program of its own that dies may commit what it had sent.
    OfBody,
}

/// The headers of a load by path.
#[derive(Debug)]
pub(crate) struct LoadHeaders {
    pub(crate) mode: LoadMode,
    pub(crate) options: WriteOptions,
    pub(crate) end: StreamEnd,
}

impl LoadHeaders {
    /// Reads the headers of a load by path.
    pub(crate) fn of_path(mut headers: OwnHeaders) -> Result<Self, Failure> {
        let mode = match headers.read(MODE)?.as_deref() {
            None => return Err(FlightFault::MissingMode.failure()),
            Some("append") => LoadMode::Append,
            Some("merge") => LoadMode::Merge,
            Some("overwrite") => LoadMode::Overwrite,
            Some(other) => return Err(bad(MODE, other, "use append, merge or overwrite")),
        };
        let options = WriteOptions {
            operation_id: optional_operation_id(&headers.read(OPERATION_ID)?.unwrap_or_default())?,
            expected_head: optional_commit_id("expected_head", &headers.read(EXPECTED_HEAD)?.unwrap_or_default())?,
            on_conflict: match headers.read(ON_CONFLICT)?.as_deref() {
                None => OnConflict::ByKind,
                Some("fail") => OnConflict::Fail,
                Some("retry") => OnConflict::Retry,
                Some(other) => return Err(bad(ON_CONFLICT, other, "use fail or retry, or leave it out")),
            },
            mode: match headers.read(VALIDATE_ONLY)?.as_deref() {
                None | Some("false") => WriteMode::Commit,
                Some("true") => WriteMode::ValidateOnly,
                Some(other) => return Err(bad(VALIDATE_ONLY, other, "use true or false")),
            },
        };
        let end = end(&mut headers)?;
        headers.finish(&[MODE, OPERATION_ID, EXPECTED_HEAD, ON_CONFLICT, VALIDATE_ONLY, END])?;
        Ok(Self { mode, options, end })
    }

    /// Reads the one header that a load by `LoadCommand` may have.
    pub(crate) fn of_command(mut headers: OwnHeaders) -> Result<StreamEnd, Failure> {
        let end = end(&mut headers)?;
        headers.finish(&[END])?;
        Ok(end)
    }
}

fn end(headers: &mut OwnHeaders) -> Result<StreamEnd, Failure> {
    match headers.read(END)?.as_deref() {
        None | Some("marked") => Ok(StreamEnd::Marked),
        Some("unmarked") => Ok(StreamEnd::OfBody),
        Some(other) => Err(bad(END, other, "use marked or unmarked")),
    }
}

fn bad(field: &'static str, found: &str, expected: &'static str) -> Failure {
    FlightFault::BadField { field, found: found.to_owned(), expected }.failure()
}
