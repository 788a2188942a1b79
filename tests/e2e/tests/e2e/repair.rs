//! Damage that needs a person: the refusal names the command, and the command shows the damage and repairs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use omnigraph_storage::{CommitOutcome, ObjectPath, Store, StoreOptions, TreeRef};
use omnigraph_testkit::fresh_mark;

use crate::support::{Server, omnigraph, root, workspace};

const SCHEMA: &str = "node Port { code: String @key }\nnode Ship { name: String @key }\n";

/// A server, its root, and a folder for files.
struct World {
    server: Server,
    root: tempfile::TempDir,
    files: tempfile::TempDir,
}

/// What a command printed, and its exit code.
struct Finished {
    code: i32,
    out: String,
    err: String,
}

impl Finished {
    #[track_caller]
    fn with(self, code: i32, texts: &[&str]) -> Self {
        let whole = format!("{}{}", self.out, self.err);
        assert_eq!(self.code, code, "{whole}");
        for text in texts {
            assert!(whole.contains(text), "{text:?} is not in {whole}");
        }
        self
    }
}

impl World {
    fn new() -> Self {
        let (root, files) = (root(), tempfile::tempdir().unwrap());
        let world = Self { server: Server::start(root.path(), &[]), root, files };
        let schema = world.file("ports.pg", SCHEMA);
        world.run(&["graph", "create", "g", "--schema", &schema]).with(0, &[]);
        world.load("Port", "code\nOSL\n").with(0, &["committed"]);
        world
    }

