//! A small graph's state and intents, as the product stores them.

use arrow::array::{RecordBatch, StringArray};
use omnigraph_catalog::{State, stored};
use omnigraph_types::{BranchId, GraphVersion};
use serde_json::{Value, json};

/// The version of the state; intents are for the next one.
pub(super) const VERSION: GraphVersion = GraphVersion(7);
pub(super) const GRAPH: &str = "01JZ8Q6Y3V5B7N9D1F3H5K7M00";
pub(super) const MAIN: &str = "01JZ8Q6Y3V5B7N9D1F3H5K7M01";
const COMMIT: &str = "01JZ8Q6Y3V5B7N9D1F3H5K7M02";
const NEXT_COMMIT: &str = "01JZ8Q6Y3V5B7N9D1F3H5K7M03";
const OPERATION: &str = "01JZ8Q6Y3V5B7N9D1F3H5K7M04";
const ATTEMPT: &str = "01JZ8Q6Y3V5B7N9D1F3H5K7M05";
const TREE: &str = "01JZ8Q6Y3V5B7N9D1F3H5K7M06";
const BRANCH: &str = "01JZ8Q6Y3V5B7N9D1F3H5K7M07";
const HASH: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

pub(super) fn main_branch() -> BranchId {
    MAIN.parse().unwrap()
}

