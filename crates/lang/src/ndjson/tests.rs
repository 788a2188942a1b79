use omnigraph_types::{ConstraintKind, Limits, Problem};
use proptest::prelude::*;

use super::{Ends, Envelope, LineError, LineLimits, is_blank, parse_line, strip_byte_order_mark};
use crate::schema::{Schema, parse_schema};
use crate::value::Value;

const SCHEMA: &str = "
    node P { k: String @key age: I32? u: U64? f: F64? d: Date? tags: [String]? kind: enum(a, B)? v: Vector(2)? b: Blob? }
    node N { x: I32 }
    edge Knows: P -> P { since: Date? }";

fn schema() -> Schema {
    Schema::accept_first(&parse_schema(SCHEMA).unwrap())
}

fn read(line: &str) -> Result<Envelope, LineError> {
    parse_line(line, &LineLimits::from(&Limits::default()), &schema())
}

#[test]
fn node_line_becomes_a_row_in_the_order_of_the_properties() {
    let row = read(r#"{"type":"P","data":{"kind":"B","k":"x","tags":[],"age":"3"}}"#).unwrap();
    assert_eq!(row.type_id, schema().type_by_name("P").unwrap().id);
    assert_eq!((row.id, row.ends), (None, None));
    let expected = [
        Value::String("x".to_owned()),
        Value::I32(3),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::List(vec![]),
        Value::String("B".to_owned()),
        Value::Null,
        Value::Null,
    ];
    assert_eq!(row.values, expected);
}

#[test]
fn edge_line_ignores_the_case_of_its_type_and_takes_an_id() {
    let row =
        read("{\"edge\":\"knows\",\"from\":\"a\",\"to\":\"\",\"data\":{\"id\":\"d-1\",\"since\":19723}}\r\n").unwrap();
    assert_eq!(row.ends, Some(Ends { from: "a".to_owned(), to: String::new() }));
    assert_eq!((row.id.as_deref(), &row.values[..]), (Some("d-1"), &[Value::Date(19_723)][..]));
    assert!(read(r#"{"edge":"Knows","from":"a","to":"b"}"#).is_ok(), "data may be left out");
}

#[test]
fn lines_outside_the_two_shapes_are_refused() {
    let lines = [
        r#"{"type":"P","edge":"Knows","from":"a","to":"b"}"#,
        "[1]",
        "7",
        r#"{"type":"P"} {"type":"P"}"#,
        r#"{"type":"P","data":null}"#,
        r#"{"edge":"Knows","from":7,"to":"b"}"#,
        r#"{"edge":"Knows","from":"a"}"#,
        r#"{"type":"N","from":"a","data":{"x":1}}"#,
        "{}",
        r#"{"type":"p","data":{"k":"x"}}"#,
        r#"{"type":"Knows"}"#,
        r#"{"edge":"P","from":"a","to":"b"}"#,
        r#"{"type":7}"#,
        r#"{"type":"P","branch":"main","data":{"k":"x"}}"#,
        r#"{"type":"P","data":{"k":"x","agee":1}}"#,
        r#"{"type":"P","data":{"k":"x","k":"x"}}"#,
        r#"{"edge":"Knows","from":"a","to":"b","data":{"src":"a"}}"#,
        r#"{"type":"P","data":{"k":"x","_rowid":1}}"#,
        r#"{"type":"P","data":{"k":"x","id":7}}"#,
        r#"{"type":"P","data":{"k":"x","id":null}}"#,
        r#"{"type":"P","data":{"k":"x"}"#,
        "",
    ];
    for line in lines {
        let problem = read(line).expect_err(line).failure(3).problem;
        assert!(matches!(problem, Problem::LoadInvalid { row: Some(3), .. }), "{line}: {problem:?}");
    }
}

#[test]
fn wrong_values_name_type_property_and_line() {
    let wrong = [
        r#""age":3.0"#,
        r#""age":1e0"#,
        r#""age":"3x""#,
        r#""age":2147483648"#,
        r#""age":true"#,
        r#""u":-1"#,
        r#""f":1e999"#,
        r#""tags":"x""#,
        r#""tags":[null]"#,
        r#""d":"2024-02-30""#,
        r#""b":"hello""#,
        r#""b":"base64:@@""#,
        r#""kind":7"#,
    ];
    for member in wrong {
        let line = format!("{{\"type\":\"P\",\"data\":{{\"k\":\"x\",{member}}}}}");
        let failure = read(&line).expect_err(&line).failure(12);
        let property = member[1..].split('"').next().unwrap().to_owned();
        let expected =
            Problem::LoadInvalid { type_name: Some("P".to_owned()), row: Some(12), column: Some(property.clone()) };
        assert_eq!(failure.problem, expected, "{line}");
        assert!(failure.message.starts_with(&format!("line 12: P.{property}: ")), "{}", failure.message);
    }
}

#[test]
fn nulls_and_vectors_break_a_named_rule() {
    let known = [
        (r#"{"type":"P","data":{}}"#, "k", ConstraintKind::Null),
        (r#"{"type":"P","data":{"k":null}}"#, "k", ConstraintKind::Null),
        (r#"{"type":"P","data":{"k":"x","v":[1]}}"#, "v", ConstraintKind::Vector),
        (r#"{"type":"P","data":{"k":"x","v":[1,1e39]}}"#, "v", ConstraintKind::Vector),
    ];
    for (line, property, kind) in known {
        let Problem::ConstraintViolation { violations, total: 1 } = read(line).unwrap_err().failure(2).problem else {
            panic!("{line}")
        };
        let found = &violations[0];
        assert_eq!((found.kind, found.properties[0].as_str(), found.source_row), (kind, property, Some(2)), "{line}");
    }
}

#[test]
fn enum_values_outside_the_set_are_left_to_the_engine() {
    assert!(read(r#"{"type":"P","data":{"k":"x","kind":"b"}}"#).is_ok());
}

#[test]
fn limits_are_inclusive_and_named() {
    let line = r#"{"type":"N","data":{"x":1}}"#;
    let limits = |bytes_max, structurals_max| LineLimits { bytes_max, structurals_max };
    assert!(parse_line(line, &limits(27, 8), &schema()).is_ok());
    for (limits, name) in [(limits(26, 8), "ndjson_line_bytes_max"), (limits(27, 7), "ndjson_structurals_max")] {
        let problem = parse_line(line, &limits, &schema()).unwrap_err().failure(1).problem;
        assert!(
            matches!(&problem, Problem::ResourceLimit { limit, value, asked } if limit == name && asked > value),
            "{problem:?}"
        );
    }
}

#[test]
fn blank_lines_and_the_byte_order_mark_are_recognized() {
    assert!(is_blank("") && is_blank(" \t\r\n") && !is_blank("{}"));
    assert_eq!(strip_byte_order_mark("\u{feff}{}"), "{}");
}

proptest! {
    #[test]
    fn arbitrary_lines_never_panic(line in ".{0,200}") {
        let _ = read(&line);
    }

    #[test]
    fn members_in_any_order_give_the_same_row(order in Just(vec![r#""k":"x""#, r#""age":3"#, r#""u":4"#, r#""f":0.5"#, r#""v":[1,2]"#, r#""id":"x""#]).prop_shuffle()) {
        let straight = read(r#"{"type":"P","data":{"k":"x","age":3,"u":4,"f":0.5,"v":[1,2],"id":"x"}}"#).unwrap();
        let shuffled = read(&format!("{{\"data\":{{{}}},\"type\":\"P\"}}", order.join(","))).unwrap();
        prop_assert_eq!(shuffled, straight);
    }
}
