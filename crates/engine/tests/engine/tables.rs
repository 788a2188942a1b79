//! Where the rows of types are stored.

use std::sync::Arc;

use omnigraph_engine::{Engine, Graph, ListTables, PinCommit};
use omnigraph_storage::StoreCall;
use omnigraph_testkit::{FaultHook, FaultPlan};
use omnigraph_types::{
    BranchName, CreateBranch, Failure, LanceBranch, Limits, LoadMode, LoadRequest, Problem, ReadAt, Resource,
    TableInfo, TableState, TypeChoice, TypeKind, WriteOptions,
};

use crate::support::{Root, append, request, send, tester};

const SCHEMA: &str = "node P { k: String @key } node N { x: I32 } edge Knows: P -> P";
const ROWS: &str = "{\"type\":\"P\",\"data\":{\"k\":\"a\"}}\n{\"type\":\"P\",\"data\":{\"k\":\"b\"}}\n";

fn all() -> ListTables {
    ListTables { types: TypeChoice::All, after: None, most: usize::MAX }
}

async fn tables(graph: &Graph, at: ReadAt, list: ListTables) -> Result<Vec<TableInfo>, Failure> {
    graph.run(&tester(), PinCommit { at }).await?.run(&tester(), list).await
}

async fn on_branch(graph: &Graph, branch: &str) -> Vec<TableInfo> {
    tables(graph, ReadAt::Branch(branch.parse().unwrap()), all()).await.unwrap()
}

fn names(tables: &[TableInfo]) -> Vec<&str> {
    tables.iter().map(|table| table.type_name.as_str()).collect()
}

#[tokio::test]
async fn tables_are_listed_nodes_first_and_page_by_page() {
    let root = Root::new().await;
    let graph = root.graph(SCHEMA).await;
    append(&graph, ROWS).await.unwrap();
    let listed = on_branch(&graph, "main").await;
    assert_eq!(names(&listed), ["N", "P", "Knows"]);
    let [_, person, edge] = listed.as_slice() else { panic!("{listed:?}") };
    assert_eq!((person.kind, person.row_count, person.key.as_slice()), (TypeKind::Node, 2, &["k".to_owned()][..]));
    assert_eq!((edge.kind, edge.row_count, edge.branch), (TypeKind::Edge, 0, LanceBranch::Main));
    assert_eq!(person.state, TableState::Sound { base_paths: Vec::new() });
    assert!(std::path::Path::new(&person.dataset).join("_versions").is_dir(), "{person:?}");
    let main = || ReadAt::Branch(BranchName::Main);
    let after = |name: &str, most| ListTables { after: Some(name.to_owned()), most, ..all() };
    assert_eq!(names(&tables(&graph, main(), after("N", 1)).await.unwrap()), ["P"]);
    assert_eq!(names(&tables(&graph, main(), after("Knows", 9)).await.unwrap()), [""; 0]);
    let named = |name: &str| ListTables { types: TypeChoice::Named(name.to_owned()), ..all() };
    assert_eq!(names(&tables(&graph, main(), named("P")).await.unwrap()), ["P"]);
    let unknown = tables(&graph, main(), named("Q")).await.unwrap_err();
    assert!(matches!(unknown.problem, Problem::NotFound { resource: Resource::Type, .. }), "{unknown:?}");
}

#[tokio::test]
async fn branch_shares_the_tables_that_it_did_not_write_and_a_commit_keeps_its_versions() {
    let root = Root::new().await;
    let graph = root.graph(SCHEMA).await;
    let first = append(&graph, ROWS).await.unwrap().head;
    let before = on_branch(&graph, "main").await;
    graph.run(&tester(), CreateBranch::new("dev".parse().unwrap())).await.unwrap();
    assert_eq!(on_branch(&graph, "dev").await, before);
    let load = LoadRequest { branch: "dev".parse().unwrap(), mode: LoadMode::Append, options: WriteOptions::default() };
    send(&graph, load, "{\"type\":\"P\",\"data\":{\"k\":\"c\"}}\n").await.unwrap();
    send(&graph, request(LoadMode::Append), "{\"type\":\"N\",\"data\":{\"x\":1}}\n").await.unwrap();
    let dev = on_branch(&graph, "dev").await;
    assert_eq!((&dev[0], &dev[2]), (&before[0], &before[2]));
    assert!(matches!(dev[1].branch, LanceBranch::Named(_)), "{dev:?}");
    assert_eq!((&dev[1].dataset, dev[1].row_count), (&before[1].dataset, 3));
    let TableState::Sound { base_paths } = &dev[1].state else { panic!("{dev:?}") };
    assert_eq!(base_paths.len(), 1, "{dev:?}");
    assert_eq!(tables(&graph, ReadAt::Commit(first), all()).await.unwrap(), before);
}

#[tokio::test]
async fn table_that_cannot_be_opened_is_listed_as_damaged_beside_the_sound_ones() {
    let root = Root::new().await;
    let graph = root.graph(SCHEMA).await;
    append(&graph, ROWS).await.unwrap();
    let before = on_branch(&graph, "main").await;
    let versions = std::path::Path::new(&before[1].dataset).join("_versions");
    for manifest in std::fs::read_dir(versions).unwrap() {
        std::fs::write(manifest.unwrap().path(), b"").unwrap();
    }
    let other: Engine = Root::open(&root.folder, Limits::default()).await;
    let listed = on_branch(&other.graph(graph.name()).await.unwrap(), "main").await;
    let TableState::Damaged { reason } = &listed[1].state else { panic!("{listed:?}") };
    assert!(!reason.is_empty() && !reason.contains(root.folder.path().to_str().unwrap()), "{reason}");
    assert_eq!((&listed[0], &listed[2]), (&before[0], &before[2]));
    assert_eq!(listed[1], TableInfo { state: listed[1].state.clone(), ..before[1].clone() });
}

#[tokio::test(flavor = "multi_thread")]
async fn list_that_waits_for_the_store_is_seen_among_the_queries_and_can_be_cancelled() {
    let root = Root::new().await;
    let graph = root.graph(SCHEMA).await;
    append(&graph, ROWS).await.unwrap();
    let faults = Arc::new(FaultHook::default());
    let engine = root.engine_with(vec![faults.clone()]).await;
    let other = engine.graph(graph.name()).await.unwrap();
    let snapshot = other.run(&tester(), PinCommit { at: ReadAt::Branch(BranchName::Main) }).await.unwrap();
    let mut held = faults.pause_before(FaultPlan::next(StoreCall::Head, "/tables/"));
    let caller = tester();
    let mut listing = Box::pin(snapshot.run(&caller, all()));
    tokio::select! {
        () = held.reached() => {}
        listed = &mut listing => panic!("{listed:?}"),
    }
    let queries = engine.queries();
    assert_eq!(queries.iter().map(|query| query.text.as_str()).collect::<Vec<_>>(), ["list of tables"]);
    engine.cancel_query(queries[0].id).unwrap();
    assert_eq!(listing.await.unwrap_err().problem, Problem::Cancelled);
    held.release();
    assert_eq!(names(&snapshot.run(&caller, all()).await.unwrap()), ["N", "P", "Knows"]);
}
