use proptest::prelude::*;

use super::{IntegerStyle, Value, ValueError, decode, encode};
use crate::date::{DAY_MAX, DAY_MIN, MILLISECOND_MAX, MILLISECOND_MIN};
use crate::json::{self, JsonLimits};
use crate::schema::{Nullability, PropertyType, Scalar};

fn read(text: &str, ty: &PropertyType) -> Result<Value, ValueError> {
    let json = json::parse(text, &JsonLimits { depth_max: 64, structurals_max: u64::MAX }).unwrap();
    decode(&json, ty, Nullability::Nullable)
}

fn scalar(text: &str, ty: Scalar) -> Result<Value, ValueError> {
    read(text, &PropertyType::Scalar(ty))
}

#[test]
fn integers_are_read_exactly_from_tokens_and_decimal_strings() {
    for text in
        ["3.0", "1e0", "\"3x\"", "2147483648", "true", "\"+3\"", "\" 3\"", "\"03\"", "\"3.0\"", "\"\"", "\"-\"", "[]"]
    {
        assert!(scalar(text, Scalar::I32).is_err(), "{text}");
    }
    assert_eq!(scalar("\"3\"", Scalar::I32), Ok(Value::I32(3)));
    assert_eq!(scalar("-0", Scalar::I32), Ok(Value::I32(0)));
    assert_eq!(scalar("\"0\"", Scalar::U64), Ok(Value::U64(0)));
    assert!(matches!(scalar("-1", Scalar::U64), Err(ValueError::OutOfRange { .. })));
    assert_eq!(scalar("9007199254740993", Scalar::I64), Ok(Value::I64(9_007_199_254_740_993)));
    assert_eq!(scalar("\"18446744073709551615\"", Scalar::U64), Ok(Value::U64(u64::MAX)));
    assert!(scalar("18446744073709551616", Scalar::U64).is_err());
    assert!(scalar(&"9".repeat(1_000), Scalar::I64).is_err());
}

#[test]
fn floats_must_stay_finite_at_their_width() {
    assert_eq!(scalar("1", Scalar::F64), Ok(Value::F64(1.0)));
    assert_eq!(scalar("0.1", Scalar::F32), Ok(Value::F32(0.1)));
    for (text, ty) in
        [("1e999", Scalar::F64), ("1e39", Scalar::F32), ("\"1.5\"", Scalar::F64), ("\"NaN\"", Scalar::F64)]
    {
        assert!(scalar(text, ty).is_err(), "{text}");
    }
}

#[test]
fn float32_is_rounded_once() {
    // Halfway between two F32 values but for a digit that F64 cannot hold.
    let text = "1.00000005960464477539062500000001";
    assert_eq!(scalar(text, Scalar::F32), Ok(Value::F32(1.000_000_1)));
}

#[test]
fn dates_are_texts_or_counts() {
    for text in ["\"2024-02-30\"", "\"2024-1-1\"", "\"20240101\"", "\"10000-01-01\"", "2932897", "1.5", "true"] {
        assert!(scalar(text, Scalar::Date).is_err(), "{text}");
    }
    assert_eq!(scalar("19723", Scalar::Date), scalar("\"2024-01-01\"", Scalar::Date));
    assert!(scalar("\"2024-01-01T10:00:60Z\"", Scalar::DateTime).is_err());
    assert!(scalar("253402300800000", Scalar::DateTime).is_err());
    assert_eq!(scalar("0", Scalar::DateTime), Ok(Value::DateTime(0)));
}

#[test]
fn lists_hold_no_null_and_are_not_made_from_scalars() {
    let tags = PropertyType::List(Scalar::String);
    assert_eq!(read("[]", &tags), Ok(Value::List(vec![])));
    assert!(matches!(read("[null]", &tags), Err(ValueError::Item { index: 0, .. })));
    assert_eq!(read("null", &tags), Ok(Value::Null));
    assert!(matches!(read("\"x\"", &tags), Err(ValueError::Kind { .. })));
}

#[test]
fn vectors_have_their_length_and_finite_components() {
    let vector = PropertyType::Vector(2);
    for text in ["[1]", "[1,null]", "[1,\"2\"]", "[1,1e39]", "[1,2,3]", "{}", "1"] {
        assert!(read(text, &vector).is_err(), "{text}");
    }
    assert_eq!(read("[1,2]", &vector), Ok(Value::Vector(vec![1.0, 2.0])));
}

