use super::{ParamError, bind};
use crate::query::ir::Param;
use crate::schema::{Nullability, PropertyType, Scalar};
use crate::value::Value;

fn param(name: &str, ty: PropertyType, nullability: Nullability) -> Param {
    Param { name: name.to_owned(), ty, nullability }
}

fn required(name: &str, ty: PropertyType) -> Param {
    param(name, ty, Nullability::Required)
}

#[test]
fn missing_unknown_and_other_than_objects_are_refused() {
    let declared = [required("a", PropertyType::Scalar(Scalar::I32))];
    assert!(matches!(bind(&declared, "{}"), Err(ParamError::Missing { name, .. }) if name == "a"));
    assert!(matches!(bind(&declared, r#"{"a":1,"b":2}"#), Err(ParamError::Unknown { name, .. }) if name == "b"));
    assert!(matches!(bind(&declared, "[]"), Err(ParamError::NotObject { .. })));
    assert!(matches!(bind(&declared, "{"), Err(ParamError::Json(_))));
    assert!(matches!(bind(&declared, r#"{"a":1,"a":1}"#), Err(ParamError::Json(_))));
    assert!(matches!(bind(&declared, r#"{"a":null}"#), Err(ParamError::Value { .. })));
}

#[test]
fn absent_and_null_params_count_as_an_empty_object() {
    let declared = [param("a", PropertyType::Scalar(Scalar::I32), Nullability::Nullable)];
    for text in ["", "  ", "null", "{}", r#"{"a":null}"#] {
        assert_eq!(bind(&declared, text).unwrap()["a"], Value::Null, "{text:?}");
    }
}

#[test]
fn values_follow_the_one_codec() {
    let cases = [
        (PropertyType::Scalar(Scalar::I64), "\"9007199254740993\"", Some(Value::I64(9_007_199_254_740_993))),
        (PropertyType::Scalar(Scalar::I32), "2147483648", None),
        (PropertyType::Scalar(Scalar::F64), "\"1.5\"", None),
        (PropertyType::Scalar(Scalar::F64), "1", Some(Value::F64(1.0))),
        (PropertyType::Scalar(Scalar::Date), "\"x\"", None),
        (PropertyType::Vector(2), "[1,2,3]", None),
        (PropertyType::List(Scalar::String), "[null]", None),
        (PropertyType::Scalar(Scalar::String), "{}", None),
        (PropertyType::Scalar(Scalar::U64), "18446744073709551615", Some(Value::U64(u64::MAX))),
    ];
    for (ty, text, expected) in cases {
        let found = bind(&[required("x", ty.clone())], &format!("{{\"x\":{text}}}"));
        match expected {
            Some(value) => assert_eq!(found.unwrap()["x"], value, "{ty} {text}"),
            None => assert_eq!(found.unwrap_err().parameter(), Some("x"), "{ty} {text}"),
        }
    }
}

#[test]
fn failure_names_the_parameter() {
    let failure = bind(&[required("x", PropertyType::Scalar(Scalar::I32))], "{}").unwrap_err().failure();
    assert_eq!(failure.problem, omnigraph_types::Problem::ParamInvalid { parameter: "x".to_owned() });
    assert!(failure.message.contains("$x") && failure.message.contains("I32"), "{}", failure.message);
}
