//! The in-process gate of a branch: writers of one process queue here instead of racing for the ticket.
//!
//! It saves work, and keeps quick writers from starving a slow one: a writer that has lost rounds prepares the next with the gate held. Whoever
//! holds it knows that no other attempt of this process is between arm and its end. No rule of the protocol depends on it. A branch has one
//! ticket per version, so one gate per branch covers its schema and its tables as well.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use omnigraph_types::BranchId;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

/// The gates of a graph's branches.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    by_branch: Mutex<HashMap<BranchId, Arc<tokio::sync::Mutex<()>>>>,
}

/// Proof that the gate of a branch is held.
#[derive(Debug)]
pub(crate) struct GateHeld {
    branch: BranchId,
    _guard: OwnedMutexGuard<()>,
}

impl Gates {
    /// Waits for the gate of a branch, in order of arrival; none if the deadline passes first.
    pub(crate) async fn enter(&self, branch: BranchId, deadline: Instant) -> Option<GateHeld> {
        let gate = {
            let mut gates = self.by_branch.lock().unwrap_or_else(PoisonError::into_inner);
            gates.entry(branch).or_default().clone()
        };
        let entered = tokio::time::timeout_at(deadline, gate.lock_owned()).await;
        entered.ok().map(|guard| GateHeld { branch, _guard: guard })
    }
}

impl GateHeld {
    /// The gate, if it is this branch's: the name may mean another branch by now.
    pub(crate) fn of(self, branch: BranchId) -> Option<Self> {
        (self.branch == branch).then_some(self)
    }
}
