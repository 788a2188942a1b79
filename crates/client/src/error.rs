//! The one error of the client, and how a status of the transport becomes one.
//!
//! A server of OmniGraph sends typed details with every error; they are decoded as `Failure`. A status without them was made by the transport
//! here, by a proxy, or by a server of another kind. Its effect then follows from how far the call had progressed.

use std::error::Error as StdError;
use std::time::Duration;

use arrow::error::ArrowError;
use arrow_flight::error::FlightError;
use omnigraph_types::{Effect, Failure, Problem, Retry, RootId, WriteMode};
use omnigraph_wire::MalformedAnswer;
use thiserror::Error;
use tonic::{Code, Status};

use crate::deadline::{Deadline, Passed};

/// Why a call failed.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The URL is not one of a server.
    #[error("{url:?} is not the URL of a server: {reason}; write grpc://<host>:<port>")]
    Url {
        /// The URL.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// No connection was made.
    #[error("no connection to {url}{}", cause(source))]
    Connect {
        /// The URL.
        url: String,
        /// Why.
        #[source]
        source: tonic::transport::Error,
    },
    /// The server serves another root than the options ask for.
    #[error(
        "{url} serves the root {found} ({root}), and the root {expected} was asked for: nothing else was sent to it"
    )]
    OtherRoot {
        /// The URL.
        url: String,
        /// The id that the options ask for.
        expected: RootId,
        /// The id of the server's root.
        found: RootId,
        /// The server's root.
        root: String,
    },
    /// The server answered with a failure: match on its `problem`.
    #[error("{0}")]
    Failed(Box<Failure>),
    /// The call was interrupted by the transport.
    #[error("the call was interrupted: {} ({:?})", status.message(), status.code())]
    Broken {
        /// What the server may have done.
        effect: Effect,
        /// What the transport says.
        status: Box<Status>,
    },
    /// Rows could not be encoded or decoded.
    #[error("{what}: {source}")]
    Arrow {
        /// What was being done.
        what: &'static str,
        /// Why it failed.
        source: ArrowError,
    },
    /// The server's answer is not what the contract says.
    #[error("the answer of the server is not what the contract says: {what}")]
    Answer {
        /// What is wrong with it.
        what: &'static str,
    },
}

impl ClientError {
    /// The failure with its problem, effect and what to do next. Errors of the client itself take the problem that fits them.
    pub fn failure(&self) -> Failure {
        let text = self.to_string();
        match self {
            Self::Url { .. } => Failure::new(Problem::InvalidRequest { field: "url".to_owned() }, text),
            Self::OtherRoot { .. } => Failure::new(Problem::InvalidRequest { field: "expect_root".to_owned() }, text),
            Self::Connect { .. } => Failure::new(Problem::StorageUnavailable, text),
            Self::Failed(failure) => (**failure).clone(),
            Self::Broken { effect, .. } => {
                let mut failure = Failure::new(Problem::Cancelled, text).with_effect(*effect);
                failure.retry = Retry::SameRequest;
                failure
            }
            Self::Arrow { .. } | Self::Answer { .. } => Failure::new(Problem::Internal, text),
        }
    }

