//! The door to one graph: its branches' versions, commits, contracts, and the publishing of new versions.
//!
//! Every future it returns is declared `Send`, so that what is below is proven here once and not again in every caller.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use omnigraph_storage::Store;
use omnigraph_types::{
    BranchId, BranchName, Clock, CommitId, GraphId, GraphName, GraphVersion, Limits, OperationId, TreeId,
};

use crate::chain::Chain;
use crate::context::Context;
use crate::digest::sha256_hex;
use crate::error::CatalogError;
use crate::history;
use crate::paths::GraphPaths;
use crate::publication::Publication;
use crate::publish::{PublishOutcome, StagedPublication};
use crate::rows::{CommitRow, OperationRow};
use crate::snapshot::Snapshot;

/// One graph. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Catalog {
    context: Arc<Context>,
}

/// What the catalog is made of.
impl Catalog {
    pub(crate) fn new(context: Context) -> Self {
        Self { context: Arc::new(context) }
    }

    /// The name under which the graph was opened. Another graph may have it by now.
    pub fn name(&self) -> &GraphName {
        &self.context.name
    }

    /// The graph's identity.
    pub fn graph_id(&self) -> GraphId {
        self.context.graph_id
    }

    /// The identity of the branch `main`.
    pub fn main_branch_id(&self) -> BranchId {
        self.context.main_branch_id
    }

    /// The store that holds the graph.
    pub fn store(&self) -> &Store {
        &self.context.store
    }

    /// The paths of the graph's objects.
    pub fn paths(&self) -> &GraphPaths {
        &self.context.paths
    }

    /// The clock.
    pub fn clock(&self) -> &dyn Clock {
        self.context.clock.as_ref()
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.context.limits
    }

    /// Age of a proof after which it must be renewed.
    pub fn proof_age_max(&self) -> Duration {
        self.context.proof_age_max()
    }
}

/// Branches and their chains.
impl Catalog {
    /// The chain of main.
    pub fn main_chain(&self) -> Chain {
        self.context.main_chain()
    }

    /// The chain of a branch by identity, live or removed, asking the store only for a branch that is new to this process.
    pub fn chain(&self, branch: BranchId) -> impl Future<Output = Result<Chain, CatalogError>> + Send {
        self.context.chain(branch)
    }

    /// The error for a chain that has ended: main's was the graph's.
    pub fn ended(&self, name: &BranchName) -> CatalogError {
        self.context.ended(name)
    }
}

/// Versions.
impl Catalog {
    /// The newest version of a branch that this process has seen, without asking the store.
    pub fn known(&self, branch: BranchId) -> Option<Snapshot> {
        self.context.known(branch)
    }

    /// The version that this process published moments ago, presumed newest without asking the store.
    ///
    /// Another process may have published since. Taking the ticket for the next version confirms that this one is the newest. A caller that
    /// would refuse a request because of this version must first confirm it with `newest`.
    pub fn presumed_newest(&self, name: &BranchName) -> Option<Snapshot> {
        self.context.presumed_newest(name)
    }

    /// The newest version of main: the registry of branches. `GraphDeleted` if main's chain has ended.
    pub fn registry(&self) -> impl Future<Output = Result<Snapshot, CatalogError>> + Send {
        self.context.registry()
    }

    /// The newest version of a branch by name, proven newest. `BranchNotFound` for a removed one.
    pub fn newest(&self, name: &BranchName) -> impl Future<Output = Result<Snapshot, CatalogError>> + Send {
        self.context.newest(name)
    }

    /// The newest version of a chain, proven newest: by a probe forward from what this process knows, or by listing. It may be `retired`.
    pub fn newest_of(&self, chain: &Chain) -> impl Future<Output = Result<Snapshot, CatalogError>> + Send {
        self.context.newest_of(chain)
    }

    /// One version of a chain, which must exist.
    pub fn at_version(
        &self,
        chain: &Chain,
        version: GraphVersion,
    ) -> impl Future<Output = Result<Snapshot, CatalogError>> + Send {
        self.context.at_version(chain, version)
    }

    /// The version that a commit published.
    pub fn snapshot_of_commit(&self, commit: CommitId) -> impl Future<Output = Result<Snapshot, CatalogError>> + Send {
        self.context.snapshot_of_commit(commit)
    }

    /// The version of the newest commit at or before a time, in milliseconds since 1970-01-01T00:00:00Z.
    pub fn snapshot_at_time(
        &self,
        name: &BranchName,
        time_ms: u64,
    ) -> impl Future<Output = Result<Snapshot, CatalogError>> + Send {
        self.context.snapshot_at_time(name, time_ms)
    }
}

/// Commits, operations and contracts.
impl Catalog {
    /// One commit, on whichever branch it was made. A branch that cannot be read is reported only if no other has the commit.
    pub fn commit(&self, id: CommitId) -> impl Future<Output = Result<CommitRow, CatalogError>> + Send {
        self.context.commit(id)
    }

    /// The commit that a publication of a branch is, read on that branch's own chain.
    pub fn commit_at(
        &self,
        branch: BranchId,
        version: GraphVersion,
        id: CommitId,
    ) -> impl Future<Output = Result<CommitRow, CatalogError>> + Send {
        self.context.commit_at(branch, version, id)
    }

    /// A branch's commits, newest first: from its head, or from the one before `after`; at most `most`, which bounds the
    /// memory taken.
    pub fn list_commits(
        &self,
        name: &BranchName,
        after: Option<CommitId>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<CommitRow>, CatalogError>> + Send {
        self.context.list_commits(name, after, most)
    }

    /// Everything recorded of an operation at `snapshot`, oldest first: aborts, and at most one commit (I-8).
    pub fn operation_rows(
        &self,
        snapshot: &Snapshot,
        operation: OperationId,
    ) -> impl Future<Output = Result<Vec<OperationRow>, CatalogError>> + Send {
        history::operation_rows(snapshot, operation)
    }

    /// The last version of a branch that had this name, ended, and applied an operation. Called after the name was resolved.
    pub fn removed_with(
        &self,
        name: &BranchName,
        operation: OperationId,
    ) -> impl Future<Output = Result<Option<Snapshot>, CatalogError>> + Send {
        self.context.removed_with(name, operation)
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

/// Publishing.
impl Catalog {
    /// Checks the preconditions on `base` and writes the next state's files.
    ///
    /// # Errors
    /// `Unmet` where a precondition does not hold, `Newer` where `base` or the publication holds what only a newer program knows.
    pub fn stage(
        &self,
        base: &Snapshot,
        publication: &Publication,
    ) -> impl Future<Output = Result<StagedPublication, CatalogError>> + Send {
        self.context.stage(base, publication)
    }

    /// Writes version N+1: the one decision. After an error whose outcome is unknown the caller must look at the newest version.
    pub fn publish(
        &self,
        staged: StagedPublication,
    ) -> impl Future<Output = Result<PublishOutcome, CatalogError>> + Send {
        self.context.publish(staged)
    }

    /// Removes the files of a publication that will certainly not be made.
    pub fn discard(&self, staged: StagedPublication) -> impl Future<Output = ()> + Send {
        self.context.discard(staged)
    }

    /// Clones a version of a branch as a chain of its own, which nothing names. Costs the same whatever the graph holds.
    pub fn clone_chain(&self, from: &Snapshot) -> impl Future<Output = Result<TreeId, CatalogError>> + Send {
        self.context.clone_chain(from)
    }
}
