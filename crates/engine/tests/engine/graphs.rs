//! Graphs by name, their limits, and what a load holds while it runs.

use futures::FutureExt;
use omnigraph_engine::{GetCommit, GetGraph, GetOperation, ListCommits, ListGraphs, PinCommit, SettleAll};
use omnigraph_types::{
    BranchName, CommitKind, CreateBranch, CreateGraph, Effect, FeatureName, Limits, LoadMode, OperationState, Problem,
    ReadAt, Resource, Retry, WriteOutcome,
};

use crate::support::{Root, SPEC, append, commits, create, graph, ids, mint, n, p, request, tester};

#[tokio::test]
async fn graph_is_listed_opened_again_and_created_only_once() {
    let root = Root::new().await;
    let info = root.engine.run(&tester(), create("b", SPEC)).await.unwrap().receipt.graph.unwrap();
    root.engine
        .run(
            &tester(),
            create(
                "a",
                "node X { @description(\"x\") }".replace("@description(\"x\")", "y: I32 @colour(\"red\")").as_str(),
            ),
        )
        .await
        .unwrap();
    let again = Root::open(&root.folder, Limits::default()).await;
    let names: Vec<String> = again
        .run(&tester(), ListGraphs { after: None, most: usize::MAX })
        .await
        .unwrap()
        .into_iter()
        .map(|graph| graph.name.to_string())
        .collect();
    assert_eq!(names, ["a", "b"]);
    let opened = again.graph(&"b".parse().unwrap()).await.unwrap();
    assert_eq!((opened.id(), opened.run(&tester(), GetGraph).await.unwrap().head), (info.id, info.head));
    let taken = again.run(&tester(), create("b", SPEC)).await.unwrap_err();
    assert!(matches!(taken.problem, Problem::AlreadyExists { resource: Resource::Graph, .. }), "{taken:?}");
    let missing = again.graph(&"c".parse().unwrap()).await.unwrap_err();
    assert!(matches!(missing.problem, Problem::NotFound { resource: Resource::Graph, .. }), "{missing:?}");
}

#[tokio::test]
async fn creation_is_answered_again_by_its_operation_and_warns_again() {
    let root = Root::new().await;
    let request = CreateGraph { operation_id: Some(mint()), ..create("g", "node X { y: I32 @colour(\"red\") }") };
    let first = root.engine.run(&tester(), request.clone()).await.unwrap();
    let second = root.engine.run(&tester(), request.clone()).await.unwrap();
    assert_eq!(first.receipt.receipt.outcome, WriteOutcome::Committed);
    let mut replayed = first.receipt.clone();
    replayed.receipt.outcome = WriteOutcome::Replayed;
    assert_eq!((&replayed, first.warnings.len()), (&second.receipt, second.warnings.len()));
    let operation_id = first.receipt.receipt.operation_id;
    assert_eq!((first.warnings.len(), operation_id), (1, request.operation_id.unwrap()));
    let other = CreateGraph { schema_source: SPEC.to_owned(), ..request };
    let refused = root.engine.run(&tester(), other).await.unwrap_err();
    assert!(matches!(refused.problem, Problem::OperationIdReused { .. }), "{refused:?}");
}

#[tokio::test]
async fn schema_errors_and_blobs_are_refused_before_anything_is_made() {
    let root = Root::new().await;
    let wrong = root.engine.run(&tester(), create("g", "node P { a: Text }")).await.unwrap_err();
    assert!(matches!(wrong.problem, Problem::SchemaInvalid { .. }), "{wrong:?}");
    let blob = root.engine.run(&tester(), create("g", "node P { photo: Blob? }")).await.unwrap_err();
    let feature = FeatureName::BlobProperties.to_string();
    assert_eq!(blob.problem, Problem::Unimplemented { feature }, "{blob:?}");
    assert!(blob.message.contains("P.photo"), "{blob}");
    assert_eq!(root.engine.run(&tester(), ListGraphs { after: None, most: usize::MAX }).await.unwrap().len(), 0);
}