    /// What went wrong, where the server said so.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Failed(failure) => Some(&failure.problem),
            Self::Url { .. }
            | Self::Connect { .. }
            | Self::OtherRoot { .. }
            | Self::Broken { .. }
            | Self::Arrow { .. }
            | Self::Answer { .. } => None,
        }
    }

    /// Whether anything was stored.
    pub fn effect(&self) -> Effect {
        match self {
            Self::Url { .. } | Self::Connect { .. } | Self::OtherRoot { .. } => Effect::None,
            Self::Failed(failure) => failure.effect,
            Self::Broken { effect, .. } => *effect,
            Self::Arrow { .. } | Self::Answer { .. } => Effect::Unknown,
        }
    }

    /// The failure of a request of which an earlier attempt may have had an effect: nothing is proven of the whole then, whatever the last
    /// attempt met.
    pub fn after(self, earlier: Effect) -> Self {
        if earlier == Effect::None || self.effect() != Effect::None {
            return self;
        }
        match self {
            Self::Failed(failure) => Self::Failed(Box::new(failure.with_effect(Effect::Unknown))),
            Self::Broken { status, .. } => Self::Broken { effect: Effect::Unknown, status },
            other => Self::Broken { effect: Effect::Unknown, status: Box::new(Status::unavailable(other.to_string())) },
        }
    }

    /// What the caller may do next.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Url { .. } | Self::OtherRoot { .. } | Self::Arrow { .. } | Self::Answer { .. } => Retry::Never,
            Self::Connect { .. } | Self::Broken { .. } => Retry::SameRequest,
            Self::Failed(failure) => failure.retry,
        }
    }

    /// How long the server asks to wait before a retry.
    pub fn retry_after(&self) -> Duration {
        match self {
            Self::Failed(failure) => failure.retry_after.unwrap_or_default(),
            Self::Url { .. }
            | Self::Connect { .. }
            | Self::OtherRoot { .. }
            | Self::Broken { .. }
            | Self::Arrow { .. }
            | Self::Answer { .. } => Duration::ZERO,
        }
    }

    /// The error of a status; `effect` is that of a call without an answer.
    pub(crate) fn from_status(status: Status, effect: Effect, deadline: Deadline) -> Self {
        if !status.details().is_empty() {
            return Self::Failed(Box::new(omnigraph_wire::from_status(&status)));
        }
        let over = deadline.passed() == Passed::Yes;
        match status.code() {
            Code::DeadlineExceeded => Self::deadline_exceeded(effect),
            Code::Cancelled | Code::Unavailable if over => Self::deadline_exceeded(effect),
            Code::Unimplemented => {
                let problem = Problem::Unimplemented { feature: "call".to_owned() };
                let message = format!("the server does not know this call: {}", status.message());
                Self::from(Failure::new(problem, message).with_source(status))
            }
            _ => Self::Broken { effect, status: Box::new(status) },
        }
    }

    /// The time that the caller gave is over.
    pub(crate) fn deadline_exceeded(effect: Effect) -> Self {
        let failure = |message| Failure::new(Problem::DeadlineExceeded, message).with_effect(effect);
        Self::from(match effect {
            Effect::None => failure(
                "the request was not answered within the time it was given: ask for less, or give it a longer timeout",
            )
            .with_retry(Retry::Never),
            Effect::Unknown | Effect::Committed => failure("the request was not answered within the time it was given"),
        })
    }

    /// The error behind one of Flight's.
    pub(crate) fn from_flight(error: FlightError, effect: Effect, deadline: Deadline) -> Self {
        match error {
            FlightError::Tonic(status) => Self::from_status(*status, effect, deadline),
            FlightError::Arrow(source) => Self::Arrow { what: "decode rows", source },
            FlightError::ExternalError(source) => {
                Self::Arrow { what: "decode rows", source: ArrowError::ExternalError(source) }
            }
            FlightError::NotYetImplemented(text)
            | FlightError::ProtocolError(text)
            | FlightError::DecodeError(text) => Self::Arrow { what: "decode rows", source: ArrowError::IpcError(text) },
        }
    }
}

impl From<Failure> for ClientError {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

impl From<MalformedAnswer> for ClientError {
    fn from(malformed: MalformedAnswer) -> Self {
        Self::Answer { what: malformed.field }
    }
}

/// Checks that the answer to a creation describes what was created. A request that only validates creates nothing.
pub(crate) fn described<T>(mode: WriteMode, created: Option<&T>, field: &'static str) -> Result<(), ClientError> {
    match (mode, created) {
        (WriteMode::Commit, None) => Err(ClientError::Answer { what: field }),
        (WriteMode::Commit, Some(_)) | (WriteMode::ValidateOnly, _) => Ok(()),
    }
}

/// The innermost cause, which is the one that says something: `: Connection refused (os error 111)`.
fn cause(error: &tonic::transport::Error) -> String {
    let mut innermost: Option<&(dyn StdError + 'static)> = error.source();
    while let Some(next) = innermost.and_then(StdError::source) {
        innermost = Some(next);
    }
    innermost.map_or_else(String::new, |cause| format!(": {cause}"))
}

#[cfg(test)]
mod tests {
    use omnigraph_types::Problem;

    use super::*;

    #[test]
    fn committed_creation_without_its_description_is_refused_and_may_have_had_its_effect() {
        let refused = described(WriteMode::Commit, None::<&()>, "CreateGraphResponse.graph").unwrap_err();
        assert!(matches!(refused, ClientError::Answer { what: "CreateGraphResponse.graph" }), "{refused:?}");
        assert_eq!(refused.effect(), Effect::Unknown);
        described(WriteMode::Commit, Some(&()), "CreateGraphResponse.graph").unwrap();
        described(WriteMode::ValidateOnly, None::<&()>, "CreateGraphResponse.graph").unwrap();
    }

    #[test]
    fn nothing_is_proven_of_a_request_once_one_attempt_of_it_is_not_known() {
        let refused = || ClientError::Failed(Box::new(Failure::new(Problem::StorageUnavailable, "no store")));
        let url = || ClientError::Url { url: "x".to_owned(), reason: "no scheme" };
        for error in [refused(), url()] {
            assert_eq!(error.after(Effect::None).effect(), Effect::None);
        }
        for error in [refused(), url()] {
            assert_eq!(error.after(Effect::Unknown).effect(), Effect::Unknown);
        }
        let broken = ClientError::Broken { effect: Effect::None, status: Box::new(Status::unavailable("gone")) };
        assert_eq!(broken.after(Effect::Unknown).effect(), Effect::Unknown);
    }
}
