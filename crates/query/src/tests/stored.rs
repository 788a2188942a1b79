//! The same queries over a graph that lies in a store.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use bytes::Bytes;
use futures::TryStreamExt;
use omnigraph_catalog::{
    Catalog, Change, CommitOperation, CommitRow, DecidedBy, Graphs, NewGraph, NewTable, Operations, PinChange,
    Publication, PublicationKind, PublishOutcome, Snapshot,
};
use omnigraph_lang::query::check_query;
use omnigraph_storage::{CommitOutcome, Durability, FileWriterOptions, Store, StoreOptions, TransactionMark};
use omnigraph_types::{
    AttemptId, BranchName, CommitId, CommitKind, Limits, OperationId, RequestEffect, SystemClock, TableId, TypeKind,
};
use tempfile::TempDir;
use ulid::Ulid;

use super::{Graph, MEMORY, NOW_MS, Rows, columns, text_of};
use crate::{QueryOptions, ReadControl, SpillPlace, run};

/// A stored graph; its folder goes with it.
struct Stored {
    catalog: Catalog,
    folder: TempDir,
}

impl Stored {
    async fn of(graph: &Graph) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = StoreOptions { durability: Durability::Os, ..StoreOptions::default() };
        let store = Store::open(folder.path().to_str().unwrap(), options).await.unwrap();
        let graphs = Graphs::new(store, Arc::new(SystemClock), Arc::new(Limits::default()));
        let tables = graph.schema.types().iter().map(|def| NewTable {
            id: def.id,
            kind: if def.is_edge() { TypeKind::Edge } else { TypeKind::Node },
            type_name: def.name.clone(),
            schema: columns(def),
        });
        let new = NewGraph {
            name: "g".parse().unwrap(),
            contract: Bytes::from(graph.schema.to_canonical_json()),
            contract_hash: graph.schema.hash().to_string(),
            tables: tables.collect(),
            operation_id: OperationId(Ulid::new()),
            digest: "1".repeat(64),
            actor: "test".to_owned(),
        };
        let stored = Self { catalog: graphs.create(new, &RequestEffect::default()).await.unwrap().0, folder };
        for def in graph.schema.types() {
            for batch in graph.rows.get(&def.name).into_iter().flatten() {
                stored.append(def.id, batch.clone()).await;
            }
        }
        stored
    }

    async fn newest(&self) -> Snapshot {
        self.catalog.newest(&BranchName::Main).await.unwrap()
    }

    /// Adds rows to a table and publishes its new version.
    async fn append(&self, table: TableId, batch: RecordBatch) {
        let base = self.newest().await;
        let row = base.table(table).unwrap().clone();
        let (operation_id, attempt_id) = (OperationId(Ulid::new()), AttemptId(Ulid::new()));
        let mark = TransactionMark { uuid: Ulid::new().to_string(), operation_id, attempt_id };
        let row_count = row.row_count + batch.num_rows() as u64;
        let store = self.catalog.store();
        let options = FileWriterOptions { rows_per_file_max: 1_000_000 };
        let mut writer = store.write_files(&row.path, row.tree, batch.schema(), options);
        writer.write(batch).await.unwrap();
        let opened = base.open_table(table).await.unwrap();
        let change = opened.stage_append(writer.finish().await.unwrap(), mark);
        let CommitOutcome::Committed(grown) = store.commit_exact(&opened, &change).await.unwrap() else {
            panic!("another writer")
        };
        let commit = CommitRow {
            id: CommitId(Ulid::new()),
            parents: vec![base.head()],
            branch_id: base.branch_id(),
            version: base.version().next(),
            actor: "test".to_owned(),
            time_ms: base.head_commit().time_ms + 1,
            kind: CommitKind::Load,
            schema_hash: base.schema_hash().to_owned(),
            operations: vec![CommitOperation {
                operation_id,
                actor: "test".to_owned(),
                kind: CommitKind::Load,
                counts: Vec::new(),
            }],
            counts: Vec::new(),
        };
        let pin = PinChange { row_count, content_commit: commit.id, ..PinChange::same_rows(&row, grown.version()) };
        let publication = Publication {
            kind: PublicationKind::Commit,
            decision: DecidedBy::Own.about(attempt_id),
            preconditions: Vec::new(),
            changes: vec![Change::Commit(commit), Change::Pin(pin)],
            operations: Operations::one(operation_id, "2".repeat(64)),
        };
        let staged = self.catalog.stage(&base, &publication).await.unwrap();
        let PublishOutcome::Published(_) = self.catalog.publish(staged).await.unwrap() else { panic!("lost") };
    }

    async fn rows(&self, graph: &Graph, snapshot: &Snapshot, body: &str) -> Rows {
        let query = check_query(&format!("query q() {{ {body} }}"), None, &graph.schema).unwrap();
        let read = query.read.with_values(&Default::default(), NOW_MS).unwrap();
        let options = QueryOptions {
            memory_bytes_max: MEMORY,
            spill: SpillPlace::Directory(self.folder.path().to_owned()),
            control: ReadControl::unbounded(),
        };
        let output = run(snapshot, &graph.schema, &read, &options).await.unwrap();
        let batches: Vec<RecordBatch> = output.batches.try_collect().await.unwrap();
        text_of(&concat_batches(&output.schema, &batches).unwrap())
    }
}

