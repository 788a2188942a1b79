//! The one error that crosses the engine's boundary.
//!
//! A `Failure` is data: the wire crate encodes it as `google.rpc.Status` with typed details and the client decodes it again, so a
//! caller matches on `Problem` and reads `effect` and `retry` instead of guessing from a code. Text in `message` is for people; nothing
//! matches on it.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::certainty::{Effect, Retry};
use crate::problem::Problem;

/// A failed request: what happened, whether anything was stored, and what to do next.
#[derive(Clone)]
pub struct Failure {
    /// What went wrong.
    pub problem: Problem,
    /// For people: the thing, the place, the way out. Holds no store path.
    pub message: String,
    /// Whether anything became visible.
    pub effect: Effect,
    /// What the caller may do.
    pub retry: Retry,
    /// How long to wait before a retry, where that helps.
    pub retry_after: Option<Duration>,
    /// The command that a person runs next, where there is one.
    pub help: Option<String>,
    /// For the log only.
    pub source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Failure {
    /// A failure with the effect, retry and delay that its problem implies.
    pub fn new(problem: Problem, message: impl Into<String>) -> Self {
        let (effect, retry) = (problem.effect(), problem.retry());
        let retry_after = problem.retry_after();
        Self { problem, message: message.into(), effect, retry, retry_after, help: None, source: None }
    }

    /// Keeps the error that caused this one, for the log.
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// Names the command that a person runs next.
    pub fn with_help(mut self, command: impl Into<String>) -> Self {
        self.help = Some(command.into());
        self
    }

    /// States another way on than the one implied.
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// States another effect than the one implied.
    pub fn with_effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("problem", &self.problem)
            .field("message", &self.message)
            .field("effect", &self.effect)
            .field("retry", &self.retry)
            .field("source", &self.source)
            .finish()
    }
}

impl StdError for Failure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}
