//! NDJSON text: lines, envelopes, values, ids.

use omnigraph_types::{ConstraintKind, LoadMode, Problem};

use crate::support::{
    Root, SPEC, append, graph, ids, invalid, kind_and_row, merge, p, request, rows, tester, value, violation,
};

fn data(member: &str) -> String {
    format!("{{\"type\":\"P\",\"data\":{{\"k\":\"a\",{member}}}}}\n")
}

#[tokio::test]
async fn byte_order_mark_crlf_blank_lines_and_no_final_line_end_are_fine() {
    let (_root, graph) = graph(SPEC).await;
    let text = "\u{feff}{\"type\":\"P\",\"data\":{\"k\":\"a\"}}\r\n\r\n  \n{\"type\":\"P\",\"data\":{\"k\":\"b\"}}";
    append(&graph, text).await.unwrap();
    assert_eq!(ids(&graph, "P").await, ["a", "b"]);
    let broken = "\r\n\r\n{\"type\":\"P\",\"data\":{\"k\":\"c\",\"agee\":1}}";
    assert_eq!(invalid(append(&graph, broken).await), (Some(3), Some("agee".to_owned())));
}

#[tokio::test]
async fn any_chunking_gives_the_same_rows() {
    let text = "\u{feff}{\"type\":\"P\",\"data\":{\"k\":\"雪\"}}\n\n{\"type\":\"P\",\"data\":{\"k\":\"🚢\"}}";
    for size in [1, 2, 3, 7, 1000] {
        let (_root, graph) = graph(SPEC).await;
        let mut load = graph.run(&tester(), request(LoadMode::Append)).await.unwrap();
        for chunk in text.as_bytes().chunks(size) {
            load.write_ndjson(chunk).await.unwrap();
        }
        load.finish().await.unwrap();
        assert_eq!(ids(&graph, "P").await, ["雪", "🚢"]);
    }
}

#[tokio::test]
async fn lines_of_a_wrong_shape_are_refused_by_line() {
    let (_root, graph) = graph(SPEC).await;
    let cases = [
        r#"{"type":"P","edge":"Knows","data":{"k":"b"}}"#,
        "[1]",
        r#"{"type":"P","data":{"k":"b"}} {"type":"P","data":{"k":"c"}}"#,
        r#"{"type":"P","data":null}"#,
        r#"{"edge":"Knows","from":7,"to":"a"}"#,
        r#"{"type":"P","branch":"main","data":{"k":"b"}}"#,
        r#"{"edge":"Knows","from":"a","to":"a","data":{"src":"a"}}"#,
        r#"{"type":"P","data":{"k":"b","k":"c"}}"#,
        r#"{"type":"p","data":{"k":"b"}}"#,
        r#"{"type":"P","data":{"k":"b","id":7}}"#,
        r#"{"type":"P","data":{"k":"b","id":"other"}}"#,
    ];
    for case in cases {
        let (row, _) = invalid(append(&graph, &format!("{}{case}\n", p("a"))).await);
        assert_eq!(row, Some(2), "{case}");
    }
    assert_eq!(ids(&graph, "P").await.len(), 0);
}

#[tokio::test]
async fn edge_names_ignore_case_and_a_supplied_id_may_equal_the_key() {
    let (_root, graph) = graph(SPEC).await;
    let text = r#"{"type":"P","data":{"id":"a","k":"a"}}
{"edge":"KNOWS","from":"a","to":"a"}"#;
    append(&graph, text).await.unwrap();
    assert_eq!((ids(&graph, "P").await, rows(&graph, "Knows").await.len()), (vec!["a".to_owned()], 1));
}

