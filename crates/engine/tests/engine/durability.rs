//! What an acknowledged commit survives: the order of syncs, and what a sync that fails makes of a load.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use omnigraph_engine::{Durability, Engine, EngineOptions, GetOperation, Graph, NewRoot, StoreHook};
use omnigraph_testkit::{SeenSync, SyncHook};
use omnigraph_types::{
    BranchName, CreateBranch, Effect, Failure, Limits, LoadMode, LoadRequest, OperationState, Problem, ReadAt,
    SystemClock, WriteMode, WriteOptions,
};
use tempfile::TempDir;

use crate::support::{create, ids, mint, request, send, tester};

const SCHEMA: &str = "
node P { k: String @key }
node Q { k: String @key }
";

/// An engine that syncs, and what its syncs do.
struct Synced {
    engine: Engine,
    graph: Graph,
    syncs: Arc<SyncHook>,
    folder: TempDir,
}

pub(crate) async fn open(folder: &Path, hooks: Vec<Arc<dyn StoreHook>>) -> Engine {
    let options = EngineOptions {
        limits: Limits { ticket_wait_ms: 200, ..Limits::default() },
        clock: Arc::new(SystemClock),
        durability: Durability::Full,
        spill_directory: None,
        new_root: NewRoot::WhereNothingIs,
        store_hooks: hooks,
    };
    Engine::open(folder.to_str().unwrap(), options).await.unwrap()
}

async fn synced() -> Synced {
    let (folder, syncs) = (tempfile::tempdir().unwrap(), Arc::new(SyncHook::default()));
    let engine = open(folder.path(), vec![syncs.clone()]).await;
    engine.run(&tester(), create("g", SCHEMA)).await.unwrap();
    let graph = engine.graph(&"g".parse().unwrap()).await.unwrap();
    Synced { engine, graph, syncs, folder }
}

fn rows(type_name: &str, key: &str) -> String {
    format!("{{\"type\":\"{type_name}\",\"data\":{{\"k\":\"{key}\"}}}}\n")
}

/// What a sync is of, in the order in which the protocol wants them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Data,
    State,
    PrivateTree,
    Intent,
    TableManifest,
    GraphManifest,
}

/// The step that a sync belongs to; none for folders above, and for Lance's transaction files. `owned` are the trees that the branch owns.
fn step_of(path: &str, owned: &HashSet<String>) -> Option<Step> {
    let names = |part: &str| path.split('/').any(|name| name == part);
    let tree = path.split('/').skip_while(|name| *name != "tree").nth(1).unwrap_or_default();
    match (names("__manifest"), names("tables")) {
        _ if names("__recovery") && path.ends_with(".json") => Some(Step::Intent),
        (true, _) if names("data") => Some(Step::State),
        (true, _) if names("_versions") => Some(Step::GraphManifest),
        (_, true) if names("data") => Some(Step::Data),
        (_, true) if names("_versions") && owned.contains(tree) => Some(Step::TableManifest),
        (_, true) if names("_versions") => Some(Step::PrivateTree),
        _ => None,
    }
}

fn trees(seen: &[SeenSync]) -> HashSet<String> {
    let of = |seen: &SeenSync| {
        let mut names = seen.path.split('/').map(str::to_owned);
        names.by_ref().find(|name| name == "tables")?;
        names.skip_while(|name| name != "tree").nth(1)
    };
    seen.iter().filter_map(of).collect()
}

#[tokio::test]
async fn everything_that_a_publication_names_is_synced_before_it() {
    let Synced { graph, syncs, folder: _folder, .. } = synced().await;
    let branch: BranchName = "b".parse().unwrap();
    let creation = CreateBranch {
        name: branch.clone(),
        source: ReadAt::Branch(BranchName::Main),
        expected_head: None,
        operation_id: None,
        mode: WriteMode::Commit,
    };
    graph.run(&tester(), creation).await.unwrap();
    let on_branch = LoadRequest { branch, mode: LoadMode::Append, options: WriteOptions::default() };
    syncs.take();
    send(&graph, on_branch.clone(), &rows("P", "a")).await.unwrap();
    let owned = trees(&syncs.take());
    assert_eq!(owned.len(), 1, "the branch owns its tree of P now: {owned:?}");
    // P is an effect on its own tree, Q gets a private one.
    send(&graph, on_branch, &(rows("P", "b") + &rows("Q", "c"))).await.unwrap();
    let seen = syncs.take();
    let steps: Vec<_> = seen.iter().filter_map(|seen| step_of(&seen.path, &owned)).collect();
    let first =
        |step| steps.iter().position(|found| *found == step).unwrap_or_else(|| panic!("no {step:?}: {seen:#?}"));
    let last = |step| steps.iter().rposition(|found| *found == step).unwrap();
    let order = [
        (Step::Data, Step::PrivateTree),
        (Step::PrivateTree, Step::Intent),
        (Step::Data, Step::Intent),
        // The state's files are written while the intent is put.
        (Step::State, Step::TableManifest),
        (Step::Intent, Step::TableManifest),
        (Step::TableManifest, Step::GraphManifest),
    ];
    for (before, after) in order {
        assert!(last(before) < first(after), "{before:?} before {after:?}: {steps:?}");
    }
    let graph_manifest = steps.iter().filter(|step| **step == Step::GraphManifest).count();
    assert_eq!(graph_manifest, 2, "the file and its folder, and nothing after them: {seen:#?}");
    assert_eq!(steps.last(), Some(&Step::GraphManifest));
}

