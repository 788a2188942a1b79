//! What can be wrong with a call before its content is read.

use omnigraph_types::{Effect, Failure, FeatureName, Problem};
use thiserror::Error;

/// A fault of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum CallFault {
    /// The layer in front of the service does not watch request bodies.
    #[error(
        "the service runs without the server's call layer, which alone can tell a complete request from a broken one"
    )]
    Unwatched,
    /// The request body ended before the client said so.
    #[error("the stream of the request was broken off before its end; nothing of it was stored: send it again")]
    Broken,
    /// A message is too long.
    #[error(
        "a message of {asked} bytes is longer than {name} = {limit}: send smaller messages, or have the operator raise the limit"
    )]
    MessageTooLarge {
        /// The limit's name.
        name: &'static str,
        /// Bytes allowed.
        limit: u64,
        /// Bytes that it has.
        asked: u64,
    },
    /// The client was silent for too long, or sent too little.
    #[error(
        "the client sent no whole message for stream_idle_timeout_ms = {timeout_ms}; nothing was stored: send it again without pauses"
    )]
    Idle {
        /// The bound.
        timeout_ms: u64,
    },
    /// A message of the client's stream is not one of the contract.
    #[error("a message of the stream cannot be decoded: send what the contract's proto files describe")]
    Undecodable,
}

impl CallFault {
    /// The fault as the failure that the client receives.
    pub(crate) fn failure(self) -> Failure {
        let problem = match self {
            Self::Unwatched => Problem::Internal,
            Self::Broken => Problem::Cancelled,
            Self::MessageTooLarge { name, limit, asked } => {
                Problem::ResourceLimit { limit: name.to_owned(), value: limit, asked }
            }
            Self::Idle { .. } => Problem::DeadlineExceeded,
            Self::Undecodable => Problem::InvalidRequest { field: "message".to_owned() },
        };
        // Each of them ends the call before the handler can have stored anything.
        Failure::new(problem, self.to_string()).with_effect(Effect::None)
    }
}

/// The refusal of an option that the contract has and this server does not offer. `instead` says what the caller does instead.
pub fn not_offered(feature: FeatureName, instead: &str) -> Failure {
    not_offered_by_name(feature.as_str(), instead)
}

/// The refusal of a call, as `not_offered`.
pub(crate) fn not_offered_by_name(feature: &str, instead: &str) -> Failure {
    Failure::new(Problem::Unimplemented { feature: feature.to_owned() }, format!("{feature} is not offered: {instead}"))
}
