//! The in-process gate of a branch: writers of one process queue here instead of racing for the ticket.
//!
//! It saves work, and keeps quick writers from starving a slow one: a writer that has lost rounds prepares the next with the gate held. Whoever
//! holds it knows that no other attempt of this process is between arm and its end. No rule of the protocol depends on it. A branch has one
//! ticket per version, so one gate per branch covers its schema and its tables as well.
//!
//! Invariant: a branch has an entry exactly while somebody holds its gate or waits for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omnigraph_types::BranchId;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

/// A gate, with the number of those that hold it or wait for it.
#[derive(Debug, Default)]
struct Entry {
    gate: Arc<tokio::sync::Mutex<()>>,
    users: usize,
}

#[derive(Debug, Default)]
struct ByBranch {
    entries: Mutex<HashMap<BranchId, Entry>>,
}

impl ByBranch {
    fn lock(&self) -> MutexGuard<'_, HashMap<BranchId, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The gates of a graph's branches.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    by_branch: Arc<ByBranch>,
}

/// One of those that hold a gate or wait for it. The last that goes removes the entry.
#[derive(Debug)]
struct User {
    by_branch: Arc<ByBranch>,
    branch: BranchId,
}

impl Drop for User {
    fn drop(&mut self) {
        let mut entries = self.by_branch.lock();
        if let Some(entry) = entries.get_mut(&self.branch) {
            entry.users -= 1;
            if entry.users == 0 {
                entries.remove(&self.branch);
            }
        }
    }
}

/// Proof that the gate of a branch is held.
#[derive(Debug)]
pub(crate) struct GateHeld {
    // Fields are dropped in this order: the gate is open before its entry goes.
    _guard: OwnedMutexGuard<()>,
    user: User,
}

impl Gates {
    /// Waits for the gate of a branch, in order of arrival; none if the deadline passes first.
    pub(crate) async fn enter(&self, branch: BranchId, deadline: Instant) -> Option<GateHeld> {
        let (gate, user) = {
            let mut entries = self.by_branch.lock();
            let entry = entries.entry(branch).or_default();
            entry.users += 1;
            (entry.gate.clone(), User { by_branch: self.by_branch.clone(), branch })
        };
        let entered = tokio::time::timeout_at(deadline, gate.lock_owned()).await;
        entered.ok().map(|guard| GateHeld { _guard: guard, user })
    }
}

impl GateHeld {
    /// The gate, if it is this branch's: the name may mean another branch by now.
    pub(crate) fn of(self, branch: BranchId) -> Option<Self> {
        (self.user.branch == branch).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;
    use ulid::Ulid;

    use super::*;

    #[tokio::test]
    async fn gate_has_an_entry_only_while_it_is_used() {
        let gates = Gates::default();
        let branch = BranchId(Ulid(1));
        let entries = || gates.by_branch.lock().len();
        let (past, later) = (Instant::now(), Instant::now() + Duration::from_secs(3_600));
        let held = gates.enter(branch, later).await.expect("a free gate");
        let other = gates.enter(BranchId(Ulid(2)), later).await.expect("another gate");
        assert_eq!(entries(), 2);
        drop(other);
        assert_eq!(entries(), 1);

        // One waits in vain, one is cancelled, one gets in.
        assert!(gates.enter(branch, past).await.is_none(), "the deadline passes first");
        assert!(gates.enter(branch, later).now_or_never().is_none(), "cancelled while it waits");
        let mut next = Box::pin(gates.enter(branch, later));
        assert!(next.as_mut().now_or_never().is_none());
        drop(held);
        assert_eq!(entries(), 1, "the waiter keeps the gate");
        let held = next.await.expect("the gate");
        assert!(gates.enter(branch, later).now_or_never().is_none(), "it is the same gate");
        drop(held);
        assert_eq!(entries(), 0);
    }
}
