//! One graph of a root: its branches' versions, commits and contracts.
//!
//! The only thing kept between calls is the newest version this process has seen, with the instant at which it was proven newest: a
//! version is immutable, and a probe forward from it finds what others published since.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use omnigraph_storage::{Pin, Store};
use omnigraph_types::{BranchId, Clock, GraphId, GraphName, GraphVersion, Limits, OperationId, TableVersion};
use sha2::{Digest, Sha256};

use crate::base;
use crate::branches::Chain;
use crate::error::CatalogError;
use crate::format::decode_state;
use crate::history;
use crate::paths::GraphPaths;
use crate::rows::OperationRow;
use crate::snapshot::{Author, Proof, Snapshot};

/// Branches whose newest versions are kept in memory; beyond it all but main's are asked for again.
const BRANCHES_KEPT_MAX: usize = 256;

#[derive(Debug)]
struct Shared {
    store: Store,
    paths: GraphPaths,
    name: GraphName,
    graph_id: GraphId,
    main_branch_id: BranchId,
    clock: Arc<dyn Clock>,
    limits: Arc<Limits>,
    /// The newest versions seen, by branch.
    newest: Mutex<HashMap<BranchId, Snapshot>>,
}

/// One graph. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Catalog {
    shared: Arc<Shared>,
}

impl Catalog {
    pub(crate) fn new(
        store: Store,
        name: GraphName,
        ids: (GraphId, BranchId),
        clock: Arc<dyn Clock>,
        limits: Arc<Limits>,
    ) -> Self {
        let (graph_id, main_branch_id) = ids;
        let paths = GraphPaths::new(graph_id);
        let newest = Mutex::default();
        Self { shared: Arc::new(Shared { store, paths, name, graph_id, main_branch_id, clock, limits, newest }) }
    }

    /// The name under which the graph was opened. Another graph may bear it by now.
    pub fn name(&self) -> &GraphName {
        &self.shared.name
    }

    /// The graph's identity.
    pub fn graph_id(&self) -> GraphId {
        self.shared.graph_id
    }

    /// The identity of the branch `main`.
    pub fn main_branch_id(&self) -> BranchId {
        self.shared.main_branch_id
    }

    /// The store that holds the graph.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// Where the graph's objects lie.
    pub fn paths(&self) -> &GraphPaths {
        &self.shared.paths
    }

    /// The clock.
    pub fn clock(&self) -> &dyn Clock {
        self.shared.clock.as_ref()
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// Age of a proof after which it must be renewed.
    pub fn proof_age_max(&self) -> Duration {
        Duration::from_millis(self.shared.limits.proof_age_max_ms)
    }

    pub(crate) fn remember(&self, snapshot: &Snapshot) {
        let mut newest = self.newest_seen();
        if newest.len() >= BRANCHES_KEPT_MAX && !newest.contains_key(&snapshot.branch_id()) {
            newest.retain(|branch, _| *branch == self.shared.main_branch_id);
        }
        let newer = |known: &Snapshot| known.version() > snapshot.version();
        if !newest.get(&snapshot.branch_id()).is_some_and(newer) {
            newest.insert(snapshot.branch_id(), snapshot.clone());
        }
    }

    fn newest_seen(&self) -> MutexGuard<'_, HashMap<BranchId, Snapshot>> {
        self.shared.newest.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The newest version of a branch that this process has seen, without asking the store.
    pub fn known(&self, branch: BranchId) -> Option<Snapshot> {
        self.newest_seen().get(&branch).cloned()
    }

    /// The newest version of a chain, proven newest: by a probe forward from what this process knows, or by listing. It may be `retired`.
    pub async fn newest_of(&self, chain: &Chain) -> Result<Snapshot, CatalogError> {
        let known = self.known(chain.branch_id);
        let known = known.filter(|snapshot| snapshot.proof_age(self.clock()) <= self.proof_age_max());
        let proof = Proof::now(self.clock());
        let tree = self.tree_of(chain);
        let version = match &known {
            Some(snapshot) => self.store().head_from(&tree, TableVersion(snapshot.version().0)).await?,
            None => self.store().head(&tree).await?.ok_or_else(|| CatalogError::Corrupt {
                object: format!("the chain of branch {}", chain.name),
                expected: "at least one version".to_owned(),
            })?,
        };
        let snapshot = match known {
            Some(snapshot) if snapshot.version().0 == version.0 => snapshot.proven(proof),
            _ => self.open_version(chain, GraphVersion(version.0), proof).await?,
        };
        self.remember(&snapshot);
        Ok(snapshot)
    }

    /// One version of a chain, which must exist.
    pub async fn at_version(&self, chain: &Chain, version: GraphVersion) -> Result<Snapshot, CatalogError> {
        self.open_version(chain, version, Proof::now(self.clock())).await
    }

    async fn open_version(&self, chain: &Chain, version: GraphVersion, proof: Proof) -> Result<Snapshot, CatalogError> {
        let pin = Pin { tree: self.tree_of(chain), version: TableVersion(version.0) };
        let table = self.store().open_table(&pin).await?;
        let state_fragment = table.fragments().iter().map(|fragment| fragment.id).max();
        let state_fragment = state_fragment.ok_or_else(|| CatalogError::Corrupt {
            object: format!("version {version} of branch {}", chain.name),
            expected: "a state".to_owned(),
        })?;
        let batches = history::read_rows(&table, &[state_fragment]).await?;
        let mut state = decode_state(&batches, version)?;
        base::complete(&mut state, &table, self.known(chain.branch_id).as_ref()).await?;
        if state.branch_id != chain.branch_id {
            // The version that the branch was cloned from: it has not published by itself yet.
            state = state.inherited_by(chain.branch_id);
        }
        Ok(Snapshot::new(self.store().clone(), chain.clone(), (table, state), Author::Anywhere, proof))
    }

    /// The publication that committed an operation, as far as `snapshot` knows.
    pub async fn committed(
        &self,
        snapshot: &Snapshot,
        operation: OperationId,
    ) -> Result<Option<OperationRow>, CatalogError> {
        history::committed(snapshot, operation).await
    }

    /// Everything recorded of an operation at `snapshot`, oldest first: aborts, and at most one commit (I-8).
    pub async fn operation_rows(
        &self,
        snapshot: &Snapshot,
        operation: OperationId,
    ) -> Result<Vec<OperationRow>, CatalogError> {
        history::operation_rows(snapshot, operation).await
    }

    /// The accepted contract of this hash, proven to be it.
    pub async fn schema_contract(&self, hash: &str) -> Result<Bytes, CatalogError> {
        let object = match self.paths().contract(hash) {
            Some(path) => self.store().get(&path).await?,
            None => None,
        };
        let bytes = object.map(|object| object.bytes).filter(|bytes| sha256_hex(bytes) == hash);
        bytes.ok_or_else(|| CatalogError::Corrupt {
            object: format!("the schema contract {hash}"),
            expected: "a contract of that hash".to_owned(),
        })
    }
}

/// SHA-256 in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
