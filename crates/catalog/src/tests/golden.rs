//! Golden files of format 2: each is read, and written again byte for byte. They were written once, by the first program of this format, and
//! are never written again: a program that cannot pass has another format.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use omnigraph_types::{GraphName, GraphVersion};
use serde_json::Value;

use super::samples::VERSION;
use crate::format::raw::manifest_schema;
use crate::format::v2;
use crate::names::read_entry;
use crate::newer::Reading;

/// Bytes of one golden file.
fn golden(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/format/v2").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Rows as a golden file lists them.
pub(super) fn text_of(batch: &RecordBatch) -> String {
    let column = |place: usize| batch.column(place).as_string::<i32>();
    let row = |row: usize| {
        let (kind, key) = (Value::from(column(0).value(row)), Value::from(column(1).value(row)));
        format!("{{\"kind\":{kind},\"key\":{key},\"body\":{}}}", column(2).value(row))
    };
    format!("[\n{}\n]\n", (0..batch.num_rows()).map(row).collect::<Vec<_>>().join(",\n"))
}

/// The rows of a golden file.
pub(super) fn batch_of(text: &str) -> RecordBatch {
    let rows: Vec<Value> = serde_json::from_str(text).unwrap();
    let column = |texts: Vec<String>| Arc::new(StringArray::from(texts)) as ArrayRef;
    let text = |name: &str| column(rows.iter().map(|row| row[name].as_str().unwrap().to_owned()).collect());
    let bodies = column(rows.iter().map(|row| row["body"].to_string()).collect());
    RecordBatch::try_new(manifest_schema(), vec![text("kind"), text("key"), bodies]).unwrap()
}

#[test]
fn state_is_written_as_it_was_read() {
    let file = golden("state.json");
    let state = v2::decode_state(&[batch_of(&file)], VERSION).unwrap();
    assert_eq!(text_of(&v2::encode_state(&state).unwrap()), file);
    for kind in ["table", "unsettled", "recovery", "history", "branch", "retired", "retention", "publication"] {
        assert!(file.contains(&format!("{{\"kind\":\"{kind}\"")), "{kind}");
    }
}

#[test]
fn state_with_a_base_names_its_fragment() {
    let file = golden("state_with_base.json");
    let state = v2::decode_state(&[batch_of(&file)], VERSION).unwrap();
    assert_eq!(state.base, Some(41));
    let mut whole = state.clone();
    whole.tables_changed = state.tables.keys().copied().collect();
    whole.branches_changed = state.branches.keys().copied().collect();
    assert_eq!(text_of(&v2::encode_state(&whole).unwrap()), file);
}

#[test]
fn base_is_written_as_it_was_read() {
    let file = golden("base.json");
    let base = v2::decode_registers(&[batch_of(&file)], VERSION).unwrap();
    let mut state = v2::decode_state(&[batch_of(&golden("state.json"))], VERSION).unwrap();
    (state.tables, state.branches) = (base.tables, base.branches);
    assert_eq!(text_of(&v2::encode_registers(&state).unwrap()), file);
}

#[test]
fn history_is_written_as_it_was_read() {
    let file = golden("history.json");
    let history = v2::decode_lineage(&[batch_of(&file)], GraphVersion(9)).unwrap();
    assert_eq!(text_of(&v2::encode_lineage(&history.commits, &history.publications).unwrap()), file);
}

#[test]
fn publication_is_written_as_it_was_read() {
    let file = golden("publication.json");
    let body: v2::Publication = serde_json::from_str(&file).unwrap();
    let Reading::Known(publication) = body.read().unwrap() else { panic!("a newer server's") };
    assert_eq!(serde_json::to_string(&v2::Publication::from(&publication)).unwrap() + "\n", file);
    assert_eq!((publication.changes.len(), publication.preconditions.len()), (12, 8), "one of every kind");
}

#[test]
fn entry_of_a_created_graph_is_written_as_it_was_read() {
    entry_is_written_as_it_was_read("name_entry_created.json");
}

#[test]
fn entry_of_a_deleted_graph_is_written_as_it_was_read() {
    entry_is_written_as_it_was_read("name_entry_deleted.json");
}

fn entry_is_written_as_it_was_read(file: &str) {
    let name: GraphName = "harbour".parse().unwrap();
    let file = golden(file);
    let entry = read_entry(&name, file.as_bytes()).unwrap();
    assert_eq!(v2::encode_name_entry(&entry).unwrap(), file.trim_end().as_bytes());
}
