use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, ListArray, StringArray};
use arrow::datatypes::{DataType, Field, Int32Type, TimeUnit};

use super::{Cast, CastFault, plan};

fn list(item: DataType, name: &str) -> DataType {
    DataType::List(Arc::new(Field::new(name, item, true)))
}

#[test]
fn equal_types_are_kept_without_a_copy() {
    let array: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let kept = plan(&DataType::Utf8, &DataType::Utf8).unwrap().apply(&array, &DataType::Utf8).unwrap();
    assert!(Arc::ptr_eq(&array, &kept));
}

#[test]
fn list_with_another_item_name_keeps_its_values_buffer() {
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), Some(2)]), None]);
    let named: ArrayRef = Arc::new(
        ListArray::try_new(
            Arc::new(Field::new("element", DataType::Int32, false)),
            lists.offsets().clone(),
            lists.values().clone(),
            lists.nulls().cloned(),
        )
        .unwrap(),
    );
    let to = list(DataType::Int32, "item");
    let cast = plan(named.data_type(), &to).unwrap().apply(&named, &to).unwrap();
    assert_eq!(cast.data_type(), &to);
    assert!(Arc::ptr_eq(cast.as_list::<i32>().values(), lists.values()));
}

#[test]
fn types_that_could_lose_something_have_no_cast() {
    let utc = || Some("UTC".into());
    let refused = [
        (DataType::Float64, DataType::Int64),
        (DataType::Int64, DataType::Utf8),
        (DataType::Utf8, DataType::Int64),
        (DataType::Utf8, DataType::Date32),
        (DataType::Utf8, DataType::Boolean),
        (DataType::Binary, DataType::Utf8),
        (DataType::Boolean, DataType::Int32),
        (DataType::Time64(TimeUnit::Microsecond), DataType::Timestamp(TimeUnit::Millisecond, utc())),
        (DataType::Decimal128(10, 2), DataType::Float64),
        (DataType::Int32, list(DataType::Int32, "item")),
    ];
    for (from, to) in refused {
        assert_eq!(plan(&from, &to), None, "{from} to {to}");
    }
}

#[test]
fn fault_of_an_item_in_a_sliced_list_names_its_row() {
    use arrow::datatypes::Int64Type;
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([
        Some(vec![Some(i64::MAX)]),
        Some(vec![Some(1)]),
        Some(vec![]),
        Some(vec![Some(2), Some(i64::MAX)]),
    ]);
    let sliced: ArrayRef = Arc::new(lists.slice(1, 3));
    let to = list(DataType::Int32, "item");
    let fault = plan(sliced.data_type(), &to).unwrap().apply(&sliced, &to).unwrap_err();
    assert!(matches!(fault, CastFault::Value { row: 2, .. }), "{fault:?}");
}

#[test]
fn rescaling_keeps_nulls_and_refuses_a_rest() {
    let utc = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    let from = DataType::Timestamp(TimeUnit::Nanosecond, None);
    let counts =
        |values: Vec<Option<i64>>| -> ArrayRef { arrow::compute::cast(&Int64Array::from(values), &from).unwrap() };
    let cast = plan(&from, &utc).unwrap();
    assert_eq!(cast, Cast::Rescale { multiply: 1, divide: 1_000_000 });
    let kept = cast.apply(&counts(vec![Some(-2_000_000), None]), &utc).unwrap();
    assert_eq!((kept.data_type(), kept.null_count()), (&utc, 1));
    let fault = cast.apply(&counts(vec![None, Some(-1)]), &utc).unwrap_err();
    assert!(matches!(fault, CastFault::Value { row: 1, .. }));
}

#[test]
fn decimal_becomes_an_integer_where_it_is_one_that_fits() {
    use arrow::array::{Decimal128Array, Decimal256Array};
    use arrow::datatypes::{Int64Type, UInt64Type, i256};
    let decimals = |values: Vec<Option<i128>>, scale| -> ArrayRef {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(38, scale).unwrap())
    };
    let cast = |array: &ArrayRef, to: &DataType| plan(array.data_type(), to).unwrap().apply(array, to);
    let whole = cast(&decimals(vec![Some(12), None, Some(-3)], 0), &DataType::Int64).unwrap();
    assert_eq!(whole.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), [Some(12), None, Some(-3)]);
    let scaled = cast(&decimals(vec![Some(1_200)], 2), &DataType::Int32).unwrap();
    assert_eq!(scaled.as_primitive::<Int32Type>().value(0), 12);
    let largest = cast(&decimals(vec![Some(u64::MAX.into())], 0), &DataType::UInt64).unwrap();
    assert_eq!(largest.as_primitive::<UInt64Type>().value(0), u64::MAX);
    let wide: ArrayRef =
        Arc::new(Decimal256Array::from(vec![i256::from_i128(700)]).with_precision_and_scale(76, 2).unwrap());
    assert_eq!(cast(&wide, &DataType::Int64).unwrap().as_primitive::<Int64Type>().value(0), 7);

    for (values, scale, to) in [
        (vec![Some(1), Some(i128::from(i64::MAX) + 1)], 0, DataType::Int64),
        (vec![None, Some(1_250)], 2, DataType::Int64),
        (vec![Some(0), Some(-1)], 0, DataType::UInt64),
        (vec![Some(0), Some(1 << 31)], 0, DataType::Int32),
    ] {
        let fault = cast(&decimals(values, scale), &to).unwrap_err();
        assert!(matches!(fault, CastFault::Value { row: 1, .. }), "{fault:?}");
    }
}