/// A row of the manifest: kind, key, body.
pub(super) type Row = (&'static str, String, Value);

fn table(id: u32, kind: &str, name: &str) -> Row {
    let body = json!({
        "id": id, "kind": kind, "type_name": name, "path": format!("{GRAPH}/tables/{kind}s/{id}"),
        "tree": if id == 2 { json!(TREE) } else { Value::Null },
        "owner": MAIN, "version": 4, "row_count": 12, "content_commit": COMMIT,
    });
    ("table", id.to_string(), body)
}

fn commit(id: &str, version: u64) -> Value {
    let counts = json!({ "table": 1, "kind": "node", "type_name": "Port", "inserted": 1, "updated": 2, "deleted": 0, "row_count": 12 });
    json!({
        "id": id, "parents": [COMMIT], "branch_id": MAIN, "version": version, "actor": "anonymous", "time_ms": 1_700_000_000_000_u64,
        "kind": "load", "schema_hash": HASH, "counts": [counts],
        "operations": [{ "operation_id": OPERATION, "actor": "anonymous", "kind": "load" }],
    })
}

fn operations() -> Value {
    json!([{ "operation_id": OPERATION, "digest": HASH }])
}

fn published(version: u64) -> Row {
    let body = json!({
        "version": version, "branch_id": MAIN, "kind": "commit", "decision": { "by": "own", "attempt_id": ATTEMPT },
        "result": { "is": "commit", "commit_id": COMMIT }, "operations": operations(),
    });
    ("publication", version.to_string(), body)
}

fn own_ids() -> Value {
    json!({ "operations": [OPERATION, OPERATION], "commits": [COMMIT, COMMIT] })
}

fn branch() -> Value {
    json!({
        "branch_id": BRANCH, "name": "trial/ü", "tree": TREE, "source": MAIN, "source_commit": COMMIT, "schema_hash": HASH,
        "created_ms": 1_700_000_000_001_u64, "removed": { "time_ms": 1_700_000_000_002_u64, "own_ids": own_ids() },
    })
}

fn unsettled(transactions: &Value) -> Value {
    json!({
        "attempt_id": ATTEMPT, "operation_id": OPERATION, "table": 1, "tree": { "path": format!("{GRAPH}/tables/nodes/1"), "tree": null },
        "expected": 4, "transactions": transactions,
    })
}

fn recovery(version: u64, kind: &str) -> Value {
    json!({
        "version": version, "kind": kind, "writer": "load", "operation_id": OPERATION, "attempt_id": ATTEMPT, "original_actor": "anonymous",
        "time_ms": 1_700_000_000_000_u64, "reason": "its owner is gone", "tables": [{ "table": 1, "from": 4, "to": 5 }],
    })
}

fn retired() -> Value {
    json!({
        "operation_id": OPERATION, "digest": HASH, "attempt_id": ATTEMPT, "actor": "anonymous", "time_ms": 1_700_000_000_000_u64,
        "own_ids": own_ids(),
    })
}

fn history(fragment: u64, level: u32) -> Row {
    let body = json!({
        "fragment": fragment, "level": level, "operations": 3, "version_min": 1, "version_max": 3, "operation_min": OPERATION, "operation_max": OPERATION,
        "commits": [COMMIT, COMMIT],
    });
    ("history", fragment.to_string(), body)
}

/// The rows of a state of `VERSION` that holds a row of every kind.
pub(super) fn state_rows() -> Vec<Row> {
    let mut rows = vec![
        (
            "graph",
            GRAPH.to_owned(),
            json!({ "format": 2, "graph_id": GRAPH, "main_branch_id": MAIN, "branch_id": MAIN }),
        ),
        ("schema", String::new(), json!({ "hash": HASH })),
        ("head", String::new(), json!({ "commit_id": COMMIT })),
        table(1, "node", "Port"),
        table(2, "edge", "Sails"),
        ("commit", COMMIT.to_owned(), commit(COMMIT, VERSION.0)),
        published(VERSION.0),
        ("unsettled", format!("{ATTEMPT}/1"), unsettled(&json!({ "listed": ["a", "b"] }))),
        ("recovery", "5".to_owned(), recovery(5, "abort")),
        ("own_ids", String::new(), own_ids()),
        ("branch", BRANCH.to_owned(), branch()),
    ];
    rows.extend((0..17).map(|fragment| history(fragment, 0)));
    rows.push(history(20, 1));
    rows
}

/// The rows of a base, and of a history fragment.
pub(super) fn other_rows() -> [Vec<Row>; 2] {
    let base = vec![table(1, "node", "Port"), table(2, "edge", "Sails"), ("branch", BRANCH.to_owned(), branch())];
    let history = vec![("commit", COMMIT.to_owned(), commit(COMMIT, 3)), published(3), published(4)];
    [base, history]
}

/// Rows as the dataset holds them.
pub(super) fn batch(rows: &[Row]) -> RecordBatch {
    let column = |texts: Vec<String>| std::sync::Arc::new(StringArray::from(texts)) as arrow::array::ArrayRef;
    let columns = vec![
        column(rows.iter().map(|(kind, ..)| (*kind).to_owned()).collect()),
        column(rows.iter().map(|(_, key, _)| key.clone()).collect()),
        column(rows.iter().map(|(.., body)| body.to_string()).collect()),
    ];
    RecordBatch::try_new(stored::schema(), columns).unwrap()
}

/// The state of `state_rows`.
pub(super) fn state() -> State {
    stored::read_state(&[batch(&state_rows())], VERSION).unwrap()
}

fn publication(kind: &str, by: &str, changes: &Value) -> Value {
    json!({
        "kind": kind, "decision": { "by": by, "attempt_id": ATTEMPT },
        "preconditions": [
            { "precondition": "exact_head", "commit_id": COMMIT }, { "precondition": "schema_is", "hash": HASH },
            { "precondition": "pin_is", "table": 1, "tree": null, "version": 4 },
            { "precondition": "operation_unseen", "operation_id": OPERATION }, { "precondition": "name_free", "name": "trial" },
            { "precondition": "branch_live", "branch_id": MAIN }, { "precondition": "no_other_branches" },
            { "precondition": "commit_retained", "commit_id": COMMIT, "branch_id": MAIN, "version": 6 },
        ],
        "changes": changes, "operations": operations(),
    })
}

fn intent(writer: &str, effects: &Value, publication: &Value) -> Value {
    let member = json!({ "table": 1, "type_name": "Port", "tree": null, "version": 4, "content_commit": COMMIT });
    json!({
        "format": 2, "writer": writer, "actor": "anonymous", "branch_id": MAIN,
        "base": VERSION.0, "token": { "branch_id": MAIN, "schema_hash": HASH, "head": null, "tables": [member] },
        "aborts": 0, "armed_ms": 1_700_000_000_000_u64, "effects": effects, "publication": publication,
    })
}

/// Intents of a load, of a settling, of a new branch and of a removal.
pub(super) fn intents() -> Vec<Value> {
    let effect = json!({
        "table": 1, "type_name": "Port", "tree": { "path": format!("{GRAPH}/tables/nodes/1"), "tree": TREE }, "expected": 4,
        "transactions": ["8a9a6d4e-0000-4000-8000-000000000001"],
    });
    let row = |change: &str, mut row: Value| {
        row["change"] = change.into();
        row
    };
    let pin = json!({
        "change": "pin", "table": 1, "tree": null, "owner": MAIN, "version": 5, "row_count": 13, "content_commit": NEXT_COMMIT,
    });
    let commit = row("commit", commit(NEXT_COMMIT, VERSION.0 + 1));
    let load = publication("commit", "own", &json!([commit, pin]));
    let settle = json!([
        pin, { "change": "unsettled_removed", "attempt_id": ATTEMPT, "table": 1 },
        row("unsettled_added", unsettled(&json!({ "listed": ["a"] }))),
        row("unsettled_added", unsettled(&json!({ "confirmed": ["b"] }))),
        row("recovery", recovery(VERSION.0 + 1, "settle")),
    ]);
    let added = json!({
        "change": "table_added", "id": 3, "kind": "node", "type_name": "Quay", "path": format!("{GRAPH}/tables/nodes/3"), "tree": null,
        "owner": MAIN, "version": 1, "row_count": 0, "content_commit": NEXT_COMMIT,
    });
    let schema = json!([
        commit, { "change": "schema", "hash": HASH }, added, { "change": "table_dropped", "table": 2 },
        { "change": "table_renamed", "table": 1, "type_name": "Harbour" },
    ]);
    let retention = json!([{ "change": "retention", "time_ms": 1_700_000_000_000_u64, "floors": { MAIN: 3 } }]);
    let branch = json!([row("branch", branch())]);
    vec![
        intent("load", &json!([effect, effect]), &load),
        intent("settle", &json!([]), &publication("settle", "own", &settle)),
        intent("branch_create", &json!([]), &publication("branch_create", "own", &branch)),
        intent("branch_delete", &json!([]), &publication("retire", "retire", &json!([row("retired", retired())]))),
        intent("schema_apply", &json!([]), &publication("commit", "own", &schema)),
        intent("cleanup", &json!([]), &publication("retention", "own", &retention)),
    ]
}

/// Entries of a graph's name.
pub(super) fn name_entries() -> [Value; 2] {
    let own =
        json!({ "format": 2, "graph_id": GRAPH, "operation_id": OPERATION, "digest": HASH, "actor": "anonymous" });
    let with = |more: Value| {
        let mut entry = own.clone();
        for (name, value) in more.as_object().into_iter().flatten() {
            entry[name] = value.clone();
        }
        entry
    };
    [
        with(json!({ "state": "created", "main_branch_id": MAIN, "created_ms": 1 })),
        with(json!({ "state": "deleted", "deleted_ms": 2 })),
    ]
}
