//! Roots that hold hostile files: a server starts or refuses, names the thing, serves other graphs, and `check` reports what needs a person.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use omnigraph_e2e::server::{Server, omnigraph, root};
use tempfile::TempDir;

const SCHEMA: &str = "node Port { code: String @key }\n";
/// Bytes of a sparse file that does not fit into memory: reading it would take them all.
const HUGE_BYTES: u64 = 8 * 1024 * 1024 * 1024;
/// Bytes that a server and a check, debug builds, may hold at most.
const MEMORY_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// What is wrong, and what makes it so.
type Case<T> = (&'static str, fn(&T));

/// A root with the graphs `g` and `other`, each with a port, and no server.
struct World {
    root: TempDir,
    files: TempDir,
}

/// What a command printed, and its exit code.
#[derive(Debug)]
struct Finished {
    code: i32,
    text: String,
}

fn run(server: &Server, arguments: &[&str]) -> Finished {
    let output = omnigraph().args(arguments).args(["--url", &server.url]).stdin(Stdio::null()).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Finished { code: output.status.code().unwrap(), text }
}

impl World {
    fn new() -> Self {
        let world = Self { root: root(), files: tempfile::tempdir().unwrap() };
        fs::write(world.files.path().join("ports.pg"), SCHEMA).unwrap();
        let server = world.serve();
        for graph in ["g", "other"] {
            let schema = world.files.path().join("ports.pg");
            let made = run(&server, &["graph", "create", graph, "--schema", schema.to_str().unwrap()]);
            assert_eq!(made.code, 0, "{made:?}");
            assert_eq!(world.load(&server, graph, "OSL").code, 0);
        }
        assert!(server.stop().success());
        world
    }

    fn serve(&self) -> Server {
        Server::start(self.root.path(), &[("RUST_BACKTRACE", "0")])
    }

    fn load(&self, server: &Server, graph: &str, code: &str) -> Finished {
        let file = self.files.path().join("rows.csv");
        fs::write(&file, format!("code\n{code}\n")).unwrap();
        run(server, &["load", graph, "--type", "Port", file.to_str().unwrap(), "--mode", "append"])
    }

    /// The folder of graph `g`: the entry of its name holds its id.
    fn graph(&self) -> PathBuf {
        let entry = fs::read(self.name_entry()).unwrap();
        let entry: serde_json::Value = serde_json::from_slice(&entry).unwrap();
        self.root.path().join(entry["graph_id"].as_str().unwrap())
    }

    fn name_entry(&self) -> PathBuf {
        files(&self.root.path().join("__graphs/g")).pop().unwrap()
    }

    /// Where the next intent of `main` belongs.
    fn next_intent(&self) -> PathBuf {
        let folder = files(&self.graph().join("__recovery")).pop().unwrap();
        let newest = files(&folder).pop().unwrap();
        let version: u64 = newest.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        folder.join(format!("{:020}.json", version + 1))
    }

    /// The manifest of the newest version of `main`. Lance numbers versions downwards: it is the first.
    fn newest_manifest(&self) -> PathBuf {
        files(&self.graph().join("__manifest/_versions")).remove(0)
    }
}

/// Files and folders of a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn huge(path: &Path) {
    File::create(path).unwrap().set_len(HUGE_BYTES).unwrap();
}

/// Overwrites some bytes in the middle and at the end by noise.
fn scribble(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    for at in (middle..bytes.len()).step_by(3) {
        bytes[at] = bytes[at].wrapping_mul(31).wrapping_add(u8::try_from(at % 251).unwrap());
    }
    fs::write(path, bytes).unwrap();
}

