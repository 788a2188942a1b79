//! The one exit for failures: every status that a call ends with, but for OK, is made by `refuse`.
//!
//! Why one: a client decides by `effect` and `retry` alone, and a call can be ended by its handler, by its deadline, by the server's shutdown
//! or by a panic. What is certain about the effect is settled here, from the handler's failure and from the call's context, and nowhere else.

use std::error::Error as StdError;

use omnigraph_types::{Effect, Failure, Problem, Retry};
use tonic::Status;
use tracing::{debug, error, warn};

use crate::context::CallContext;
use crate::fault::CallFault;

/// What ended a call from outside its handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// The deadline passed.
    DeadlinePassed,
    /// The server stops, and the call would not end by itself.
    ServerStopping,
    /// The handler or its stream panicked.
    Panicked,
}

/// How a call failed, and so who knows its effect.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The handler returned a failure, which states the effect that the handler proved.
    Handler(Box<Failure>),
    /// The handler had no say; the context states the effect.
    Interrupted(Interruption),
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        Self::Handler(Box::new(failure))
    }
}

impl From<Interruption> for CallError {
    fn from(interruption: Interruption) -> Self {
        Self::Interrupted(interruption)
    }
}

/// The status with which a call ends. The failure's causes, which the client does not get, go to the log.
pub(crate) fn refuse(context: &CallContext, error: impl Into<CallError>) -> Status {
    status(&with_certain_effect(context, error.into()))
}

/// The status of a call to a service that runs without the layer, and so without a context.
pub(crate) fn refuse_unwatched() -> Status {
    status(&CallFault::Unwatched.failure())
}

/// The failure with the effect that is certain: the handler's own word where it returned, the context's where it did not.
fn with_certain_effect(context: &CallContext, error: CallError) -> Failure {
    match error {
        CallError::Handler(failure) => *failure,
        CallError::Interrupted(interruption) => interruption.failure(context.effect()),
    }
}

impl Interruption {
    fn failure(self, effect: Effect) -> Failure {
        let failure = match self {
            Self::DeadlinePassed => Failure::new(Problem::DeadlineExceeded, deadline_message(effect)),
            Self::ServerStopping => {
                Failure::new(Problem::Cancelled, "the server stops: call again, another server answers")
            }
            Self::Panicked => {
                let message = "the server met a defect of its own; its log has more: report it";
                let mut failure = Failure::new(Problem::Internal, message);
                failure.retry = Retry::Never;
                failure
            }
        };
        failure.with_effect(effect)
    }
}

fn deadline_message(effect: Effect) -> &'static str {
    match effect {
        Effect::None => {
            "the deadline passed before the request was done; it changed nothing: send it again with more time"
        }
        Effect::Unknown | Effect::Committed => {
            "the deadline passed before the outcome was known: send the same request again with the same operation_id, or ask GetOperation"
        }
    }
}

fn status(failure: &Failure) -> Status {
    match &failure.problem {
        Problem::Internal | Problem::Corrupt { .. } | Problem::InvariantViolation { .. } => {
            error!(problem = ?failure.problem, message = %failure.message, causes = %causes(failure), "request failed");
        }
        Problem::StorageUnavailable => {
            warn!(message = %failure.message, causes = %causes(failure), "the store failed a request");
        }
        _ => {
            debug!(problem = ?failure.problem, message = %failure.message, causes = %causes(failure), "request refused");
        }
    }
    omnigraph_wire::to_status(failure)
}

/// The sources of an error, outermost first.
fn causes(failure: &Failure) -> String {
    let mut causes = Vec::new();
    let mut source = failure.source();
    while let Some(error) = source {
        causes.push(error.to_string());
        source = error.source();
    }
    causes.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::test_context;

    fn refused(context: &CallContext, error: impl Into<CallError>) -> Failure {
        omnigraph_wire::from_status(&refuse(context, error))
    }

    #[test]
    fn interrupted_call_has_the_effect_of_its_context() {
        let context = test_context();
        for interruption in [Interruption::DeadlinePassed, Interruption::ServerStopping, Interruption::Panicked] {
            assert_eq!(refused(&context, interruption).effect, Effect::None, "{interruption:?}");
        }
        context.enter_effect();
        assert_eq!(refused(&context, Interruption::DeadlinePassed).effect, Effect::Unknown);
        let panicked = refused(&context, Interruption::Panicked);
        assert_eq!((panicked.effect, panicked.retry), (Effect::Unknown, Retry::Never));
    }

    #[test]
    fn handler_that_returned_states_its_own_effect() {
        let context = test_context();
        context.enter_effect();
        let failure = Failure::new(Problem::StorageUnavailable, "the store is gone");
        assert_eq!(refused(&context, failure).effect, Effect::None);
    }
}
