//! Chains in a real store: long histories of large publications, bases, and versions of a newer program.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema};
use bytes::Bytes;
use omnigraph_storage::{CommitOutcome, Durability, Store, StoreOptions, TransactionMark};
use omnigraph_types::{
    AttemptId, BranchId, BranchName, CommitId, CommitKind, GraphId, GraphName, Limits, OperationId, Problem,
    RequestEffect, SystemClock, TableId, TypeKind,
};
use tempfile::TempDir;
use ulid::Ulid;

use crate::birth::{NewGraph, NewTable};
use crate::catalog::Catalog;
use crate::digest::sha256_hex;
use crate::error::CatalogError;
use crate::format::raw::manifest_schema;
use crate::format::v2::encode_state;
use crate::graphs::{Graphs, NameRemoval};
use crate::history::{read_rows, rows_of_operations};
use crate::operations::{OPERATIONS_MAX, OperationEntry, Operations};
use crate::publication::{Change, PinChange, Precondition, Publication};
use crate::publish::{PublishOutcome, write_file};
use crate::rows::{BranchRow, CommitOperation, CommitRow, DecidedBy, PublicationKind, RetiredRow};
use crate::snapshot::Snapshot;

/// A graph in a folder of its own.
struct Stored {
    catalog: Catalog,
    folder: TempDir,
}

fn graph_name() -> GraphName {
    "harbour".parse().unwrap()
}

async fn graphs(folder: &TempDir) -> Graphs {
    let options = StoreOptions { durability: Durability::Os, ..StoreOptions::default() };
    let store = Store::open(folder.path().to_str().unwrap(), options).await.unwrap();
    Graphs::new(store, Arc::new(SystemClock), Arc::new(Limits::default()))
}

impl Stored {
    async fn new(tables: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Utf8, false)]));
        let table = |id| NewTable {
            id: TableId(id),
            kind: TypeKind::Node,
            type_name: format!("T{id}"),
            schema: Arc::clone(&schema),
        };
        let contract = Bytes::from_static(b"{}");
        let new = NewGraph {
            name: graph_name(),
            contract_hash: sha256_hex(&contract),
            contract,
            tables: (1..=tables).map(table).collect(),
            operation_id: OperationId(Ulid::new()),
            digest: "1".repeat(64),
            actor: "test".to_owned(),
        };
        let catalog = graphs(&folder).await.create(new, &RequestEffect::default()).await.unwrap().0;
        Self { catalog, folder }
    }

    /// The catalog of another process, which remembers nothing.
    async fn reopened(&self) -> Catalog {
        graphs(&self.folder).await.open(&graph_name()).await.unwrap().1
    }

    async fn newest(&self) -> Snapshot {
        self.catalog.newest(&BranchName::Main).await.unwrap()
    }

    async fn publish(&self, base: &Snapshot, publication: &Publication) -> Snapshot {
        let staged = self.catalog.stage(base, publication).await.unwrap();
        match self.catalog.publish(staged).await.unwrap() {
            PublishOutcome::Published(snapshot) => snapshot,
            PublishOutcome::Lost => panic!("another publisher"),
        }
    }
}

fn operations(ids: &[OperationId]) -> Operations {
    let entry = |id: &OperationId| OperationEntry { operation_id: *id, digest: "d".repeat(64) };
    Operations::try_from(ids.iter().map(entry).collect::<Vec<_>>()).unwrap()
}

/// A commit of these operations.
fn group(base: &Snapshot, ids: &[OperationId]) -> Publication {
    let answered = ids.iter().map(|id| CommitOperation {
        operation_id: *id,
        actor: "test".to_owned(),
        kind: CommitKind::Load,
        counts: Vec::new(),
    });
    let commit = CommitRow {
        id: CommitId(Ulid::new()),
        parents: vec![base.head()],
        branch_id: base.branch_id(),
        version: base.version().next(),
        actor: "test".to_owned(),
        time_ms: base.head_commit().time_ms + 1,
        kind: CommitKind::Group,
        schema_hash: base.schema_hash().to_owned(),
        operations: answered.collect(),
        counts: Vec::new(),
    };
    Publication {
        kind: PublicationKind::Commit,
        decision: DecidedBy::Own.about(AttemptId(Ulid::new())),
        preconditions: ids.iter().map(|id| Precondition::OperationUnseen(*id)).collect(),
        changes: vec![Change::Commit(commit)],
        operations: operations(ids),
    }
}

