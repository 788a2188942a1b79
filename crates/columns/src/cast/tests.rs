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