#[tokio::test]
async fn load_beyond_the_limit_waits_for_its_turn_and_a_dropped_one_leaves_nothing() {
    let root = Root::with(|limits| limits.loads_concurrent_max = 1).await;
    let graph = root.graph(SPEC).await;
    let mut load = graph.run(&tester(), request(LoadMode::Append)).await.unwrap();
    load.write_ndjson(p("a").as_bytes()).await.unwrap();
    let mut second = graph.run(&tester(), request(LoadMode::Append)).await.unwrap();
    let text = p("b");
    let mut rows = Box::pin(second.write_ndjson(text.as_bytes()));
    assert!((&mut rows).now_or_never().is_none());
    drop(load);
    rows.await.unwrap();
    second.finish().await.unwrap();
    assert_eq!((ids(&graph, "P").await, commits(&graph).await), (vec!["b".to_owned()], 2));
}

#[tokio::test]
async fn loads_without_rows_hold_nobody_up_and_one_too_many_in_the_queue_is_refused() {
    let root = Root::with(|limits| (limits.loads_concurrent_max, limits.loads_queued_max) = (1, 0)).await;
    let graph = root.graph(SPEC).await;
    let mut begun = Vec::new();
    for _ in 0..10 {
        begun.push(graph.run(&tester(), request(LoadMode::Append)).await.unwrap());
    }
    append(&graph, &p("a")).await.unwrap();
    let mut load = graph.run(&tester(), request(LoadMode::Append)).await.unwrap();
    load.write_ndjson(p("b").as_bytes()).await.unwrap();
    let refused = begun[0].write_ndjson(p("c").as_bytes()).await.unwrap_err();
    let expected = Problem::ResourceLimit { limit: "loads_queued_max".to_owned(), value: 0, asked: 1 };
    assert_eq!((refused.problem, refused.effect, refused.retry), (expected, Effect::None, Retry::SameRequest));
}

#[tokio::test]
async fn a_load_that_failed_cannot_be_finished() {
    let (_root, graph) = graph(SPEC).await;
    let mut load = graph.run(&tester(), request(LoadMode::Append)).await.unwrap();
    load.write_ndjson(p("a").as_bytes()).await.unwrap();
    load.write_ndjson(b"{\n").await.unwrap_err();
    load.write_ndjson(p("b").as_bytes()).await.unwrap_err();
    load.finish().await.unwrap_err();
    assert_eq!(ids(&graph, "P").await.len(), 0);
}

#[tokio::test]
async fn a_load_whose_write_was_interrupted_cannot_be_finished() {
    /// Loads begun until one is interrupted: a write that happens to wait for nothing is whole, and proves nothing.
    const TRIES_MAX: usize = 32;
    let (_root, graph) = graph(SPEC).await;
    let text: String = (0..5_000).map(|n| p(&n.to_string())).collect();
    for _ in 0..TRIES_MAX {
        let mut load = graph.run(&tester(), request(LoadMode::Append)).await.unwrap();
        if load.write_ndjson(text.as_bytes()).now_or_never().is_none() {
            load.finish().await.unwrap_err();
            assert_eq!(ids(&graph, "P").await.len(), 0);
            return;
        }
    }
    panic!("no write of {TRIES_MAX} was interrupted");
}

#[tokio::test]
async fn merge_of_more_rows_than_its_limit_is_refused() {
    let root = Root::with(|limits| limits.merge_rows_max = 3).await;
    let graph = root.graph(SPEC).await;
    let mut load = graph.run(&tester(), request(LoadMode::Merge)).await.unwrap();
    let text: String = ["a", "b", "c", "d"].map(p).concat();
    load.write_ndjson(text.as_bytes()).await.unwrap();
    let failure = load.finish().await.unwrap_err();
    let expected = Problem::ResourceLimit { limit: "merge_rows_max".to_owned(), value: 3, asked: 4 };
    assert_eq!(failure.problem, expected);
    append(&graph, &text).await.unwrap();
}

#[tokio::test]
async fn expected_head_that_is_not_the_head_is_refused() {
    let (_root, graph) = graph(SPEC).await;
    let first = graph.run(&tester(), GetGraph).await.unwrap().head;
    append(&graph, &p("a")).await.unwrap();
    let mut late = request(LoadMode::Append);
    late.options.expected_head = Some(first);
    let mut load = graph.run(&tester(), late).await.unwrap();
    load.write_ndjson(p("b").as_bytes()).await.unwrap();
    let failure = load.finish().await.unwrap_err();
    assert!(matches!(failure.problem, Problem::HeadMismatch { expected, .. } if expected == first), "{failure:?}");
}

