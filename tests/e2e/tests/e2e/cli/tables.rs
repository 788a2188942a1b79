//! Rows of the graph as any reader of Lance has them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Server, interpreter};

use super::{AIRPORT_COLUMNS, Finished, ROUTES, World};

/// Rows and names of the columns that pylance reads by the lines that `table locate` prints.
fn read_by_pylance(lines: &str) -> Value {
    let program = format!(
        "{lines}\nimport json\nrows = table.to_table()\nprint(json.dumps([rows.num_rows, rows.column_names]))\n"
    );
    let read = interpreter().args(["-B", "-c", &program]).output().unwrap();
    Finished::of(read).done().json()
}

#[test]
fn pylance_reads_what_a_query_reads_on_main_on_a_branch_and_at_an_older_commit() {
    let world = World::with_airline();
    world.run(&["load", "airline", "--type", "Airport", "tests/data/airports.csv", "--mode", "append"]).done();
    let first = world.json(&["log", "airline", "--limit", "1"])["rows"][0]["commit"].as_str().unwrap().to_owned();
    let routes = [&["load", "airline"], ROUTES, &["tests/data/flights-airport.csv", "--mode", "append"]].concat();
    world.run(&routes).done();
    world.run(&["branch", "create", "airline", "trial"]).done();
    let more = |name: &str| world.file(&format!("{name}.csv"), &format!("{AIRPORT_COLUMNS}{name},New,,,USA,40,-90\n"));
    let load = |branch: &str, file: &str| {
        world.run(&["load", "airline", "--branch", branch, "--type", "Airport", file, "--mode", "append"]).done();
    };
    load("trial", &more("QQQ"));
    load("main", &more("YYY"));
    load("main", &more("ZZZ"));

    let airports = "match { $a: Airport } return { count($a) as n }";
    let flights = "match { $s: Airport $t: Airport $s route $t } return { count($s) as n }";
    let cases: [(&str, &[&str], &str, u64); 6] = [
        ("Airport", &[], airports, 3378),
        ("Airport", &["--branch", "trial"], airports, 3377),
        ("Route", &["--branch", "trial"], flights, 5366),
        ("Airport", &["--at-commit", &first], airports, 3376),
        ("Route", &["--at-commit", &first], flights, 0),
        ("Route", &[], flights, 5366),
    ];
    for (name, at, pattern, rows) in cases {
        let text = format!("query n() {{ {pattern} }}");
        let query = [&["query", "airline", "--text", &text], at].concat();
        assert_eq!(world.json(&query)["rows"][0]["n"], rows, "{name} {at:?}");
        let lines = world.run(&[&["table", "locate", "airline", name], at].concat()).done().out;
        let read = read_by_pylance(&lines);
        assert_eq!(read[0], rows, "{name} {at:?}: {lines}");
        assert_eq!(read[1][0], "id", "{lines}");
        let located = world.json(&[&["table", "locate", "airline", name], at].concat());
        assert_eq!(located["python"].as_str().unwrap(), lines.trim_end());
        let listed = world.json(&[&["table", "list", "airline"], at].concat());
        let row = listed["rows"].as_array().unwrap().iter().find(|row| row["type"] == name).unwrap().clone();
        for field in ["dataset", "lance_branch", "version", "rows", "base_paths"] {
            assert_eq!(located[field], row[field], "{field}");
        }
        assert_eq!(row["rows"], rows, "{row}");
    }
}

#[test]
fn tables_are_listed_for_people_and_a_damaged_one_is_not_located() {
    let world = World::with_airline();
    world.run(&["table", "list", "airline"]).done().says(&["Airport", "iata", "Route", "edge", "_", "version"]);
    world.run(&["table", "locate", "airline", "Airprt"]).fails(1, &["TYPE_NOT_FOUND", "Airport"]);
    world.run(&["table", "list", "airline", "--branch", "trial"]).fails(1, &["BRANCH_NOT_FOUND"]);
    let located = world.json(&["table", "locate", "airline", "Airport"]);
    let versions = Path::new(located["dataset"].as_str().unwrap()).join("_versions");
    for manifest in fs::read_dir(versions).unwrap() {
        fs::write(manifest.unwrap().path(), b"").unwrap();
    }
    let world = World { server: Server::start(world.root.path(), &[]), ..world };
    let listed = world.json(&["table", "list", "airline"]);
    let damaged: Vec<&str> = listed["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| !row["damage"].is_null())
        .map(|row| row["type"].as_str().unwrap())
        .collect();
    assert_eq!(damaged, ["Airport"], "{listed}");
    world.run(&["table", "locate", "airline", "Airport"]).fails(1, &["Airport", "omnigraph check airline"]);
    world.run(&["table", "locate", "airline", "Route"]).done().says(&["import lance", "lance.dataset("]);
}
