use std::borrow::Cow;

use proptest::prelude::*;

use super::{KeyError, KeyPart, spell_key};
use crate::json::{self, JsonLimits, JsonValue};
use crate::value::Value;

fn spell(parts: &[KeyPart<'_>]) -> String {
    spell_key(parts).unwrap().into_owned()
}

#[test]
fn single_text_is_the_id_itself_without_a_copy() {
    for text in ["", "O'Brien \" \\ \n 雪 🚢", "a", "A", "\u{e9}", "e\u{301}"] {
        assert!(matches!(spell_key(&[KeyPart::Text(text)]), Ok(Cow::Borrowed(id)) if id == text));
    }
}

#[test]
fn numbers_and_dates_have_their_canonical_spelling() {
    let known = [
        (KeyPart::F64(0.0), "0"),
        (KeyPart::F64(-0.0), "0"),
        (KeyPart::F32(-0.0), "0"),
        (KeyPart::F64(1e21), "1000000000000000000000"),
        (KeyPart::F64(1.0), "1"),
        (KeyPart::F64(1e-7), "0.0000001"),
        (KeyPart::F64(0.1), "0.1"),
        (KeyPart::F32(0.1), "0.1"),
        (KeyPart::F32(16_777_216.0), "16777216"),
        (KeyPart::Integer(18_446_744_073_709_551_615), "18446744073709551615"),
        (KeyPart::Integer(-7), "-7"),
        (KeyPart::Bool(true), "true"),
        (KeyPart::Date(19_723), "2024-01-01"),
        (KeyPart::DateTime(1_704_096_000_000), "2024-01-01T08:00:00.000Z"),
    ];
    for (part, id) in known {
        assert_eq!(spell(&[part]), id);
    }
}

#[test]
fn several_members_make_a_compact_array_of_strings() {
    assert_eq!(spell(&[KeyPart::Integer(7), KeyPart::Text("acme")]), r#"["7","acme"]"#);
    assert_eq!(spell(&[KeyPart::Text("NO"), KeyPart::Integer(9_074_729)]), r#"["NO","9074729"]"#);
    assert_eq!(spell(&[KeyPart::Text("雪\n\u{1}"), KeyPart::Text("")]), "[\"雪\\n\\u0001\",\"\"]");
    let one = spell(&[KeyPart::Text("a\",\"b"), KeyPart::Text("c")]);
    let other = spell(&[KeyPart::Text("a"), KeyPart::Text("b\",\"c")]);
    assert_eq!((one.as_str(), other.as_str()), (r#"["a\",\"b","c"]"#, r#"["a","b\",\"c"]"#));
}

#[test]
fn values_without_a_spelling_are_refused() {
    assert_eq!(spell_key(&[KeyPart::F64(f64::NAN)]), Err(KeyError::NotFinite));
    assert_eq!(spell_key(&[KeyPart::Integer(1), KeyPart::F32(f32::INFINITY)]), Err(KeyError::NotFinite));
    assert_eq!(spell_key(&[]), Err(KeyError::Empty));
    assert_eq!(KeyPart::try_from(&Value::Null), Err(KeyError::Null));
    assert_eq!(KeyPart::try_from(&Value::List(vec![])), Err(KeyError::Type));
}

proptest! {
    #[test]
    fn composite_ids_are_injective(a in prop::collection::vec(".{0,6}", 2..4), b in prop::collection::vec(".{0,6}", 2..4)) {
        let id = |texts: &[String]| spell(&texts.iter().map(|text| KeyPart::Text(text)).collect::<Vec<_>>());
        prop_assert_eq!(a == b, id(&a) == id(&b));
    }

    #[test]
    fn composite_id_is_json_of_its_members(texts in prop::collection::vec(any::<String>(), 2..4)) {
        let id = spell(&texts.iter().map(|text| KeyPart::Text(text)).collect::<Vec<_>>());
        let limits = JsonLimits { depth_max: 1, structurals_max: 10 };
        let JsonValue::Array(items) = json::parse(&id, &limits).unwrap() else { panic!("an array") };
        let read: Vec<String> = items.into_iter().map(|item| match item {
            JsonValue::String(text) => text.into_owned(),
            other => panic!("{other:?}"),
        }).collect();
        prop_assert_eq!(read, texts);
    }

    #[test]
    fn float_spelling_reads_back_without_exponent(number in any::<f64>().prop_filter("finite", |n| n.is_finite())) {
        let id = spell(&[KeyPart::F64(number)]);
        prop_assert_eq!(id.parse::<f64>().unwrap(), number);
        prop_assert!(!id.contains(['e', 'E']) && !id.ends_with(".0"));
    }
}
