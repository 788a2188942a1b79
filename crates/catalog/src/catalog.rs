//! One graph of a root: its branches' versions, commits and contracts.
//!
//! The only thing kept between calls is the newest version this process has seen, with the instant at which it was proven newest: a
//! version is immutable, and a probe forward from it finds what others published since.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use omnigraph_storage::{ObjectPath, Pin, Store, TreeRef};
use omnigraph_types::{
    BranchId, BranchName, Clock, CommitId, GraphId, GraphVersion, Limits, OperationId, TableVersion,
};
use sha2::{Digest, Sha256};

use crate::error::CatalogError;
use crate::format::decode_state;
use crate::history;
use crate::paths::GraphPaths;
use crate::rows::{CommitRow, OperationRow};
use crate::snapshot::{Proof, Snapshot};

#[derive(Debug)]
struct Shared {
    store: Store,
    paths: GraphPaths,
    graph_id: GraphId,
    main_branch_id: BranchId,
    clock: Arc<dyn Clock>,
    limits: Arc<Limits>,
    newest: Mutex<Option<Snapshot>>,
}

/// One graph. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Catalog {
    shared: Arc<Shared>,
}

impl Catalog {
    pub(crate) fn new(store: Store, ids: (GraphId, BranchId), clock: Arc<dyn Clock>, limits: Arc<Limits>) -> Self {
        let (graph_id, main_branch_id) = ids;
        let paths = GraphPaths::new(graph_id);
        let newest = Mutex::new(None);
        Self { shared: Arc::new(Shared { store, paths, graph_id, main_branch_id, clock, limits, newest }) }
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

    fn tree(&self) -> TreeRef {
        TreeRef { path: self.paths().manifest(), tree: None }
    }

    fn main_only(&self, branch: &BranchName) -> Result<(), CatalogError> {
        match branch {
            BranchName::Main => Ok(()),
            BranchName::Named(_) => Err(CatalogError::BranchNotFound(branch.clone())),
        }
    }

    pub(crate) fn remember(&self, snapshot: &Snapshot) {
        let mut newest = self.shared.newest.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if newest.as_ref().is_none_or(|known| known.version() <= snapshot.version()) {
            *newest = Some(snapshot.clone());
        }
    }

    /// The newest version that this process has seen, without asking the store.
    pub fn known_newest(&self) -> Option<GraphVersion> {
        let newest = self.shared.newest.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        newest.as_ref().map(Snapshot::version)
    }

    /// The newest version of a branch, proven newest: by a probe forward from what this process knows, or by listing.
    pub async fn newest(&self, branch: &BranchName) -> Result<Snapshot, CatalogError> {
        self.main_only(branch)?;
        let known = self.shared.newest.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        let known = known.filter(|snapshot| snapshot.proof_age(self.clock()) <= self.proof_age_max());
        let proof = Proof::now(self.clock());
        let tree = self.tree();
        let version = match &known {
            Some(snapshot) => self.store().head_from(&tree, TableVersion(snapshot.version().0)).await?,
            None => self.store().head(&tree).await?.ok_or_else(|| CatalogError::Corrupt {
                object: "the graph's manifest".to_owned(),
                expected: "at least one version".to_owned(),
            })?,
        };
        let snapshot = match known {
            Some(snapshot) if snapshot.version().0 == version.0 => snapshot.proven(proof),
            _ => self.open_version(branch, GraphVersion(version.0), proof).await?,
        };
        self.remember(&snapshot);
        Ok(snapshot)
    }

    /// One version of a branch, which must exist.
    pub async fn at_version(&self, branch: &BranchName, version: GraphVersion) -> Result<Snapshot, CatalogError> {
        self.main_only(branch)?;
        self.open_version(branch, version, Proof::now(self.clock())).await
    }

    async fn open_version(
        &self,
        branch: &BranchName,
        version: GraphVersion,
        proof: Proof,
    ) -> Result<Snapshot, CatalogError> {
        let pin = Pin { tree: self.tree(), version: TableVersion(version.0) };
        let table = self.store().open_table(&pin).await?;
        let state_fragment = table.fragments().iter().map(|fragment| fragment.id).max();
        let state_fragment = state_fragment.ok_or_else(|| CatalogError::Corrupt {
            object: format!("version {version} of the graph's manifest"),
            expected: "a state".to_owned(),
        })?;
        let batches = history::read_rows(&table, &[state_fragment]).await?;
        let state = decode_state(&batches, version)?;
        Ok(Snapshot::new(self.store().clone(), branch.clone(), table, state, proof))
    }

    /// The version that a commit published.
    pub async fn snapshot_of_commit(&self, commit: CommitId) -> Result<Snapshot, CatalogError> {
        let newest = self.newest(&BranchName::Main).await?;
        if newest.head() == commit {
            return Ok(newest);
        }
        let row = history::commit(&newest, commit).await?.ok_or(CatalogError::CommitNotFound(commit))?;
        self.at_version(&BranchName::Main, row.version).await
    }

    /// The newest commit at or before a time, in milliseconds since 1970-01-01T00:00:00Z.
    pub async fn snapshot_at_time(&self, branch: &BranchName, time_ms: u64) -> Result<Snapshot, CatalogError> {
        let newest = self.newest(branch).await?;
        let wanted = |row: &CommitRow| row.time_ms <= time_ms;
        let found = history::commits_before(&newest, newest.version().next(), 1, &wanted).await?;
        let row = found.first().ok_or_else(|| CatalogError::NoCommitAtTime { branch: branch.clone(), time_ms })?;
        self.at_version(branch, row.version).await
    }

    /// One commit.
    pub async fn commit(&self, id: CommitId) -> Result<CommitRow, CatalogError> {
        let newest = self.newest(&BranchName::Main).await?;
        history::commit(&newest, id).await?.ok_or(CatalogError::CommitNotFound(id))
    }

    /// A branch's commits, newest first: from its head, or from the one before `after`; at most `most`, which bounds the
    /// memory taken.
    pub async fn list_commits(
        &self,
        branch: &BranchName,
        after: Option<CommitId>,
        most: usize,
    ) -> Result<Vec<CommitRow>, CatalogError> {
        let newest = self.newest(branch).await?;
        let before = match after {
            None => newest.version().next(),
            Some(id) => history::commit(&newest, id).await?.ok_or(CatalogError::CommitNotFound(id))?.version,
        };
        history::commits_before(&newest, before, most, &|_| true).await
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
        let path: ObjectPath = self.paths().contract(hash);
        let object = self.store().get(&path).await?;
        let bytes = object.map(|object| object.bytes).filter(|bytes| sha256_hex(bytes) == hash);
        bytes.ok_or_else(|| CatalogError::Corrupt {
            object: format!("the schema contract {hash}"),
            expected: "a contract of that hash".to_owned(),
        })
    }
}

/// SHA-256 in lower-case hexadecimal.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