fn peak_bytes(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid)).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// What must hold for any damage in `g`: a write to it is refused with one of these words, `check` reports that a person is needed, the other graph
/// takes writes, and nothing panicked or held too much.
#[track_caller]
fn assert_only_g_is_refused(what: &str, world: &World, words: &[&str]) {
    let server = world.serve();
    let written = world.load(&server, "g", "HAM");
    assert_ne!(written.code, 0, "{what}: {written:?}");
    let names_it = words.iter().any(|word| written.text.contains(word));
    assert!(names_it, "{what}: none of {words:?} is in {written:?}");
    assert!(!written.text.contains("INTERNAL"), "{what}: {written:?}");
    let checked = run(&server, &["check", "g"]);
    assert_eq!(checked.code, 4, "{what}: {checked:?}");
    // A key of its own for each thing.
    let other = world.load(&server, "other", &what.replace(' ', ""));
    assert_eq!(other.code, 0, "{what}: {other:?}");
    assert_eq!(run(&server, &["check", "other"]).code, 0, "{what}");
    assert_sound(what, &server);
}

#[track_caller]
fn assert_sound(what: &str, server: &Server) {
    let log = server.log();
    let panics: Vec<_> = log.lines().filter(|line| line.contains("panicked at")).collect();
    assert_eq!(panics, Vec::<&str>::new(), "{what}: the server panicked");
    let peak = peak_bytes(server);
    assert!(peak <= MEMORY_BYTES_MAX, "{what}: the server held {peak} bytes");
    eprintln!("{what}: the server held {peak} bytes at most");
}

/// Contents of the place of an intent.
const INTENTS: [Case<Path>; 7] = [
    ("noise", |path| fs::write(path, [0xff_u8, 0, 0x7b, 0x22, 0xfe].repeat(1_000)).unwrap()),
    ("an empty file", |path| fs::write(path, "").unwrap()),
    ("half an intent", |path| {
        let whole = fs::read(files(path.parent().unwrap()).pop().unwrap()).unwrap();
        fs::write(path, &whole[..whole.len() / 2]).unwrap();
    }),
    ("the intent of another version", |path| {
        fs::copy(files(path.parent().unwrap()).pop().unwrap(), path).unwrap();
    }),
    ("a deep value", |path| fs::write(path, "[".repeat(1_000_000)).unwrap()),
    ("a huge file", huge),
    ("a folder", |path| fs::create_dir(path).unwrap()),
];

#[test]
fn what_is_no_intent_stops_writes_of_its_branch_only() {
    let world = World::new();
    for (what, make) in INTENTS {
        let place = world.next_intent();
        make(&place);
        assert_only_g_is_refused(what, &world, &["omnigraph repair g"]);
        let server = world.serve();
        let read = run(&server, &["query", "g", "--text", "query n() { match { $p: Port } return { $p.code } }"]);
        assert!(read.code == 0 && read.text.contains("OSL"), "{what}: {read:?}");
        assert!(server.stop().success());
        if place.is_dir() { fs::remove_dir(&place).unwrap() } else { fs::remove_file(&place).unwrap() }
    }
    let server = world.serve();
    assert_eq!(world.load(&server, "g", "HAM").code, 0, "the obstacle is removed");
}

