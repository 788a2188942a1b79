//! Loads beside each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use omnigraph_engine::{GetGraph, Graph};
use omnigraph_storage::{AfterVerdict, HookVerdict, StoreCall, StoreHook, StoreReply};
use omnigraph_types::{ConstraintKind, Limits, LoadMode, OnConflict, Problem, ReadSetMember};

use crate::support::{Root, SPEC, append, edge, graph, ids, kind_and_row, n, overwrite, p, request, rows, tester};

#[tokio::test]
async fn append_takes_its_base_at_the_end() {
    let (_root, graph) = graph(SPEC).await;
    let mut load = graph.run(&tester(), request(LoadMode::Append)).await.unwrap();
    load.write_ndjson([p("a"), edge("Knows", "a", "b", "e")].concat().as_bytes()).await.unwrap();
    append(&graph, &p("b")).await.unwrap();
    load.finish().await.unwrap();
    assert_eq!((ids(&graph, "P").await.len(), rows(&graph, "Knows").await.len()), (2, 1));
}

#[tokio::test]
async fn append_meets_the_key_that_another_load_wrote_meanwhile() {
    let (_root, graph) = graph(SPEC).await;
    let mut load = graph.run(&tester(), request(LoadMode::Append)).await.unwrap();
    load.write_ndjson(p("a").as_bytes()).await.unwrap();
    append(&graph, &p("a")).await.unwrap();
    assert!(matches!(load.finish().await.unwrap_err().problem, Problem::KeyConflict { .. }));
}

#[tokio::test]
async fn append_meets_the_end_that_another_load_dropped_meanwhile() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &[p("a"), p("b")].concat()).await.unwrap();
    let mut load = graph.run(&tester(), request(LoadMode::Append)).await.unwrap();
    load.write_ndjson(edge("Knows", "a", "b", "e").as_bytes()).await.unwrap();
    overwrite(&graph, &p("a")).await.unwrap();
    assert_eq!(kind_and_row(load.finish().await), (ConstraintKind::OrphanEdge, Some(1)));
}

#[tokio::test]
async fn load_refused_on_a_version_that_was_presumed_newest_is_refused_on_the_newest_too() {
    let (root, here) = graph(SPEC).await;
    let there = Root::open(&root.folder, Limits::default()).await.graph(&"g".parse().unwrap()).await.unwrap();
    append(&here, &p("a")).await.unwrap();
    // Another process publishes rows of another type, so that what was checked here is no longer newest, and reads the same there.
    append(&there, &n("n1")).await.unwrap();
    assert!(matches!(append(&here, &p("a")).await.unwrap_err().problem, Problem::KeyConflict { .. }));
    append(&here, &p("b")).await.unwrap();
    append(&there, &n("n2")).await.unwrap();
    assert_eq!(
        kind_and_row(append(&here, &edge("Knows", "a", "zz", "e")).await),
        (ConstraintKind::OrphanEdge, Some(1))
    );
    assert_eq!((ids(&there, "P").await.len(), rows(&there, "Knows").await.len()), (2, 0));
}

#[tokio::test]
async fn overwrite_captures_its_base_at_the_beginning() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &p("a")).await.unwrap();
    let mut load = graph.run(&tester(), request(LoadMode::Overwrite)).await.unwrap();
    assert_eq!(load.captured(), Some(graph.run(&tester(), GetGraph).await.unwrap().head));
    load.write_ndjson(p("b").as_bytes()).await.unwrap();
    append(&graph, &p("c")).await.unwrap();
    let failure = load.finish().await.unwrap_err();
    assert!(
        matches!(&failure.problem, Problem::ReadSetChanged { member, .. } if *member == ReadSetMember::Table("P".to_owned())),
        "{failure:?}"
    );
    assert_eq!(ids(&graph, "P").await, ["a", "c"]);
}

#[tokio::test]
async fn overwrite_meets_an_edge_that_another_load_added_meanwhile() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &[p("a"), p("b")].concat()).await.unwrap();
    let mut load = graph.run(&tester(), request(LoadMode::Overwrite)).await.unwrap();
    load.write_ndjson(p("a").as_bytes()).await.unwrap();
    append(&graph, &edge("Knows", "a", "b", "e")).await.unwrap();
    let failure = load.finish().await.unwrap_err();
    assert!(
        matches!(&failure.problem, Problem::ReadSetChanged { member, .. } if *member == ReadSetMember::Table("Knows".to_owned())),
        "{failure:?}"
    );
}

