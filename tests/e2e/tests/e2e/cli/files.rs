//! Files that people have, and what the command line prints: read back as the same values, or refused with the place.

use std::fs;
use std::process::Stdio;

use crate::support::{omnigraph, workspace};

use super::{AIRPORT_COLUMNS, Finished, World};

/// A type with a property of every kind that a file can hold.
const SCHEMA: &str =
    "node P { k: String @key  s: String?  i: I64?  u: U64?  f: F64?  g: F32?  b: Bool?  d: Date?  at: DateTime?
    tags: [String]?  nums: [I64]?  v: Vector(2)? }
edge E: P -> P { n: I32 }";
/// Every property.
const ALL: &str = "query all() { match { $p: P } return { $p.k as k, $p.s as s, $p.i as i, $p.u as u, $p.f as f, $p.g as g, $p.b as b, $p.d as d,
    $p.at as at, $p.tags as tags, $p.nums as nums, $p.v as v } order { k } }";

fn world() -> World {
    let world = World::new();
    let schema = world.file("p.pg", SCHEMA);
    for graph in ["one", "two"] {
        world.run(&["graph", "create", graph, "--schema", &schema]).done();
    }
    world
}

#[test]
fn what_is_printed_as_csv_is_loaded_as_the_same_values() {
    let world = world();
    let rows = [
        r#"{"k":"a","s":"","i":-9223372036854775808,"u":18446744073709551615,"f":1e-7,"g":0.1,"b":true,"d":"0001-01-01","at":"9999-12-31T23:59:59.999Z","tags":["1.50","","a,b","\"q\"","é\n"],"nums":[9007199254740993,-1],"v":[0.5,1]}"#,
        r#"{"k":"b, \"quoted\"","s":" \"x\"","tags":[],"nums":[]}"#,
        r#"{"k":"c\r\nd","s":"two\nlines"}"#,
        r#"{"k":"null","s":"null"}"#,
        r#"{"k":"without"}"#,
    ];
    let file = world.file("rows.ndjson", &rows.join("\n"));
    world.run(&["load", "one", "--type", "P", &file, "--mode", "append"]).done().says(&["P +5"]);
    let printed = world.run(&["query", "one", ALL, "--output", "csv"]).done();
    let csv = world.file("rows.csv", &printed.out);
    world.run(&["load", "two", "--type", "P", &csv, "--mode", "append"]).done().says(&["P +5"]);
    let json = |graph| world.run(&["query", graph, ALL, "--output", "json"]).done().json();
    assert_eq!(json("one"), json("two"));
    assert_eq!(world.run(&["query", "two", ALL, "--output", "csv"]).done().out, printed.out);

    // One column: null is an empty line.
    let column = "query s() { match { $p: P } return { $p.s as s } order { s } }";
    let printed = world.run(&["query", "one", column, "--output", "csv"]).done();
    assert_eq!(printed.out.lines().filter(|line| line.is_empty()).count(), 1, "{}", printed.out);
}

#[test]
fn plain_ndjson_is_rows_of_the_type_that_is_named() {
    let world = world();
    let nodes = world.file("p.ndjson", "{\"k\":\"a\",\"i\":1}\n\n{\"k\":\"b\"}\n");
    world.run(&["load", "one", "--type", "P", &nodes, "--mode", "append"]).done().says(&["P +2"]);
    let edges = world.file("e.ndjson", "{\"src\":\"a\",\"dst\":\"b\",\"n\":7}\n");
    world.run(&["load", "one", "--type", "E", &edges, "--mode", "append"]).done().says(&["E +1"]);
    let query = "query n() { match { $a: P { k: \"a\" } $a $e:e $b } return { $b.k as k, $e.n as n } }";
    let found = world.run(&["query", "one", query, "--output", "json"]).done().json();
    assert_eq!(found["rows"], serde_json::json!([{ "k": "b", "n": 7 }]));
    let wrong = world.file("w.ndjson", "{\"k\":\"c\"}\n\n[1]\n");
    world
        .run(&["load", "one", "--type", "P", &wrong, "--mode", "append"])
        .fails(1, &["w.ndjson, line 3", "JSON object", "nothing was stored"]);
    let unknown = world.file("u.ndjson", "{\"type\":\"Q\",\"data\":{}}\n");
    world.run(&["load", "one", &unknown, "--mode", "append"]).fails(1, &["Q", "it has: P"]);
    world.run(&["load", "one", "--type", "Q", &nodes, "--mode", "append"]).fails(1, &["TYPE_NOT_FOUND", "P"]);
}

