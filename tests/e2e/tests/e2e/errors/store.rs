//! A damaged store: a full disk, another format, or a foreign change to its files.

use std::fs;
use std::path::{Path, PathBuf};

use futures::TryStreamExt;
use omnigraph_client::{Client, LoadMode, LoadOptions};
use omnigraph_storage::{
    CommitOutcome, FileWriterOptions, ObjectPath, ScanRequest, Store, StoreOptions, TransactionMark, TreeRef,
};
use omnigraph_types::{AttemptId, Effect, Failure, Problem, Retry};

use super::{SCHEMA, World, states};
use crate::support::{Server, append, client, create, graph_name, head, ndjson, refused, root, rows};

fn port(code: &str) -> String {
    format!("{{\"type\":\"Port\",\"data\":{{\"code\":\"{code}\"}}}}\n")
}

/// Ports of the load that has to spill.
const PORTS: usize = 10_000;

/// A number in letters only.
fn letters(number: usize) -> String {
    number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'A')).collect()
}

/// The only child of a folder.
fn only_child(folder: &Path) -> PathBuf {
    let children: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(children.len(), 1, "{children:?}");
    children[0].clone()
}

/// The folder of the root's only graph.
fn graph_folder(root: &Path) -> PathBuf {
    let folders = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let graphs: Vec<_> = folders.filter(|path| path.join("__manifest").is_dir()).collect();
    assert_eq!(graphs.len(), 1, "{graphs:?}");
    graphs[0].clone()
}

/// A load that exceeds its memory needs a disk, and the server's spill folder does not exist.
pub(super) async fn load_that_cannot_spill_is_refused() -> Failure {
    let (root, gone) = (root(), root());
    let spill = gone.path().join("spill");
    let variables = [("OMNIGRAPH_SPILL_DIRECTORY", spill.to_str().unwrap()), ("OMNIGRAPH_LOAD_MEMORY_BYTES_MAX", "1")];
    let server = Server::start(root.path(), &variables);
    let client = client(&server).await;
    create(&client, SCHEMA).await;
    // The fingerprints of so many rows are more than the least that a load holds in memory.
    let text: String = (0..PORTS).map(|at| port(&letters(at))).collect();
    let failure = refused(append(&client, &text).await);
    assert_eq!(failure.problem, Problem::StorageUnavailable, "{failure:?}");
    states(&failure, Effect::None, Retry::SameRequest);
    assert!(failure.retry_after.is_some());
    assert!(!failure.message.contains(spill.to_str().unwrap()), "a path left the server: {}", failure.message);
    fs::create_dir(&spill).unwrap();
    append(&client, &text).await.unwrap();
    assert_eq!(rows(&client, &["Port"]).await["Port"], PORTS);
    failure
}

pub(super) async fn graph_of_another_format_is_refused() -> Failure {
    let world = World::new(&[]).await;
    append(&world.client, &port("OSL")).await.unwrap();
    let World { server, client: _, root } = world;
    assert!(server.stop().success());
    let entry = only_child(&root.path().join("__graphs").join("g"));
    let stored = fs::read_to_string(&entry).unwrap();
    let mut last = None;
    for (found, advice) in [(3, "upgrade"), (1, "export")] {
        let stamped = stored.replace("\"format\":2", &format!("\"format\":{found}"));
        assert_ne!(stamped, stored);
        fs::write(&entry, stamped).unwrap();
        let server = Server::start(root.path(), &[]);
        let client = client(&server).await;
        let failure = refused(client.get_graph(&graph_name()).await);
        assert_eq!(failure.problem, Problem::StorageFormat { found, supported: 2 });
        states(&failure, Effect::None, Retry::Never);
        assert!(failure.message.contains(advice), "{}", failure.message);
        let load = refused(append(&client, &port("BGO")).await);
        assert_eq!(load.problem, failure.problem);
        last = Some(failure);
    }
    fs::write(&entry, stored).unwrap();
    let server = Server::start(root.path(), &[]);
    assert_eq!(rows(&client(&server).await, &["Port"]).await["Port"], 1);
    last.unwrap()
}