fn abort(ids: &[OperationId]) -> Publication {
    Publication {
        kind: PublicationKind::Abort,
        decision: DecidedBy::Abort.about(AttemptId(Ulid::new())),
        preconditions: Vec::new(),
        changes: Vec::new(),
        operations: operations(ids),
    }
}

/// Ids in ascending order, as a clock mints them.
fn ids(millisecond: u64, count: usize) -> Vec<OperationId> {
    (0..count as u128).map(|random| OperationId(Ulid::from_parts(1_700_000_000_000 + millisecond, random))).collect()
}

#[tokio::test]
async fn every_operation_of_large_publications_is_found_after_many_spills_and_merges() {
    let stored = Stored::new(1).await;
    let mut newest = stored.newest().await;
    let mut published = Vec::new();
    // Single operations at first: the window spills by publications. Then groups, of which two fill the window.
    for round in 0..120_u64 {
        let ids = ids(round, if round < 60 { 1 } else { OPERATIONS_MAX });
        let publication = if round % 7 == 3 { abort(&ids) } else { group(&newest, &ids) };
        newest = stored.publish(&newest, &publication).await;
        let window = &newest.state().publications;
        let kept: usize = window.iter().map(|row| row.operations.count()).sum();
        assert!(window.len() <= 48 && kept <= 512, "{} publications of {kept} operations", window.len());
        assert_eq!(newest.state().published_by().unwrap().operations, publication.operations);
        published.push((ids, publication));
    }
    let history = newest.state().history.clone();
    assert!(history.iter().any(|row| row.level == 1), "fragments were merged");
    assert!(history.len() < 32, "{}", history.len());

    let reopened = stored.reopened().await;
    let newest = reopened.newest(&BranchName::Main).await.unwrap();
    assert_eq!(newest.state().history, history);
    for (round, (ids, publication)) in published.iter().enumerate() {
        let rows = rows_of_operations(&newest, &ids.iter().copied().collect::<BTreeSet<_>>()).await.unwrap();
        assert_eq!(rows.len(), ids.len(), "round {round}");
        for (row, id) in rows.iter().zip(ids) {
            assert_eq!((row.operation_id, row.decision), (*id, publication.decision));
            assert_eq!(row.commit_id(), publication.commit().map(|commit| commit.id));
            assert_eq!(row.is_undone(), round % 7 == 3);
        }
    }
    for row in &history {
        for id in [row.operation_min, row.operation_max] {
            assert_eq!(
                reopened.operation_rows(&newest, id).await.unwrap().len(),
                1,
                "an end of fragment {}",
                row.fragment
            );
        }
        let (first, last) = row.commits.unwrap();
        for id in [first, last] {
            assert_eq!(reopened.commit(id).await.unwrap().id, id);
        }
    }
    let commits = reopened.list_commits(&BranchName::Main, None, 1_000).await.unwrap();
    assert_eq!(commits.len(), published.iter().filter(|(_, made)| made.commit().is_some()).count() + 1);
    assert!(commits.windows(2).all(|pair| pair[0].parents == [pair[1].id]));
}

#[tokio::test]
async fn operations_that_were_published_out_of_order_are_found_in_history() {
    let stored = Stored::new(1).await;
    let mut newest = stored.newest().await;
    // Neither the first nor the last publication of a fragment has its smallest or its largest id.
    let order = |at: u64| (at * 37 + 20) % 101;
    for at in 0..101 {
        newest = stored.publish(&newest, &group(&newest, &ids(order(at), 1))).await;
    }
    assert!(newest.state().history.len() > 1);
    for at in 0..101 {
        let rows = stored.catalog.operation_rows(&newest, ids(order(at), 1)[0]).await.unwrap();
        assert_eq!(rows.len(), 1, "publication {at}");
        let again = group(&newest, &ids(order(at), 1));
        assert!(matches!(stored.catalog.stage(&newest, &again).await, Err(CatalogError::Unmet(_))), "I-8: {at}");
    }
}

#[tokio::test]
async fn operation_that_was_undone_may_be_published_and_one_that_ended_may_not() {
    let stored = Stored::new(1).await;
    let operations = ids(0, 3);
    let mut newest = stored.publish(&stored.newest().await, &abort(&operations)).await;
    newest = stored.publish(&newest, &group(&newest, &operations[..2])).await;
    // The seen one is neither the first nor the last of those that must be unseen.
    let again = group(&newest, &[ids(1, 1)[0], operations[1], operations[2]]);
    let Err(CatalogError::Unmet(unmet)) = stored.catalog.stage(&newest, &again).await else { panic!("staged") };
    assert_eq!(unmet.precondition, Precondition::OperationUnseen(operations[1]));
    stored.publish(&newest, &group(&newest, &operations[2..])).await;
}

