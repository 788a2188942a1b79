//! One graph: its commits, its snapshots and the operations on it.

use omnigraph_types::{BranchName, CommitId, Failure, GraphId, GraphName, GraphVersion, OperationId};

use crate::{GraphInfo, GraphSnapshot, Load, LoadRequest};

/// Which commit is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadAt {
    /// The newest commit of a branch.
    Branch(BranchName),
    /// One commit.
    Commit(CommitId),
    /// The newest commit of a branch at a time.
    BranchAtTime {
        /// The branch.
        branch: BranchName,
        /// Milliseconds since 1970.
        time_ms: u64,
    },
}

/// What one commit did to one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeCounts {
    /// The type.
    pub type_name: String,
    /// Rows added.
    pub inserted: u64,
    /// Rows replaced.
    pub updated: u64,
    /// Rows removed.
    pub deleted: u64,
    /// Rows afterwards.
    pub row_count: u64,
}

/// One commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInfo {
    /// Its id.
    pub id: CommitId,
    /// The commits it was made from.
    pub parents: Vec<CommitId>,
    /// The branch it was made on.
    pub branch: BranchName,
    /// The branch's version that published it.
    pub version: GraphVersion,
    /// Who made it.
    pub actor: String,
    /// When, in milliseconds since 1970; later than its parent's.
    pub time_ms: u64,
    /// What made it: `create_graph`, `load`, `mutation`, `merge`, `schema_apply`.
    pub kind: String,
    /// The operation.
    pub operation_id: OperationId,
    /// What it did, per type touched.
    pub counts: Vec<TypeCounts>,
}

/// What became of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperationState {
    /// Nothing of this id is known.
    Unknown,
    /// Its outcome is open.
    InProgress,
    /// It made this commit.
    Committed(CommitInfo),
    /// It was undone.
    RolledBack {
        /// Why.
        reason: String,
    },
    /// Its outcome can not be told.
    InDoubt {
        /// Why.
        reason: String,
    },
}

/// One graph, opened. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Graph {}

impl Graph {
    /// Its name.
    pub fn name(&self) -> &GraphName {
        todo!()
    }

    /// Its identity.
    pub fn id(&self) -> GraphId {
        todo!()
    }

    /// The graph as it is shown.
    pub async fn info(&self) -> Result<GraphInfo, Failure> {
        todo!()
    }

    /// Pins one commit for reading.
    pub async fn snapshot(&self, _at: &ReadAt) -> Result<GraphSnapshot, Failure> {
        todo!()
    }

    /// Begins a load: takes one of the permits for loads and, for an overwrite, captures its base.
    pub async fn begin_load(&self, _request: LoadRequest) -> Result<Load, Failure> {
        todo!()
    }

    /// One commit by id.
    pub async fn commit(&self, _id: CommitId) -> Result<CommitInfo, Failure> {
        todo!()
    }

    /// Commits of a branch, newest first, beginning after `after` or at the head.
    pub async fn list_commits(
        &self,
        _branch: &BranchName,
        _after: Option<CommitId>,
        _most: usize,
    ) -> Result<Vec<CommitInfo>, Failure> {
        todo!()
    }

    /// What became of an operation on a branch.
    pub async fn operation(&self, _branch: &BranchName, _id: OperationId) -> Result<OperationState, Failure> {
        todo!()
    }
}