fn graph() -> Graph {
    let persons = r#"{"id":"a%","k":"a%","age":2,"n":9007199254740993,"f":-0.0,"tags":["x","y"],"v":[0.5,1.5],"kind":"B","repoName":"R'1","at":"2024-01-01T00:00:00Z"}
{"id":"b_","k":"b_","age":3,"f":9007199254740992.0,"nums":[1,2]}
{"id":"c","k":"c","f":0.0,"u":18446744073709551615,"order":"o"}"#;
    Graph::empty()
        .with("P", persons)
        .persons(&["d", "e"])
        .edges("Knows", &[("a%", "b_"), ("a%", "b_"), ("b_", "c"), ("c", "c")])
        .edges("Likes", &[("a%", "c"), ("d", "e")])
        .with("N", "{\"id\":\"n1\",\"x\":1}\n{\"id\":\"n2\",\"x\":2}")
        .edges("Works", &[("a%", "n1"), ("b_", "n1"), ("b_", "n2")])
}

#[tokio::test]
async fn stored_graph_gives_the_rows_of_the_same_graph_in_memory() {
    let graph = graph();
    let stored = Stored::of(&graph).await;
    let snapshot = stored.newest().await;
    for body in [
        "match { $p: P } return { count($p) as n }",
        "match { $a knows $b } return { count($a) as n }",
        "match { $p: P } return { $p } order { $p.k }",
        "match { $p: P } return { $p.repoName, $p.order as order, $p.v, $p.tags } order { $p.order desc }",
        r#"match { $p: P { k: "a%" }  $p $e:knows $q } return { $q.k, $e.id } order { $e.id desc }"#,
        r#"match { $p: P { k: "a%" }  $p knows $q  $q knows $r } return { $r.k, $r } order { $r.k }"#,
        "match { $n: N { x: 1 }  $p works $n } return { $p.k } order { $p.k }",
        r#"match { $p: P  $p.k starts_with "a%" } return { $p.k } order { $p.k }"#,
        r#"match { $p: P  $p.k contains "_" } return { $p.k } order { $p.k }"#,
        r#"match { $p: P  $p.tags contains "x" } return { $p.k } order { $p.k }"#,
        r#"match { $p: P  ["d", "c"] contains $p.k } return { $p.k } order { $p.k }"#,
        "match { $p: P  $p.f = 0 } return { $p.k } order { $p.k }",
        "match { $p: P  $q: P  $p.n > $q.f } return { $p.k, $q.k as q } order { $p.k, $q.k }",
        "match { $p: P  $p.n > $p.f } return { $p.k } order { $p.k }",
        "match { $p: P  not $p.age = 2.5 } return { $p.k } order { $p.k }",
        "match { $p: P  $p.nums contains 2.0 or $p.age is null } return { $p.k } order { $p.k }",
        "match { $p: P  $p.at <= now() } return { $p.kind, $p.at } order { $p.k }",
        "match { $p: P  $p likes $q } return { $q.kind, sum($p.age), count($q) as n, max($q.k) } order { n desc }",
        "match { $p: P  $n: N } return { $p.k, $n.x } order { $n.x desc, $p.k } skip 2 limit 3",
        "match { $p: P } return { $p.k } limit 0",
    ] {
        assert_eq!(stored.rows(&graph, &snapshot, body).await, graph.rows(body).await, "{body}");
    }
}

#[tokio::test]
async fn snapshot_reads_the_rows_of_its_commit_after_later_ones() {
    let graph = graph();
    let stored = Stored::of(&graph).await;
    let before = stored.newest().await;
    let more = Graph::empty().persons(&["z"]);
    stored.append(graph.schema.type_by_name("P").unwrap().id, more.rows["P"][0].clone()).await;
    let body = "match { $p: P } return { count($p) as n }";
    assert_eq!(stored.rows(&graph, &before, body).await, super::column(&["5"]));
    assert_eq!(stored.rows(&graph, &stored.newest().await, body).await, super::column(&["6"]));
}