#[tokio::test]
async fn values_of_a_wrong_type_are_refused() {
    let (_root, graph) = graph(SPEC).await;
    let cases = [
        r#""age":3.0"#,
        r#""age":1e0"#,
        r#""age":"3x""#,
        r#""age":2147483648"#,
        r#""age":true"#,
        r#""u":-1"#,
        r#""tags":[null]"#,
        r#""tags":"x""#,
        r#""d":"2024-02-30""#,
        r#""d":"2024-1-1""#,
        r#""d":"20240101""#,
        r#""d":"10000-01-01""#,
        r#""at":"2024-01-01T10:00:60Z""#,
        r#""f":1e999"#,
        r#""v":[1]"#,
        r#""v":[1,null]"#,
        r#""v":[1,"2"]"#,
        r#""v":[1,1e39]"#,
        r#""kind":"b""#,
    ];
    for case in cases {
        let failure = append(&graph, &data(case)).await.unwrap_err();
        let row = match &failure.problem {
            Problem::LoadInvalid { row, .. } => *row,
            Problem::ConstraintViolation { violations, .. } => violations[0].source_row,
            other => panic!("{case}: {other:?}"),
        };
        assert_eq!(row, Some(1), "{case}");
    }
    let found = violation(append(&graph, &data(r#""kind":"b""#)).await);
    assert_eq!((found.kind, found.entity.as_deref()), (ConstraintKind::Enum, Some("a")));
    assert!(found.message.contains("B, a"), "{}", found.message);
}

#[tokio::test]
async fn values_are_stored_as_written() {
    let (_root, graph) = graph(SPEC).await;
    let text = data(
        r#""age":"3","u":18446744073709551615,"f":1,"d":19723,"at":"2024-01-01T00:30:00+01:00","tags":[],"kind":"B","v":[1,2]"#,
    );
    append(&graph, &text).await.unwrap();
    let row = "a|a|3|18446744073709551615|1.0|2024-01-01|2023-12-31T23:30:00Z|[]|B|[1.0, 2.0]";
    assert_eq!(rows(&graph, "P").await, [row]);
    // A part of a millisecond would be lost.
    let finer = merge(&graph, &data(r#""at":"1969-12-31T23:59:59.9999Z""#)).await;
    assert_eq!(invalid(finer), (Some(1), Some("at".to_owned())));
    assert_eq!(rows(&graph, "P").await, [row]);
    merge(&graph, &data(r#""age":-0,"at":"1969-12-31T23:59:59.999000Z","tags":null"#)).await.unwrap();
    assert_eq!(rows(&graph, "P").await, ["a|a|0|-|-|-|1969-12-31T23:59:59.999Z|-|-|-"]);
}

#[tokio::test]
async fn missing_and_null_keys_are_refused() {
    let (_root, graph) = graph(SPEC).await;
    for line in [r#"{"type":"P"}"#, r#"{"type":"P","data":{"k":null}}"#] {
        assert_eq!(kind_and_row(append(&graph, line).await), (ConstraintKind::Null, Some(1)));
    }
}

#[tokio::test]
async fn keys_are_compared_byte_by_byte() {
    let (_root, graph) = graph(SPEC).await;
    let keys = ["", "O'Brien \" \\ \n 雪 🚢", "\u{e9}", "e\u{301}", "a", "A"];
    append(&graph, &keys.map(p).concat()).await.unwrap();
    for key in keys {
        let failure = append(&graph, &p(key)).await.unwrap_err();
        assert!(
            matches!(&failure.problem, Problem::KeyConflict { ids, .. } if ids == &[key.to_owned()]),
            "{failure:?}"
        );
        let both = serde_json::json!({"edge": "Knows", "from": key, "to": key});
        append(&graph, &both.to_string()).await.unwrap();
    }
}

#[tokio::test]
async fn ids_are_spelled_from_keys_of_every_type() {
    let schema = "
        node F { f: F64 @key }
        node D { d: Date @key }
        node C { a: String b: I32 c: Bool @key(a, b, c) }
        edge OnDay: F -> D
    ";
    let (_root, graph) = graph(schema).await;
    let text = r#"{"type":"F","data":{"f":0.0}}
{"type":"F","data":{"f":1e21}}
{"type":"F","data":{"f":1.0}}
{"type":"D","data":{"d":"2024-01-01"}}
{"type":"C","data":{"a":"a\",\"b","b":-7,"c":true}}
{"edge":"OnDay","from":"1","to":"2024-01-01"}"#;
    append(&graph, text).await.unwrap();
    assert_eq!(ids(&graph, "F").await, ["0", "1000000000000000000000", "1"]);
    assert_eq!(ids(&graph, "C").await, [r#"["a\",\"b","-7","true"]"#]);
    let zero = append(&graph, r#"{"type":"F","data":{"f":-0.0}}"#).await.unwrap_err();
    assert!(matches!(zero.problem, Problem::KeyConflict { .. }));
    let days = append(&graph, r#"{"edge":"OnDay","from":"1","to":"19723"}"#).await;
    assert_eq!(violation(days).kind, ConstraintKind::OrphanEdge);
}

#[tokio::test]
async fn long_lines_and_busy_lines_are_refused_by_their_limits() {
    let root = Root::with(|limits| {
        limits.ndjson_line_bytes_max = 100;
        limits.ndjson_structurals_max = 12;
    })
    .await;
    let graph = root.graph(SPEC).await;
    let limit = |text: String| {
        let graph = graph.clone();
        async move {
            match append(&graph, &text).await.unwrap_err().problem {
                Problem::ResourceLimit { limit, value, .. } => (limit, value),
                other => panic!("{other:?}"),
            }
        }
    };
    assert_eq!(limit(p(&"x".repeat(100))).await, ("ndjson_line_bytes_max".to_owned(), 100));
    assert_eq!(limit("x".repeat(101)).await, ("ndjson_line_bytes_max".to_owned(), 100));
    assert_eq!(limit(data(r#""tags":["","","","",""]"#)).await, ("ndjson_structurals_max".to_owned(), 12));
    append(&graph, &p("ok")).await.unwrap();
}

#[tokio::test]
async fn more_rows_than_a_batch_keep_their_lines() {
    let (_root, graph) = graph(SPEC).await;
    let text: String = (0..20_000).map(|at| p(&format!("k{at:05}"))).collect();
    append(&graph, &text).await.unwrap();
    assert_eq!(ids(&graph, "P").await.len(), 20_000);
    let again: String = (0..20_000).map(|at| p(&format!("m{at:05}"))).chain([p("m00123")]).collect();
    let found = violation(append(&graph, &again).await);
    assert!(found.message.contains("rows 124 and 20001"), "{}", found.message);
    assert_eq!(value(&graph, "P", "k19999", "k").await, "k19999");
}
