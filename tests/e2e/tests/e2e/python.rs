//! pyarrow.flight and grpcio as clients: rows there and back, and refusals with everything that an error carries.

use omnigraph_client::LoadOptions;
use serde_json::{Value, json};

use crate::support::{Server, airline, append, client, head, root, rows, verdict, workspace};

/// Two airports and a flight between them.
const ROWS: &str = r#"{"type":"Airport","data":{"iata":"AAA","name":"A","country":"USA","latitude":1,"longitude":2}}
{"type":"Airport","data":{"iata":"BBB","name":"B","country":"USA","latitude":1,"longitude":2}}
{"edge":"Flight","from":"AAA","to":"BBB","data":{"departed":"2008-01-01T00:00:00Z","delay":-1,"distance":10}}
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pyarrow_rows_come_back_as_the_same_multiset() {
    let root = root();
    let server = Server::start(root.path(), &[]);
    let client = client(&server).await;
    airline(&client).await;
    let airports = workspace().join("tests/data/airports.csv");
    let found = verdict("flights.py", &server, &[airports.to_str().unwrap()]);

    assert_eq!((&found["airports_sent"], &found["airports_equal"]), (&json!(3376), &json!(true)));
    let loads = found["loads"].as_array().unwrap();
    let sent: Vec<_> =
        loads.iter().map(|load| (load["kind"].as_str().unwrap(), load["compression"].as_str())).collect();
    let expected = [
        ("string", None),
        ("dictionary", None),
        ("large_string", None),
        ("string", Some("lz4")),
        ("string", Some("zstd")),
        ("dictionary", Some("zstd")),
    ];
    assert_eq!(sent, expected);
    for (at, load) in loads.iter().enumerate() {
        let count = if at == 0 { 20_000 } else { 6_001 };
        for (field, expected) in [("rows_read", count), ("rows_found", count), ("distinct_ids", count)] {
            assert_eq!(load[field], json!(expected), "{field}: {load}");
        }
        assert_eq!(load["equal"], json!(true), "{load}");
        assert!(load["batches"].as_u64().unwrap() >= 3, "{load}");
        assert!(load["negative_delays"].as_u64().unwrap() > 500, "{load}");
    }
    assert_eq!(found["info_records"], json!(6_001));
    assert_eq!(found["info_schema"], found["read_schema"]);
    assert_eq!(found["listed"], json!(["g/main/Airport", "g/main/Flight", "g/main/Route"]));
    let counts = rows(&client, &["Airport", "Flight", "Route"]).await;
    assert_eq!((counts["Airport"], counts["Flight"], counts["Route"]), (3_376, 6_001, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flight_is_called_by_what_reflection_says_of_it() {
    let root = root();
    let server = Server::start(root.path(), &[]);
    let client = client(&server).await;
    airline(&client).await;
    append(&client, ROWS).await.unwrap();
    let found = verdict("reflected.py", &server, &[]);
    let methods = [
        "Handshake",
        "ListFlights",
        "GetFlightInfo",
        "PollFlightInfo",
        "GetSchema",
        "DoGet",
        "DoPut",
        "DoExchange",
        "DoAction",
        "ListActions",
    ];
    assert_eq!((&found["methods"], &found["records"]), (&json!(methods), &json!(2)), "{found}");
    assert_eq!((&found["path"], &found["same_schema"]), (&json!(["g", "main", "Airport"]), &json!(true)), "{found}");
    assert!(found["schema_bytes"].as_u64().unwrap() > 100, "{found}");
    assert_eq!((&found["messages_with_rows"], &found["unknown_fields"]), (&json!(1), &json!(0)), "{found}");
    assert_eq!(found["listed"], json!(["g/main/Airport", "g/main/Flight", "g/main/Route"]));
}

/// What a refusal must carry, besides an effect of none.
struct Refusal {
    case: &'static str,
    code: u64,
    reason: &'static str,
    retry: &'static str,
    /// The detail's name, and its fields.
    detail: (&'static str, Value),
}

fn refusal(case: &'static str, code: u64, reason: &'static str, detail: (&'static str, Value)) -> Refusal {
    Refusal { case, code, reason, retry: "never", detail }
}

fn load_invalid(case: &'static str, detail: Value) -> Refusal {
    refusal(case, 3, "LOAD_INVALID", ("omnigraph.v1.LoadInvalid", detail))
}

fn invalid_field(case: &'static str, field: &str) -> Refusal {
    let detail = json!({ "field_violations": [{ "field": field }] });
    refusal(case, 3, "INVALID_REQUEST", ("google.rpc.BadRequest", detail))
}

fn not_found(case: &'static str, reason: &'static str, resource: Value) -> Refusal {
    refusal(case, 5, reason, ("google.rpc.ResourceInfo", resource))
}

fn violation(case: &'static str, violation: Value) -> Refusal {
    let detail = json!({ "violations": [violation], "total": "1" });
    refusal(case, 3, "CONSTRAINT_VIOLATION", ("omnigraph.v1.ConstraintViolations", detail))
}

fn refusals(head: &str) -> Vec<Refusal> {
    vec![
        load_invalid("column_unknown", json!({ "type": "Airport", "column": "iato" })),
        load_invalid("column_missing", json!({ "type": "Airport", "column": "name" })),
        load_invalid("column_of_another_kind", json!({ "type": "Airport", "column": "latitude" })),
        load_invalid("value_that_would_change", json!({ "type": "Flight", "column": "distance", "row": "1" })),
        violation(
            "null_in_required",
            json!({ "type": "Airport", "entity": "DDD", "properties": ["name"], "rule": "CONSTRAINT_RULE_NULL", "source_row": "2" }),
        ),
        violation(
            "edge_to_nowhere",
            json!({ "type": "Flight", "properties": ["dst"], "rule": "CONSTRAINT_RULE_ORPHAN_EDGE", "source_row": "2" }),
        ),
        refusal(
            "key_that_exists",
            6,
            "KEY_CONFLICT",
            ("omnigraph.v1.KeyConflict", json!({ "type": "Airport", "ids": ["BBB"], "total": "1", "source_row": "1" })),
        ),
        violation(
            "key_twice_in_one_load",
            json!({ "type": "Airport", "entity": "CCC", "rule": "CONSTRAINT_RULE_UNIQUE", "source_row": "2" }),
        ),
        invalid_field("mode_header_missing", "x-omnigraph-mode"),
        invalid_field("mode_header_unknown", "x-omnigraph-mode"),
        invalid_field("header_unknown", "x-omnigraph-dry-run"),
        invalid_field("header_of_another_value", "x-omnigraph-validate-only"),
        invalid_field("mode_of_command_missing", "mode"),
        invalid_field("path_too_short", "descriptor.path"),
        not_found(
            "type_unknown",
            "TYPE_NOT_FOUND",
            json!({ "resource_name": "Airprt", "resource_type": "omnigraph.v1.TypeSummary" }),
        ),
        not_found(
            "graph_unknown",
            "GRAPH_NOT_FOUND",
            json!({ "resource_name": "nope", "resource_type": "omnigraph.v1.Graph" }),
        ),
        not_found(
            "branch_unknown",
            "BRANCH_NOT_FOUND",
            json!({ "resource_name": "nope", "resource_type": "omnigraph.v1.Branch" }),
        ),
        Refusal {
            retry: "same_request",
            ..refusal("end_mark_missing", 1, "CANCELLED", ("google.rpc.ErrorInfo", json!({ "reason": "CANCELLED" })))
        },
        Refusal {
            retry: "after_reread",
            ..refusal(
                "head_not_expected",
                9,
                "HEAD_MISMATCH",
                ("omnigraph.v1.HeadMismatch", json!({ "expected": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "actual": head })),
            )
        },
    ]
}

/// Whether `found` holds at least what `expected` does.
fn holds(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            expected.iter().all(|(name, value)| found.get(name).is_some_and(|found| holds(found, value)))
        }
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(found, expected)| holds(found, expected))
        }
        _ => found == expected,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pyarrow_refusals_tell_reason_detail_and_row_and_store_nothing() {
    let root = root();
    let server = Server::start(root.path(), &[]);
    let client = client(&server).await;
    airline(&client).await;
    append(&client, ROWS).await.unwrap();
    let (head_before, rows_before) = (head(&client).await, rows(&client, &["Airport", "Flight", "Route"]).await);

    let found = verdict("refusals.py", &server, &[]);
    let answers = found["loads"].as_object().unwrap();
    let expected = refusals(&head_before.to_string());
    assert_eq!(answers.len(), expected.len());
    for Refusal { case, code, reason, retry, detail: (name, detail) } in expected {
        let answer = &answers[case];
        assert_eq!((&answer["code"], &answer["reason"]), (&json!(code), &json!(reason)), "{case}: {answer:#}");
        let metadata = &answer["metadata"];
        assert_eq!((&metadata["effect"], &metadata["retry"]), (&json!("none"), &json!(retry)), "{case}: {answer:#}");
        assert!(holds(&answer["details"][name], &detail), "{case}: {detail} is not in {answer:#}");
        assert_eq!(answer["details"]["google.rpc.ErrorInfo"]["domain"], json!("omnigraph"), "{case}");
        let (message, text) = (answer["message"].as_str().unwrap(), answer["text"].as_str().unwrap());
        assert!(!message.is_empty() && text.contains(message), "{case}: {text:?} hides {message:?}");
    }
    let unary = &found["unary"];
    assert_eq!((&unary["exception"], &unary["reason"]), (&json!("NOT_FOUND"), &json!("GRAPH_NOT_FOUND")), "{unary:#}");
    assert_eq!(unary["trailers"]["x-omnigraph-reason"], json!("GRAPH_NOT_FOUND"), "{unary:#}");
    assert_eq!(unary["details"]["google.rpc.ResourceInfo"]["resource_name"], json!("nope"), "{unary:#}");

    assert_eq!(head(&client).await, head_before);
    assert_eq!(rows(&client, &["Airport", "Flight", "Route"]).await, rows_before);
    let options = LoadOptions::new(omnigraph_client::LoadMode::Merge);
    crate::support::ndjson(&client, options, ROWS).await.unwrap();
}