#[tokio::test]
async fn publication_whose_commit_answers_other_operations_is_refused() {
    let stored = Stored::new(1).await;
    let newest = stored.newest().await;
    let mut publication = group(&newest, &ids(0, 2));
    publication.operations = operations(&ids(0, 1));
    let refused = stored.catalog.stage(&newest, &publication).await.unwrap_err();
    assert!(matches!(refused, CatalogError::Incoherent(_)), "{refused:?}");
}

#[tokio::test]
async fn dropped_table_of_a_graph_with_a_base_stays_away() {
    let stored = Stored::new(70).await;
    let newest = stored.newest().await;
    let mut newest = stored.publish(&newest, &group(&newest, &ids(0, 1))).await;
    let base = newest.state().base;
    assert!(base.is_some(), "more tables than a version lists itself");
    for (round, changes) in [
        vec![Change::TableDropped { table: TableId(33) }],
        vec![Change::TableRenamed { table: TableId(34), type_name: "Renamed".to_owned() }],
    ]
    .into_iter()
    .enumerate()
    {
        let mut publication = group(&newest, &ids(1 + round as u64, 1));
        publication.changes.extend(changes);
        newest = stored.publish(&newest, &publication).await;
    }
    assert_ne!(newest.state().base, base);
    let reread = stored.reopened().await.newest(&BranchName::Main).await.unwrap();
    assert_eq!(reread.tables().count(), 69);
    assert!(reread.table(TableId(33)).is_none());
    assert_eq!(reread.table(TableId(34)).unwrap().type_name, "Renamed");
    assert_eq!(reread.manifest().fragments().len(), 2, "the state and one base");
}

/// A version that a newer program has published: with a row of a kind of its own.
async fn publish_as_a_newer_program(stored: &Stored, base: &Snapshot, publication: &Publication) {
    let state = encode_state(&base.state().apply(publication)).unwrap();
    let column = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
    let lease = RecordBatch::try_new(manifest_schema(), vec![column("lease"), column("1"), column("{}")]).unwrap();
    let rows = concat_batches(&manifest_schema(), &[state, lease]).unwrap();
    let files = write_file(stored.catalog.store(), &base.manifest().pin().tree, rows).await.unwrap();
    let mark = TransactionMark {
        uuid: Ulid::new().to_string(),
        operation_id: publication.operations.first().operation_id,
        attempt_id: publication.decision.attempt_id,
    };
    let removed = base.manifest().fragments().iter().map(|fragment| fragment.id).max().unwrap();
    let change = base.manifest().stage_replace(&[removed], files, mark);
    let outcome = stored.catalog.store().commit_exact(base.manifest(), &change).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Committed(_)));
}

#[tokio::test]
async fn version_of_a_newer_program_is_read_and_nothing_is_published_onto_it() {
    let stored = Stored::new(2).await;
    let newest = stored.newest().await;
    let publication = group(&newest, &ids(0, 3));
    publish_as_a_newer_program(&stored, &newest, &publication).await;

    let reopened = stored.reopened().await;
    let newest = reopened.newest(&BranchName::Main).await.unwrap();
    assert_eq!(newest.head(), publication.commit().unwrap().id);
    assert_eq!(newest.tables().count(), 2);
    newest.open_table(TableId(2)).await.unwrap();
    assert_eq!(reopened.list_commits(&BranchName::Main, None, 10).await.unwrap().len(), 2);
    let rows = reopened.operation_rows(&newest, ids(0, 3)[2]).await.unwrap();
    assert_eq!(rows.last().unwrap().commit_id(), Some(newest.head()));

    for publication in [group(&newest, &ids(1, 1)), abort(&ids(1, 1))] {
        let refused = reopened.stage(&newest, &publication).await.unwrap_err().failure();
        assert_eq!(refused.problem, Problem::StorageFormat { found: 2, supported: 2 });
        assert!(refused.message.contains("upgrade this server"), "{}", refused.message);
    }
    assert_eq!(reopened.newest(&BranchName::Main).await.unwrap().version(), newest.version());
}