/// An intent of which only a part was stored stops writes to its branch, by name; reads go on.
pub(super) async fn torn_intent_is_refused() -> Failure {
    let world = World::new(&[]).await;
    let (client, root) = (&world.client, world.root.path());
    append(client, &port("OSL")).await.unwrap();
    let before = head(client).await;
    let version = client.get_commit(&graph_name(), before).await.unwrap().version;
    let intents = only_child(&graph_folder(root).join("__recovery"));
    fs::write(intents.join(format!("{:020}.json", version.next().0)), r#"{"format":2,"writer"#).unwrap();
    let failure = refused(append(client, &port("BGO")).await);
    let Problem::Corrupt { object, expected } = &failure.problem else { panic!("{failure:?}") };
    assert_eq!(*object, format!("the intent of version {} on branch main", version.next()));
    assert_eq!(expected, "an intent of format 2");
    states(&failure, Effect::None, Retry::Never);
    assert!(!failure.message.contains(root.to_str().unwrap()), "a path left the server: {}", failure.message);
    assert_eq!((head(client).await, rows(client, &["Port"]).await["Port"]), (before, 1));
    failure
}

/// The folder of the only node type's table, relative to the root.
fn ports_table(root: &Path) -> String {
    let table = only_child(&graph_folder(root).join("tables/nodes"));
    table.strip_prefix(root).unwrap().to_str().unwrap().to_owned()
}

/// A foreign commit appends to a table, at the version that the next load would write.
pub(super) async fn table_with_a_foreign_commit_is_refused() -> Failure {
    let world = World::new(&[]).await;
    let (client, root) = (&world.client, world.root.path());
    append(client, &port("OSL")).await.unwrap();
    let before = head(client).await;
    let foreign = foreign_commit(root).await;

    let failure = refused(append(client, &port("BGO")).await);
    let Problem::TableOccupied { table, expected, found } = &failure.problem else { panic!("{failure:?}") };
    assert_eq!((table.as_str(), found), ("Port", &foreign));
    assert!(!expected.is_empty() && expected != found, "{failure:?}");
    states(&failure, Effect::None, Retry::Never);
    assert_eq!((head(client).await, rows(client, &["Port"]).await["Port"]), (before, 1));
    failure
}

/// Appends a port's row once more, and returns the transaction's id.
async fn foreign_commit(root: &Path) -> String {
    let store = Store::open(root.to_str().unwrap(), StoreOptions::default()).await.unwrap();
    let path = ObjectPath::new(ports_table(root));
    let tree = TreeRef::main(path.clone());
    let newest = store.head(&tree).await.unwrap().unwrap();
    let table = store.open_table(&tree.at(newest)).await.unwrap();
    let rows: Vec<_> = table.scan(ScanRequest::default()).await.unwrap().try_collect().await.unwrap();
    let mut files = store.write_files(&path, None, table.schema(), FileWriterOptions { rows_per_file_max: 1_000 });
    for batch in rows {
        files.write(batch).await.unwrap();
    }
    let uuid = "00000000-0000-4000-8000-000000000000".to_owned();
    let mark = TransactionMark {
        uuid: uuid.clone(),
        operation_id: Client::mint_operation_id(),
        attempt_id: AttemptId(ulid::Ulid::new()),
    };
    let change = table.stage_append(files.finish().await.unwrap(), mark);
    let outcome = store.commit_exact(&table, &change).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
    uuid
}

/// A manifest of another version lies where the load's own would: the load is undone, and the reason in the failure names no path.
pub(super) async fn write_that_the_store_fails_is_reported_as_undone() -> Failure {
    let world = World::new(&[]).await;
    let (client, root) = (&world.client, world.root.path());
    append(client, &port("OSL")).await.unwrap();
    let before = head(client).await;
    let table = ports_table(root);
    let versions = root.join(&table).join("_versions");
    let mut names: Vec<String> = fs::read_dir(&versions)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".manifest"))
        .collect();
    names.sort_unstable();
    // A manifest is named by how many versions can follow it, so that the newest one is listed first.
    let newest: u64 = names[0].trim_end_matches(".manifest").parse().unwrap();
    fs::copy(versions.join(&names[0]), versions.join(format!("{:020}.manifest", newest - 1))).unwrap();

    let options = LoadOptions::new(LoadMode::Append);
    let operation = options.operation_id;
    let failure = refused(ndjson(client, options, &port("BGO")).await);
    let Problem::OperationRolledBack { operation_id, reason } = &failure.problem else { panic!("{failure:?}") };
    assert_eq!((*operation_id, reason.as_str()), (operation, "the store failed while the write took effect"));
    states(&failure, Effect::None, Retry::SameRequest);
    assert!(!failure.message.contains(&table), "a path left the server: {}", failure.message);
    assert_eq!((head(client).await, rows(client, &["Port"]).await["Port"]), (before, 1));
    failure
}
