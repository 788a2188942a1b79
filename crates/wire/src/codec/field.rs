//! Fields of messages: names, ids, times and lists, read with an error that names the field.

use std::fmt::Display;
use std::str::FromStr;

use omnigraph_types::{BranchName, CommitId, Failure, GraphName, OperationId, Problem};
use prost_types::Timestamp;

use super::message::{AnswerCodec, MalformedAnswer};

const MS_PER_SECOND: u64 = 1_000;
const NANOS_PER_MS: u64 = 1_000_000;

/// The failure of a request whose field is not what the contract says.
pub fn invalid(field: &str, message: impl Into<String>) -> Failure {
    Failure::new(Problem::InvalidRequest { field: field.to_owned() }, message)
}

/// A graph's name in a request.
pub fn graph_name(field: &str, text: &str) -> Result<GraphName, Failure> {
    named(field, text)
}

/// A branch's name in a request.
pub fn branch_name(field: &str, text: &str) -> Result<BranchName, Failure> {
    named(field, text)
}

fn named<T>(field: &str, text: &str) -> Result<T, Failure>
where
    T: FromStr,
    T::Err: Display,
{
    text.parse().map_err(|error: T::Err| invalid(field, format!("{field}: {error}")))
}

/// A commit's id in a request.
pub fn commit_id(field: &str, text: &str) -> Result<CommitId, Failure> {
    let message = || format!("{field} is {text:?}: give a commit's id, the 26 characters that responses return");
    text.parse().map_err(|_| invalid(field, message()))
}

/// A commit's id in a request, none if the text is empty.
pub fn optional_commit_id(field: &str, text: &str) -> Result<Option<CommitId>, Failure> {
    if text.is_empty() { Ok(None) } else { commit_id(field, text).map(Some) }
}

/// An operation's id in a request.
pub fn required_operation_id(text: &str) -> Result<OperationId, Failure> {
    let message =
        || format!("operation_id is {text:?}: give a ULID, 26 Crockford characters, a fresh one for each operation");
    text.parse().map_err(|_| invalid("operation_id", message()))
}

/// An operation's id in a request, none if the text is empty.
pub fn optional_operation_id(text: &str) -> Result<Option<OperationId>, Failure> {
    if text.is_empty() { Ok(None) } else { required_operation_id(text).map(Some) }
}

/// The value of an enum field of a request. A number that this version of the contract does not name is refused.
pub(super) fn enumerated<T: TryFrom<i32>>(field: &str, number: i32) -> Result<T, Failure> {
    let message = || format!("{field} is {number}, which this server does not know: use a value of the contract");
    T::try_from(number).map_err(|_| invalid(field, message()))
}

/// The text of an optional value: empty if there is none.
pub(super) fn text<T: Display>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// A text where the empty one means none.
pub(super) fn non_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// An id or a name of an answer.
pub(super) fn parsed<T: FromStr>(field: &'static str, text: &str) -> Result<T, MalformedAnswer> {
    text.parse().map_err(|_| MalformedAnswer { field })
}

/// An id or a name of an answer, none if the text is empty.
pub(super) fn optional<T: FromStr>(field: &'static str, text: &str) -> Result<Option<T>, MalformedAnswer> {
    if text.is_empty() { Ok(None) } else { parsed(field, text).map(Some) }
}

/// A field of an answer that must be set.
pub(super) fn present<T>(field: &'static str, value: Option<T>) -> Result<T, MalformedAnswer> {
    value.ok_or(MalformedAnswer { field })
}

/// A message of an answer that must be set, decoded.
pub(super) fn decoded<M: AnswerCodec>(field: &'static str, message: Option<M>) -> Result<M::Value, MalformedAnswer> {
    M::from_wire(present(field, message)?)
}

/// Every message of a list, decoded.
pub(super) fn all<M: AnswerCodec>(messages: Vec<M>) -> Result<Vec<M::Value>, MalformedAnswer> {
    messages.into_iter().map(M::from_wire).collect()
}

/// Every value of a list, encoded.
pub(super) fn each<M: AnswerCodec>(values: Vec<M::Value>) -> Vec<M> {
    values.into_iter().map(M::to_wire).collect()
}

/// A moment, from milliseconds since 1970-01-01T00:00:00Z.
pub(super) fn timestamp(time_ms: u64) -> Timestamp {
    Timestamp {
        // A u64 of milliseconds has fewer seconds than an i64 holds.
        seconds: i64::try_from(time_ms / MS_PER_SECOND).unwrap_or(i64::MAX),
        // Fewer than 1000 milliseconds, in nanoseconds, fit in an i32.
        nanos: i32::try_from(time_ms % MS_PER_SECOND * NANOS_PER_MS).unwrap_or(0),
    }
}

/// Milliseconds since 1970-01-01T00:00:00Z; none before that, and for what is not a time.
pub(super) fn milliseconds(time: Timestamp) -> Option<u64> {
    let (seconds, nanos) = u64::try_from(time.seconds).ok().zip(u64::try_from(time.nanos).ok())?;
    seconds.checked_mul(MS_PER_SECOND)?.checked_add(nanos / NANOS_PER_MS)
}

/// The moment of an answer, in milliseconds since 1970-01-01T00:00:00Z.
pub(super) fn moment(field: &'static str, time: Option<Timestamp>) -> Result<u64, MalformedAnswer> {
    present(field, time.and_then(milliseconds))
}
