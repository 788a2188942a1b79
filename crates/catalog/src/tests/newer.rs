//! What only a newer program of the same format knows: read around, never written, never taken for damage.

use omnigraph_types::{CommitKind, GraphName, Problem};
use serde_json::{Value, json};

use super::golden::{batch_of, text_of};
use super::samples::{self, Dice, VERSION};
use crate::error::CatalogError;
use crate::format::v2::{self, decode_lineage, decode_registers, decode_state, encode_state};
use crate::names::read_entry;
use crate::newer::Reading;
use crate::rows::{DecidedBy, PublicationKind, PublicationResult};
use crate::state::State;

/// The rows of a sampled state, changed.
fn changed(change: impl FnOnce(&mut Vec<Value>)) -> State {
    let state = samples::state(&mut Dice::new(2));
    let mut rows: Vec<Value> = serde_json::from_str(&text_of(&encode_state(&state).unwrap())).unwrap();
    change(&mut rows);
    decode_state(&[batch_of(&Value::from(rows).to_string())], VERSION).unwrap()
}

fn last<'a>(rows: &'a mut [Value], kind: &str) -> &'a mut Value {
    &mut rows.iter_mut().rev().find(|row| row["kind"] == kind).unwrap()["body"]
}

fn assert_refused(state: &State) {
    let refused = encode_state(state).unwrap_err();
    assert!(matches!(refused, CatalogError::Newer(_)), "{refused:?}");
    let failure = refused.failure();
    assert_eq!(failure.problem, Problem::StorageFormat { found: 2, supported: 2 });
    assert!(failure.message.contains("upgrade this server"), "{}", failure.message);
}

#[test]
fn row_of_an_unknown_kind_is_left_out_and_the_rest_is_read() {
    let known = samples::state(&mut Dice::new(2));
    let state = changed(|rows| rows.push(json!({ "kind": "lease", "key": "", "body": { "any": ["thing"] } })));
    assert_eq!(state.newer.as_ref().unwrap().what, "a row \"lease\" of the manifest");
    assert_refused(&state);
    assert_eq!(State { newer: None, ..state }, known);
}

#[test]
fn unknown_kinds_in_known_rows_are_read_as_newer() {
    let state = changed(|rows| last(rows, "publication")["kind"] = "teleport".into());
    assert_eq!(state.published_by().unwrap().kind, PublicationKind::Newer);
    assert_refused(&state);

    let state = changed(|rows| last(rows, "publication")["decision"]["by"] = "lot".into());
    assert_eq!(state.published_by().unwrap().decision.by, DecidedBy::Newer);
    assert_refused(&state);

    let state = changed(|rows| last(rows, "publication")["result"] = json!({ "is": "moved", "where": "there" }));
    assert_eq!(state.published_by().unwrap().result, PublicationResult::Nothing);
    assert_refused(&state);

    let state = changed(|rows| last(rows, "commit")["kind"] = "replay".into());
    assert_eq!(state.head_commit().kind, CommitKind::Newer);
    assert_refused(&state);

    let state = changed(|rows| last(rows, "recovery")["kind"] = "teleport".into());
    assert_eq!(state.recoveries.last().unwrap().kind, PublicationKind::Newer);
    assert_refused(&state);

    let state = changed(|rows| last(rows, "table")["kind"] = "view".into());
    assert_eq!(state.tables.len(), 2, "the table is left out");
    assert_refused(&state);
}

#[test]
fn operations_of_a_publication_of_an_unknown_kind_are_found() {
    let known = samples::state(&mut Dice::new(2));
    let operation = known.published_by().unwrap().operations.first().operation_id;
    let state = changed(|rows| last(rows, "publication")["kind"] = "teleport".into());
    let row = state.published_by().unwrap().operation(operation).unwrap();
    assert_eq!((row.kind, row.version), (PublicationKind::Newer, VERSION));
}

