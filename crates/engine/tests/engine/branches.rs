//! Branches through the engine: every mode on a branch, and graphs of many types.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use omnigraph_engine::{Engine, GetCommit, GetOperation, Graph, ListBranches, PinCommit};
use omnigraph_types::{
    BranchName, CommitId, CreateBranch, DeleteBranch, DeleteGraph, Effect, Failure, Limits, LoadMode, LoadRequest,
    OperationState, Problem, ReadAt, ReadSetMember, Retry, WriteMode, WriteOptions, WriteOutcome, WriteReceipt,
};

use crate::support::{Root, SPEC, append, batch, create, edge, graph, load_batches, mint, n, p, request, send, tester};

fn dev() -> BranchName {
    "dev".parse().unwrap()
}

async fn branch(graph: &Graph, name: BranchName, source: ReadAt) {
    let create = CreateBranch { name, source, operation_id: None, expected_head: None, mode: WriteMode::Commit };
    graph.run(&tester(), create).await.unwrap();
}

async fn on_dev(graph: &Graph, mode: LoadMode, text: &str) -> Result<WriteReceipt, Failure> {
    send(graph, LoadRequest { branch: dev(), ..request(mode) }, text).await
}

async fn count(graph: &Graph, at: ReadAt, type_name: &str) -> u64 {
    let types = graph.run(&tester(), PinCommit { at }).await.unwrap().types();
    types.iter().find(|info| info.name == type_name).unwrap().row_count
}

#[tokio::test]
async fn every_mode_writes_a_branch_and_checks_against_what_it_inherited() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &[p("a"), p("b"), n("n1"), edge("Knows", "a", "b", "e")].concat()).await.unwrap();
    branch(&graph, dev(), ReadAt::Branch(BranchName::Main)).await;
    let taken = on_dev(&graph, LoadMode::Append, &p("a")).await.unwrap_err();
    assert!(matches!(taken.problem, Problem::KeyConflict { .. }), "{taken:?}");
    let merged = on_dev(&graph, LoadMode::Merge, &[p("a"), p("c")].concat()).await.unwrap();
    let counts = &merged.counts[0];
    assert_eq!((counts.inserted, counts.updated, counts.row_count), (1, 1, 3));
    let nowhere = on_dev(&graph, LoadMode::Append, &edge("Knows", "a", "zz", "f")).await.unwrap_err();
    assert!(matches!(nowhere.problem, Problem::ConstraintViolation { .. }), "{nowhere:?}");
    on_dev(&graph, LoadMode::Append, &edge("Knows", "c", "a", "f")).await.unwrap();
    on_dev(&graph, LoadMode::Overwrite, &n("n2")).await.unwrap();
    on_dev(&graph, LoadMode::Merge, &[p("c"), p("d")].concat()).await.unwrap();
    let (main, branch) = (ReadAt::Branch(BranchName::Main), ReadAt::Branch(dev()));
    for (type_name, on_main, on_branch) in [("P", 2, 4), ("N", 1, 1), ("Knows", 1, 2)] {
        assert_eq!(count(&graph, main.clone(), type_name).await, on_main, "{type_name} on main");
        assert_eq!(count(&graph, branch.clone(), type_name).await, on_branch, "{type_name} on dev");
    }
}

#[tokio::test]
async fn commit_that_a_branch_inherited_is_shown_with_the_branch_it_was_made_on() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &p("a")).await.unwrap();
    branch(&graph, dev(), ReadAt::Branch(BranchName::Main)).await;
    let snapshot = graph.run(&tester(), PinCommit { at: ReadAt::Branch(dev()) }).await.unwrap();
    assert_eq!(snapshot.commit(), &graph.run(&tester(), GetCommit { id: snapshot.commit().id }).await.unwrap());
    assert_eq!(snapshot.commit().branch, BranchName::Main);
    on_dev(&graph, LoadMode::Append, &p("b")).await.unwrap();
    assert_eq!(graph.run(&tester(), PinCommit { at: ReadAt::Branch(dev()) }).await.unwrap().commit().branch, dev());
}

#[tokio::test]
async fn loads_that_begin_together_on_a_fresh_branch_are_all_committed() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &p("a")).await.unwrap();
    branch(&graph, dev(), ReadAt::Branch(BranchName::Main)).await;
    let mut loads = Vec::new();
    for key in ["b", "c", "d"] {
        // All stage their files before any of them has made the branch's tree.
        let mut load = graph.run(&tester(), LoadRequest { branch: dev(), ..request(LoadMode::Append) }).await.unwrap();
        load.write_ndjson(p(key).as_bytes()).await.unwrap();
        loads.push(load);
    }
    for load in loads {
        load.finish().await.unwrap();
    }
    assert_eq!(count(&graph, ReadAt::Branch(dev()), "P").await, 4);
}

