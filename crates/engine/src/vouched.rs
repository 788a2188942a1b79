//! What the root permits to be said about the outcome of an operation.
//!
//! A write is acknowledged only after the syncs that failed were repeated: what has its place may be lost yet. A failure that blames what is
//! stored, or says that something does not exist, is repeated to the caller only if the root itself is still there.

use omnigraph_storage::Store;
use omnigraph_types::{Effect, Failure, Problem, RequestEffect, Resource};

use crate::error::is_damaged;

/// Whether a write may begin: not after a sync that has failed again.
pub(crate) async fn writable(store: &Store) -> Result<(), Failure> {
    store.vouch().await.map_err(|error| error.failure().with_effect(Effect::None))
}

/// The answer to a write that may be acknowledged.
///
/// # Errors
/// With effect unknown: what was written may not outlast a loss of power.
pub(crate) async fn acknowledged<T>(store: &Store, effect: &RequestEffect, answer: T) -> Result<T, Failure> {
    match store.vouch().await {
        Ok(()) => Ok(answer),
        Err(error) => {
            effect.doubt();
            Err(error.failure().with_effect(Effect::Unknown))
        }
    }
}

/// The failure that may be reported: the root's own, where it explains the other one.
pub(crate) async fn explained(store: &Store, failure: Failure) -> Failure {
    if !is_surprising(&failure) {
        return failure;
    }
    match store.prove_root().await {
        Ok(()) => failure,
        Err(error) => error.failure().with_effect(failure.effect),
    }
}

/// Whether a failure says that something is missing or damaged which a root that is gone would explain.
fn is_surprising(failure: &Failure) -> bool {
    is_damaged(failure) || matches!(failure.problem, Problem::NotFound { resource: Resource::Graph, .. })
}