#[tokio::test]
async fn overwrite_that_asks_for_it_is_prepared_again() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &p("a")).await.unwrap();
    let mut stubborn = request(LoadMode::Overwrite);
    stubborn.options.on_conflict = OnConflict::Retry;
    let mut load = graph.run(&tester(), stubborn).await.unwrap();
    load.write_ndjson(p("b").as_bytes()).await.unwrap();
    append(&graph, &p("c")).await.unwrap();
    load.finish().await.unwrap();
    assert_eq!(ids(&graph, "P").await, ["b"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loads_at_once_are_all_committed_and_one_key_only_once() {
    let (_root, graph) = graph(SPEC).await;
    let loads = (0..6).map(|at| {
        let graph = graph.clone();
        tokio::spawn(async move {
            let own = append(&graph, &p(&format!("own{at}"))).await.is_ok();
            let shared = append(&graph, &p("shared")).await.is_ok();
            (own, shared)
        })
    });
    let results: Vec<_> = futures::future::join_all(loads).await.into_iter().map(Result::unwrap).collect();
    assert!(results.iter().all(|(own, _)| *own));
    assert_eq!(results.iter().filter(|(_, shared)| *shared).count(), 1);
    assert_eq!(ids(&graph, "P").await.len(), 7);
}

/// Before this process takes its first ticket, another one drops the node `b`.
#[derive(Debug)]
struct DropsEnd {
    other: Graph,
    met: AtomicBool,
}

#[async_trait]
impl StoreHook for DropsEnd {
    async fn before(&self, call: StoreCall, path: &str) -> HookVerdict {
        let arms = call == StoreCall::PutIfAbsent && path.contains("__recovery/");
        if arms && !self.met.swap(true, Ordering::SeqCst) {
            overwrite(&self.other, &p("a")).await.unwrap();
        }
        HookVerdict::Proceed
    }

    async fn after(&self, _call: StoreCall, _path: &str, _reply: StoreReply) -> AfterVerdict {
        AfterVerdict::Pass
    }
}

#[tokio::test]
async fn edge_meets_the_end_that_was_dropped_after_its_ends_were_checked() {
    let (root, other) = graph(SPEC).await;
    append(&other, &[p("a"), p("b")].concat()).await.unwrap();
    let hook = Arc::new(DropsEnd { other: other.clone(), met: AtomicBool::new(false) });
    let here = root.engine_with(vec![hook]).await.graph(&"g".parse().unwrap()).await.unwrap();
    // I-5: what the load read is on the exact version that it is published onto.
    assert_eq!(kind_and_row(append(&here, &edge("Knows", "a", "b", "e")).await), (ConstraintKind::OrphanEdge, Some(1)));
    assert_eq!(rows(&other, "Knows").await.len(), 0);
}

#[tokio::test]
async fn overwrite_refuses_an_edge_to_a_node_that_it_drops_itself() {
    let (_root, graph) = graph(SPEC).await;
    append(&graph, &[p("a"), p("b")].concat()).await.unwrap();
    let loaded = overwrite(&graph, &[p("a"), edge("Knows", "a", "b", "e")].concat()).await;
    assert_eq!(kind_and_row(loaded), (ConstraintKind::OrphanEdge, Some(2)));
    assert_eq!((ids(&graph, "P").await.len(), rows(&graph, "Knows").await.len()), (2, 0));
}

#[tokio::test]
async fn overwrite_begins_on_what_another_server_has_committed() {
    let (root, here) = graph(SPEC).await;
    let there = Root::open(&root.folder, Limits::default()).await.graph(&"g".parse().unwrap()).await.unwrap();
    append(&here, &p("a")).await.unwrap();
    let newest = append(&there, &p("b")).await.unwrap().head;
    // What was just published here is no longer newest.
    let mut load = here.run(&tester(), request(LoadMode::Overwrite)).await.unwrap();
    assert_eq!(load.captured(), Some(newest));
    load.write_ndjson(p("c").as_bytes()).await.unwrap();
    load.finish().await.unwrap();
    assert_eq!(ids(&there, "P").await, ["c"]);
}