#[tokio::test]
async fn branch_request_that_only_validates_makes_nothing() {
    let (_root, graph) = graph(SPEC).await;
    let create = |mode, expected_head| CreateBranch {
        name: dev(),
        source: ReadAt::Branch(BranchName::Main),
        operation_id: Some(mint()),
        expected_head,
        mode,
    };
    assert_eq!(graph.run(&tester(), create(WriteMode::ValidateOnly, None)).await.unwrap().branch, None);
    assert_eq!(graph.run(&tester(), ListBranches { after: None, most: 10 }).await.unwrap().len(), 1);
    let stale = Some(CommitId(mint().0));
    let failure = graph.run(&tester(), create(WriteMode::Commit, stale)).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::HeadMismatch { .. }), "{failure:?}");
}

#[tokio::test]
async fn graph_of_many_types_is_read_at_every_commit_on_every_branch() {
    let root = Root::new().await;
    let schema: String = (0..100).map(|n| format!("node T{n} {{ name: String }}\n")).collect();
    let graph = root.graph(&schema).await;
    let row = |n: usize| format!("{{\"type\":\"T{n}\",\"data\":{{\"name\":\"x\"}}}}\n");
    let first = append(&graph, &row(3)).await.unwrap().commit.unwrap().id;
    append(&graph, &[row(3), row(4)].concat()).await.unwrap();
    branch(&graph, dev(), ReadAt::Branch(BranchName::Main)).await;
    branch(&graph, "old".parse().unwrap(), ReadAt::Commit(first)).await;
    on_dev(&graph, LoadMode::Append, &row(5)).await.unwrap();
    // Enough changed types for another base.
    for n in 0..80 {
        append(&graph, &row(n)).await.unwrap();
    }
    let other = Root::open(&root.folder, Limits::default()).await.graph(&"g".parse().unwrap()).await.unwrap();
    for graph in [&graph, &other] {
        let main = ReadAt::Branch(BranchName::Main);
        for (at, type_name, rows) in [
            (ReadAt::Commit(first), "T3", 1),
            (ReadAt::Commit(first), "T4", 0),
            (ReadAt::Branch("old".parse().unwrap()), "T3", 1),
            (ReadAt::Branch(dev()), "T3", 2),
            (ReadAt::Branch(dev()), "T5", 1),
            (ReadAt::Branch(dev()), "T7", 0),
            (main.clone(), "T3", 3),
            (main.clone(), "T79", 1),
            (main, "T99", 0),
        ] {
            assert_eq!(count(graph, at.clone(), type_name).await, rows, "{type_name} at {at:?}");
        }
        assert_eq!(graph.run(&tester(), ListBranches { after: None, most: 10 }).await.unwrap().len(), 3);
    }
}

async fn delete(graph: &Graph) {
    let delete = DeleteBranch { name: dev(), operation_id: None, expected_head: None, mode: WriteMode::Commit };
    graph.run(&tester(), delete).await.unwrap();
}

#[tokio::test]
async fn deletion_of_a_branch_is_answered_for_by_the_branch_and_by_main() {
    let (_root, graph) = graph(SPEC).await;
    branch(&graph, dev(), ReadAt::Branch(BranchName::Main)).await;
    let head = send(&graph, LoadRequest { branch: dev(), ..request(LoadMode::Append) }, &p("a")).await.unwrap().head;
    let id = mint();
    let delete = DeleteBranch { name: dev(), operation_id: Some(id), expected_head: None, mode: WriteMode::Commit };
    graph.run(&tester(), delete).await.unwrap();
    for (branch, of) in [(dev(), Some(head)), (BranchName::Main, None)] {
        let asked = graph.run(&tester(), GetOperation { branch: branch.clone(), id }).await.unwrap();
        let OperationState::Committed(receipt) = asked.state else { panic!("{branch}: {asked:?}") };
        assert_eq!(receipt.outcome, WriteOutcome::Done, "{branch}");
        assert!(of.is_none_or(|head| receipt.head == head), "{branch}: {receipt:?}");
    }
}

#[tokio::test]
async fn load_that_was_committed_on_a_branch_is_answered_after_the_branch_is_gone() {
    let (_root, graph) = graph(SPEC).await;
    branch(&graph, dev(), ReadAt::Branch(BranchName::Main)).await;
    let operation_id = Some(mint());
    let request = || LoadRequest {
        options: WriteOptions { operation_id, ..WriteOptions::default() },
        branch: dev(),
        ..request(LoadMode::Append)
    };
    let first = send(&graph, request(), &p("a")).await.unwrap();
    delete(&graph).await;
    let again = send(&graph, request(), &p("a")).await.unwrap();
    assert_eq!((again.outcome, again.commit), (WriteOutcome::Replayed, first.commit.clone()));
    let other = send(&graph, request(), &p("b")).await.unwrap_err();
    assert!(matches!(other.problem, Problem::OperationIdReused { .. }), "{other:?}");
    branch(&graph, dev(), ReadAt::Branch(BranchName::Main)).await;
    let again = send(&graph, request(), &p("a")).await.unwrap();
    assert_eq!((again.outcome, again.commit), (WriteOutcome::Replayed, first.commit));
    assert_eq!(count(&graph, ReadAt::Branch(dev()), "P").await, 0);
}

