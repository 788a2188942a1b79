//! Disks that are full, and file systems that became read-only.

use omnigraph_client::{Client, CreateGraph};
use omnigraph_e2e::faults::Refusal;
use omnigraph_types::{Effect, Failure, Problem, Retry};

use super::{QUIET, SCHEMA, World, count, files, load};
use crate::support::{Server, client, refused};

/// What the system says, and what a person does.
const REFUSALS: [(Refusal, &str, &str); 2] = [
    (Refusal::Full, "no space left on device", "free space on the disk of the server's root"),
    (Refusal::ReadOnly, "read-only file system", "make the file system of the server's root writable"),
];
/// How long a write tries to settle itself.
const TICKET_WAIT: (&str, &str) = ("OMNIGRAPH_TICKET_WAIT_MS", "1000");
const EVERYWHERE: &str = "*";
const INTENTS: &str = "*/__recovery/*/*";
const EFFECTS: &str = "*/tables/nodes/*/_versions/*";
const PUBLICATIONS: &str = "*/__manifest/_versions/*";

#[track_caller]
fn names_cause_and_way_out(world: &World, failure: &Failure, cause: &str, way_out: &str) {
    let root = world.root.path().to_str().unwrap();
    assert!(failure.message.contains(cause), "the cause: {}", failure.message);
    assert!(failure.message.contains(way_out), "the way out: {}", failure.message);
    assert!(!failure.message.contains(root), "a path left the server: {}", failure.message);
    assert!(world.server.log().contains(root), "the log names no path:\n{}", world.server.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn load_onto_a_disk_that_takes_nothing_is_refused_whole_and_succeeds_later() {
    for (refusal, cause, way_out) in REFUSALS {
        for place in [EVERYWHERE, INTENTS] {
            let world = World::new(&[]).await;
            let before = files(world.root.path());
            let operation = Client::mint_operation_id();
            world.faults.refuse_writes(refusal, place);
            let failure = refused(load(&world.client, operation, "second").await);
            assert_eq!(failure.problem, Problem::StorageUnavailable, "{refusal:?} {place}: {failure:?}");
            assert_eq!((failure.effect, failure.retry), (Effect::None, Retry::SameRequest), "{failure:?}");
            names_cause_and_way_out(&world, &failure, cause, way_out);
            assert_eq!(count(&world.client).await, 1, "reads go on");
            assert_eq!(files(world.root.path()), before, "{refusal:?} {place}: left behind");
            world.faults.admit_writes();
            load(&world.client, operation, "second").await.unwrap();
            assert_eq!(count(&world.client).await, 2, "the server goes on");
        }
    }
}

/// The intent is stored, and then an effect or the publication cannot be: the load is undone, or in doubt as long as that cannot be stored either.
#[tokio::test(flavor = "multi_thread")]
async fn load_whose_disk_is_full_after_its_intent_is_answered_the_truth() {
    for (refusal, cause, _) in REFUSALS {
        for (place, effect) in [(EFFECTS, Effect::None), (PUBLICATIONS, Effect::Unknown)] {
            let world = World::new(&[TICKET_WAIT]).await;
            let operation = Client::mint_operation_id();
            world.faults.refuse_writes(refusal, place);
            let failure = refused(load(&world.client, operation, "second").await);
            assert_eq!(failure.effect, effect, "{refusal:?} {place}: {failure:?}");
            assert!(failure.message.contains(cause), "the cause: {}", failure.message);
            assert_eq!(count(&world.client).await, 1);
            world.faults.admit_writes();
            load(&world.client, operation, "second").await.unwrap();
            load(&world.client, operation, "second").await.unwrap();
            assert_eq!(count(&world.client).await, 2, "the server goes on");
            let World { server, root, .. } = world;
            server.kill9();
            let server = Server::start(root.path(), &QUIET);
            assert_eq!(count(&client(&server).await).await, 2);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn graph_on_a_disk_that_takes_nothing_is_refused_whole_and_made_later() {
    for (refusal, cause, way_out) in REFUSALS {
        for place in [EVERYWHERE, PUBLICATIONS, "__graphs/*/*"] {
            let world = World::new(&[]).await;
            let before = files(world.root.path());
            let graph = || CreateGraph {
                operation_id: Some(Client::mint_operation_id()),
                ..CreateGraph::new("other".parse().unwrap(), SCHEMA)
            };
            world.faults.refuse_writes(refusal, place);
            let failure = refused(world.client.create_graph(graph()).await);
            assert_eq!(failure.problem, Problem::StorageUnavailable, "{refusal:?} {place}: {failure:?}");
            assert_eq!((failure.effect, failure.retry), (Effect::None, Retry::SameRequest), "{failure:?}");
            names_cause_and_way_out(&world, &failure, cause, way_out);
            assert_eq!(files(world.root.path()), before, "{refusal:?} {place}: left behind");
            world.faults.admit_writes();
            world.client.create_graph(graph()).await.unwrap();
            assert_eq!(world.client.list_graphs(omnigraph_types::PageRequest::default()).await.unwrap().items.len(), 2);
        }
    }
}
