//! Syncs that fail: nothing is acknowledged that a loss of power may take away.

use omnigraph_client::{Client, CreateGraph};
use omnigraph_types::{Effect, Failure, Problem, Retry};

use super::{QUIET, SCHEMA, World, count, load};
use crate::support::{Server, client, refused};

const DATA: &str = "*/tables/nodes/*/data/*";
const INTENTS: &str = "*/__recovery/*/";
const PUBLICATIONS: &str = "*/__manifest/_versions/";

/// What a server answers whose root takes no writes.
#[track_caller]
fn is_stopped(failure: &Failure) {
    assert_eq!(failure.problem, Problem::StorageUnavailable, "{failure:?}");
    assert_eq!(failure.effect, Effect::None, "{failure:?}");
    for way_out in ["check the disk", "restart the server"] {
        assert!(failure.message.contains(way_out), "{}", failure.message);
    }
}

/// A server that has not seen the faults finds what the answers stated, and the operation sent again is one commit.
async fn restarted(world: World, operation: omnigraph_types::OperationId, answer: Option<Effect>) {
    let World { server, client: _, faults: _, root } = world;
    server.kill9();
    let server = Server::start(root.path(), &QUIET);
    let client = client(&server).await;
    let before = count(&client).await;
    match answer {
        None | Some(Effect::Committed) => assert_eq!(before, 2, "acknowledged, and lost"),
        Some(Effect::None) => assert_eq!(before, 1, "answered that nothing happened, and it did"),
        Some(Effect::Unknown) => {}
    }
    load(&client, operation, "second").await.unwrap();
    load(&client, operation, "second").await.unwrap();
    assert_eq!(count(&client).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn load_whose_sync_of_a_folder_fails_once_is_acknowledged_after_it_was_repeated() {
    for folder in [INTENTS, PUBLICATIONS] {
        let world = World::new(&[]).await;
        let operation = Client::mint_operation_id();
        let before = world.faults.syncs().len();
        world.faults.fail_syncs(1, folder);
        load(&world.client, operation, "second").await.unwrap();
        assert_eq!(world.faults.syncs_to_fail(), 0, "{folder}: no sync failed");
        let syncs = world.faults.syncs().split_off(before);
        let part = folder.trim_matches(['*', '/']);
        let failed = syncs.iter().position(|path| path.contains(part) && path.ends_with('/')).unwrap();
        let later = &syncs[failed + 1..];
        let again = later.iter().position(|path| *path == syncs[failed]);
        let before_again = &later[..again.unwrap_or_else(|| panic!("the sync of {folder} is not repeated: {syncs:?}"))];
        // Files of the next state are written while the intent is put. Whatever takes effect comes after.
        let takes_effect = |path: &String| path.contains("/_transactions/") || path.contains("/_versions/");
        assert!(!before_again.iter().any(takes_effect), "{folder}: {syncs:?}");
        // The server goes on.
        load(&world.client, Client::mint_operation_id(), "third").await.unwrap();
        assert_eq!(count(&world.client).await, 3);
        let World { server, root, .. } = world;
        server.kill9();
        let server = Server::start(root.path(), &QUIET);
        assert_eq!(count(&client(&server).await).await, 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn load_whose_data_cannot_be_synced_is_refused_and_leaves_nothing() {
    for times in [1, 2] {
        let world = World::new(&[]).await;
        let before = super::files(world.root.path());
        let operation = Client::mint_operation_id();
        world.faults.fail_syncs(times, DATA);
        for _ in 0..times {
            let failure = refused(load(&world.client, operation, "second").await);
            assert_eq!(failure.problem, Problem::StorageUnavailable, "{failure:?}");
            assert_eq!((failure.effect, failure.retry), (Effect::None, Retry::SameRequest), "{failure:?}");
            assert!(failure.message.contains("input/output error"), "{}", failure.message);
            assert_eq!(count(&world.client).await, 1);
        }
        assert_eq!(world.faults.syncs_to_fail(), 0, "a sync failed per request");
        assert_eq!(super::files(world.root.path()), before, "left behind");
        // A new file gets new pages: nothing that a sync may have dropped is read again.
        load(&world.client, operation, "second").await.unwrap();
        restarted(world, operation, None).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sync_of_a_folder_that_fails_twice_leaves_the_load_in_doubt_and_stops_all_writes() {
    for folder in [INTENTS, PUBLICATIONS] {
        let world = World::new(&[]).await;
        let operation = Client::mint_operation_id();
        world.faults.fail_syncs(2, folder);
        let failure = refused(load(&world.client, operation, "second").await);
        assert_eq!(world.faults.syncs_to_fail(), 0, "{folder}");
        assert_eq!(failure.effect, Effect::Unknown, "{folder}: {failure:?}");
        assert_eq!(failure.retry, Retry::SameRequest, "{folder}: {failure:?}");
        // The disk answers again, and is not believed any more: the same load, another one, and a new graph are refused. Reads go on.
        for again in [operation, Client::mint_operation_id()] {
            let failure = refused(load(&world.client, again, "second").await);
            if again == operation {
                assert_eq!(failure.problem, Problem::StorageUnavailable, "{folder}: {failure:?}");
                assert_ne!(failure.effect, Effect::Committed, "{folder}: {failure:?}");
            } else {
                is_stopped(&failure);
            }
        }
        let graph = CreateGraph::new("other".parse().unwrap(), SCHEMA);
        is_stopped(&refused(world.client.create_graph(graph).await));
        assert!(count(&world.client).await >= 1, "reads go on");
        restarted(world, operation, Some(failure.effect)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn syncs_are_made_unless_the_operating_system_may_take_its_time() {
    for (durability, is_synced) in [("full", true), ("os", false)] {
        let world = World::new(&[("OMNIGRAPH_DURABILITY", durability)]).await;
        let syncs = world.faults.syncs();
        assert_eq!(!syncs.is_empty(), is_synced, "{durability}: {syncs:?}");
    }
}
