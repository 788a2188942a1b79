//! The in-process gate of a branch: writers of one process queue here instead of racing for the ticket.
//!
//! It saves work, and keeps quick writers from starving a slow one: who has lost rounds prepares the next with the gate held. Whoever holds
//! it knows that no other attempt of this process is between arm and its end; nothing becomes correct by it. There is one ticket per branch
//! and version, so one gate per branch stands for the schema's and the tables' as well.

use std::sync::Arc;

use omnigraph_types::BranchId;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::Instant;

use crate::committer::Committer;

/// The gate of one branch.
#[derive(Debug, Clone, Default)]
pub(crate) struct BranchGate {
    mutex: Arc<Mutex<()>>,
}

/// Proof that the gate is held.
#[derive(Debug)]
pub(crate) struct GateHeld {
    _guard: OwnedMutexGuard<()>,
}

/// The gate of a branch, held from before a round is prepared.
#[derive(Debug)]
pub(crate) struct Turn {
    branch: BranchId,
    gate: GateHeld,
}

impl Turn {
    /// Waits for the gate of a branch; none if the deadline passes first.
    pub(crate) async fn take(committer: &Committer, branch: BranchId, deadline: Instant) -> Option<Self> {
        let entered = tokio::time::timeout_at(deadline, committer.gate(branch).enter()).await;
        entered.ok().map(|gate| Self { branch, gate })
    }

    /// The gate, if it is this branch's: the name may stand for another one since.
    pub(crate) fn of(self, branch: BranchId) -> Option<GateHeld> {
        (self.branch == branch).then_some(self.gate)
    }
}

impl BranchGate {
    /// Waits in order of arrival.
    pub(crate) async fn enter(&self) -> GateHeld {
        GateHeld { _guard: self.mutex.clone().lock_owned().await }
    }
}
