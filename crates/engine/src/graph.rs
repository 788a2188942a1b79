//! One graph: its commits, its snapshots and the operations on it.

use std::sync::Arc;

use futures::TryFutureExt;
use omnigraph_catalog::{Catalog, CatalogError, CommitRow, GraphEntry, Snapshot, TableCounts, TableKind};
use omnigraph_commit::{Committer, OperationState as CommitState};
use omnigraph_types::{BranchName, CommitId, Failure, GraphId, GraphName, GraphVersion, OperationId};

use crate::deletion::on_current;
use crate::engine::{Engine, EngineShared, GraphInfo};
use crate::error::Result;
use crate::load::{Load, LoadBase, LoadMode, LoadParts, LoadRequest};
use crate::schema::GraphSchema;
use crate::snapshot::{GraphSnapshot, TypeKind};

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
    /// Nodes or edges.
    pub kind: TypeKind,
    /// Rows added.
    pub inserted: u64,
    /// Rows replaced.
    pub updated: u64,
    /// Rows removed.
    pub deleted: u64,
    /// Rows afterwards.
    pub row_count: u64,
}

/// The kind of type that a kind of table holds.
pub(crate) fn type_kind(kind: TableKind) -> TypeKind {
    match kind {
        TableKind::Node => TypeKind::Node,
        TableKind::Edge => TypeKind::Edge,
    }
}

