//! What refused loads leave in the store: nothing, as soon as the refusal is certain.

use std::path::Path;
use std::sync::Arc;

use omnigraph_engine::{Engine, Graph, StoreHook};
use omnigraph_storage::{CommitOutcome, ObjectPath, StagedFiles, Store, StoreOptions, TreeRef};
use omnigraph_testkit::{FaultHook, FaultPlan, StoreCall, fresh_mark};
use omnigraph_types::{
    BranchName, CreateBranch, Effect, LoadMode, LoadRequest, Problem, ReadAt, WriteMode, WriteOutcome,
};
use tempfile::TempDir;

use crate::support::{Root, append, create, mint, request, send, tester};

const SCHEMA: &str = "node P { k: String @key n: I64 }";

fn row(key: &str, n: i64) -> String {
    format!("{{\"type\":\"P\",\"data\":{{\"k\":\"{key}\",\"n\":{n}}}}}\n")
}

/// Files of tables below a folder, by their paths.
fn files(below: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.components().any(|part| part.as_os_str() == "tables") {
            found.push(path.to_str().unwrap().to_owned());
        }
    }
    found.sort();
    found
}

fn validate_only(mode: LoadMode) -> LoadRequest {
    let mut request = request(mode);
    request.options.mode = WriteMode::ValidateOnly;
    request
}

#[tokio::test]
async fn refused_and_validated_loads_leave_no_file() {
    let root = Root::new().await;
    let graph = root.graph(SCHEMA).await;
    let first = append(&graph, &(row("a", 1) + &row("b", 2))).await.unwrap();
    let before = files(root.folder.path());
    let conflict = append(&graph, &(row("c", 3) + &row("a", 4))).await.unwrap_err();
    assert!(matches!(conflict.problem, Problem::KeyConflict { .. }), "{conflict:?}");
    assert_eq!(files(root.folder.path()), before, "a key conflict");
    let twice = append(&graph, &(row("c", 3) + &row("c", 4))).await.unwrap_err();
    assert!(matches!(twice.problem, Problem::KeyConflict { .. } | Problem::ConstraintViolation { .. }), "{twice:?}");
    assert_eq!(files(root.folder.path()), before, "a constraint");
    for mode in [LoadMode::Append, LoadMode::Merge, LoadMode::Overwrite] {
        let keys = if mode == LoadMode::Append { "cd" } else { "ac" };
        let text: String = keys.chars().map(|key| row(&key.to_string(), 5)).collect();
        let outcome = send(&graph, validate_only(mode), &text).await.unwrap().outcome;
        assert_eq!(outcome, WriteOutcome::Validated);
        assert_eq!(files(root.folder.path()), before, "{mode:?}, validated only");
    }
    append(&graph, &row("c", 3)).await.unwrap();
    let before = files(root.folder.path());
    let mut stale = request(LoadMode::Append);
    stale.options.expected_head = Some(first.head);
    let moved = send(&graph, stale, &row("d", 3)).await.unwrap_err();
    assert!(matches!(moved.problem, Problem::HeadMismatch { .. }), "{moved:?}");
    assert_eq!(files(root.folder.path()), before, "another head");
}

#[tokio::test]
async fn resent_load_leaves_no_second_set_of_files() {
    let root = Root::new().await;
    let graph = root.graph(SCHEMA).await;
    let mut request = request(LoadMode::Append);
    request.options.operation_id = Some(mint());
    send(&graph, request.clone(), &row("a", 1)).await.unwrap();
    let before = files(root.folder.path());
    let again = send(&graph, request, &row("a", 1)).await.unwrap();
    assert_eq!(again.outcome, WriteOutcome::Replayed);
    assert_eq!(files(root.folder.path()), before);
    assert_eq!(crate::support::ids(&graph, "P").await, ["a"]);
}

#[tokio::test]
async fn private_tree_of_a_load_that_was_only_validated_is_removed_with_its_name() {
    let root = Root::new().await;
    let graph = root.graph(SCHEMA).await;
    append(&graph, &row("a", 1)).await.unwrap();
    let branch: BranchName = "b".parse().unwrap();
    let creation = CreateBranch {
        name: branch.clone(),
        source: ReadAt::Branch(BranchName::Main),
        expected_head: None,
        operation_id: None,
        mode: WriteMode::Commit,
    };
    graph.run(&tester(), creation).await.unwrap();
    let before = files(root.folder.path());
    let mut on_branch = validate_only(LoadMode::Merge);
    on_branch.branch = branch;
    send(&graph, on_branch.clone(), &(row("a", 2) + &row("b", 2))).await.unwrap();
    assert_eq!(files(root.folder.path()), before);
    on_branch.options.mode = WriteMode::Commit;
    send(&graph, on_branch, &(row("a", 2) + &row("b", 2))).await.unwrap();
    assert!(files(root.folder.path()).len() > before.len());
}