    fn run(&self, arguments: &[&str]) -> Finished {
        let mut command: Command = omnigraph();
        command.args(arguments).args(["--url", &self.server.url]).current_dir(workspace()).stdin(Stdio::null());
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Finished { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.files.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn load(&self, type_name: &str, csv: &str) -> Finished {
        let file = self.file("rows.csv", csv);
        self.run(&["load", "g", "--type", type_name, &file, "--mode", "append"])
    }

    fn json(&self, code: i32, arguments: &[&str]) -> serde_json::Value {
        let done = self.run(&[arguments, &["--output", "json"]].concat()).with(code, &[]);
        serde_json::from_str(&done.out).unwrap()
    }

    /// The graph's folder.
    fn graph(&self) -> PathBuf {
        let folders = fs::read_dir(self.root.path()).unwrap().map(|entry| entry.unwrap().path());
        folders.into_iter().find(|path| path.join("__manifest").is_dir()).unwrap()
    }

    /// The dataset of the first type, relative to the root.
    fn ports(&self) -> ObjectPath {
        let mut tables: Vec<_> = names(&self.graph().join("tables/nodes"));
        tables.sort();
        let graph = self.graph();
        let graph = graph.file_name().unwrap().to_str().unwrap();
        ObjectPath::new(format!("{graph}/tables/nodes/{}", tables[0]))
    }

    /// The confirmation that a preview shows.
    fn confirmation(&self) -> String {
        let shown = self.json(0, &["repair", "g"]);
        assert_eq!(shown["state"], "not confirmed", "{shown}");
        shown["confirm"].as_str().unwrap().to_owned()
    }
}

fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// A foreign commit overwrites a table by nothing, past the graph.
async fn stranger(root: &Path, dataset: ObjectPath) -> String {
    let store = Store::open(root.to_str().unwrap(), StoreOptions::default()).await.unwrap();
    let tree = TreeRef::main(dataset);
    let head = store.head(&tree).await.unwrap().unwrap();
    let table = store.open_table(&tree.at(head)).await.unwrap();
    let mark = fresh_mark();
    let change = table.stage_overwrite(omnigraph_storage::StagedFiles::empty(), mark.clone());
    let outcome = store.commit_exact(&table, &change).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
    mark.uuid
}

#[tokio::test(flavor = "multi_thread")]
async fn table_with_a_foreign_commit_is_shown_and_mended_by_the_command_that_the_refusal_names() {
    let world = World::new();
    world.run(&["check", "g"]).with(0, &["all is well"]);
    let foreign = stranger(world.root.path(), world.ports()).await;
    world.load("Port", "code\nBGO\n").with(1, &["TABLE_OCCUPIED", "omnigraph repair g", "nothing was stored"]);
    world.run(&["check", "g"]).with(4, &["needs a person", "Port", "occupied_table"]);

    let done = world.run(&["repair", "g"]);
    done.with(0, &[&foreign, "overwrite, 1 row less", "would be undone by a restore", "omnigraph repair g --confirm"]);
    let confirmation = world.confirmation();
    world.run(&["repair", "g", "--confirm", "0000000000000000"]).with(1, &["READ_SET_CHANGED", "nothing was repaired"]);
    world.run(&["repair", "g", "--table", "Ship"]).with(0, &["nothing blocks writes"]);
    world.run(&["repair", "g", "--table", "Nope"]).with(1, &["TYPE_NOT_FOUND", "Nope"]);
    world.run(&["repair", "g", "--confirm", &confirmation]).with(0, &["done: version"]);

    world.load("Port", "code\nBGO\n").with(0, &["committed"]);
    world.run(&["repair", "g"]).with(0, &["nothing blocks writes"]);
    world.run(&["recoveries", "g"]).with(0, &["repair", "undone"]);
    let checked = world.json(0, &["check", "g"]);
    assert_eq!(checked["findings"], serde_json::json!([]), "{checked}");
    // The commit that was undone is the version that nothing names.
    let unnamed = checked["summary"]["unnamed"].as_array().unwrap().iter();
    assert!(unnamed.into_iter().any(|one| one["kind"] == "table_version" && one["age"] == "hour"), "{checked}");
    let text = "query n() { match { $p: Port } return { count($p) as n } }";
    assert_eq!(world.json(0, &["query", "g", "--text", text])["rows"][0]["n"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_intent_is_shown_and_taken_out_of_the_way() {
    let world = World::new();
    let intents = world.graph().join("__recovery");
    let intents = intents.join(&names(&intents)[0]);
    let version =
        names(&intents).iter().filter_map(|name| name.strip_suffix(".json")?.parse::<u64>().ok()).max().unwrap();
    fs::write(intents.join(format!("{:020}.json", version + 1)), r#"{"format":2,"writer"#).unwrap();
    world.load("Port", "code\nBGO\n").with(1, &["CORRUPT", "omnigraph repair g", "nothing was stored"]);
    world.run(&["check", "g"]).with(4, &["unreadable_intent", "omnigraph repair g"]);
    world.run(&["repair", "g"]).with(0, &["cannot be read", "further tables: 2", "nothing was done"]);
    let confirmation = world.confirmation();
    world.run(&["repair", "g", "--confirm", &confirmation]).with(0, &["done: version"]);
    world.load("Port", "code\nBGO\n").with(0, &["committed"]);
    world.run(&["check", "g", "--branch", "main"]).with(0, &["all is well"]);
    world.run(&["check", "g", "--branch", "nope"]).with(1, &["BRANCH_NOT_FOUND"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn check_finds_what_was_lost_on_the_disk() {
    let world = World::new();
    world.load("Ship", "name\nFram\n").with(0, &["committed"]);
    let dataset = world.root.path().join(world.ports().as_str());
    let data = dataset.join("data");
    fs::write(data.join("left-behind.lance"), "x").unwrap();
    let checked = world.json(0, &["check", "g"]);
    let unnamed = checked["summary"]["unnamed"].as_array().unwrap().iter();
    let data_files = unnamed.filter(|one| one["kind"] == "data").map(|one| one["files"].as_u64().unwrap());
    assert_eq!(data_files.collect::<Vec<_>>(), [1], "{checked}");

    let rows = names(&data).into_iter().find(|name| name != "left-behind.lance").unwrap();
    let text = "query codes() { match { $p: Port } return { $p.code } }";
    let whole = fs::read(data.join(&rows)).unwrap();
    fs::write(data.join(&rows), &whole[..whole.len() / 2]).unwrap();
    world.run(&["query", "g", "--text", text]).with(1, &["CORRUPT", "omnigraph check"]);
    world.run(&["check", "g"]).with(4, &["missing_files", "Port", "another size"]);

    fs::remove_file(data.join(rows)).unwrap();
    world.run(&["check", "g"]).with(4, &["missing_files", "Port", "from a backup"]);
    world.run(&["query", "g", "--text", text]).with(1, &["CORRUPT", "omnigraph check"]);
    let file = world.file("rows.csv", "code\nOSL\n");
    let merge = ["load", "g", "--type", "Port", file.as_str(), "--mode", "merge"];
    world.run(&merge).with(1, &["CORRUPT", "omnigraph check", "nothing was stored"]);
    // Lance numbers versions downwards: the first name is the pinned one.
    let mut versions = names(&dataset.join("_versions"));
    versions.sort();
    fs::remove_file(dataset.join("_versions").join(&versions[0])).unwrap();
    world.run(&["check", "g"]).with(4, &["damaged_table", "Port"]);
    world.run(&["repair", "g"]).with(4, &["is missing", "omnigraph check g"]);
    world.load("Ship", "name\nMaud\n").with(0, &["committed"]);

    // A server that never opened the graph examines it too.
    let manifests = world.graph().join("__manifest/_versions");
    for name in names(&manifests) {
        fs::write(manifests.join(name), "no manifest").unwrap();
    }
    let world = World { server: Server::start(world.root.path(), &[]), ..world };
    world.run(&["check", "g"]).with(4, &["unreadable_version", "main", "__manifest", "from a backup"]);
    world.load("Ship", "name\nGjoa\n").with(1, &["CORRUPT", "omnigraph check"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn version_that_cannot_be_read_behind_a_pin_is_mended_by_moving_the_object_that_check_names() {
    let world = World::new();
    let dataset = world.ports();
    let mut versions = names(&world.root.path().join(dataset.as_str()).join("_versions"));
    versions.sort();
    // Lance numbers versions downwards: the next version precedes the first name.
    let newest: u64 = versions[0].strip_suffix(".manifest").unwrap().parse().unwrap();
    let next = format!("{dataset}/_versions/{:020}.manifest", newest - 1);
    fs::write(world.root.path().join(&next), "no manifest").unwrap();
    world.load("Port", "code\nBGO\n").with(1, &["TABLE_OCCUPIED", "omnigraph check g"]);
    world.run(&["repair", "g"]).with(4, &["cannot be read", "omnigraph check g"]);
    world.run(&["check", "g"]).with(4, &["damaged_table", "Port", &format!("move the object {next} out of the root")]);
    fs::rename(world.root.path().join(&next), world.files.path().join("moved")).unwrap();
    world.load("Port", "code\nBGO\n").with(0, &["committed"]);
    world.run(&["check", "g"]).with(0, &["all is well"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn newest_version_that_cannot_be_read_comes_back_from_its_intent() {
    let world = World::new();
    world.load("Port", "code\nBGO\n").with(0, &["committed"]);
    let manifests = world.graph().join("__manifest/_versions");
    let mut versions = names(&manifests);
    versions.sort();
    fs::write(manifests.join(&versions[0]), "no manifest").unwrap();
    let world = World { server: Server::start(world.root.path(), &[]), ..world };
    world.load("Port", "code\nTRD\n").with(1, &["CORRUPT", "omnigraph check"]);
    let done = world.run(&["check", "g"]).with(4, &["unreadable_version", "move the object", "omnigraph recover g"]);
    assert!(done.out.contains(&versions[0]), "{}", done.out);
    fs::rename(manifests.join(&versions[0]), world.files.path().join("moved")).unwrap();
    let world = World { server: Server::start(world.root.path(), &[]), ..world };
    world.run(&["recover", "g"]).with(0, &[]);
    let text = "query n() { match { $p: Port } return { count($p) as n } }";
    assert_eq!(world.json(0, &["query", "g", "--text", text])["rows"][0]["n"], 2);
    world.run(&["check", "g"]).with(0, &["all is well"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn branch_whose_state_is_empty_hides_no_other() {
    let world = World::new();
    for branch in ["side", "other"] {
        world.run(&["branch", "create", "g", branch]).with(0, &[]);
        let file = world.file("rows.csv", "code\nBGO\n");
        world.run(&["load", "g", "--branch", branch, "--type", "Port", &file, "--mode", "append"]).with(0, &[]);
    }
    let trees = world.graph().join("__manifest/tree");
    let mut chains = names(&trees);
    chains.sort();
    // The first that was made is `side`; its newest state is the file that came last.
    let states = trees.join(&chains[0]).join("data");
    for state in names(&states) {
        fs::write(states.join(state), "").unwrap();
    }
    let world = World { server: Server::start(world.root.path(), &[]), ..world };
    let done = world.run(&["branch", "list", "g"]).with(0, &["main", "other"]);
    assert!(!done.out.contains("side"), "{}", done.out);
    world.run(&["graph", "list"]).with(0, &["g"]);
    world.run(&["check", "g"]).with(4, &["unreadable_version", "side", "from a backup"]);
    world.load("Port", "code\nTRD\n").with(0, &["committed"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn root_that_was_copied_is_looked_over_as_far_as_it_can_be_read() {
    let world = World::new();
    world.run(&["branch", "create", "g", "side"]).with(0, &[]);
    let file = world.file("rows.csv", "code\nBGO\n");
    world.run(&["load", "g", "--branch", "side", "--type", "Port", &file, "--mode", "append"]).with(0, &["committed"]);
    let elsewhere = root();
    let from = format!("{}/.", world.root.path().display());
    assert!(Command::new("cp").arg("-r").arg(from).arg(elsewhere.path()).status().unwrap().success());
    let world = World { server: Server::start(elsewhere.path(), &[]), root: elsewhere, ..world };
    let done = world.run(&["check", "g"]).with(4, &["unreadable_version", "side", "moved or copied"]);
    assert_eq!(done.out.matches("moved or copied").count(), 1, "{}", done.out);
    world.run(&["check", "g", "--branch", "main"]).with(0, &["all is well"]);
    world.load("Port", "code\nTRD\n").with(0, &["committed"]);
}
