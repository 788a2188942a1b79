//! The in-process gate of a branch: writers of one process queue here instead of racing for the ticket.
//!
//! It only saves work. Whoever holds it knows that no other attempt of this process is between arm and its end; nothing becomes correct
//! by it. There is one ticket per branch and version, so one gate per branch stands for the schema's and the tables' as well.

use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};

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

impl BranchGate {
    /// Waits in order of arrival.
    pub(crate) async fn enter(&self) -> GateHeld {
        GateHeld { _guard: self.mutex.clone().lock_owned().await }
    }
}
