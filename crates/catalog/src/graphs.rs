//! The names of a root's graphs, and how a graph is born.
//!
//! `__graphs/<name>/<sequence>.json` says which graph a name means; the newest entry is the truth. A graph is built whole under its own
//! fresh id before its name is put if absent, so a crash leaves either a graph or a name that can be created, and of two creators one wins.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use omnigraph_storage::{CommitOutcome, PutOutcome, StagedChange, StorageError, Store, TransactionMark, TreeRef};
use omnigraph_types::{
    AttemptId, BranchId, Clock, CommitId, GraphId, GraphName, GraphVersion, Limits, OperationId, TableId, TableVersion,
};
use serde::{Deserialize, Serialize};

use crate::catalog::{Catalog, sha256_hex};
use crate::chain::write_file;
use crate::error::CatalogError;
use crate::format::{STORAGE_FORMAT, encode_state, manifest_schema};
use crate::paths;
use crate::paths::GraphPaths;
use crate::rows::{CommitKind, CommitRow, OperationRow, PublicationKind, TableCounts, TableKind, TableRow};
use crate::state::State;

/// Datasets created, or names read, at once.
const CONCURRENCY: usize = 8;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub(crate) enum NameEntry {
    Created {
        format: u32,
        graph_id: GraphId,
        main_branch_id: BranchId,
        operation_id: OperationId,
        digest: String,
        actor: String,
        created_ms: u64,
    },
    Deleted {
        format: u32,
        graph_id: GraphId,
        operation_id: OperationId,
        digest: String,
        actor: String,
        deleted_ms: u64,
    },
}

impl NameEntry {
    fn operation(&self) -> (OperationId, &str) {
        match self {
            Self::Created { operation_id, digest, .. } | Self::Deleted { operation_id, digest, .. } => {
                (*operation_id, digest)
            }
        }
    }
}

/// What the same operation did to a name before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// It made the graph that the name means now, or meant until it was deleted.
    Created,
    /// It deleted a graph of this name.
    Deleted,
}

/// A request to take a graph's name away.
#[derive(Debug, Clone)]
pub struct NameRemoval {
    /// The graph.
    pub graph_id: GraphId,
    /// The operation that deletes it.
    pub operation_id: OperationId,
    /// Digest of its request, in hexadecimal.
    pub digest: String,
    /// Who asked for it.
    pub actor: String,
}

/// One graph of a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphEntry {
    /// Its name.
    pub name: GraphName,
    /// Its identity.
    pub graph_id: GraphId,
    /// When it was created, in milliseconds since 1970-01-01T00:00:00Z.
    pub created_ms: u64,
    /// The operation that created it.
    pub operation_id: OperationId,
}

/// A table that a graph is born with.
#[derive(Debug, Clone)]
pub struct NewTable {
    /// Its id.
    pub id: TableId,
    /// Node or edge table.
    pub kind: TableKind,
    /// The type's name.
    pub type_name: String,
    /// Its columns.
    pub schema: SchemaRef,
}

/// A graph to create.
#[derive(Debug, Clone)]
pub struct NewGraph {
    /// Its name.
    pub name: GraphName,
    /// The accepted contract.
    pub contract: Bytes,
    /// SHA-256 of the contract, in hexadecimal.
    pub contract_hash: String,
    /// Its tables.
    pub tables: Vec<NewTable>,
    /// The operation; the same one again answers with the graph it made.
    pub operation_id: OperationId,
    /// Digest of the request, in hexadecimal.
    pub digest: String,
    /// Who asks.
    pub actor: String,
}

/// The graphs of a root.
#[derive(Debug, Clone)]
pub struct Graphs {
    store: Store,
    clock: Arc<dyn Clock>,
    limits: Arc<Limits>,
}

impl Graphs {
    /// The graphs of the store's root.
    pub fn new(store: Store, clock: Arc<dyn Clock>, limits: Arc<Limits>) -> Self {
        Self { store, clock, limits }
    }