/// Adds a row of a newer program to the oldest fragment of the history.
async fn lease_in_the_oldest_fragment(stored: &Stored, base: &Snapshot) {
    let publication = group(base, &ids(9_000, 1));
    let mut next = base.state().apply(&publication);
    let state_fragment = base.manifest().fragments().iter().map(|fragment| fragment.id).max().unwrap();
    let oldest = std::mem::replace(&mut next.history[0].fragment, state_fragment + 1);
    let mut rows = read_rows(base.manifest(), &[oldest]).await.unwrap();
    let column = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
    rows.push(RecordBatch::try_new(manifest_schema(), vec![column("lease"), column("1"), column("{}")]).unwrap());
    let (store, tree) = (stored.catalog.store(), base.manifest().pin().tree);
    let history = write_file(store, &tree, concat_batches(&manifest_schema(), &rows).unwrap()).await.unwrap();
    let files = history.concat(write_file(store, &tree, encode_state(&next).unwrap()).await.unwrap());
    let mark = TransactionMark {
        uuid: Ulid::new().to_string(),
        operation_id: publication.operations.first().operation_id,
        attempt_id: publication.decision.attempt_id,
    };
    let change = base.manifest().stage_replace(&[oldest, state_fragment], files, mark);
    let outcome = store.commit_exact(base.manifest(), &change).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Committed(_)));
}

