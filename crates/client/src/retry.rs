//! When a call is sent again, and after what pause.
//!
//! Invariants: only where the failure says `same_request`; only whole requests, so never a stream of which a part was sent or received;
//! always with the same operation id, so that the server applies it at most once.

use std::time::Duration;

use omnigraph_types::Retry;

use crate::error::ClientError;

/// How often, and how patiently, a call is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Most times that one call is sent, the first time included. 1 never sends again.
    pub attempts_max: u32,
    /// Longest first pause; doubled each time. The pause taken is a random part of it.
    pub pause_first: Duration,
    /// Longest pause of all. A longer one that the server asks for is taken.
    pub pause_max: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts_max: 4, pause_first: Duration::from_millis(100), pause_max: Duration::from_secs(5) }
    }
}

impl RetryPolicy {
    /// A policy that sends every call once.
    pub fn never() -> Self {
        Self { attempts_max: 1, ..Self::default() }
    }

    /// The pause before attempt `attempt + 1`, or none if `error` is final. `jitter` lies in 0..1.
    pub(crate) fn pause(&self, attempt: u32, error: &ClientError, jitter: f64) -> Option<Duration> {
        if attempt >= self.attempts_max || error.retry() != Retry::SameRequest {
            return None;
        }
        let doubled = self.pause_first.saturating_mul(1 << (attempt - 1).min(16));
        let random = doubled.min(self.pause_max).mul_f64(jitter.clamp(0.0, 1.0));
        Some(random.max(error.retry_after()))
    }
}

#[cfg(test)]
mod tests {
    use omnigraph_types::{Failure, Problem};

    use super::*;

    fn failed(problem: Problem) -> ClientError {
        ClientError::from(Failure::new(problem, "for the test"))
    }

    #[test]
    fn failure_that_says_never_is_final() {
        let error = failed(Problem::Internal);
        assert_eq!(RetryPolicy::default().pause(1, &error, 1.0), None);
    }

    #[test]
    fn pause_doubles_up_to_its_bound_and_heeds_the_server() {
        let policy = RetryPolicy {
            attempts_max: 9,
            pause_first: Duration::from_millis(500),
            pause_max: Duration::from_millis(1_500),
        };
        let contention = failed(Problem::CommitContention { attempts: 64, winner: None });
        let pauses = [1, 2, 3, 8].map(|attempt| policy.pause(attempt, &contention, 1.0).unwrap().as_millis());
        assert_eq!(pauses, [500, 1_000, 1_500, 1_500]);
        // The server asked for 100 ms at least, whatever the dice say.
        assert_eq!(policy.pause(1, &contention, 0.0), Some(Duration::from_millis(100)));
    }

    #[test]
    fn attempts_end_at_their_maximum() {
        let error = failed(Problem::StorageUnavailable);
        let policy = RetryPolicy::default();
        assert!(policy.pause(policy.attempts_max - 1, &error, 0.5).is_some());
        assert_eq!(policy.pause(policy.attempts_max, &error, 0.5), None);
        assert_eq!(RetryPolicy::never().pause(1, &error, 0.5), None);
    }
}