    /// Creates a graph with its first commit. `GraphExists` where the name is taken, also by a creator that was quicker.
    pub async fn create(&self, new: NewGraph) -> Result<Catalog, CatalogError> {
        let sequence = match self.newest_entry(&new.name).await? {
            Some((_, entry @ NameEntry::Created { .. })) => return self.answer_existing(&new, entry),
            Some((sequence, NameEntry::Deleted { .. })) => {
                // I-8: the operation made a graph that was deleted since; it makes no second one.
                if self.before(&new.name, new.operation_id, &new.digest).await?.is_some() {
                    return Err(CatalogError::GraphDeleted(new.name.clone()));
                }
                sequence + 1
            }
            None => 1,
        };
        let graph_id = GraphId(self.clock.mint());
        let main_branch_id = BranchId(self.clock.mint());
        let created_ms = self.clock.wall_ms();
        self.build(&new, graph_id, main_branch_id, created_ms).await?;
        let entry = NameEntry::Created {
            format: STORAGE_FORMAT,
            graph_id,
            main_branch_id,
            operation_id: new.operation_id,
            digest: new.digest.clone(),
            actor: new.actor.clone(),
            created_ms,
        };
        let bytes = serde_json::to_vec(&entry).map_err(|_| corrupt(&new.name))?;
        match self.store.put_if_absent(&paths::name_entry(&new.name, sequence), Bytes::from(bytes)).await? {
            PutOutcome::Created => Ok(self.catalog(&new.name, graph_id, main_branch_id)),
            PutOutcome::AlreadyExists => match self.newest_entry(&new.name).await? {
                Some((_, entry)) => self.answer_existing(&new, entry),
                None => Err(corrupt(&new.name)),
            },
        }
    }

    fn answer_existing(&self, new: &NewGraph, entry: NameEntry) -> Result<Catalog, CatalogError> {
        match entry {
            NameEntry::Created { graph_id, main_branch_id, operation_id, digest, .. }
                if operation_id == new.operation_id =>
            {
                if digest != new.digest {
                    return Err(CatalogError::OperationIdReused { operation_id, first_digest: digest, commit: None });
                }
                Ok(self.catalog(&new.name, graph_id, main_branch_id))
            }
            _ => Err(CatalogError::GraphExists(new.name.clone())),
        }
    }

    fn catalog(&self, name: &GraphName, graph_id: GraphId, main_branch_id: BranchId) -> Catalog {
        let ids = (graph_id, main_branch_id);
        Catalog::new(self.store.clone(), name.clone(), ids, self.clock.clone(), self.limits.clone())
    }

    /// What an operation did to a name before, however long ago.
    async fn before(
        &self,
        name: &GraphName,
        operation_id: OperationId,
        digest: &str,
    ) -> Result<Option<Before>, CatalogError> {
        let entries = stream::iter(self.sequences(name).await?).map(|sequence| self.entry_at(name, sequence));
        let mut entries = entries.buffered(CONCURRENCY);
        while let Some(entry) = entries.try_next().await? {
            let (found, first_digest) = entry.operation();
            if found != operation_id {
                continue;
            }
            if first_digest != digest {
                let first_digest = first_digest.to_owned();
                return Err(CatalogError::OperationIdReused { operation_id, first_digest, commit: None });
            }
            return Ok(Some(match entry {
                NameEntry::Created { .. } => Before::Created,
                NameEntry::Deleted { .. } => Before::Deleted,
            }));
        }
        Ok(None)
    }

    /// Whether this very operation has deleted a graph of this name. `OperationIdReused` if it was another request.
    pub async fn was_deleted_by(
        &self,
        name: &GraphName,
        operation_id: OperationId,
        digest: &str,
    ) -> Result<bool, CatalogError> {
        Ok(self.before(name, operation_id, digest).await? == Some(Before::Deleted))
    }

    /// Says that a name means its graph no longer, unless it means another graph or none already.
    pub async fn remove_name(&self, name: &GraphName, removal: &NameRemoval) -> Result<(), CatalogError> {
        let Some((sequence, NameEntry::Created { graph_id, .. })) = self.newest_entry(name).await? else {
            return Ok(());
        };
        if graph_id != removal.graph_id {
            return Ok(());
        }
        let NameRemoval { graph_id, operation_id, digest, actor } = removal.clone();
        let deleted_ms = self.clock.wall_ms();
        let entry = NameEntry::Deleted { format: STORAGE_FORMAT, graph_id, operation_id, digest, actor, deleted_ms };
        let bytes = serde_json::to_vec(&entry).map_err(|_| corrupt(name))?;
        // Whoever was quicker has said the same: a graph is deleted once.
        match self.store.put_if_absent(&paths::name_entry(name, sequence + 1), Bytes::from(bytes)).await? {
            PutOutcome::Created | PutOutcome::AlreadyExists => Ok(()),
        }
    }

