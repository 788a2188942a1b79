use proptest::prelude::*;

use super::{JsonError, JsonLimits, JsonValue, parse};

const LIMITS: JsonLimits = JsonLimits { depth_max: 4, structurals_max: 40 };

#[test]
fn numbers_stay_the_tokens_they_were() {
    for token in ["0", "-0", "18446744073709551616", "1e999", "3.0", "-1.5E+3"] {
        assert_eq!(parse(token, &LIMITS), Ok(JsonValue::Number(token)));
    }
}

#[test]
fn malformed_texts_are_refused_at_their_byte() {
    let known = [
        ("", 0),
        ("{", 1),
        ("[1,]", 3),
        ("[,1]", 1),
        ("{\"a\" 1}", 5),
        ("{a:1}", 1),
        ("01", 1),
        ("+1", 0),
        ("1.", 2),
        (".5", 0),
        ("1e", 2),
        ("tru", 0),
        ("nul", 0),
        ("\"a", 2),
        ("\"\\x\"", 2),
        ("\"\\u12\"", 3),
        ("'a'", 0),
        ("{\"a\":1,}", 7),
        ("\"\\ud800\"", 7),
        ("\"\\ud800\\u0041\"", 13),
        ("\"\\udc00\"", 7),
        ("\"\u{1}\"", 1),
        ("NaN", 0),
        ("-", 1),
        ("1 2", 2),
        ("[1] x", 4),
    ];
    for (text, offset) in known {
        let found = match parse(text, &LIMITS) {
            Err(JsonError::Syntax { offset, .. } | JsonError::Trailing { offset }) => offset,
            other => panic!("{text:?}: {other:?}"),
        };
        assert_eq!(found, offset, "{text:?}");
    }
}

#[test]
fn repeated_members_are_refused_at_any_depth_and_any_count() {
    for text in [r#"{"k":1,"k":1}"#, r#"[{"a":{"k":1,"\u006b":2}}]"#] {
        assert!(matches!(parse(text, &LIMITS), Err(JsonError::Duplicate { member, .. }) if member == "k"), "{text}");
    }
    let many = |last: usize| {
        let members: Vec<String> = (0..40).chain([last]).map(|at| format!("\"m{at}\":{at}")).collect();
        format!("{{{}}}", members.join(","))
    };
    let limits = JsonLimits { depth_max: 1, structurals_max: 1_000 };
    assert!(matches!(parse(&many(7), &limits), Err(JsonError::Duplicate { member, .. }) if member == "m7"));
    assert!(parse(&many(40), &limits).is_ok());
}

#[test]
fn depth_and_structural_characters_are_bounded_inclusively() {
    assert!(parse("[[[[1]]]]", &LIMITS).is_ok());
    assert!(matches!(parse("[[[[[1]]]]]", &LIMITS), Err(JsonError::Depth { offset: 4, .. })));
    let list = |items: usize| format!("[\"{}\",{}]", "[]{}:,".repeat(9), vec!["1"; items].join(","));
    assert!(parse(&list(38), &LIMITS).is_ok(), "2 brackets and 38 commas");
    assert!(matches!(parse(&list(39), &LIMITS), Err(JsonError::Structurals { .. })));
    let deep = "[".repeat(1_000_000);
    assert!(matches!(
        parse(&deep, &JsonLimits { depth_max: 64, structurals_max: u64::MAX }),
        Err(JsonError::Depth { .. })
    ));
}

#[test]
fn escapes_are_resolved() {
    let text = r#""a\"\\\/\b\f\n\r\t\u00e9\ud83d\udea2b""#;
    assert_eq!(parse(text, &LIMITS), Ok(JsonValue::String("a\"\\/\u{8}\u{c}\n\r\té🚢b".into())));
}

/// JSON that the reference reader accepts.
fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<String>().prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(3, 20, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
            prop::collection::btree_map(".{0,3}", inner, 0..5)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

fn convert(value: &JsonValue<'_>) -> serde_json::Value {
    match value {
        JsonValue::Null => serde_json::Value::Null,
        JsonValue::Bool(flag) => (*flag).into(),
        JsonValue::Number(token) => token.parse::<serde_json::Number>().unwrap().into(),
        JsonValue::String(text) => text.as_ref().into(),
        JsonValue::Array(items) => items.iter().map(convert).collect(),
        JsonValue::Object(members) => {
            members.iter().map(|(name, value)| (name.as_ref().to_owned(), convert(value))).collect()
        }
    }
}

proptest! {
    #[test]
    fn reads_what_the_reference_reader_wrote(value in json()) {
        let limits = JsonLimits { depth_max: 64, structurals_max: u64::MAX };
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            prop_assert_eq!(&convert(&parse(&text, &limits).unwrap()), &value);
        }
    }

    #[test]
    fn accepts_no_text_that_the_reference_reader_refuses(text in r#"[\[\]{}:,"\\a0-9.eE+ntrufls\- ]{0,20}"#) {
        if parse(&text, &LIMITS).is_ok() {
            let read = serde_json::from_str::<serde_json::Value>(&text);
            let overflow = read.as_ref().is_err_and(|error| error.to_string().contains("out of range"));
            prop_assert!(read.is_ok() || overflow, "{:?}", read);
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in ".{0,200}") {
        let _ = parse(&text, &LIMITS);
    }
}
