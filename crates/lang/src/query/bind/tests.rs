use std::cmp::Ordering;
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Fit, compare, fit, holds};
use crate::number::compare_integer_float;
use crate::params::{self, ParamError};
use crate::query::check_query;
use crate::query::ir::{
    Access, Column, CompareOp, Domain, Operand, Predicate, PropertyColumn, ReadQuery, RowCount, VarId,
};
use crate::schema::{Nullability, PropertyType, Scalar, Schema, parse_schema};
use crate::value::Value;

fn bound(params: &str, filter: &str, json: &str) -> Result<ReadQuery, ParamError> {
    let schema = "node P { i: I32? l: I64? u: U64? f: F64? g: F32? k: String? at: DateTime? nums: [I32]? }";
    let schema = Schema::accept_first(&parse_schema(schema).unwrap());
    let text = format!("query q({params}) {{ match {{ $p: P {filter} }} return {{ $p.id, now() as now }} }}");
    let query = check_query(&text, None, &schema).unwrap_or_else(|error| panic!("{text}\n{error}"));
    query.read.with_values(&params::bind(&query.params, json)?, 5)
}

/// The bound filter in short: operator and constant, or the decision.
fn filter(params: &str, filter: &str, json: &str) -> String {
    match &bound(params, filter, json).unwrap().filters[0] {
        Predicate::Compare { op, right: Operand::Literal(value, _), .. } => format!("{op:?} {value:?}"),
        Predicate::ListContains { list: Operand::Literal(value, _), .. } => format!("in {value:?}"),
        Predicate::ListContains { item: Operand::Literal(value, _), .. } => format!("has {value:?}"),
        Predicate::Decided { holds, .. } => format!("decided {holds}"),
        other => format!("{other:?}"),
    }
}

#[test]
fn constants_take_the_type_of_the_column_without_rounding() {
    let known = [
        ("$p.i = 3", "Equal I32(3)"),
        ("3 < $p.i", "Greater I32(3)"),
        ("$p.i = 2.0", "Equal I32(2)"),
        ("$p.i = 2.7", "decided false"),
        ("$p.i != 2.7", "decided true"),
        ("$p.i < 2.7", "LessOrEqual I32(2)"),
        ("$p.i >= 2.7", "Greater I32(2)"),
        ("$p.i > -2.7", "Greater I32(-3)"),
        ("$p.i < 3000000000", "decided true"),
        ("$p.i = 3000000000", "decided false"),
        ("$p.i > -1e300", "decided true"),
        ("$p.u >= -1", "decided true"),
        ("$p.u < -0.5", "decided false"),
        ("$p.u = 18446744073709551615", "Equal U64(18446744073709551615)"),
        ("$p.f = 1", "Equal F64(1.0)"),
        ("$p.f < 9007199254740993", "LessOrEqual F64(9007199254740992.0)"),
        ("$p.f = 9007199254740993", "decided false"),
        ("$p.g = 0.5", "Equal F32(0.5)"),
        ("$p.g = 0.1", "decided false"),
        ("$p.g < 1e300", "decided true"),
        ("$p.g > -1e300", "decided true"),
        ("$p.g = 9007199254740993", "decided false"),
        ("$p.k = \"x\"", "Equal String(\"x\")"),
        ("$p.at > now()", "Greater DateTime(5)"),
        ("[1, 2.5, 3000000000] contains $p.i", "in List([I32(1)])"),
        ("[2.5] contains $p.i", "decided false"),
        ("[] contains $p.i", "decided false"),
        ("$p.nums contains 7", "has I32(7)"),
        ("$p.nums contains 7.5", "decided false"),
    ];
    for (text, expected) in known {
        assert_eq!(filter("", text, "{}"), expected, "{text}");
    }
}