    /// The store that the graphs lie in.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Opens a graph by name. Its format is checked by whatever is read of it.
    pub async fn open(&self, name: &GraphName) -> Result<(GraphEntry, Catalog), CatalogError> {
        match self.newest_entry(name).await? {
            Some((_, NameEntry::Created { graph_id, main_branch_id, operation_id, created_ms, .. })) => {
                let entry = GraphEntry { name: name.clone(), graph_id, created_ms, operation_id };
                Ok((entry, self.catalog(name, graph_id, main_branch_id)))
            }
            Some((_, NameEntry::Deleted { .. })) | None => Err(CatalogError::GraphNotFound(name.clone())),
        }
    }

    /// What a name means now, without opening the graph.
    pub async fn entry(&self, name: &GraphName) -> Result<GraphEntry, CatalogError> {
        match self.newest_entry(name).await? {
            Some((_, NameEntry::Created { graph_id, operation_id, created_ms, .. })) => {
                Ok(GraphEntry { name: name.clone(), graph_id, created_ms, operation_id })
            }
            Some((_, NameEntry::Deleted { .. })) | None => Err(CatalogError::GraphNotFound(name.clone())),
        }
    }

    /// The graphs there are, by name. One whose entry cannot be read is left out, and logged.
    pub async fn list(&self) -> Result<Vec<GraphEntry>, CatalogError> {
        let children = self.store.list_children(&paths::names()).await?;
        let names: Vec<GraphName> = children.iter().filter_map(|name| name.parse().ok()).collect();
        let entries = stream::iter(names).map(|name| async move {
            match self.entry(&name).await {
                Ok(entry) => Ok(Some(entry)),
                Err(CatalogError::GraphNotFound(_)) => Ok(None),
                Err(error @ (CatalogError::Corrupt { .. } | CatalogError::Format { .. })) => {
                    tracing::error!(graph = %name, %error, "a graph cannot be listed");
                    Ok(None)
                }
                Err(error) => Err(error),
            }
        });
        let mut found: Vec<GraphEntry> =
            entries.buffered(CONCURRENCY).try_filter_map(|entry| async move { Ok(entry) }).try_collect().await?;
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    async fn newest_entry(&self, name: &GraphName) -> Result<Option<(u64, NameEntry)>, CatalogError> {
        match self.sequences(name).await?.into_iter().max() {
            Some(sequence) => Ok(Some((sequence, self.entry_at(name, sequence).await?))),
            None => Ok(None),
        }
    }

    async fn sequences(&self, name: &GraphName) -> Result<Vec<u64>, CatalogError> {
        let children = self.store.list_children(&paths::name_entries(name)).await?;
        Ok(children.iter().filter_map(|child| child.strip_suffix(".json")?.parse::<u64>().ok()).collect())
    }

    async fn entry_at(&self, name: &GraphName, sequence: u64) -> Result<NameEntry, CatalogError> {
        let object = match self.store.get(&paths::name_entry(name, sequence)).await {
            Ok(Some(object)) => object,
            Ok(None) | Err(StorageError::Misplaced { .. }) => return Err(corrupt(name)),
            Err(error) => return Err(error.into()),
        };
        read_entry(name, &object.bytes)
    }

    /// Everything of a new graph but its name.
    async fn build(
        &self,
        new: &NewGraph,
        graph_id: GraphId,
        main_branch_id: BranchId,
        created_ms: u64,
    ) -> Result<(), CatalogError> {
        let graph_paths = GraphPaths::new(graph_id);
        let attempt_id = AttemptId(self.clock.mint());
        let mark =
            || TransactionMark { uuid: self.clock.mint().to_string(), operation_id: new.operation_id, attempt_id };
        debug_assert_eq!(sha256_hex(&new.contract), new.contract_hash);
        let contract = graph_paths.contract(&new.contract_hash).ok_or_else(|| CatalogError::Corrupt {
            object: "the hash of a new graph's schema".to_owned(),
            expected: "64 hexadecimal digits".to_owned(),
        })?;
        match self.store.put_if_absent(&contract, new.contract.clone()).await? {
            PutOutcome::Created | PutOutcome::AlreadyExists => {}
        }
        let tables = stream::iter(new.tables.iter().map(|table| {
            let path = graph_paths.table(table.kind, table.id);
            let change = StagedChange::create_empty(table.schema.clone(), mark());
            async move { created(self.store.create_dataset(&path, change).await?, &table.type_name) }
        }));
        tables.buffer_unordered(CONCURRENCY).try_collect::<Vec<()>>().await?;
        let state = first_state(
            new,
            &graph_paths,
            (graph_id, main_branch_id, attempt_id),
            CommitId(self.clock.mint()),
            created_ms,
        );
        let files = write_file(&self.store, &TreeRef::main(graph_paths.manifest()), encode_state(&state)?).await?;
        let change = StagedChange::create_with(manifest_schema(), files, mark()).without_stable_row_ids();
        created(self.store.create_dataset(&graph_paths.manifest(), change).await?, "__manifest")
    }
}

fn created(outcome: CommitOutcome, table: &str) -> Result<(), CatalogError> {
    match outcome {
        CommitOutcome::Committed(_) => Ok(()),
        CommitOutcome::Occupied { .. } => Err(CatalogError::Corrupt {
            object: format!("the folder of {table} in a new graph"),
            expected: "nothing, because its id is fresh".to_owned(),
        }),
    }
}

/// Reads an entry's bytes. Fails with `Format` before it reads anything else of another format.
pub(crate) fn read_entry(name: &GraphName, bytes: &[u8]) -> Result<NameEntry, CatalogError> {
    #[derive(Deserialize)]
    struct FormatStamp {
        format: u32,
    }
    let stamp: FormatStamp = serde_json::from_slice(bytes).map_err(|_| corrupt(name))?;
    if stamp.format != STORAGE_FORMAT {
        return Err(CatalogError::Format { found: stamp.format, supported: STORAGE_FORMAT });
    }
    serde_json::from_slice(bytes).map_err(|_| corrupt(name))
}

fn corrupt(name: &GraphName) -> CatalogError {
    CatalogError::Corrupt {
        object: format!("the entry of graph {name}"),
        expected: format!("an entry of format {STORAGE_FORMAT}"),
    }
}

fn first_state(
    new: &NewGraph,
    graph_paths: &GraphPaths,
    ids: (GraphId, BranchId, AttemptId),
    commit_id: CommitId,
    created_ms: u64,
) -> State {
    let (graph_id, branch_id, attempt_id) = ids;
    let version = GraphVersion(1);
    let row = |table: &NewTable| TableRow {
        id: table.id,
        kind: table.kind,
        type_name: table.type_name.clone(),
        path: graph_paths.table(table.kind, table.id),
        tree: None,
        owner: branch_id,
        version: TableVersion(1),
        row_count: 0,
        content_version: version,
    };
    let counts = |table: &NewTable| TableCounts {
        table: table.id,
        kind: table.kind,
        type_name: table.type_name.clone(),
        inserted: 0,
        updated: 0,
        deleted: 0,
        row_count: 0,
    };
    let commit = CommitRow {
        id: commit_id,
        parents: Vec::new(),
        branch_id,
        version,
        actor: new.actor.clone(),
        time_ms: created_ms,
        kind: CommitKind::CreateGraph,
        operation_id: new.operation_id,
        schema_hash: new.contract_hash.clone(),
        counts: new.tables.iter().map(counts).collect(),
    };
    let operation = OperationRow {
        operation_id: new.operation_id,
        digest: new.digest.clone(),
        attempt_id,
        kind: PublicationKind::Commit,
        branch_id,
        version,
        commit_id: Some(commit_id),
        subject: None,
        reason: None,
    };
    State {
        graph_id,
        main_branch_id: branch_id,
        branch_id,
        version,
        schema_hash: new.contract_hash.clone(),
        head: commit_id,
        tables: new.tables.iter().map(|table| (table.id, row(table))).collect(),
        commits: vec![commit],
        operations: vec![operation],
        unsettled: Vec::new(),
        recoveries: Vec::new(),
        history: Vec::new(),
        branches: Default::default(),
        retired: None,
        base: None,
        tables_changed: Default::default(),
        branches_changed: Default::default(),
    }
}
