//! How a graph comes into being: everything of it but its name, under a fresh id.

use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use omnigraph_storage::{CommitOutcome, PutOutcome, StagedChange, Store, TransactionMark, TreeRef};
use omnigraph_types::{
    AttemptId, BranchId, Clock, CommitId, CommitKind, GraphId, GraphName, GraphVersion, OperationId, TableId,
    TableVersion, TypeKind,
};

use crate::digest::sha256_hex;
use crate::error::CatalogError;
use crate::format::raw::manifest_schema;
use crate::format::v2::encode_state;
use crate::operations::Operations;
use crate::own_ids::OwnIds;
use crate::paths::GraphPaths;
use crate::publish::write_file;
use crate::rows::{
    CommitOperation, CommitRow, DecidedBy, PublicationKind, PublicationResult, PublicationRow, TableCounts, TableRow,
};
use crate::state::{State, own_ids_with};

/// Datasets created at once.
const CONCURRENCY: usize = 8;

/// A table that a graph is born with.
#[derive(Debug, Clone)]
pub struct NewTable {
    /// Its id.
    pub id: TableId,
    /// Node or edge table.
    pub kind: TypeKind,
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

/// The identities of a new graph, each fresh.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identities {
    pub(crate) graph_id: GraphId,
    pub(crate) main_branch_id: BranchId,
    attempt_id: AttemptId,
    commit_id: CommitId,
    pub(crate) created_ms: u64,
}

impl Identities {
    pub(crate) fn mint(clock: &dyn Clock) -> Self {
        Self {
            graph_id: GraphId(clock.mint()),
            main_branch_id: BranchId(clock.mint()),
            attempt_id: AttemptId(clock.mint()),
            commit_id: CommitId(clock.mint()),
            created_ms: clock.wall_ms(),
        }
    }
}

/// Writes the contract, the tables and the first version of a graph. Nothing names them yet.
pub(crate) async fn build(
    store: &Store,
    clock: &dyn Clock,
    new: &NewGraph,
    ids: Identities,
) -> Result<(), CatalogError> {
    let paths = GraphPaths::new(ids.graph_id);
    let mark = || TransactionMark {
        uuid: clock.mint().to_string(),
        operation_id: new.operation_id,
        attempt_id: ids.attempt_id,
    };
    debug_assert_eq!(sha256_hex(&new.contract), new.contract_hash);
    let contract = paths.contract(&new.contract_hash).ok_or_else(|| CatalogError::Corrupt {
        object: "the hash of a new graph's schema".to_owned(),
        expected: "64 hexadecimal digits".to_owned(),
    })?;
    match store.put_if_absent(&contract, new.contract.clone()).await? {
        PutOutcome::Created | PutOutcome::AlreadyExists => {}
    }
    // Collected first: a stream over a closure that borrows is not proven to be `Send` for every lifetime.
    let tables = new.tables.iter().map(|table| {
        let path = paths.table(table.kind, table.id);
        let change = StagedChange::create_empty(table.schema.clone(), mark());
        async move { created(store.create_dataset(&path, change).await?, &table.type_name) }
    });
    let tables = stream::iter(tables.collect::<Vec<_>>());
    tables.buffer_unordered(CONCURRENCY).try_collect::<Vec<()>>().await?;
    let state = first_state(new, &paths, ids);
    let files = write_file(store, &TreeRef::main(paths.manifest()), encode_state(&state)?).await?;
    let change = StagedChange::create_with(manifest_schema(), files, mark()).without_stable_row_ids();
    created(store.create_dataset(&paths.manifest(), change).await?, "__manifest")
}

/// Removes what `build` has written for a graph that certainly gets no name. What cannot be removed stays for the cleanup.
pub(crate) async fn discard(store: &Store, ids: Identities) {
    if let Err(error) = store.discard_folder(GraphPaths::new(ids.graph_id).root()).await {
        tracing::warn!(graph_id = %ids.graph_id, %error, "files of a graph that was not made stay for the cleanup");
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

fn first_state(new: &NewGraph, paths: &GraphPaths, ids: Identities) -> State {
    let branch_id = ids.main_branch_id;
    let version = GraphVersion(1);
    let publication = PublicationRow {
        version,
        branch_id,
        kind: PublicationKind::Commit,
        decision: DecidedBy::Own.about(ids.attempt_id),
        result: PublicationResult::Commit(ids.commit_id),
        operations: Operations::one(new.operation_id, new.digest.clone()),
    };
    State {
        graph_id: ids.graph_id,
        main_branch_id: branch_id,
        branch_id,
        version,
        schema_hash: new.contract_hash.clone(),
        head: ids.commit_id,
        tables: new.tables.iter().map(|table| (table.id, first_row(table, paths, ids))).collect(),
        commits: vec![first_commit(new, ids, version)],
        own_ids: own_ids_with(OwnIds::default(), &publication),
        publications: vec![publication],
        unsettled: Vec::new(),
        recoveries: Vec::new(),
        history: Vec::new(),
        branches: Default::default(),
        retired: None,
        retention: None,
        newer: None,
        base: None,
        tables_changed: Default::default(),
        branches_changed: Default::default(),
    }
}

fn first_row(table: &NewTable, paths: &GraphPaths, ids: Identities) -> TableRow {
    TableRow {
        id: table.id,
        kind: table.kind,
        type_name: table.type_name.clone(),
        path: paths.table(table.kind, table.id),
        tree: None,
        owner: ids.main_branch_id,
        version: TableVersion(1),
        row_count: 0,
        content_commit: ids.commit_id,
    }
}

fn first_commit(new: &NewGraph, ids: Identities, version: GraphVersion) -> CommitRow {
    let counts = |table: &NewTable| TableCounts {
        table: table.id,
        kind: table.kind,
        type_name: table.type_name.clone(),
        inserted: 0,
        updated: 0,
        deleted: 0,
        row_count: 0,
    };
    let kind = CommitKind::CreateGraph;
    let operation =
        CommitOperation { operation_id: new.operation_id, actor: new.actor.clone(), kind, counts: Vec::new() };
    CommitRow {
        id: ids.commit_id,
        parents: Vec::new(),
        branch_id: ids.main_branch_id,
        version,
        actor: new.actor.clone(),
        time_ms: ids.created_ms,
        kind,
        schema_hash: new.contract_hash.clone(),
        operations: vec![operation],
        counts: new.tables.iter().map(counts).collect(),
    }
}