#[test]
fn blobs_are_padded_base64() {
    assert_eq!(read("\"base64:\"", &PropertyType::Blob), Ok(Value::Bytes(vec![])));
    assert_eq!(read("\"base64:aGk=\"", &PropertyType::Blob), Ok(Value::Bytes(b"hi".to_vec())));
    for text in ["\"base64:@@\"", "\"base64:aGk\"", "\"hello\"", "\"\"", "7"] {
        assert!(read(text, &PropertyType::Blob).is_err(), "{text}");
    }
}

#[test]
fn null_needs_a_nullable_type_and_kinds_never_turn_into_null() {
    let json = json::parse("null", &JsonLimits { depth_max: 1, structurals_max: 1 }).unwrap();
    assert_eq!(decode(&json, &PropertyType::Scalar(Scalar::I32), Nullability::Required), Err(ValueError::Null));
    assert!(read("{}", &PropertyType::Scalar(Scalar::String)).is_err());
}

#[test]
fn values_are_written_in_their_canonical_form() {
    let known = [
        (Value::Null, "null"),
        (Value::I64(9_007_199_254_740_991), "9007199254740991"),
        (Value::I64(9_007_199_254_740_993), "\"9007199254740993\""),
        (Value::I64(-9_007_199_254_740_992), "\"-9007199254740992\""),
        (Value::U64(u64::MAX), "\"18446744073709551615\""),
        (Value::F32(0.1), "0.1"),
        (Value::F64(1e300), "1e300"),
        (Value::Date(19_723), "\"2024-01-01\""),
        (Value::DateTime(1), "\"1970-01-01T00:00:00.001Z\""),
        (Value::String("a\"\\\n雪\u{1}".to_owned()), "\"a\\\"\\\\\\n雪\\u0001\""),
        (Value::Bytes(b"hi".to_vec()), "\"base64:aGk=\""),
        (Value::List(vec![Value::U32(1), Value::U32(2)]), "[1,2]"),
        (Value::Vector(vec![0.1, -2.0]), "[0.1,-2.0]"),
    ];
    for (value, text) in known {
        assert_eq!(encode(&value, IntegerStyle::Safe), text);
    }
    assert_eq!(encode(&Value::I64(i64::MIN), IntegerStyle::Native), "-9223372036854775808");
}

fn typed_scalar() -> impl Strategy<Value = (Scalar, Value)> {
    prop_oneof![
        any::<String>().prop_map(|v| (Scalar::String, Value::String(v))),
        any::<bool>().prop_map(|v| (Scalar::Bool, Value::Bool(v))),
        any::<i32>().prop_map(|v| (Scalar::I32, Value::I32(v))),
        any::<i64>().prop_map(|v| (Scalar::I64, Value::I64(v))),
        any::<u32>().prop_map(|v| (Scalar::U32, Value::U32(v))),
        any::<u64>().prop_map(|v| (Scalar::U64, Value::U64(v))),
        any::<f32>().prop_filter("finite", |v| v.is_finite()).prop_map(|v| (Scalar::F32, Value::F32(v))),
        any::<f64>().prop_filter("finite", |v| v.is_finite()).prop_map(|v| (Scalar::F64, Value::F64(v))),
        (DAY_MIN..=DAY_MAX).prop_map(|v| (Scalar::Date, Value::Date(v))),
        (MILLISECOND_MIN..=MILLISECOND_MAX).prop_map(|v| (Scalar::DateTime, Value::DateTime(v))),
    ]
}

fn typed_value() -> impl Strategy<Value = (PropertyType, Value)> {
    prop_oneof![
        typed_scalar().prop_map(|(ty, value)| (PropertyType::Scalar(ty), value)),
        (typed_scalar(), 0_usize..4).prop_map(|((ty, value), n)| (PropertyType::List(ty), Value::List(vec![value; n]))),
        prop::collection::vec(any::<f32>().prop_filter("finite", |v| v.is_finite()), 1..5)
            .prop_map(|v| (PropertyType::Vector(u32::try_from(v.len()).unwrap()), Value::Vector(v))),
        prop::collection::vec(any::<u8>(), 0..9).prop_map(|v| (PropertyType::Blob, Value::Bytes(v))),
    ]
}

proptest! {
    #[test]
    fn what_is_encoded_decodes_to_the_same_value((ty, value) in typed_value()) {
        for style in [IntegerStyle::Safe, IntegerStyle::Native] {
            prop_assert_eq!(read(&encode(&value, style), &ty), Ok(value.clone()));
        }
    }

    #[test]
    fn encoding_is_json_for_the_reference_reader((_, value) in typed_value()) {
        prop_assert!(serde_json::from_str::<serde_json::Value>(&encode(&value, IntegerStyle::Native)).is_ok());
    }
}