async fn with_faults() -> (TempDir, Arc<FaultHook>, Graph) {
    let (folder, faults) = (tempfile::tempdir().unwrap(), Arc::new(FaultHook::default()));
    let hooks: Vec<Arc<dyn StoreHook>> = vec![faults.clone()];
    let engine: Engine = crate::durability::open(folder.path(), hooks).await;
    engine.run(&tester(), create("g", SCHEMA)).await.unwrap();
    let graph = engine.graph(&"g".parse().unwrap()).await.unwrap();
    append(&graph, &row("a", 1)).await.unwrap();
    (folder, faults, graph)
}

#[tokio::test]
async fn load_whose_caller_goes_while_it_is_prepared_leaves_no_file() {
    let (folder, faults, graph) = with_faults().await;
    let before = files(folder.path());
    let mut load = graph.run(&tester(), request(LoadMode::Append)).await.unwrap();
    load.write_ndjson(row("b", 2).as_bytes()).await.unwrap();
    // The scan of the table's ids, which the check of keys needs.
    let mut reading = faults.pause_before(FaultPlan::next(StoreCall::Get, "/data/"));
    let finishing = tokio::spawn(load.finish());
    reading.reached().await;
    assert!(files(folder.path()).len() > before.len());
    let mut removing = faults.pause_after(FaultPlan::next(StoreCall::Delete, "/data/"));
    finishing.abort();
    assert!(finishing.await.unwrap_err().is_cancelled());
    removing.reached().await;
    assert_eq!(files(folder.path()), before);
    removing.release();
}

#[tokio::test]
async fn load_whose_outcome_is_not_known_keeps_its_files() {
    let (folder, faults, graph) = with_faults().await;
    let before = files(folder.path());
    let publication = FaultPlan::next(StoreCall::PutIfAbsent, "__manifest/_versions");
    faults.lose_reply(publication.clone());
    let mut published = faults.pause_after(publication);
    let loading = tokio::spawn(async move { append(&graph, &row("b", 2)).await });
    published.reached().await;
    faults.fail(FaultPlan::next(StoreCall::Head, "__manifest/_versions").ever());
    faults.fail(FaultPlan::next(StoreCall::Get, "__manifest/_versions").ever());
    published.release();
    let failure = loading.await.unwrap().unwrap_err();
    assert_eq!(failure.effect, Effect::Unknown, "{failure:?}");
    assert!(files(folder.path()).len() > before.len());
    let restarted = crate::durability::open(folder.path(), vec![]).await.graph(&"g".parse().unwrap()).await.unwrap();
    assert_eq!(crate::support::ids(&restarted, "P").await, ["a", "b"]);
}

#[tokio::test]
async fn load_whose_base_moved_leaves_no_file() {
    let root = Root::new().await;
    let graph = root.graph(SCHEMA).await;
    append(&graph, &row("a", 1)).await.unwrap();
    let mut load = graph.run(&tester(), request(LoadMode::Overwrite)).await.unwrap();
    load.write_ndjson(row("b", 2).as_bytes()).await.unwrap();
    append(&graph, &row("c", 3)).await.unwrap();
    let before = files(root.folder.path());
    let failure = load.finish().await.unwrap_err();
    assert!(matches!(failure.problem, Problem::ReadSetChanged { .. }), "{failure:?}");
    assert_eq!(failure.effect, Effect::None);
    let after = files(root.folder.path());
    assert!(after.iter().all(|file| before.contains(file)), "{before:?} {after:?}");
}

/// A stranger's commit, which leaves the rows of a table as they are.
async fn occupy(root: &Path, folder: &Path) {
    let store = Store::open(root.to_str().unwrap(), StoreOptions::default()).await.unwrap();
    let path = folder.strip_prefix(root.canonicalize().unwrap()).unwrap().to_str().unwrap();
    let tree = TreeRef::main(ObjectPath::new(path));
    let head = store.head(&tree).await.unwrap().unwrap();
    let table = store.open_table(&tree.at(head)).await.unwrap();
    let change = table.stage_append(StagedFiles::empty(), fresh_mark());
    assert!(matches!(store.commit_exact(&table, &change).await.unwrap(), CommitOutcome::Committed(_)));
}

#[tokio::test]
async fn load_that_was_refused_by_an_occupied_table_keeps_its_files() {
    let root = Root::new().await;
    let graph = root.graph("node P { k: String @key n: I64 } node Q { k: String @key }").await;
    append(&graph, &row("a", 1)).await.unwrap();
    let before = files(root.folder.path());
    let data = before.iter().find(|file| file.contains("/data/")).expect("the data of P");
    let table = data.split_once("/data/").unwrap().0;
    occupy(&root.folder.path().join("root"), Path::new(table)).await;
    let both = row("b", 2) + "{\"type\":\"Q\",\"data\":{\"k\":\"q\"}}\n";
    let failure = append(&graph, &both).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::TableOccupied { .. }), "{failure:?}");
    // A version of Q, undone, names its file: without it that version could not be read.
    let kept = files(root.folder.path()).into_iter().filter(|file| file.contains("/data/") && !before.contains(file));
    assert_eq!(kept.count(), 2);
}
