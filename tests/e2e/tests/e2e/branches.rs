//! Branches and graphs that are created and removed, seen by two server processes on one root.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use omnigraph_client::{
    Client, ClientError, CreateBranch, CreateGraph, DeleteBranch, DeleteGraph, LoadMode, LoadOptions, PageRequest,
    ReadAt, WriteOutcome,
};
use omnigraph_types::{BranchName, Effect, Failure, OperationId, Problem, Resource};

use crate::support::{Server, airline, append, client, graph_name, ndjson_on, refused, root, rows_at};

fn named(name: &str) -> BranchName {
    name.parse().unwrap()
}

fn airport(iata: &str) -> String {
    let data = format!(r#"{{"iata":"{iata}","name":"x","country":"USA","latitude":1,"longitude":2}}"#);
    format!("{{\"type\":\"Airport\",\"data\":{data}}}\n")
}

async fn load_on(client: &Client, branch: &str, iata: &str) -> Result<(), ClientError> {
    let options = LoadOptions::new(LoadMode::Append);
    let receipt = ndjson_on(client, &named(branch), options, &airport(iata)).await?;
    assert_eq!(receipt.outcome, WriteOutcome::Committed);
    Ok(())
}

async fn airports(client: &Client, at: ReadAt) -> usize {
    rows_at(client, at, &["Airport"]).await["Airport"]
}

fn is_missing(failure: &Failure, what: Resource) -> bool {
    matches!(&failure.problem, Problem::NotFound { resource, .. } if *resource == what)
        && failure.effect == Effect::None
}

/// Two servers on one root with the graph of airports.
async fn two() -> (tempfile::TempDir, Server, Server) {
    let folder = root();
    let (one, two) = (Server::start(folder.path(), &[]), Server::start(folder.path(), &[]));
    airline(&client(&one).await).await;
    (folder, one, two)
}

fn deletion(operation: OperationId) -> DeleteGraph {
    DeleteGraph { operation_id: Some(operation), ..DeleteGraph::new(graph_name()) }
}

#[tokio::test(flavor = "multi_thread")]
async fn branch_made_by_one_server_is_written_and_removed_by_another() {
    let (_folder, one, two) = two().await;
    let (a, b) = (client(&one).await, client(&two).await);
    append(&a, &airport("OSL")).await.unwrap();
    let made = a.create_branch(&graph_name(), CreateBranch::new(named("trial/1"))).await.unwrap().branch.unwrap();
    load_on(&b, "trial/1", "BGO").await.unwrap();
    load_on(&a, "trial/1", "TRD").await.unwrap();
    let head = b.get_branch(&graph_name(), &named("trial/1")).await.unwrap().head;
    assert_eq!(airports(&a, ReadAt::Branch(named("trial/1"))).await, 3);
    assert_eq!(airports(&b, ReadAt::Branch(BranchName::Main)).await, 1);
    let from_branch = CreateBranch { source: ReadAt::Branch(named("trial/1")), ..CreateBranch::new(named("trial")) };
    b.create_branch(&graph_name(), from_branch).await.unwrap();
    b.delete_branch(&graph_name(), DeleteBranch::new(named("trial/1"))).await.unwrap();
    let failure = refused(load_on(&a, "trial/1", "SVG").await);
    assert!(is_missing(&failure, Resource::Branch), "{failure:?}");
    assert_eq!(airports(&a, ReadAt::Commit(head)).await, 3, "commits of a removed branch stay readable");
    load_on(&a, "trial", "SVG").await.unwrap();
    assert_eq!(airports(&b, ReadAt::Branch(named("trial"))).await, 4, "branches made from it stay");
    let again = a.create_branch(&graph_name(), CreateBranch::new(named("trial/1"))).await.unwrap().branch.unwrap();
    assert_ne!(again.id, made.id);
    assert_eq!(airports(&b, ReadAt::Branch(named("trial/1"))).await, 1, "the name means the new branch everywhere");
    let listed = b.list_branches(&graph_name(), PageRequest::default()).await.unwrap();
    let names: Vec<&str> = listed.items.iter().map(|branch| branch.name.as_str()).collect();
    assert_eq!(names, ["main", "trial", "trial/1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_making_one_branch_agree_who_did() {
    let (_folder, one, two) = two().await;
    let (a, b) = (client(&one).await, client(&two).await);
    for round in 0..5 {
        let name = named(&format!("race-{round}"));
        let make = |client: &Client| {
            let (client, name) = (client.clone(), name.clone());
            async move { client.create_branch(&graph_name(), CreateBranch::new(name)).await }
        };
        let (left, right) = tokio::join!(make(&a), make(&b));
        let failure = match (left, right) {
            (Ok(_), Err(error)) | (Err(error), Ok(_)) => refused::<()>(Err(error)),
            both => panic!("exactly one makes it: {both:?}"),
        };
        let taken = Problem::AlreadyExists { resource: Resource::Branch, name: name.to_string() };
        assert_eq!(failure.problem, taken);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn loads_racing_a_removal_are_committed_or_refused() {
    let (_folder, one, two) = two().await;
    let (a, b) = (client(&one).await, client(&two).await);
    for round in 0..3 {
        let name = format!("race-{round}");
        b.create_branch(&graph_name(), CreateBranch::new(named(&name))).await.unwrap();
        let writing = async {
            let mut acknowledged = Vec::new();
            for n in 0..100 {
                match load_on(&a, &name, &format!("{round}-{n}")).await {
                    Ok(()) => acknowledged.push(a.get_branch(&graph_name(), &named(&name)).await.map(|info| info.head)),
                    Err(error) => return (acknowledged, refused::<()>(Err(error))),
                }
            }
            panic!("the branch was not removed in 100 loads");
        };
        let removing = async {
            tokio::time::sleep(Duration::from_millis(150)).await;
            b.delete_branch(&graph_name(), DeleteBranch::new(named(&name))).await.unwrap();
        };
        let ((acknowledged, failure), ()) = tokio::join!(writing, removing);
        assert!(is_missing(&failure, Resource::Branch), "{failure:?}");
        let heads: Vec<_> = acknowledged.into_iter().flatten().collect();
        if let Some(last) = heads.last() {
            assert!(airports(&b, ReadAt::Commit(*last)).await >= heads.len(), "I-4");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn graph_deleted_by_one_server_is_gone_on_the_other_and_its_name_free() {
    let (_folder, one, two) = two().await;
    let (a, b) = (client(&one).await, client(&two).await);
    a.create_branch(&graph_name(), CreateBranch::new(named("dev"))).await.unwrap();
    append(&a, &airport("OSL")).await.unwrap();
    load_on(&b, "dev", "BGO").await.unwrap();
    let old = b.get_graph(&graph_name()).await.unwrap();
    // A load that is running when its graph is removed fails, and does not change the next graph.
    let mut late = a.load_ndjson(&graph_name(), &named("dev"), LoadOptions::new(LoadMode::Append)).await.unwrap();
    late.write(airport("LATE").into()).await.unwrap();
    let operation = Client::mint_operation_id();
    b.delete_graph(deletion(operation)).await.unwrap();
    let failure = refused(late.finish().await);
    assert!(is_missing(&failure, Resource::Graph), "{failure:?}");
    for client in [&a, &b] {
        for failure in [
            refused(append(client, &airport("X")).await),
            refused(load_on(client, "dev", "X").await),
            refused(client.get_graph(&graph_name()).await),
        ] {
            assert!(is_missing(&failure, Resource::Graph), "{failure:?}");
        }
        assert!(client.list_graphs(PageRequest::default()).await.unwrap().items.is_empty());
    }
    let created = b.create_graph(CreateGraph::new(graph_name(), "node Airport { iata: String @key }")).await.unwrap();
    let new = created.graph.unwrap();
    assert_ne!(new.id, old.id);
    let text = "{\"type\":\"Airport\",\"data\":{\"iata\":\"NEW\"}}\n";
    append(&a, text).await.unwrap();
    assert_eq!(airports(&b, ReadAt::Branch(BranchName::Main)).await, 1);
    assert_eq!(a.get_graph(&graph_name()).await.unwrap().id, new.id);
    // I-8: the deletion sent again deletes nothing more.
    b.delete_graph(deletion(operation)).await.unwrap();
    assert_eq!(airports(&a, ReadAt::Branch(BranchName::Main)).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn deletion_that_fails_after_its_decision_is_reported_as_done() {
    for point in ["graph_delete.D.before=error", "graph_delete.D.before=lose", "graph_delete.D.after=error"] {
        let folder = root();
        let server = Server::start(folder.path(), &[("OMNIGRAPH_FAILPOINTS", &format!("g/{point}"))]);
        let client = client(&server).await;
        airline(&client).await;
        client.create_branch(&graph_name(), CreateBranch::new(named("dev"))).await.unwrap();
        client.delete_graph(DeleteGraph::new(graph_name())).await.unwrap();
        assert!(server.log().contains("failpoint hit: g/graph_delete.D"), "{point} was never hit");
        assert!(is_missing(&refused(client.get_graph(&graph_name()).await), Resource::Graph), "{point}");
        airline(&client).await;
    }
}

/// The newest version file of a graph's main chain.
fn newest_manifest(root: &Path) -> PathBuf {
    let mut folders = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let graph = folders.find(|path| path.join("__manifest").is_dir()).unwrap();
    let versions = fs::read_dir(graph.join("__manifest/_versions")).unwrap().map(|entry| entry.unwrap().path());
    // Lance names them so that the newest sorts first.
    versions.min().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_version_of_one_graph_leaves_the_server_and_its_other_graphs_alone() {
    let folder = root();
    let server = Server::start(folder.path(), &[]);
    airline(&client(&server).await).await;
    append(&client(&server).await, &airport("OSL")).await.unwrap();
    server.kill9();
    let newest = newest_manifest(folder.path());
    let bytes = fs::read(&newest).unwrap();
    fs::write(&newest, &bytes[..bytes.len() / 2]).unwrap();
    let server = Server::start(folder.path(), &[]);
    let client = client(&server).await;
    server.logged("every branch is examined").await;
    for failure in [refused(client.get_graph(&graph_name()).await), refused(append(&client, &airport("BGO")).await)] {
        assert!(matches!(failure.problem, Problem::Corrupt { .. }), "{failure:?}");
    }
    let other = CreateGraph::new("other".parse().unwrap(), "node P {}");
    client.create_graph(other).await.unwrap();
    let listed = client.list_graphs(PageRequest::default()).await.unwrap();
    assert_eq!(listed.items.iter().map(|graph| graph.name.as_str()).collect::<Vec<_>>(), ["other"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_of_a_root_that_was_moved_are_refused_with_the_reason() {
    let place = root();
    let (before, after) = (place.path().join("before"), place.path().join("after"));
    let server = Server::start(&before, &[]);
    let maker = client(&server).await;
    airline(&maker).await;
    append(&maker, &airport("OSL")).await.unwrap();
    for name in ["written", "unwritten"] {
        maker.create_branch(&graph_name(), CreateBranch::new(named(name))).await.unwrap();
    }
    load_on(&maker, "written", "BGO").await.unwrap();
    server.kill9();
    fs::rename(&before, &after).unwrap();
    let server = Server::start(&after, &[]);
    let client = client(&server).await;
    assert_eq!(airports(&client, ReadAt::Branch(BranchName::Main)).await, 1);
    append(&client, &airport("TRD")).await.unwrap();
    for name in ["written", "unwritten"] {
        let failure = refused(load_on(&client, name, "SVG").await);
        assert!(matches!(failure.problem, Problem::Corrupt { .. }), "{failure:?}");
        assert!(failure.message.contains("moved or copied"), "{}", failure.message);
    }
    let fresh = CreateBranch::new(named("fresh"));
    client.create_branch(&graph_name(), fresh).await.unwrap();
    load_on(&client, "fresh", "SVG").await.unwrap();
    client.delete_branch(&graph_name(), DeleteBranch::new(named("fresh"))).await.unwrap();
}