#[tokio::test]
async fn passed_deadline_ends_a_load_without_effect() {
    let (_root, graph) = graph(SPEC).await;
    let late = request(LoadMode::Append);
    let caller = tester().until(tokio::time::Instant::now());
    let mut load = graph.run(&caller, late).await.unwrap();
    let failure = load.write_ndjson(p("b").as_bytes()).await.unwrap_err();
    assert_eq!((failure.problem, failure.effect), (Problem::DeadlineExceeded, Effect::None));
}

#[tokio::test]
async fn graph_that_cannot_be_read_hides_no_other() {
    let root = Root::new().await;
    for name in ["a", "b", "c"] {
        root.engine.run(&tester(), create(name, SPEC)).await.unwrap();
    }
    let entry = root.folder.path().join("root/__graphs/a/0000000001.json");
    std::fs::write(entry, "torn").unwrap();
    let engine = Root::open(&root.folder, omnigraph_types::Limits::default()).await;
    let names: Vec<String> = engine
        .run(&tester(), ListGraphs { after: None, most: usize::MAX })
        .await
        .unwrap()
        .iter()
        .map(|info| info.name.to_string())
        .collect();
    assert_eq!(names, ["b", "c"]);
    let failure = engine.graph(&"a".parse().unwrap()).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::Corrupt { .. }), "{failure:?}");
}

#[tokio::test]
async fn settling_looks_at_every_graph() {
    let root = Root::new().await;
    root.engine.run(&tester(), create("a", SPEC)).await.unwrap();
    root.engine.run(&tester(), create("b", SPEC)).await.unwrap();
    let reports = root.engine.run(&tester(), SettleAll).await.unwrap();
    let names: Vec<String> = reports.iter().map(|settled| settled.graph.to_string()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(reports.into_iter().all(|settled| settled.report.is_ok_and(|report| report.decided.is_empty())));
}

#[tokio::test]
async fn commit_tells_what_it_did_and_old_commits_stay_readable() {
    let (_root, graph) = graph(SPEC).await;
    let first = append(&graph, &[p("a"), n("n1")].concat()).await.unwrap().commit.unwrap();
    append(&graph, &p("b")).await.unwrap();
    let log = graph.run(&tester(), ListCommits { branch: BranchName::Main, after: None, most: 10 }).await.unwrap();
    assert_eq!((log.len(), log[1].clone()), (3, first.clone()));
    assert_eq!((first.kind, first.actor.as_str()), (CommitKind::Load, "tester"));
    let counts: Vec<_> = first.counts.iter().map(|count| (count.type_name.as_str(), count.inserted)).collect();
    assert_eq!(counts, [("N", 1), ("P", 1)]);
    assert_eq!(graph.run(&tester(), GetCommit { id: first.id }).await.unwrap(), first);
    let old = graph.run(&tester(), PinCommit { at: ReadAt::Commit(first.id) }).await.unwrap();
    assert_eq!(old.types().iter().find(|info| info.name == "P").unwrap().row_count, 1);
    let state = graph.run(&tester(), GetOperation { branch: BranchName::Main, id: first.operation_id }).await.unwrap();
    assert!(
        matches!(&state.state, OperationState::Committed(receipt) if receipt.commit.as_ref() == Some(&first)),
        "{state:?}"
    );
    let id = mint();
    let branch = CreateBranch { operation_id: Some(id), ..CreateBranch::new("dev".parse().unwrap()) };
    graph.run(&tester(), branch).await.unwrap();
    let state = graph.run(&tester(), GetOperation { branch: BranchName::Main, id }).await.unwrap();
    let OperationState::Committed(receipt) = state.state else { panic!("{state:?}") };
    assert_eq!((receipt.outcome, receipt.commit), (WriteOutcome::Done, None));
    let unknown = graph.run(&tester(), GetOperation { branch: BranchName::Main, id: mint() }).await.unwrap();
    assert!(matches!(unknown.state, OperationState::Unknown), "{unknown:?}");
}
