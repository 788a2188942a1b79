//! What every part of one graph's catalog works with: the store, where things are stored, clock, limits, and the newest versions seen.
//!
//! The only thing kept between calls is the newest version of the branches that were used last, with the instant at which it was proven newest:
//! a version is immutable, and a probe forward from it finds what others published since. Main's is always kept: it is the registry.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use omnigraph_storage::{Store, TreeRef};
use omnigraph_types::mutant;
use omnigraph_types::{BranchId, BranchName, Clock, GraphId, GraphName, Limits, Recent};

use crate::chain::Chain;
use crate::error::CatalogError;
use crate::paths::GraphPaths;
use crate::snapshot::Snapshot;

/// One graph's surroundings.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) store: Store,
    pub(crate) paths: GraphPaths,
    pub(crate) name: GraphName,
    pub(crate) graph_id: GraphId,
    pub(crate) main_branch_id: BranchId,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: Arc<Limits>,
    newest: Mutex<Recent<BranchId, Snapshot>>,
}

impl Context {
    pub(crate) fn new(
        store: Store,
        name: GraphName,
        (graph_id, main_branch_id): (GraphId, BranchId),
        clock: Arc<dyn Clock>,
        limits: Arc<Limits>,
    ) -> Self {
        let paths = GraphPaths::new(graph_id);
        let kept = usize::try_from(limits.branches_cached_max).unwrap_or(usize::MAX);
        let newest = Mutex::new(Recent::at_most(kept));
        Self { store, paths, name, graph_id, main_branch_id, clock, limits, newest }
    }

    pub(crate) fn proof_age_max(&self) -> Duration {
        Duration::from_millis(self.limits.proof_age_max_ms)
    }

    pub(crate) fn main_chain(&self) -> Chain {
        Chain { branch_id: self.main_branch_id, name: BranchName::Main, tree: None }
    }

    pub(crate) fn tree_of(&self, chain: &Chain) -> TreeRef {
        TreeRef { path: self.paths.manifest(), tree: chain.tree }
    }

    /// The error for a chain that has ended: main's was the graph's.
    pub(crate) fn ended(&self, name: &BranchName) -> CatalogError {
        match name {
            BranchName::Main => CatalogError::GraphDeleted(self.name.clone()),
            BranchName::Named(_) => CatalogError::BranchNotFound(name.clone()),
        }
    }

    pub(crate) fn remember(&self, snapshot: &Snapshot) {
        let mut newest = self.newest_seen();
        let newer = |known: &mut Snapshot| mutant!(106, known.version() > snapshot.version(), false);
        if !newest.get(&snapshot.branch_id()).is_some_and(newer) {
            let is_main = |known: &Snapshot| mutant!(105, known.branch_id() == self.main_branch_id, false);
            newest.insert_sparing(snapshot.branch_id(), snapshot.clone(), is_main);
        }
    }

    fn newest_seen(&self) -> MutexGuard<'_, Recent<BranchId, Snapshot>> {
        self.newest.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn known(&self, branch: BranchId) -> Option<Snapshot> {
        self.newest_seen().get(&branch).map(|known| known.clone())
    }
}
