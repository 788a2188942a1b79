//! How many calls run at once.
//!
//! A call over the bound waits for a moment, since most calls are short, and is then refused with the limit's name: a queue without a
//! bound would take memory and answer calls whose clients have gone.

use std::sync::Arc;
use std::time::Duration;

use omnigraph_types::{Failure, Limits, Problem, Retry};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Longest time that a call waits for another one to end.
const WAIT_MAX: Duration = Duration::from_millis(500);
/// When a refused client may try again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The bound on calls in progress. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    permits: Arc<Semaphore>,
    limit: u64,
}

/// The right to run one call; dropping it returns the right.
#[derive(Debug)]
pub(crate) struct Admitted {
    _permit: OwnedSemaphorePermit,
}

impl Admission {
    /// Admits `requests_concurrent_max` calls at once.
    pub(crate) fn new(limits: &Limits) -> Self {
        let limit = limits.requests_concurrent_max;
        let permits = usize::try_from(limit).unwrap_or(Semaphore::MAX_PERMITS).min(Semaphore::MAX_PERMITS);
        Self { permits: Arc::new(Semaphore::new(permits)), limit }
    }

    /// Admits one call, or refuses it after `WAIT_MAX`.
    pub(crate) async fn admit(&self) -> Result<Admitted, Failure> {
        match timeout(WAIT_MAX, Arc::clone(&self.permits).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(Admitted { _permit: permit }),
            Ok(Err(_)) | Err(_) => Err(self.refusal()),
        }
    }

    fn refusal(&self) -> Failure {
        let problem = Problem::ResourceLimit {
            limit: "requests_concurrent_max".to_owned(),
            value: self.limit,
            asked: self.limit.saturating_add(1),
        };
        let message = format!(
            "{} requests are in progress, as many as requests_concurrent_max allows: send it again later, or to another server",
            self.limit
        );
        let mut failure = Failure::new(problem, message);
        failure.retry = Retry::SameRequest;
        failure.retry_after = Some(RETRY_AFTER);
        failure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn call_over_the_bound_is_refused_and_admitted_once_another_ends() {
        let limits = Limits { requests_concurrent_max: 1, ..Limits::default() };
        let admission = Admission::new(&limits);
        let first = admission.admit().await.unwrap();
        let refusal = admission.admit().await.unwrap_err();
        assert!(matches!(refusal.problem, Problem::ResourceLimit { value: 1, asked: 2, .. }));
        assert_eq!(refusal.retry, Retry::SameRequest);
        drop(first);
        assert!(admission.admit().await.is_ok());
    }
}