/// The counts of a commit.
pub(crate) fn type_counts(counts: &[TableCounts]) -> Vec<TypeCounts> {
    let count = |count: &TableCounts| TypeCounts {
        type_name: count.type_name.clone(),
        kind: type_kind(count.kind),
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
    /// Hash of the schema in force.
    pub schema_hash: String,
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
            schema_hash: row.schema_hash,
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
    /// It is done, and made no commit: a branch was registered or removed.
    Done {
        /// The head of the branch that the operation was asked for.
        head: CommitId,
    },
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

    pub(crate) fn created_ms(&self) -> u64 {
        self.shared.entry.created_ms
    }

    /// Its identity.
    pub fn id(&self) -> GraphId {
        self.shared.entry.graph_id
    }

    /// The graph as it is shown. Warnings are those of its schema's text and told only when it is created.
    pub async fn info(&self) -> Result<GraphInfo, Failure> {
        on_current!(self, graph => graph.describe_graph().map_err(Failure::from))
    }

    async fn describe_graph(&self) -> Result<GraphInfo> {
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
        on_current!(self, graph => graph.pin(at).map_err(Failure::from))
    }

    async fn pin(&self, at: &ReadAt) -> Result<GraphSnapshot> {
        let catalog = &self.shared.catalog;
        let snapshot = match at {
            ReadAt::Branch(branch) => catalog.newest(branch).await?,
            ReadAt::Commit(commit) => catalog.snapshot_of_commit(*commit).await?,
            ReadAt::BranchAtTime { branch, time_ms } => catalog.snapshot_at_time(branch, *time_ms).await?,
        };
        let schema = self.schema(&snapshot).await?;
        let head = snapshot.head_commit().clone();
        // The head of a branch without a commit of its own was made on another one, and is shown under that one's name.
        let commit = match head.branch_id == snapshot.branch_id() {
            true => CommitInfo::new(head, snapshot.branch_name().clone()),
            false => self.describe(head).await?,
        };
        Ok(GraphSnapshot::new(snapshot, schema, commit, self.shared.engine.clone()))
    }

    /// Begins a load: takes one of the permits for loads and, for an overwrite, captures its base.
    pub async fn begin_load(&self, request: LoadRequest) -> Result<Load, Failure> {
        on_current!(self, graph => graph.open_load(request.clone()).map_err(Failure::from))
    }

    async fn open_load(&self, request: LoadRequest) -> Result<Load> {
        let engine = &self.shared.engine;
        let permit = engine.load_permit()?;
        // What an overwrite replaces is what it saw; the others take their base at the end.
        let presumed = match request.mode {
            LoadMode::Overwrite => None,
            LoadMode::Append | LoadMode::Merge => self.shared.catalog.presumed_newest(&request.branch),
        };
        let is_proven = presumed.is_none();
        let base = match presumed {
            Some(base) => base,
            None => self.newest_or_answered(&request).await?,
        };
        let schema = self.schema(&base).await?;
        Ok(Load::new(LoadParts {
            operation_id: request.operation_id.unwrap_or_else(|| OperationId(engine.clock.mint())),
            request,
            graph: self.clone(),
            base: LoadBase { snapshot: base, schema, is_proven },
            limits: engine.limits.clone(),
            intake: engine.intake(),
            permit,
        }))
    }

    /// The newest version of the branch; of a removed one, its last version, if the load was committed there: its end then gets the receipt.
    async fn newest_or_answered(&self, request: &LoadRequest) -> Result<Snapshot> {
        let catalog = &self.shared.catalog;
        let missing = match catalog.newest(&request.branch).await {
            Err(missing @ CatalogError::BranchNotFound(_)) => missing,
            newest => return Ok(newest?),
        };
        let Some(operation) = request.operation_id else { return Err(missing.into()) };
        let answered = catalog.removed_with(&request.branch, operation).await?;
        answered.ok_or_else(|| missing.into())
    }

    /// One commit by id.
    pub async fn commit(&self, id: CommitId) -> Result<CommitInfo, Failure> {
        on_current!(self, graph => graph.find_commit(id).map_err(Failure::from))
    }

    async fn find_commit(&self, id: CommitId) -> Result<CommitInfo> {
        self.describe(self.shared.catalog.commit(id).await?).await
    }

    /// Commits of a branch, newest first, beginning after `after` or at the head.
    pub async fn list_commits(
        &self,
        branch: &BranchName,
        after: Option<CommitId>,
        most: usize,
    ) -> Result<Vec<CommitInfo>, Failure> {
        on_current!(self, graph => graph.page_of_commits(branch, after, most).map_err(Failure::from))
    }

    async fn page_of_commits(
        &self,
        branch: &BranchName,
        after: Option<CommitId>,
        most: usize,
    ) -> Result<Vec<CommitInfo>> {
        let rows = self.shared.catalog.list_commits(branch, after, most).await?;
        let mut commits = Vec::with_capacity(rows.len());
        for row in rows {
            commits.push(self.describe(row).await?);
        }
        Ok(commits)
    }

    /// What became of an operation on a branch.
    pub async fn operation(&self, branch: &BranchName, id: OperationId) -> Result<OperationState, Failure> {
        on_current!(self, graph => graph.operation_state(branch, id).map_err(Failure::from))
    }

    async fn operation_state(&self, branch: &BranchName, id: OperationId) -> Result<OperationState> {
        Ok(match self.shared.committer.operation(branch, id).await? {
            CommitState::Unknown => OperationState::Unknown,
            CommitState::InProgress => OperationState::InProgress,
            CommitState::Committed(row) => OperationState::Committed(self.describe(*row).await?),
            CommitState::Done(_) => OperationState::Done { head: self.newest(branch).await?.head() },
            CommitState::RolledBack { reason } => OperationState::RolledBack { reason },
            CommitState::InDoubt { reason } => OperationState::InDoubt { reason },
        })
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.shared.catalog
    }

    pub(crate) fn engine(&self) -> &EngineShared {
        &self.shared.engine
    }

    pub(crate) fn whole_engine(&self) -> Engine {
        Engine::of(self.shared.engine.clone())
    }

    pub(crate) fn committer(&self) -> &Committer {
        &self.shared.committer
    }

    /// What a load that begins now rests on, proven newest.
    pub(crate) async fn proven_base(&self, branch: &BranchName) -> Result<LoadBase> {
        let snapshot = self.newest(branch).await?;
        let schema = self.schema(&snapshot).await?;
        Ok(LoadBase { snapshot, schema, is_proven: true })
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

    /// A commit as it is shown, with the name that its branch had.
    async fn describe(&self, row: CommitRow) -> Result<CommitInfo> {
        let chain = self.shared.catalog.chain(row.branch_id).await?;
        Ok(CommitInfo::new(row, chain.name))
    }
}
