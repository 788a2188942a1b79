//! The one exit for failures: every status that a call ends with, but for OK, is made by `refuse`.
//!
//! Why one: a client decides by `effect` and `retry` alone, and a call can be ended by its handler, by its deadline, by the server's shutdown
//! or by a panic. What is certain about the effect is settled here, from the one value that the call's context holds, and nowhere else. A
//! call that is answered with effect none begins to take none: its tasks may still run.

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
    /// The handler returned a failure.
    Handler(Box<Failure>),
    /// The handler had no say.
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

/// The failure with the effect of the call. A call that writes nothing has none of its own, and its failure may state what became of the
/// operation that it asked about.
fn with_certain_effect(context: &CallContext, error: CallError) -> Failure {
    let effect = context.effect().answer();
    match (error, effect) {
        (CallError::Interrupted(interruption), effect) => interruption.failure(effect),
        (CallError::Handler(failure), Effect::None) => *failure,
        (CallError::Handler(failure), Effect::Unknown | Effect::Committed) => failure.with_effect(effect),
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
        Effect::Unknown => {
            "the deadline passed before the outcome was known: send the same request again with the same operation_id, or ask GetOperation"
        }
        Effect::Committed => {
            "the request is committed; the deadline passed before its answer was complete: send the same request again with the \
             same operation_id, or ask GetOperation"
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
pub fn causes(failure: &Failure) -> String {
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
    use omnigraph_types::Share;

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
        let context = test_context();
        let put = context.effect().begin(Share::Whole).unwrap();
        assert_eq!(refused(&context, Interruption::DeadlinePassed).effect, Effect::Unknown);
        let panicked = refused(&context, Interruption::Panicked);
        assert_eq!((panicked.effect, panicked.retry), (Effect::Unknown, Retry::Never));
        drop(put);
    }

    #[test]
    fn failure_of_a_handler_has_the_effect_of_its_call() {
        let failure = || Failure::new(Problem::StorageUnavailable, "the store is gone").with_effect(Effect::None);
        let context = test_context();
        let put = context.effect().begin(Share::Whole).unwrap();
        assert_eq!(refused(&context, failure()).effect, Effect::Unknown);
        put.landed();
        assert_eq!(refused(&context, failure()).effect, Effect::Committed);
    }

    #[test]
    fn read_reports_the_effect_of_the_operation_that_it_asks_about() {
        let failure = Failure::new(Problem::StorageUnavailable, "not settled").with_effect(Effect::Unknown);
        assert_eq!(refused(&test_context(), failure).effect, Effect::Unknown);
    }

    #[test]
    fn call_that_was_answered_with_none_begins_to_take_no_effect() {
        let context = test_context();
        assert_eq!(refused(&context, Interruption::DeadlinePassed).effect, Effect::None);
        assert!(context.effect().begin(Share::Whole).is_err());
    }
}