#[tokio::test]
async fn history_that_holds_rows_of_a_newer_program_is_not_merged() {
    let stored = Stored::new(1).await;
    let mut newest = stored.newest().await;
    for round in 0..2 {
        newest = stored.publish(&newest, &group(&newest, &ids(round, OPERATIONS_MAX))).await;
    }
    assert_eq!(newest.state().history.len(), 1);
    lease_in_the_oldest_fragment(&stored, &newest).await;
    newest = stored.newest().await;
    let leased = newest.state().history[0].clone();
    // Enough fragments of one level that they would be merged.
    for round in 2..40 {
        newest = stored.publish(&newest, &group(&newest, &ids(round, OPERATIONS_MAX))).await;
    }
    let newest = stored.reopened().await.newest(&BranchName::Main).await.unwrap();
    assert!(newest.state().history.len() > 16, "{}", newest.state().history.len());
    assert_eq!(newest.state().history[0], leased);
    let rows = read_rows(newest.manifest(), &[leased.fragment]).await.unwrap();
    let kinds: Vec<String> = rows
        .iter()
        .flat_map(|rows| rows.column(0).as_string::<i32>().iter().flatten().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    assert!(kinds.iter().any(|kind| kind == "lease"), "a row that this program cannot write is still there");
    for round in [0, 20] {
        let operation = ids(round, 1)[0];
        assert_eq!(rows_of_operations(&newest, &BTreeSet::from([operation])).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn head_stays_in_a_window_of_publications_that_keep_it() {
    let stored = Stored::new(1).await;
    let mut newest = stored.newest().await;
    newest = stored.publish(&newest, &group(&newest, &ids(0, 1))).await;
    let head = newest.head();
    for round in 1..60 {
        newest = stored.publish(&newest, &abort(&ids(round, 1))).await;
    }
    assert!(!newest.state().history.is_empty());
    assert_eq!((newest.head(), newest.head_commit().id), (head, head), "I-4");
    let reopened = stored.reopened().await.newest(&BranchName::Main).await.unwrap();
    assert_eq!(reopened.head_commit().id, head);
}

#[tokio::test]
async fn operation_of_the_source_is_none_of_a_branch_that_inherited_its_history() {
    let stored = Stored::new(1).await;
    let mut newest = stored.newest().await;
    for round in 0..60 {
        newest = stored.publish(&newest, &group(&newest, &ids(round, 1))).await;
    }
    let branch = BranchRow {
        branch_id: BranchId(Ulid::new()),
        name: "dev".parse().unwrap(),
        tree: stored.catalog.clone_chain(&newest).await.unwrap(),
        source: newest.branch_id(),
        source_commit: newest.head(),
        schema_hash: newest.schema_hash().to_owned(),
        created_ms: newest.head_commit().time_ms + 1,
        removed: None,
    };
    let registration = Publication {
        kind: PublicationKind::BranchCreate,
        decision: DecidedBy::Own.about(AttemptId(Ulid::new())),
        preconditions: Vec::new(),
        changes: vec![Change::Branch(branch.clone())],
        operations: operations(&ids(100, 1)),
    };
    stored.publish(&newest, &registration).await;
    let dev = stored.catalog.newest(&branch.name).await.unwrap();
    let first = ids(0, 1);
    assert!(dev.state().history.iter().any(|row| row.operation_min == first[0]), "it is in the history");
    assert!(stored.catalog.operation_rows(&dev, first[0]).await.unwrap().is_empty(), "I-8");
    let dev = stored.publish(&dev, &group(&dev, &first)).await;
    assert_eq!(stored.catalog.operation_rows(&dev, first[0]).await.unwrap().len(), 1);
}

#[tokio::test]
async fn chain_that_has_ended_takes_no_further_publication() {
    let stored = Stored::new(1).await;
    let newest = stored.newest().await;
    let retired = RetiredRow {
        operation_id: ids(0, 1)[0],
        digest: "d".repeat(64),
        attempt_id: AttemptId(Ulid::new()),
        actor: "test".to_owned(),
        time_ms: newest.head_commit().time_ms + 1,
        own_ids: newest.state().own_ids,
    };
    let end = Publication {
        kind: PublicationKind::Retire,
        decision: DecidedBy::Retire.about(retired.attempt_id),
        preconditions: Vec::new(),
        changes: vec![Change::Retired(retired)],
        operations: operations(&ids(0, 1)),
    };
    let last = stored.publish(&newest, &end).await;
    let refused = stored.catalog.stage(&last, &group(&last, &ids(1, 1))).await.unwrap_err();
    assert!(matches!(refused, CatalogError::GraphDeleted(_)), "I-9: {refused:?}");
}

#[tokio::test]
async fn name_of_another_graph_is_not_removed() {
    let stored = Stored::new(1).await;
    let removal = NameRemoval {
        graph_id: GraphId(Ulid::new()),
        operation_id: ids(0, 1)[0],
        digest: "d".repeat(64),
        actor: "test".to_owned(),
    };
    let graphs = graphs(&stored.folder).await;
    graphs.remove_name(&graph_name(), &removal).await.unwrap();
    assert_eq!(graphs.entry(&graph_name()).await.unwrap().graph_id, stored.catalog.graph_id(), "I-9");
    let own = NameRemoval { graph_id: stored.catalog.graph_id(), ..removal };
    graphs.remove_name(&graph_name(), &own).await.unwrap();
    assert!(matches!(graphs.entry(&graph_name()).await, Err(CatalogError::GraphNotFound(_))));
}

/// A publication that moves the pin of a table by one version, and keeps its rows.
fn moved(base: &Snapshot, table: TableId, round: u64) -> Publication {
    let row = base.table(table).unwrap();
    let pin = PinChange::same_rows(row, row.version.next());
    Publication { kind: PublicationKind::Optimize, changes: vec![Change::Pin(pin)], ..abort_by_nobody(round) }
}

/// A publication of this round that changes nothing.
fn abort_by_nobody(round: u64) -> Publication {
    Publication { decision: DecidedBy::Own.about(AttemptId(Ulid::new())), ..abort(&ids(round, 1)) }
}

#[tokio::test]
async fn older_version_of_the_same_base_has_the_rows_it_had() {
    let stored = Stored::new(70).await;
    let born = stored.newest().await;
    let older = stored.publish(&born, &moved(&born, TableId(1), 1)).await;
    let newest = stored.publish(&older, &moved(&older, TableId(2), 2)).await;
    assert!(older.state().base.is_some() && older.state().base == newest.state().base, "both have one base");
    // The rows of the newest version are at hand.
    let read = stored.catalog.at_version(newest.chain(), older.version()).await.unwrap();
    for table in [TableId(1), TableId(2)] {
        assert_eq!(read.table(table), older.table(table), "I-1: table {table}");
    }
}

#[tokio::test]
async fn branch_registers_nothing_that_is_in_the_base_of_its_source() {
    let stored = Stored::new(70).await;
    let mut newest = stored.newest().await;
    let mut branches = Vec::new();
    for (round, name) in [(1, "one"), (2, "dev")] {
        let row = BranchRow {
            branch_id: BranchId(Ulid::new()),
            name: name.parse().unwrap(),
            tree: stored.catalog.clone_chain(&newest).await.unwrap(),
            source: newest.branch_id(),
            source_commit: newest.head(),
            schema_hash: newest.schema_hash().to_owned(),
            created_ms: newest.head_commit().time_ms + 1,
            removed: None,
        };
        let (kind, changes) = (PublicationKind::BranchCreate, vec![Change::Branch(row.clone())]);
        newest = stored.publish(&newest, &Publication { kind, changes, ..abort_by_nobody(round) }).await;
        branches.push(row);
    }
    let dev = stored.catalog.newest(&branches[1].name).await.unwrap();
    stored.publish(&dev, &group(&dev, &ids(3, 1))).await;
    let read = stored.reopened().await.newest(&branches[1].name).await.unwrap();
    assert!(read.state().base.is_some(), "it reads the base of its source");
    assert_eq!((read.state().branches.len(), read.state().tables.len()), (0, 70));
}