#[test]
fn compressed_and_separated_files_are_loaded_and_suspected() {
    let world = World::with_airline();
    let load = |file: &str, more: &[&str]| {
        world.run(&[&["load", "airline", "--type", "Airport", file, "--mode", "append"], more].concat())
    };
    let text = format!("{AIRPORT_COLUMNS}OSL,Oslo,,,NO,60,11\n");
    let path = world.files.path().join("a.csv.gz");
    let mut encoder = flate2::write::GzEncoder::new(fs::File::create(&path).unwrap(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
    encoder.finish().unwrap();
    load(path.to_str().unwrap(), &[]).done().says(&["Airport +1"]);

    let semicolons = world.file("s.csv", &text.replace(',', ";").replace("OSL", "BGO"));
    load(&semicolons, &[]).fails(2, &["--delimiter ';'"]);
    load(&semicolons, &["--delimiter", ";"]).done().says(&["Airport +1"]);

    // The server names rows of the load; a person looks for lines.
    let lines = world.file("l.csv", &format!("{AIRPORT_COLUMNS}TRD,\"Trond\nheim\",,,NO,63,10\n\nQQQ,x,,,NO,95,5\n"));
    load(&lines, &[]).fails(1, &["CONSTRAINT_VIOLATION", "95", "row 2 of the load is in line 5 of"]);
    let short = world.file("k.csv", "iata,country\na,NO\nb\nc,NO\n");
    load(&short, &[]).fails(1, &["k.csv, line 3: the record has 1 cell, and the header has 2"]);
    let trailing = world.file("t.csv", "iata,country\na,\"ok\" trailing\n");
    load(&trailing, &[]).fails(1, &["t.csv, line 2", "closing quote"]);
}

#[test]
fn damaged_parquet_file_is_named() {
    let world = World::with_airline();
    let mut bytes = fs::read(workspace().join("tests/data/airports.csv")).unwrap();
    bytes.truncate(100);
    let path = world.files.path().join("d.parquet");
    fs::write(&path, [b"PAR1", &bytes[..], b"\x10\0\0\0PAR1"].concat()).unwrap();
    world
        .run(&["load", "airline", "--type", "Airport", path.to_str().unwrap(), "--mode", "append"])
        .fails(1, &["d.parquet", "nothing was stored"]);
}

#[test]
fn command_line_helps_as_people_expect() {
    let run = |arguments: &[&str]| Finished::of(omnigraph().args(arguments).stdin(Stdio::null()).output().unwrap());
    run(&["help"]).done().says(&["Commands:", "load"]);
    run(&["help", "load"]).done().says(&["--delimiter", "Examples:"]);
    run(&["completions", "bash"]).done().says(&["_omnigraph", "recoveries"]);
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    run(&["man", pages.to_str().unwrap()]).done();
    for page in ["omnigraph.1", "omnigraph-load.1", "omnigraph-branch-create.1"] {
        assert!(pages.join(page).is_file(), "{page}");
    }
    let version = run(&["--version"]).done();
    assert!(version.out.starts_with("omnigraph ") && version.out.lines().count() == 1, "{version:#?}");
}

#[test]
fn query_takes_its_text_and_the_server_its_address_in_short() {
    let world = World::with_airline();
    let text = "query n($least: I64) { match { $a: Airport } return { count($a) as n } }";
    let address = world.server.url.strip_prefix("grpc://").unwrap();
    let run = |arguments: &[&str]| {
        let mut command = omnigraph();
        command.args(arguments).env("OMNIGRAPH_TIMEOUT", "").stdin(Stdio::null());
        Finished::of(command.output().unwrap())
    };
    run(&["query", "airline", text, "--param", "least=1", "--url", address]).done();
    run(&["query", "airline", text, "--param", "most=1", "--url", address])
        .fails(1, &["PARAM_INVALID", "declares no parameter $most", "next: correct --param most"]);
    let file = world.file("q.gq", text);
    run(&["query", "airline", &file, "--url", address]).fails(2, &["-f"]);

    // An empty variable is none: the default address is tried, whoever answers there.
    let mut command = omnigraph();
    command.args(["graph", "list"]).env("OMNIGRAPH_URL", "").stdin(Stdio::null());
    let done = Finished::of(command.output().unwrap());
    assert!(!done.err.contains("is not the URL of a server"), "{done:#?}");
}