#[test]
fn folder_in_an_intents_place_is_repaired_like_an_unreadable_intent() {
    let world = World::new();
    fs::create_dir(world.next_intent()).unwrap();
    let server = world.serve();
    let shown = run(&server, &["repair", "g", "--output", "json"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    let shown: serde_json::Value = serde_json::from_str(&shown.text).unwrap();
    let confirmed = run(&server, &["repair", "g", "--confirm", shown["confirm"].as_str().unwrap()]);
    assert!(confirmed.code == 0 && confirmed.text.contains("done: version"), "{confirmed:?}");
    let written = world.load(&server, "g", "HAM");
    assert_eq!(written.code, 0, "{written:?}");
    assert_sound("a folder that was repaired", &server);
}

#[test]
fn damaged_manifest_stops_its_graph_only() {
    let cases: [Case<World>; 6] = [
        ("a manifest of noise", |world| scribble(&world.newest_manifest())),
        ("half a manifest", |world| {
            let path = world.newest_manifest();
            let bytes = fs::read(&path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("an empty manifest", |world| fs::write(world.newest_manifest(), "").unwrap()),
        ("a huge manifest", |world| huge(&world.newest_manifest())),
        ("rows of noise", |world| files(&world.graph().join("__manifest/data")).iter().for_each(|path| scribble(path))),
        ("empty files of rows", |world| {
            files(&world.graph().join("__manifest/data")).iter().for_each(|path| fs::write(path, "").unwrap());
        }),
    ];
    for (what, damage) in cases {
        let world = World::new();
        damage(&world);
        assert_only_g_is_refused(what, &world, &["CORRUPT"]);
    }
}

#[test]
fn damaged_rows_of_a_table_are_told_as_such() {
    let cases: [Case<Path>; 3] = [
        ("a data file of noise", scribble),
        ("an empty data file", |path| fs::write(path, "").unwrap()),
        ("a huge data file", huge),
    ];
    for (what, damage) in cases {
        let world = World::new();
        let table = files(&world.graph().join("tables/nodes")).remove(0);
        files(&table.join("data")).iter().for_each(|path| damage(path));
        let server = world.serve();
        let read = run(&server, &["query", "g", "--text", "query n() { match { $p: Port } return { $p.code } }"]);
        assert!(read.code == 1 && read.text.contains("CORRUPT"), "{what}: {read:?}");
        let other = world.load(&server, "other", "HAM");
        assert_eq!(other.code, 0, "{what}: {other:?}");
        assert_sound(what, &server);
    }
}

#[test]
fn damaged_name_stops_its_graph_only() {
    let cases: [Case<Path>; 4] = [
        ("an entry of noise", |path| fs::write(path, [0xff, 0x7b, 0]).unwrap()),
        ("an entry that is deep", |path| fs::write(path, "[".repeat(100_000)).unwrap()),
        ("an entry that is huge", huge),
        ("an entry that is a folder", |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
    ];
    for (what, damage) in cases {
        let world = World::new();
        damage(&world.name_entry());
        let server = world.serve();
        let written = world.load(&server, "g", "HAM");
        assert!(written.code == 1 && written.text.contains("CORRUPT"), "{what}: {written:?}");
        assert_eq!(world.load(&server, "other", "HAM").code, 0, "{what}");
        assert_sound(what, &server);
    }
}

#[test]
fn damaged_contract_stops_its_graph_only() {
    let cases: [Case<Path>; 3] = [
        ("a contract of noise", |path| fs::write(path, [0xff, 0x7b, 0]).unwrap()),
        ("a huge contract", huge),
        ("a contract that is a folder", |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
    ];
    for (what, damage) in cases {
        let world = World::new();
        damage(&files(&world.graph().join("__schema")).pop().unwrap());
        assert_only_g_is_refused(what, &world, &["CORRUPT"]);
    }
}

#[test]
fn files_that_belong_nowhere_have_no_effect() {
    let world = World::new();
    let graph = world.graph();
    let (versions, intents) = (graph.join("__manifest/_versions"), world.next_intent());
    let intents = intents.parent().unwrap();
    for folder in [world.root.path(), &world.root.path().join("__graphs"), &graph, &versions, intents] {
        for name in ["x", "0", "-1.json", "99999999999999999999999.json", "UPPER", "ü", ".hidden", "x.manifest"] {
            fs::write(folder.join(name), "noise").unwrap();
        }
        fs::create_dir(folder.join("empty")).unwrap();
    }
    let server = world.serve();
    for graph in ["g", "other"] {
        let written = world.load(&server, graph, "HAM");
        assert_eq!(written.code, 0, "{written:?}");
        let checked = run(&server, &["check", graph]);
        assert_eq!(checked.code, 0, "{checked:?}");
    }
    assert_sound("files that belong nowhere", &server);
}
