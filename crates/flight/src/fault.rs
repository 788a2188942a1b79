//! What can be wrong with a Flight call before and besides what the engine finds.

use arrow::error::ArrowError;
use omnigraph_types::{Effect, Failure, Problem};
use thiserror::Error;

/// A fault of a Flight call.
#[derive(Debug, Error)]
pub enum FlightFault {
    /// The stream ended without its mark, and its client did not give the mark up.
    #[error(
        "the stream ended after {rows} rows without the message that marks its end; nothing of it was stored: send it again, and last a \
         message without rows whose app_metadata is `end`, or set the call header x-omnigraph-end to unmarked if a stream that breaks off may be \
         committed as far as it came"
    )]
    NoEndMark {
        /// Rows that came.
        rows: u64,
    },
    /// A message holds more once it is decoded than the server keeps of one message.
    #[error("a message holds {asked} bytes once decoded, of {limit} that one message may: send smaller batches")]
    DecodedTooLarge {
        /// Bytes allowed.
        limit: u64,
        /// Bytes that it has at least.
        asked: u64,
    },
    /// DoPut or GetFlightInfo without a descriptor, or with an empty one.
    #[error("the first message has no flight descriptor: give a path [graph, branch, type], or a cmd")]
    NoDescriptor,
    /// A path that does not have three parts.
    #[error("the descriptor's path has {parts} parts: give three, [graph, branch, type]")]
    BadPath {
        /// How many it has.
        parts: usize,
    },
    /// A path without the header that names the mode.
    #[error(
        "the call header x-omnigraph-mode is missing: set it to append (ids must be new), merge (replace rows whose ids exist) or \
         overwrite (replace all rows of the type)"
    )]
    MissingMode,
    /// A field or call header that does not hold what it must.
    #[error("{field} is {found:?}: {expected}")]
    BadField {
        /// The field's path, or the header's name.
        field: &'static str,
        /// What it holds.
        found: String,
        /// What it must hold.
        expected: &'static str,
    },
    /// A cmd or ticket that is none of the messages that the server knows.
    #[error("{field} cannot be read: {expected}")]
    Unreadable {
        /// `cmd` or `ticket`.
        field: &'static str,
        /// What it must hold.
        expected: &'static str,
    },
    /// The stream's first Arrow message is not a schema.
    #[error("the stream of type {type_name} holds {found} before its schema: send the schema first")]
    NoSchema {
        /// The type.
        type_name: String,
        /// What came.
        found: &'static str,
    },
    /// The stream changes its schema.
    #[error("the stream of type {type_name} holds a second schema after {rows} rows: a stream has one")]
    SecondSchema {
        /// The type.
        type_name: String,
        /// Rows before it.
        rows: u64,
    },
    /// A message that is not valid Arrow IPC.
    #[error("the batch after row {rows} of type {type_name} is not valid Arrow IPC: {reason}")]
    Undecodable {
        /// The type.
        type_name: String,
        /// Rows before it.
        rows: u64,
        /// The decoder's message.
        reason: String,
    },
    /// A batch that cannot be encoded.
    #[error("a batch cannot be encoded as Arrow IPC")]
    Encode(#[source] ArrowError),
}

impl FlightFault {
    /// The fault as the failure that the client receives.
    pub fn failure(self) -> Failure {
        let message = self.to_string();
        let problem = match &self {
            Self::Encode(_) => Problem::Internal,
            Self::NoEndMark { .. } => Problem::Cancelled,
            Self::DecodedTooLarge { limit, asked } => {
                Problem::ResourceLimit { limit: "decoded_message_bytes_max".to_owned(), value: *limit, asked: *asked }
            }
            Self::NoDescriptor => invalid("descriptor"),
            Self::BadPath { .. } => invalid("descriptor.path"),
            Self::MissingMode => invalid("x-omnigraph-mode"),
            Self::BadField { field, .. } | Self::Unreadable { field, .. } => invalid(field),
            Self::NoSchema { type_name, .. } => load_invalid(type_name, None),
            Self::SecondSchema { type_name, rows } | Self::Undecodable { type_name, rows, .. } => {
                load_invalid(type_name, Some(rows + 1))
            }
        };
        // Each of them ends the call before anything can have been stored.
        let failure = Failure::new(problem, message).with_effect(Effect::None);
        if matches!(self, Self::Encode(_)) { failure.with_source(self) } else { failure }
    }
}

fn invalid(field: &str) -> Problem {
    Problem::InvalidRequest { field: field.to_owned() }
}

fn load_invalid(type_name: &str, row: Option<u64>) -> Problem {
    Problem::LoadInvalid { type_name: Some(type_name.to_owned()), row, column: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_mode_names_the_header_and_every_mode() {
        let failure = FlightFault::MissingMode.failure();
        assert_eq!(failure.problem, Problem::InvalidRequest { field: "x-omnigraph-mode".to_owned() });
        for mode in ["append", "merge", "overwrite"] {
            assert!(failure.message.contains(mode), "{}", failure.message);
        }
    }

    #[test]
    fn undecodable_batch_is_located_by_the_row_after_the_good_ones() {
        let fault = FlightFault::Undecodable { type_name: "Port".into(), rows: 41, reason: "short".into() };
        let problem = Problem::LoadInvalid { type_name: Some("Port".into()), row: Some(42), column: None };
        assert_eq!(fault.failure().problem, problem);
    }
}