#[tokio::test]
async fn load_whose_branch_was_made_anew_meanwhile_is_refused() {
    for has_own_tree in [true, false] {
        let (_root, graph) = graph(SPEC).await;
        branch(&graph, dev(), ReadAt::Branch(BranchName::Main)).await;
        if has_own_tree {
            on_dev(&graph, LoadMode::Append, &p("a")).await.unwrap();
        }
        let mut load = graph.run(&tester(), LoadRequest { branch: dev(), ..request(LoadMode::Append) }).await.unwrap();
        load.write_ndjson(p("b").as_bytes()).await.unwrap();
        delete(&graph).await;
        branch(&graph, dev(), ReadAt::Branch(BranchName::Main)).await;
        let failure = load.finish().await.unwrap_err();
        let Problem::ReadSetChanged { member, .. } = &failure.problem else { panic!("{failure:?}") };
        assert_eq!((member, failure.effect), (&ReadSetMember::Branch, Effect::None));
        assert_eq!(count(&graph, ReadAt::Branch(dev()), "P").await, 0);
    }
}

/// One row, sent as an Arrow batch: such a load begins on what its server published moments ago, without asking the store.
async fn load_one(graph: &Graph, branch: BranchName, key: &str) -> Result<WriteReceipt, Failure> {
    let rows = batch(vec![("k", Arc::new(StringArray::from(vec![key])))]);
    let mut load = graph.run(&tester(), LoadRequest { branch, ..request(LoadMode::Append) }).await?;
    let mut stream = load.accept_schema("P", &rows.schema()).await?;
    load.write(&mut stream, rows).await?;
    load.finish().await
}

/// The first load begins from a cached head whose branch or graph another server has replaced; sent again it is committed.
async fn is_committed_when_sent_again(graph: &Graph, branch: BranchName) {
    let failure = load_one(graph, branch.clone(), "b").await.unwrap_err();
    assert!(matches!(failure.problem, Problem::OperationRolledBack { .. }), "{failure:?}");
    assert_eq!((failure.effect, failure.retry), (Effect::None, Retry::SameRequest));
    load_one(graph, branch.clone(), "b").await.unwrap();
    assert_eq!(count(graph, ReadAt::Branch(branch.clone()), "P").await, 1);
}

#[tokio::test]
async fn load_begun_on_a_branch_that_another_server_made_anew_is_to_be_sent_again() {
    let (root, graph) = graph(SPEC).await;
    branch(&graph, dev(), ReadAt::Branch(BranchName::Main)).await;
    let other = Root::open(&root.folder, Limits::default()).await.graph(graph.name()).await.unwrap();
    load_one(&graph, dev(), "a").await.unwrap();
    delete(&other).await;
    branch(&other, dev(), ReadAt::Branch(BranchName::Main)).await;
    is_committed_when_sent_again(&graph, dev()).await;
}

#[tokio::test]
async fn load_begun_on_a_graph_that_another_server_made_anew_is_to_be_sent_again() {
    let (root, graph) = graph(SPEC).await;
    let other = Root::open(&root.folder, Limits::default()).await;
    load_one(&graph, BranchName::Main, "a").await.unwrap();
    delete_graph(&other, "g").await;
    other.run(&tester(), create("g", SPEC)).await.unwrap();
    is_committed_when_sent_again(&graph, BranchName::Main).await;
}

#[tokio::test]
async fn lines_sent_to_a_graph_that_another_server_made_anew_are_committed_there() {
    let (root, graph) = graph(SPEC).await;
    let other = Root::open(&root.folder, Limits::default()).await;
    append(&graph, &p("a")).await.unwrap();
    delete_graph(&other, "g").await;
    other.run(&tester(), create("g", SPEC)).await.unwrap();
    append(&graph, &p("b")).await.unwrap();
    let new = other.graph(graph.name()).await.unwrap();
    assert_eq!(count(&new, ReadAt::Branch(BranchName::Main), "P").await, 1);
}

async fn delete_graph(engine: &Engine, name: &str) {
    let delete = DeleteGraph {
        name: name.parse().unwrap(),
        confirm: name.to_owned(),
        operation_id: None,
        mode: WriteMode::Commit,
    };
    engine.run(&tester(), delete).await.unwrap();
}

#[tokio::test]
async fn columns_of_a_graph_that_another_server_made_anew_are_accepted_there() {
    let (root, graph) = graph(SPEC).await;
    let other = Root::open(&root.folder, Limits::default()).await;
    append(&graph, &p("a")).await.unwrap();
    delete_graph(&other, "g").await;
    other.run(&tester(), create("g", "node Z { k: String @key }")).await.unwrap();
    // The version that was just published here is presumed newest, and knows no such type.
    let keys: ArrayRef = Arc::new(StringArray::from(vec!["z"]));
    let rows = batch(vec![("k", keys)]);
    load_batches(&graph, LoadMode::Append, "Z", &[rows]).await.unwrap();
    let new = other.graph(graph.name()).await.unwrap();
    assert_eq!(count(&new, ReadAt::Branch(BranchName::Main), "Z").await, 1);
}
