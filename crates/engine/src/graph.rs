//! One graph: its commits, its snapshots and the operations on it.

use std::sync::Arc;

use omnigraph_catalog::{Catalog, CommitRow, GraphEntry, Snapshot, TableCounts};
use omnigraph_commit::{Committer, OperationState as CommitState, SettleReport};
use omnigraph_types::{BranchName, CommitId, Failure, GraphId, GraphName, GraphVersion, OperationId};
use tokio::time::Instant;

use crate::engine::{EngineShared, GraphInfo};
use crate::error::{EngineError, Result};
use crate::load::{Load, LoadParts, LoadRequest};
use crate::schema::GraphSchema;
use crate::snapshot::GraphSnapshot;

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

/// The counts of a commit.
pub(crate) fn type_counts(counts: &[TableCounts]) -> Vec<TypeCounts> {
    let count = |count: &TableCounts| TypeCounts {
        type_name: count.type_name.clone(),
        inserted: count.inserted,
        updated: count.updated,
        deleted: count.deleted,
        row_count: count.row_count,
    };
    counts.iter().map(count).collect()
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
    /// What made it: `create_graph`, `load`.
    pub kind: String,
    /// The operation.
    pub operation_id: OperationId,
    /// What it did, per type touched.
    pub counts: Vec<TypeCounts>,
}

impl CommitInfo {
    pub(crate) fn new(row: CommitRow, branch: BranchName) -> Self {
        Self {
            id: row.id,
            parents: row.parents,
            branch,
            version: row.version,
            actor: row.actor,
            time_ms: row.time_ms,
            kind: row.kind.as_str().to_owned(),
            operation_id: row.operation_id,
            counts: type_counts(&row.counts),
        }
    }
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

#[derive(Debug)]
struct Shared {
    engine: Arc<EngineShared>,
    entry: GraphEntry,
    catalog: Catalog,
    committer: Committer,
}

/// One graph, opened. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Graph {
    shared: Arc<Shared>,
}

impl Graph {
    pub(crate) fn new(engine: Arc<EngineShared>, entry: GraphEntry, catalog: Catalog, committer: Committer) -> Self {
        Self { shared: Arc::new(Shared { engine, entry, catalog, committer }) }
    }

    /// Its name.
    pub fn name(&self) -> &GraphName {
        &self.shared.entry.name
    }

    /// Its identity.
    pub fn id(&self) -> GraphId {
        self.shared.entry.graph_id
    }

    /// The graph as it is shown. Warnings are those of its schema's text and told only when it is created.
    pub async fn info(&self) -> Result<GraphInfo, Failure> {
        let newest = self.newest(&BranchName::Main).await?;
        Ok(GraphInfo {
            name: self.name().clone(),
            id: self.id(),
            created_ms: self.shared.entry.created_ms,
            head: newest.head(),
            schema_hash: newest.schema_hash().to_owned(),
            operation_id: self.shared.entry.operation_id,
            warnings: Vec::new(),
        })
    }

    /// Pins one commit for reading.
    pub async fn snapshot(&self, at: &ReadAt) -> Result<GraphSnapshot, Failure> {
        Ok(self.pin(at).await?)
    }

    async fn pin(&self, at: &ReadAt) -> Result<GraphSnapshot> {
        let catalog = &self.shared.catalog;
        let snapshot = match at {
            ReadAt::Branch(branch) => catalog.newest(branch).await?,
            ReadAt::Commit(commit) => catalog.snapshot_of_commit(*commit).await?,
            ReadAt::BranchAtTime { branch, time_ms } => catalog.snapshot_at_time(branch, *time_ms).await?,
        };
        let schema = self.schema(&snapshot).await?;
        Ok(GraphSnapshot::new(snapshot, schema, self.shared.engine.clone()))
    }

    /// Begins a load: takes one of the permits for loads and, for an overwrite, captures its base.
    pub async fn begin_load(&self, request: LoadRequest) -> Result<Load, Failure> {
        Ok(self.open_load(request).await?)
    }

    async fn open_load(&self, request: LoadRequest) -> Result<Load> {
        let engine = &self.shared.engine;
        let permit = engine.load_permit()?;
        let base = self.newest(&request.branch).await?;
        let schema = self.schema(&base).await?;
        Ok(Load::new(LoadParts {
            operation_id: request.operation_id.unwrap_or_else(|| OperationId(engine.clock.mint())),
            request,
            committer: self.shared.committer.clone(),
            base,
            schema,
            limits: engine.limits.clone(),
            intake: engine.intake(),
            permit,
        }))
    }

    /// One commit by id.
    pub async fn commit(&self, id: CommitId) -> Result<CommitInfo, Failure> {
        let row = self.shared.catalog.commit(id).await.map_err(EngineError::from)?;
        Ok(self.describe(row)?)
    }

    /// Commits of a branch, newest first, beginning after `after` or at the head.
    pub async fn list_commits(
        &self,
        branch: &BranchName,
        after: Option<CommitId>,
        most: usize,
    ) -> Result<Vec<CommitInfo>, Failure> {
        let rows = self.shared.catalog.list_commits(branch, after, most).await.map_err(EngineError::from)?;
        Ok(rows.into_iter().map(|row| self.describe(row)).collect::<Result<_>>()?)
    }

    /// What became of an operation on a branch.
    pub async fn operation(&self, branch: &BranchName, id: OperationId) -> Result<OperationState, Failure> {
        Ok(match self.shared.committer.operation(branch, id).await? {
            CommitState::Unknown => OperationState::Unknown,
            CommitState::InProgress => OperationState::InProgress,
            CommitState::Committed(row) => OperationState::Committed(self.describe(*row)?),
            CommitState::RolledBack { reason } => OperationState::RolledBack { reason },
            CommitState::InDoubt { reason } => OperationState::InDoubt { reason },
        })
    }

    /// Settles what an interrupted write left on `main`.
    pub(crate) async fn settle(&self) -> Result<SettleReport, Failure> {
        let deadline = Instant::now() + self.shared.engine.limits.ticket_wait();
        self.shared.committer.settle(&BranchName::Main, deadline).await
    }

    async fn newest(&self, branch: &BranchName) -> Result<Snapshot> {
        Ok(self.shared.catalog.newest(branch).await?)
    }

    /// The schema of a version, from the cache or from its contract.
    async fn schema(&self, snapshot: &Snapshot) -> Result<Arc<GraphSchema>> {
        let hash = snapshot.schema_hash();
        if let Some(schema) = self.shared.engine.schemas.get(hash) {
            return Ok(schema);
        }
        let contract = self.shared.catalog.schema_contract(hash).await?;
        self.shared.engine.schemas.read(&contract)
    }

    fn describe(&self, row: CommitRow) -> Result<CommitInfo> {
        if row.branch_id != self.shared.catalog.main_branch_id() {
            return Err(EngineError::Unimplemented { feature: "branches other than main".to_owned() });
        }
        Ok(CommitInfo::new(row, BranchName::Main))
    }
}
