use std::sync::Arc;

use arrow::array::{Int32Array, LargeBinaryArray};
use omnigraph_lang::schema::{PropertyType, Scalar};
use proptest::prelude::*;

use super::*;
use crate::samples::{scalar_values, scalars};
use crate::values::ColumnBuilder;

fn column(scalar: Scalar, values: &[Value]) -> ArrayRef {
    let mut builder = ColumnBuilder::new(&PropertyType::Scalar(scalar));
    values.iter().for_each(|value| builder.push(value.clone()).unwrap());
    builder.finish().unwrap()
}

/// Columns of equal length: type and values of each.
fn keys() -> impl Strategy<Value = Vec<(Scalar, Vec<Value>)>> {
    (1_usize..4, 1_usize..6).prop_flat_map(|(members, rows)| {
        let member = move |scalar| (Just(scalar), proptest::collection::vec(scalar_values(scalar), rows));
        proptest::collection::vec(scalars().prop_flat_map(member), members)
    })
}

proptest! {
    #[test]
    fn columns_and_values_spell_the_same_ids(members in keys()) {
        let columns: Vec<ArrayRef> = members.iter().map(|(scalar, values)| column(*scalar, values)).collect();
        let ids = key_of_columns(&columns.iter().collect::<Vec<_>>()).unwrap();
        for row in 0..members[0].1.len() {
            let values: Vec<&Value> = members.iter().map(|(_, values)| &values[row]).collect();
            prop_assert_eq!(ids.value(row), key_of_values(&values).unwrap());
        }
    }

    #[test]
    fn every_scalar_type_spells_alike_alone(case in scalars().prop_flat_map(|s| (Just(s), scalar_values(s)))) {
        let (scalar, value) = case;
        let ids = key_of_columns(&[&column(scalar, std::slice::from_ref(&value))]).unwrap();
        prop_assert_eq!(ids.value(0), key_of_values(&[&value]).unwrap());
    }
}

#[test]
fn key_of_one_text_shares_its_column() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let ids = key_of_columns(&[&texts]).unwrap();
    assert_eq!(ids.values().as_ptr(), texts.to_data().buffers()[1].as_ptr());
}

#[test]
fn what_no_key_has_is_refused() {
    let null: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
    assert!(matches!(key_of_columns(&[&null]), Err(ColumnsError::Key(KeyError::Null))));
    let blob: ArrayRef = Arc::new(LargeBinaryArray::from_vec(vec![b"a"]));
    assert!(matches!(key_of_columns(&[&blob]), Err(ColumnsError::ColumnType { .. })));
    assert!(matches!(key_of_columns(&[]), Err(ColumnsError::Key(KeyError::Empty))));
    assert_eq!(key_of_values(&[&Value::Null]), Err(KeyError::Null));
    assert_eq!(key_of_values(&[&Value::Bytes(Vec::new())]), Err(KeyError::Type));
}
