//! Types and values for tests: every type of the language, with its extremes.

use omnigraph_lang::date::{DAY_MAX, DAY_MIN, MILLISECOND_MAX, MILLISECOND_MIN};
use omnigraph_lang::schema::{PropertyType, Scalar};
use omnigraph_lang::value::Value;
use proptest::prelude::*;

/// Any scalar type.
pub(crate) fn scalars() -> impl Strategy<Value = Scalar> {
    proptest::sample::select(Scalar::ALL.as_slice())
}

/// Any type.
pub(crate) fn types() -> impl Strategy<Value = PropertyType> {
    prop_oneof![
        4 => scalars().prop_map(PropertyType::Scalar),
        3 => scalars().prop_map(PropertyType::List),
        1 => (1_u32..5).prop_map(PropertyType::Vector),
        1 => Just(PropertyType::Enum(vec!["a".to_owned(), "b".to_owned()])),
        1 => Just(PropertyType::Blob),
    ]
}

/// Any value of a scalar type that is not null; extremes come up often.
pub(crate) fn scalar_values(scalar: Scalar) -> BoxedStrategy<Value> {
    match scalar {
        Scalar::String => any::<String>().prop_map(Value::String).boxed(),
        Scalar::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Scalar::I32 => extremes(any::<i32>(), [i32::MIN, i32::MAX], Value::I32),
        Scalar::I64 => extremes(any::<i64>(), [i64::MIN, i64::MAX], Value::I64),
        Scalar::U32 => extremes(any::<u32>(), [0, u32::MAX], Value::U32),
        Scalar::U64 => extremes(any::<u64>(), [0, u64::MAX], Value::U64),
        Scalar::F32 => extremes(float32(), [-0.0, f32::MIN_POSITIVE], Value::F32),
        Scalar::F64 => extremes(float64(), [-0.0, f64::MAX], Value::F64),
        Scalar::Date => extremes(DAY_MIN..=DAY_MAX, [DAY_MIN, DAY_MAX], Value::Date),
        Scalar::DateTime => {
            extremes(MILLISECOND_MIN..=MILLISECOND_MAX, [MILLISECOND_MIN, MILLISECOND_MAX], Value::DateTime)
        }
    }
}

fn extremes<T: Clone + std::fmt::Debug + 'static>(
    any: impl Strategy<Value = T> + 'static,
    extremes: [T; 2],
    value: fn(T) -> Value,
) -> BoxedStrategy<Value> {
    prop_oneof![4 => any, 1 => proptest::sample::select(extremes.to_vec())].prop_map(value).boxed()
}

fn float32() -> impl Strategy<Value = f32> {
    use proptest::num::f32::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO
}

fn float64() -> impl Strategy<Value = f64> {
    use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO
}

/// Any value of a type, or null.
pub(crate) fn values(ty: &PropertyType) -> BoxedStrategy<Value> {
    let some = match ty {
        PropertyType::Scalar(scalar) => scalar_values(*scalar),
        PropertyType::Enum(values) => proptest::sample::select(values.clone()).prop_map(Value::String).boxed(),
        PropertyType::List(scalar) => {
            proptest::collection::vec(scalar_values(*scalar), 0..4).prop_map(Value::List).boxed()
        }
        PropertyType::Vector(length) => {
            proptest::collection::vec(float32(), *length as usize).prop_map(Value::Vector).boxed()
        }
        PropertyType::Blob => any::<Vec<u8>>().prop_map(Value::Bytes).boxed(),
    };
    prop_oneof![1 => Just(Value::Null), 5 => some].boxed()
}