#[test]
fn parameters_become_constants_and_null_stays_null() {
    assert_eq!(filter("$x: F64", "$p.i < $x", r#"{"x":2.5}"#), "LessOrEqual I32(2)");
    assert_eq!(filter("$x: I32?", "$p.i = $x", "{}"), "Equal Null");
    assert_eq!(filter("$x: U64", "$p.l = $x", r#"{"x":"18446744073709551615"}"#), "decided false");
    assert_eq!(filter("$xs: [I64]", "$xs contains $p.i", r#"{"xs":[1,5000000000]}"#), "in List([I32(1)])");
}

#[test]
fn now_and_counts_are_filled_in() {
    let schema = Schema::accept_first(&parse_schema("node P {}").unwrap());
    let text = "query q($n: I64) { match { $p: P } return { now() } limit $n }";
    let query = check_query(text, None, &schema).unwrap();
    let run = |json: &str| query.read.with_values(&params::bind(&query.params, json).unwrap(), 7);
    assert_eq!(run(r#"{"n":3}"#).unwrap().limit, Some(RowCount::Literal(3)));
    assert_eq!(run(r#"{"n":-3}"#), Err(ParamError::NegativeCount { name: "n".to_owned(), actual: -3 }));
    assert_eq!(query.read.with_values(&BTreeMap::new(), 7).unwrap_err().parameter(), Some("n"));
}

fn number() -> impl Strategy<Value = Value> {
    let edges = prop::sample::select(vec![
        0.0,
        0.5,
        -0.5,
        1e10,
        9_007_199_254_740_992.0,
        1.8446744073709552e19,
        -9.3e18,
        3.5e38,
        -3.5e38,
        1e300,
        16_777_217.0,
    ]);
    prop_oneof![
        any::<i32>().prop_map(Value::I32),
        any::<i64>().prop_map(Value::I64),
        any::<u64>().prop_map(Value::U64),
        (-3_i64..3).prop_map(Value::I64),
        edges.prop_map(Value::F64),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Value::F64),
        any::<f32>().prop_filter("finite", |n| n.is_finite()).prop_map(Value::F32),
        (-12_i32..12).prop_map(|n| Value::F64(f64::from(n) / 4.0)),
    ]
}

fn order(left: &Value, right: &Value) -> Ordering {
    match ((left.as_integer(), left.as_float()), (right.as_integer(), right.as_float())) {
        ((Some(l), _), (Some(r), _)) => l.cmp(&r),
        ((Some(l), _), (_, Some(r))) => compare_integer_float(l, r).unwrap(),
        ((_, Some(l)), (Some(r), _)) => compare_integer_float(r, l).unwrap().reverse(),
        ((_, Some(l)), (_, Some(r))) => l.partial_cmp(&r).unwrap(),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn brought_to_one_type_a_comparison_answers_as_the_exact_one(
        column in number(),
        constant in number(),
        op in prop::sample::select(vec![
            CompareOp::Equal, CompareOp::NotEqual, CompareOp::Less, CompareOp::LessOrEqual, CompareOp::Greater, CompareOp::GreaterOrEqual,
        ]),
    ) {
        let ty = match column {
            Value::I32(_) => Scalar::I32,
            Value::I64(_) => Scalar::I64,
            Value::U64(_) => Scalar::U64,
            Value::F32(_) => Scalar::F32,
            _ => Scalar::F64,
        };
        let property = PropertyColumn {
            id: omnigraph_types::PropertyId(1), name: "x".to_owned(), ty: PropertyType::Scalar(ty), nullability: Nullability::Required,
        };
        let left = Operand::Access(Access { var: VarId(0), column: Column::Property(property) });
        let right = Operand::Literal(constant.clone(), PropertyType::Scalar(Scalar::F64));
        let expected = holds(op, order(&column, &constant));
        let answer = match compare(left, op, right, Domain::IntegerAndFloat) {
            Predicate::Decided { holds, .. } => holds,
            Predicate::Compare { op, right: Operand::Literal(value, _), .. } => {
                prop_assert_eq!(std::mem::discriminant(&value), std::mem::discriminant(&column), "in the column's type");
                holds(op, order(&column, &value))
            }
            other => panic!("{other:?}"),
        };
        prop_assert_eq!(answer, expected);
    }

    #[test]
    fn exact_fit_changes_no_value(constant in number(), ty in prop::sample::select(vec![Scalar::I32, Scalar::U32, Scalar::U64, Scalar::F32, Scalar::F64])) {
        if let Fit::Exact(value) = fit(&constant, ty) {
            prop_assert_eq!(order(&value, &constant), Ordering::Equal);
        }
    }
}