#[tokio::test]
async fn load_whose_publication_is_synced_at_the_second_try_is_committed() {
    let Synced { graph, syncs, folder: _folder, .. } = synced().await;
    syncs.fail("__manifest/_versions", 1);
    send(&graph, request(LoadMode::Append), &rows("P", "a")).await.unwrap();
    assert_eq!(ids(&graph, "P").await, ["a"]);
}

async fn refused(graph: &Graph, text: &str) -> Failure {
    send(graph, request(LoadMode::Append), text).await.unwrap_err()
}

#[tokio::test]
async fn load_whose_publication_cannot_be_synced_is_in_doubt_and_the_server_takes_no_more_writes() {
    let Synced { engine, graph, syncs, folder } = synced().await;
    let mut first = request(LoadMode::Append);
    let operation = mint();
    first.options.operation_id = Some(operation);
    syncs.fail("__manifest/_versions", 2);
    let failure = send(&graph, first.clone(), &rows("P", "a")).await.unwrap_err();
    assert_eq!(failure.effect, Effect::Unknown, "{failure:?}");
    // The disk answers again, and is not believed: neither a resend nor a question gets the receipt.
    let again = send(&graph, first.clone(), &rows("P", "a")).await.unwrap_err();
    assert!(again.problem == Problem::StorageUnavailable && again.message.contains("restart"), "{again:?}");
    let question = GetOperation { branch: BranchName::Main, id: operation };
    let answer = graph.run(&tester(), question.clone()).await;
    assert!(answer.is_err(), "what is not vouched for is not called committed: {answer:?}");
    let next = refused(&graph, &rows("P", "b")).await;
    assert_eq!((&next.problem, next.effect), (&Problem::StorageUnavailable, Effect::None), "{next:?}");
    assert!(next.message.contains("check the disk"), "{next}");
    let other = engine.run(&tester(), create("h", SCHEMA)).await.unwrap_err();
    assert_eq!((&other.problem, other.effect), (&Problem::StorageUnavailable, Effect::None), "{other:?}");
    assert_eq!(ids(&graph, "P").await, ["a"], "reads go on");

    let restarted = open(folder.path(), vec![]).await.graph(&"g".parse().unwrap()).await.unwrap();
    let state = restarted.run(&tester(), question).await.unwrap().state;
    assert!(matches!(state, OperationState::Committed(_)), "{state:?}");
    send(&restarted, request(LoadMode::Append), &rows("P", "b")).await.unwrap();
    assert_eq!(ids(&restarted, "P").await, ["a", "b"]);
}

#[tokio::test]
async fn intent_that_cannot_be_synced_is_not_believed_to_hold_the_ticket() {
    let Synced { graph, syncs, folder, .. } = synced().await;
    send(&graph, request(LoadMode::Append), &rows("P", "a")).await.unwrap();
    syncs.take();
    // The folder of main's intents: its own name is the branch's id.
    let intents = syncs_of_intents(folder.path());
    syncs.fail(intents, 2);
    let failure = refused(&graph, &rows("P", "b")).await;
    assert_eq!(failure.effect, Effect::Unknown, "{failure:?}");
    let effects =
        syncs.take().into_iter().filter(|seen| seen.path.contains("/tables/") && seen.path.contains("_versions"));
    assert_eq!(effects.count(), 0, "no effect is made without the ticket");
    assert_eq!(ids(&graph, "P").await, ["a"]);
    // Another server settles what was left.
    let restarted = open(folder.path(), vec![]).await.graph(&"g".parse().unwrap()).await.unwrap();
    assert_eq!(ids(&restarted, "P").await, ["a"]);
}

fn syncs_of_intents(root: &Path) -> String {
    let children =
        |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let graph = children(root).into_iter().find(|path| path.join("__recovery").is_dir()).unwrap();
    let branch = children(&graph.join("__recovery")).pop().unwrap();
    format!("__recovery/{}", branch.file_name().unwrap().to_str().unwrap())
}