#[test]
fn unknown_or_missing_field_is_damage() {
    let state = samples::state(&mut Dice::new(2));
    let rows: Vec<Value> = serde_json::from_str(&text_of(&encode_state(&state).unwrap())).unwrap();
    for place in 0..rows.len() {
        let damaged = |change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
            let mut rows = rows.clone();
            change(rows[place]["body"].as_object_mut().unwrap());
            decode_state(&[batch_of(&Value::from(rows).to_string())], VERSION).unwrap_err()
        };
        let added = damaged(&|body| {
            body.insert("lease".to_owned(), Value::Null);
        });
        let emptied = damaged(&|body| body.clear());
        for error in [added, emptied] {
            assert!(matches!(error, CatalogError::Corrupt { .. }), "{}: {error:?}", rows[place]["kind"]);
        }
    }
}

#[test]
fn base_and_history_with_unknown_rows_are_read_and_say_so() {
    let lease = r#"[{"kind":"lease","key":"","body":{}}]"#;
    assert!(decode_registers(&[batch_of(lease)], VERSION).unwrap().newer.is_some());
    assert!(decode_lineage(&[batch_of(lease)], VERSION).unwrap().newer.is_some());
}

#[test]
fn entry_of_an_unknown_state_is_a_newer_server_s() {
    let name: GraphName = "harbour".parse().unwrap();
    let error = read_entry(&name, br#"{"format":2,"state":"lent","to":"another root"}"#).unwrap_err();
    assert!(matches!(error, CatalogError::Newer(_)), "{error:?}");
}

fn publication(change: impl FnOnce(&mut Value)) -> String {
    let publication = samples::publication(&mut Dice::new(3));
    let mut value = serde_json::to_value(v2::Publication::from(&publication)).unwrap();
    change(&mut value);
    value.to_string()
}

#[test]
fn publication_with_an_unknown_part_is_a_newer_server_s() {
    let change = |part: &str, value: Value| publication(|publication| publication[part] = value);
    let unknown = [
        change("kind", "teleport".into()),
        publication(|publication| publication["decision"]["by"] = "lot".into()),
        publication(|publication| {
            publication["changes"].as_array_mut().unwrap().push(json!({ "change": "lease", "until": { "ms": 5 } }));
        }),
        publication(|publication| {
            publication["preconditions"].as_array_mut().unwrap().push(json!({ "precondition": "lease_held" }));
        }),
        publication(|publication| publication["changes"][0]["kind"] = "replay".into()),
        publication(|publication| publication["changes"][2]["kind"] = "view".into()),
    ];
    for text in unknown {
        let read = serde_json::from_str::<v2::Publication>(&text).unwrap().read();
        assert!(matches!(&read, Ok(Reading::Newer(_))), "{read:?} of {text}");
    }
}

#[test]
fn publication_with_a_damaged_part_is_damage() {
    let damaged = [
        publication(|publication| publication["lease"] = Value::Null),
        publication(|publication| publication["changes"][0]["lease"] = Value::Null),
        publication(|publication| publication["changes"][1]["lease"] = Value::Null),
        publication(|publication| publication["changes"][5] = json!({ "change": "pin", "table": 1 })),
        publication(|publication| publication["preconditions"][0]["lease"] = Value::Null),
        publication(|publication| publication["operations"] = json!([])),
        publication(|publication| {
            let first = publication["operations"][0].clone();
            publication["operations"] = json!([first, first]);
        }),
    ];
    for text in damaged {
        assert!(serde_json::from_str::<v2::Publication>(&text).is_err(), "{text}");
    }
    let two_commits = publication(|publication| {
        let commit = publication["changes"][0].clone();
        publication["changes"].as_array_mut().unwrap().push(commit);
    });
    let other_operations = publication(|publication| {
        publication["operations"][0]["operation_id"] = "01JZ8Q6Y3V5B7N9D1F3H5K7M04".into();
    });
    for text in [two_commits, other_operations] {
        assert!(serde_json::from_str::<v2::Publication>(&text).unwrap().read().is_err(), "{text}");
    }
}
