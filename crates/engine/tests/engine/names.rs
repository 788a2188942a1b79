//! Names of graphs: deletions of graphs whose name comes back, and a creation whose answer cannot be read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use omnigraph_storage::{AfterVerdict, HookVerdict, StoreCall, StoreHook, StoreReply};
use omnigraph_types::{CreateGraph, DeleteGraph, Effect, Limits, Problem, WriteMode};
use tokio::sync::Notify;

use crate::support::{Root, SPEC, create, mint, tester};

/// Holds the n-th listing of the names' folder back.
#[derive(Debug)]
struct SlowList {
    left: AtomicI64,
    reached: Notify,
    go: Notify,
}

#[async_trait]
impl StoreHook for SlowList {
    async fn before(&self, call: StoreCall, path: &str) -> HookVerdict {
        if call == StoreCall::List && path.contains("__graphs/g") && self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.reached.notify_one();
            self.go.notified().await;
        }
        HookVerdict::Proceed
    }

    async fn after(&self, _call: StoreCall, _path: &str, _reply: StoreReply) -> AfterVerdict {
        AfterVerdict::Pass
    }
}

/// One request to delete a graph hangs in a listing; it is resent to another server and answered; the graph is made anew; the listing goes on.
#[tokio::test(flavor = "multi_thread")]
async fn one_operation_deletes_two_graphs() {
    let root = Root::new().await;
    root.engine.run(&tester(), create("g", SPEC)).await.unwrap();
    let hook = Arc::new(SlowList { left: AtomicI64::new(2), reached: Notify::new(), go: Notify::new() });
    let slow = root.engine_with(vec![hook.clone()]).await;
    let request = DeleteGraph {
        name: "g".parse().unwrap(),
        confirm: "g".to_owned(),
        operation_id: Some(mint()),
        mode: WriteMode::Commit,
    };
    let first = tokio::spawn({
        let request = request.clone();
        async move { slow.run(&tester(), request).await }
    });
    tokio::time::timeout(Duration::from_secs(20), hook.reached.notified()).await.unwrap();
    println!("resent: {:?}", root.engine.run(&tester(), request).await);
    let made = root.engine.run(&tester(), create("g", SPEC)).await.unwrap();
    println!("made anew: {:?}", made.receipt.graph);
    hook.go.notify_one();
    println!("first: {:?}", first.await.unwrap());
    let other = Root::open(&root.folder, Limits::default()).await;
    let there = other.graph(&"g".parse().unwrap()).await;
    println!("there: {:?}", there.as_ref().map(|graph| graph.id()).map_err(|failure| &failure.problem));
    assert!(there.is_ok(), "the graph that was made after the acknowledged delete is gone");
}

/// A server that has a deleted graph open is asked to delete the one that bears its name now.
#[tokio::test(flavor = "multi_thread")]
async fn graph_made_anew_by_another_server_can_be_deleted() {
    let root = Root::new().await;
    root.engine.run(&tester(), create("g", SPEC)).await.unwrap();
    let stale = Root::open(&root.folder, Limits::default()).await;
    stale.graph(&"g".parse().unwrap()).await.unwrap();
    let request = || DeleteGraph {
        name: "g".parse().unwrap(),
        confirm: "g".to_owned(),
        operation_id: Some(mint()),
        mode: WriteMode::Commit,
    };
    root.engine.run(&tester(), request()).await.unwrap();
    root.engine.run(&tester(), create("g", SPEC)).await.unwrap();
    let outcome = stale.run(&tester(), request()).await;
    println!("{outcome:?}");
    assert!(outcome.is_ok(), "{outcome:?}");
}

/// A server that has a deleted graph open creates one of the same name: the answer is about the new one.
#[tokio::test(flavor = "multi_thread")]
async fn graph_is_created_where_the_one_that_another_server_deleted_is_open() {
    let root = Root::new().await;
    root.engine.run(&tester(), create("g", SPEC)).await.unwrap();
    let stale = Root::open(&root.folder, Limits::default()).await;
    let before = stale.graph(&"g".parse().unwrap()).await.unwrap().id();
    let delete = DeleteGraph {
        name: "g".parse().unwrap(),
        confirm: "g".to_owned(),
        operation_id: Some(mint()),
        mode: WriteMode::Commit,
    };
    root.engine.run(&tester(), delete).await.unwrap();
    let created = stale.run(&tester(), create("g", SPEC)).await.unwrap();
    let named = stale.graph(&"g".parse().unwrap()).await.unwrap().id();
    assert_eq!(created.receipt.graph.unwrap().name.as_str(), "g");
    assert_ne!(named, before);
}

/// Fails every read of the names' entries after the first put of one.
#[derive(Debug, Default)]
struct NamedAndUnreadable {
    named: AtomicBool,
}

#[async_trait]
impl StoreHook for NamedAndUnreadable {
    async fn before(&self, call: StoreCall, path: &str) -> HookVerdict {
        match call == StoreCall::List && path.contains("__graphs/g") && self.named.load(Ordering::SeqCst) {
            true => HookVerdict::Fail,
            false => HookVerdict::Proceed,
        }
    }

    async fn after(&self, call: StoreCall, path: &str, _reply: StoreReply) -> AfterVerdict {
        if call == StoreCall::PutIfAbsent && path.contains("__graphs/g") {
            self.named.store(true, Ordering::SeqCst);
        }
        AfterVerdict::Pass
    }
}

/// The graph exists; what the answer says of it cannot be read.
#[tokio::test(flavor = "multi_thread")]
async fn creation_whose_answer_cannot_be_read_is_reported_as_committed() {
    let root = Root::new().await;
    let hook = Arc::new(NamedAndUnreadable::default());
    let engine = root.engine_with(vec![hook]).await;
    let failure = engine.run(&tester(), create("g", SPEC)).await.unwrap_err();
    assert_eq!(failure.effect, Effect::Committed, "{failure:?}");
    assert!(root.engine.graph(&"g".parse().unwrap()).await.is_ok());
}

/// The id of a creation belongs to one request, and makes one graph.
#[tokio::test(flavor = "multi_thread")]
async fn operation_that_made_a_graph_makes_no_second_one() {
    let root = Root::new().await;
    let creation = CreateGraph { operation_id: Some(mint()), ..create("g", SPEC) };
    root.engine.run(&tester(), creation.clone()).await.unwrap();
    let other = CreateGraph { schema_source: "node Z { k: String @key }".to_owned(), ..creation.clone() };
    let reused = root.engine.run(&tester(), other).await.unwrap_err();
    assert!(matches!(reused.problem, Problem::OperationIdReused { .. }), "I-8: {reused:?}");
    let delete = DeleteGraph {
        name: "g".parse().unwrap(),
        confirm: "g".to_owned(),
        operation_id: Some(mint()),
        mode: WriteMode::Commit,
    };
    root.engine.run(&tester(), delete).await.unwrap();
    let again = root.engine.run(&tester(), creation).await.unwrap_err();
    assert!(matches!(again.problem, Problem::NotFound { .. }), "I-8: {again:?}");
    assert!(root.engine.graph(&"g".parse().unwrap()).await.is_err());
}
