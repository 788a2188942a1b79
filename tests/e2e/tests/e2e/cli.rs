//! The `omnigraph` command against a server: what a person types and reads.

mod files;
mod tables;

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::ipc::writer::FileWriter;
use parquet::arrow::ArrowWriter;

use crate::support::{Server, omnigraph, root, workspace};

/// A server, and a folder for files.
struct World {
    server: Server,
    files: tempfile::TempDir,
    root: tempfile::TempDir,
}

/// What a command printed, and its exit code.
#[derive(Debug)]
struct Finished {
    code: i32,
    out: String,
    err: String,
}

impl Finished {
    fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// It succeeded.
    #[track_caller]
    fn done(self) -> Self {
        assert_eq!(self.code, 0, "{self:#?}");
        self
    }

    /// It printed each of these texts to the standard output.
    #[track_caller]
    fn says(&self, texts: &[&str]) -> &Self {
        for text in texts {
            assert!(self.out.contains(text), "{text:?} is not in {self:#?}");
        }
        self
    }

    /// It failed with `code` and each of these texts on the standard error.
    #[track_caller]
    fn fails(&self, code: i32, texts: &[&str]) {
        assert_eq!(self.code, code, "{self:#?}");
        assert_eq!(self.out, "", "{self:#?}");
        for text in texts {
            assert!(self.err.contains(text), "{text:?} is not in {self:#?}");
        }
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

impl World {
    fn new() -> Self {
        let root = root();
        let server = Server::start(root.path(), &[]);
        Self { server, files: tempfile::tempdir().unwrap(), root }
    }

    fn with_airline() -> Self {
        let world = Self::new();
        world.run(&["graph", "create", "airline", "--schema", "tests/data/airline.pg"]).done();
        world
    }

    /// Runs `omnigraph` in the workspace's folder.
    fn run(&self, arguments: &[&str]) -> Finished {
        let mut command = omnigraph();
        command.args(arguments).args(["--url", &self.server.url]).current_dir(workspace()).stdin(Stdio::null());
        Finished::of(command.output().unwrap())
    }

    /// Writes a file and returns its path.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.files.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Matches of a pattern that binds `$a`.
    fn count(&self, pattern: &str) -> serde_json::Value {
        self.count_on("main", pattern)
    }

    /// Matches of a pattern that binds `$a`, on a branch.
    fn count_on(&self, branch: &str, pattern: &str) -> serde_json::Value {
        let text = format!("query n() {{ match {{ {pattern} }} return {{ count($a) as n }} }}");
        let query = ["query", "airline", "--branch", branch, "--text", &text, "--output", "json"];
        self.run(&query).done().json()["rows"][0]["n"].clone()
    }

    /// Runs `omnigraph` with JSON output; it succeeds.
    fn json(&self, arguments: &[&str]) -> serde_json::Value {
        self.run(&[arguments, &["--output", "json"]].concat()).done().json()
    }

    /// Names of the branches, as they are listed.
    fn branches(&self) -> Vec<String> {
        let listed = self.json(&["branch", "list", "airline"]);
        listed["rows"].as_array().unwrap().iter().map(|row| row["branch"].as_str().unwrap().to_owned()).collect()
    }
}

/// The header line of a file of airports.
const AIRPORT_COLUMNS: &str = "iata,name,city,state,country,latitude,longitude\n";
const ROUTES: &[&str] = &["--type", "Route", "--rename", "origin=src", "--rename", "destination=dst"];

#[test]
fn graphs_are_created_and_listed() {
    let world = World::with_airline();
    let shown = world.run(&["graph", "list", "--output", "json"]).done().json();
    assert_eq!(shown["rows"][0]["graph"], "airline", "{shown}");
    world.run(&["graph", "list"]).done().says(&["airline"]);
    world.run(&["graph", "show", "airline"]).done().says(&["airline"]);
    world
        .run(&["graph", "create", "airline", "--schema", "tests/data/airline.pg"])
        .fails(1, &["GRAPH_EXISTS", "airline", "nothing was stored"]);
}

#[test]
fn csv_with_renamed_columns_is_loaded_queried_and_logged() {
    let world = World::with_airline();
    let airports = ["load", "airline", "--type", "Airport", "tests/data/airports.csv", "--mode", "append"];
    world.run(&airports).done().says(&["committed", "3376"]);
    let routes = [&["load", "airline"], ROUTES, &["tests/data/flights-airport.csv", "--mode", "append"]].concat();
    let loaded = world.run(&[&routes[..], &["--output", "json"]].concat()).done().json();
    assert_eq!(world.count("$a: Airport $b: Airport $a route $b"), 5366);

    let text = "query busy($from: String) { match { $a: Airport { iata: $from } $a $r: route $b }
        return { $b.iata as to, $r.count as flights } order { flights desc } limit 2 }";
    let file = world.file("busy.gq", text);
    let query = ["query", "airline", "-f", &file, "--param", r#"from="ABE""#];
    world.run(&query).done().says(&["to", "flights", "ORD", "1425"]);
    let json = world.run(&[&query[..], &["--output", "json"]].concat()).done().json();
    assert_eq!(json["rows"][0], serde_json::json!({ "to": "ORD", "flights": 1425 }), "{json}");
    assert_eq!(json["rows"].as_array().unwrap().len(), 2);
    let csv = world.run(&[&query[..], &["--output", "csv"]].concat()).done();
    assert_eq!(csv.out.lines().take(2).collect::<Vec<_>>(), ["to,flights", "ORD,1425"]);

    let log = world.run(&["log", "airline", "--output", "json"]).done().json();
    let kinds: Vec<_> = log["rows"].as_array().unwrap().iter().map(|row| row["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["load", "load", "create_graph"]);
    world.run(&["log", "airline", "--limit", "1"]).done().says(&["Route +5,366"]);
    let before_routes = log["rows"][1].clone();
    let past = |option: &str, value: &serde_json::Value| {
        let text = "query n() { match { $a: Airport $b: Airport $a route $b } return { count($a) as n } }";
        let query = ["query", "airline", "--text", text, "--output", "json", option, value.as_str().unwrap()];
        world.run(&query).done().json()["rows"][0]["n"].clone()
    };
    assert_eq!(past("--at-commit", &before_routes["commit"]), 0);
    assert_eq!(past("--at-time", &before_routes["time"]), 0);
    assert_eq!(past("--at-time", &log["rows"][0]["time"]), 5366);
    world
        .run(&["query", "airline", "--text", text, "--at-time", "1999-01-01T00:00:00Z"])
        .fails(1, &["no commit at or before"]);
    world.run(&["query", "airline", "--text", text, "--at-time", "yesterday"]).fails(2, &["--at-time", "yesterday"]);
    let operation = log["rows"][0]["operation"].as_str().unwrap();
    let commit = log["rows"][0]["commit"].as_str().unwrap();
    assert!(loaded.to_string().contains(operation), "{loaded}");
    world.run(&["operation", "airline", operation]).done().says(&["committed", commit]);
    world.run(&["operation", "airline", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]).done().says(&["unknown"]);
}

#[test]
fn ndjson_arrow_and_parquet_files_are_loaded() {
    let world = World::with_airline();
    let airport = |code: &str| {
        format!(
            "{{\"type\":\"Airport\",\"data\":{{\"iata\":\"{code}\",\"name\":\"x\",\"country\":\"NO\",\"latitude\":1,\"longitude\":2}}}}\n"
        )
    };
    let lines = world.file("two.ndjson", &[airport("OSL"), airport("BGO")].concat());
    world.run(&["load", "airline", &lines, "--mode", "append"]).done().says(&["committed", "Airport +2"]);
    let text = |value: &str| std::sync::Arc::new(StringArray::from(vec![value])) as ArrayRef;
    let count = std::sync::Arc::new(Int64Array::from(vec![7])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("src", text("OSL")), ("dst", text("BGO")), ("count", count)]).unwrap();
    let path = world.files.path().join("routes.arrow");
    write_arrow(&path, &batch);
    let path = path.to_str().unwrap();
    world.run(&["load", "airline", "--type", "Route", path, "--mode", "append"]).done().says(&["Route +1"]);
    world.run(&["load", "airline", "--type", "Route", path, "--mode", "merge"]).done().says(&["Route ~1"]);
    assert_eq!((world.count("$a: Airport"), world.count("$a: Airport $b: Airport $a route $b")), (2.into(), 1.into()));
    let path = world.files.path().join("routes.parquet");
    let batch = RecordBatch::try_from_iter(batch.schema().fields().iter().map(|field| field.name().clone()).zip([
        text("BGO"),
        text("OSL"),
        batch.column(2).clone(),
    ]));
    write_parquet(&path, &batch.unwrap());
    let path = path.to_str().unwrap();
    world.run(&["load", "airline", "--type", "Route", path, "--mode", "append"]).done().says(&["Route +1"]);
    assert_eq!(world.count("$a: Airport $b: Airport $a route $b"), 2);
    let cut = world.file("cut.parquet", "PAR1 and no more");
    world
        .run(&["load", "airline", "--type", "Route", &cut, "--mode", "append"])
        .fails(1, &["cut.parquet", "nothing was stored"]);
}

fn write_parquet(path: &Path, batch: &RecordBatch) {
    let mut writer = ArrowWriter::try_new(fs::File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

fn write_arrow(path: &Path, batch: &RecordBatch) {
    let mut writer = FileWriter::try_new(fs::File::create(path).unwrap(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

#[test]
fn failed_load_reports_what_where_and_what_to_do() {
    let world = World::with_airline();
    let header = AIRPORT_COLUMNS;
    let load = |file: &str, mode: &str| world.run(&["load", "airline", "--type", "Airport", file, "--mode", mode]);

    let good = world.file("good.csv", &format!("{header}OSL,Oslo,,,NO,60,11\n"));
    load(&good, "append").done();
    load(&good, "append").fails(1, &["KEY_CONFLICT", "Airport", "OSL", "row 1", "merge", "next: nothing was stored"]);

    let north = world.file("north.csv", &format!("{header}BGO,Bergen,,,NO,60,5\nQQQ,Nowhere,,,NO,95,5\n"));
    load(&north, "append").fails(1, &["CONSTRAINT_VIOLATION", "QQQ", "latitude", "95", "next: nothing was stored"]);

    let typo = world.file("typo.csv", &format!("{header}BGO,Bergen,,,NO,sixty,5\n"));
    load(&typo, "append").fails(1, &["typo.csv", "latitude", "sixty", "next: nothing was stored"]);

    let huge = world.file("huge.csv", &format!("{header}BGO,{},,,NO,60,5\n", "x".repeat(70_000_000)));
    load(&huge, "append").fails(1, &["RESOURCE_LIMIT", "message_bytes_max", "nothing was stored"]);

    let cut = world.file("quote.csv", &format!("{header}BGO,\"Bergen,,,NO,60,5\nTRD,Trondheim,,,NO,63,10\n"));
    load(&cut, "append").fails(1, &["quote.csv, line 2", "never closed", "nothing was stored"]);

    let column = world.file("column.csv", "iata,nam,country,latitude,longitude\nBGO,Bergen,NO,60,5\n");
    let done = load(&column, "append");
    assert_ne!(done.code, 0, "{done:#?}");
    assert!(done.err.contains("nam") && done.err.contains("--rename"), "{done:#?}");
    assert_eq!(world.count("$a: Airport"), 1);
}

#[test]
fn other_failures_tell_their_reason_and_exit_code() {
    let world = World::with_airline();
    world.run(&["log", "nope"]).fails(1, &["GRAPH_NOT_FOUND", "nope"]);
    let query = "query q() { match { $a: Airport } return { $a.nam } }";
    world.run(&["query", "airline", "--text", query]).fails(1, &["QUERY_INVALID", "nam", "^"]);
    let needs = "query q($c: String) { match { $a: Airport { iata: $c } } return { $a.name } }";
    world.run(&["query", "airline", "--text", needs]).fails(1, &["PARAM_INVALID", "--param c="]);
    world.run(&["load", "airline", "tests/data/airports.csv", "--mode", "append"]).fails(2, &["--type"]);
    world.run(&["load", "airline", "nothing.ndjson", "--mode", "append"]).fails(2, &["nothing.ndjson"]);
    world.run(&["frobnicate"]).fails(2, &["frobnicate"]);

    let mut unreachable = omnigraph();
    unreachable.args(["log", "airline", "--url", "grpc://127.0.0.1:1"]);
    Finished::of(unreachable.output().unwrap()).fails(1, &["127.0.0.1:1", "omnigraph serve"]);
}

#[test]
fn command_that_insists_on_a_root_refuses_a_server_of_another_before_it_asks_for_anything() {
    let world = World::new();
    let info = world.run(&["server", "--output", "json"]).done().json();
    let own = info["root_id"].as_str().unwrap();
    assert_eq!(info["root"].as_str().unwrap(), world.root.path().canonicalize().unwrap().to_str().unwrap());
    let create = |root: &str| {
        world.run(&["graph", "create", "airline", "--schema", "tests/data/airline.pg", "--expect-root", root])
    };
    assert!(world.server.log().contains("made a new root"), "{}", world.server.log());
    let other = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    create(other).fails(1, &[other, own, "nothing else was sent"]);
    world.run(&["log", "airline"]).fails(1, &["GRAPH_NOT_FOUND"]);
    create(own).done();
    world.run(&["log", "airline", "--expect-root", "mine"]).fails(2, &["--expect-root"]);
    let serve = ["serve", "--listen", "127.0.0.1:0", "--expect-root", other, "--root", info["root"].as_str().unwrap()];
    world.run(&serve).fails(1, &[other, own, "nothing is served"]);
}

#[test]
fn branches_are_created_listed_loaded_and_deleted() {
    let world = World::with_airline();
    let airport = |code: &str| world.file(&format!("{code}.csv"), &format!("{AIRPORT_COLUMNS}{code},x,,,NO,60,11\n"));
    let load = |branch: &str, code: &str| {
        let file = airport(code);
        world.run(&["load", "airline", "--branch", branch, "--type", "Airport", &file, "--mode", "append"]).done();
    };
    load("main", "OSL");
    let first = world.json(&["log", "airline"])["rows"][0].clone();
    let (commit, time) = (first["commit"].as_str().unwrap(), first["time"].as_str().unwrap());
    load("main", "BGO");
    let head = world.json(&["branch", "show", "airline", "main"])["head"].clone();
    let head = head.as_str().unwrap();

    let created = world.json(&["branch", "create", "airline", "trial", "--expected-head", head]);
    assert_eq!(
        (&created["branch"], &created["source"], &created["head"], &created["source_commit"]),
        (&"trial".into(), &"main".into(), &head.into(), &head.into()),
        "{created}"
    );
    load("trial", "TRD");
    load("trial", "SVG");
    assert_eq!((world.count("$a: Airport"), world.count_on("trial", "$a: Airport")), (2.into(), 4.into()));

    world
        .run(&["branch", "create", "airline", "trial/past", "--from-commit", commit])
        .done()
        .says(&["trial/past", commit]);
    world
        .run(&["branch", "create", "airline", "tri", "--from", "main", "--at-time", time])
        .done()
        .says(&["tri", commit]);
    world.run(&["branch", "create", "airline", "trial/copy", "--from", "trial"]).done().says(&["trial/copy"]);
    let counts = ["trial/past", "tri", "trial/copy"].map(|branch| world.count_on(branch, "$a: Airport"));
    assert_eq!(counts, [1, 1, 4].map(serde_json::Value::from));
    assert_eq!(world.branches(), ["main", "tri", "trial", "trial/copy", "trial/past"]);
    world.run(&["branch", "list", "airline"]).done().says(&["main", "trial/past", head]);

    world.run(&["branch", "create", "airline", "trial"]).fails(1, &["BRANCH_EXISTS", "trial", "nothing was made"]);
    world
        .run(&["branch", "delete", "airline", "trial", "--expected-head", head])
        .fails(1, &["HEAD_MISMATCH", head, "nothing was deleted"]);
    world.run(&["branch", "delete", "airline", "main"]).fails(1, &["INVALID_REQUEST", "main"]);
    world.run(&["branch", "delete", "airline", "trial"]).done().says(&["deleted", "trial"]);
    world.run(&["branch", "show", "airline", "trial"]).fails(1, &["BRANCH_NOT_FOUND", "trial"]);
    world.run(&["log", "airline", "--branch", "trial"]).fails(1, &["BRANCH_NOT_FOUND", "trial"]);
    world.run(&["branch", "delete", "airline", "trial"]).fails(1, &["BRANCH_NOT_FOUND", "nothing was deleted"]);
    assert_eq!(world.branches(), ["main", "tri", "trial/copy", "trial/past"]);
    assert_eq!((world.count("$a: Airport"), world.count_on("trial/copy", "$a: Airport")), (2.into(), 4.into()));

    for command in ["recoveries", "recover"] {
        assert_eq!(world.json(&[command, "airline", "--branch", "trial/copy"])["rows"], serde_json::json!([]));
    }
    let done = world.run(&["recover", "airline"]).done();
    assert!(done.err.contains("nothing was pending") && done.out.is_empty(), "{done:#?}");
}

#[test]
fn branch_request_that_is_sent_again_is_done_once() {
    let world = World::with_airline();
    let created = world.json(&["branch", "create", "airline", "trial"]);
    let operation = created["operation"].as_str().unwrap();
    let again = world.json(&["branch", "create", "airline", "trial", "--operation-id", operation]);
    assert_eq!((&again["id"], &again["operation"]), (&created["id"], &created["operation"]));
    let deleted = world.json(&["branch", "delete", "airline", "trial"]);
    let operation = deleted["operation"].as_str().unwrap();
    world.run(&["branch", "create", "airline", "trial"]).done();
    // The deletion was applied before; it does not affect the next branch of that name.
    world.run(&["branch", "delete", "airline", "trial", "--operation-id", operation]).done().says(&["deleted"]);
    assert_eq!(world.branches(), ["main", "trial"]);
}

#[test]
fn load_whose_server_dies_while_committing_is_never_reported_as_not_stored() {
    for point in ["load.C.before", "load.C.after", "load.D.after"] {
        let root = root();
        let server = Server::start(root.path(), &[("OMNIGRAPH_FAILPOINTS", &format!("airline/{point}=kill"))]);
        let survivor = Server::start(root.path(), &[]);
        let files = tempfile::tempdir().unwrap();
        let world = World { server: survivor, files, root };
        world.run(&["graph", "create", "airline", "--schema", "tests/data/airline.pg"]).done();
        let file = world.file("one.csv", "iata,name,city,state,country,latitude,longitude\nOSL,Oslo,,,NO,60,11\n");
        let id = omnigraph_client::Client::mint_operation_id().to_string();
        let load = ["load", "airline", "--type", "Airport", &file, "--mode", "append", "--operation-id", &id];
        let mut victim = omnigraph();
        victim.args(load).args(["--url", &server.url]).current_dir(workspace()).stdin(Stdio::null());
        let done = Finished::of(victim.output().unwrap());
        assert!(server.log().contains("failpoint hit"), "{point} was never hit");
        assert_eq!(done.code, 1, "{done:#?}");
        assert!(!done.err.contains("nothing was stored"), "{point}: {done:#?}");
        assert!(done.err.contains("is not known") && done.err.contains(&format!("omnigraph operation airline {id}")));
        // The other server receives the same id, and applies it once.
        world.run(&load).done();
        assert_eq!(world.count("$a: Airport"), 1, "{point}");
    }
}

#[test]
fn server_that_is_stopped_as_soon_as_it_listens_ends_well() {
    let root = root();
    for _ in 0..5 {
        let status = Server::start(root.path(), &[]).stop();
        assert!(status.success(), "{status}");
    }
}
