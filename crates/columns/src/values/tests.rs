use omnigraph_lang::value::{IntegerStyle, encode};
use proptest::prelude::*;

use super::*;
use crate::mapping::arrow_type;
use crate::samples::{types, values};

/// A value with its bits: -0 differs from 0 here.
fn shown(value: &Value) -> String {
    encode(value, IntegerStyle::Native)
}

fn column_of_all(ty: &PropertyType, values: &[Value]) -> ArrayRef {
    let mut builder = ColumnBuilder::new(ty);
    values.iter().for_each(|value| builder.push(value.clone()).unwrap());
    builder.finish().unwrap()
}

fn rows() -> impl Strategy<Value = (PropertyType, Vec<Value>)> {
    types().prop_flat_map(|ty| {
        let values = proptest::collection::vec(values(&ty), 0..12);
        (Just(ty), values)
    })
}

proptest! {
    #[test]
    fn values_come_back_from_their_column((ty, values) in rows(), cut in 0_usize..4) {
        let array = column_of_all(&ty, &values);
        prop_assert_eq!(array.data_type(), &arrow_type(&ty));
        let column = Column::of(array.as_ref()).unwrap();
        for (row, value) in values.iter().enumerate() {
            prop_assert_eq!(shown(&column.value(row)), shown(value));
        }
        // A slice starts within the buffers.
        let cut = cut.min(values.len());
        let sliced = array.slice(cut, values.len() - cut);
        let column = Column::of(sliced.as_ref()).unwrap();
        for (row, value) in values[cut..].iter().enumerate() {
            prop_assert_eq!(shown(&column.value(row)), shown(value));
        }
    }
}

#[test]
fn value_of_another_type_is_refused_with_the_type_of_its_column() {
    let cases = [
        (PropertyType::Scalar(Scalar::I32), Value::I64(1)),
        (PropertyType::Scalar(Scalar::String), Value::Date(1)),
        (PropertyType::List(Scalar::I32), Value::List(vec![Value::U32(1)])),
        (PropertyType::List(Scalar::F32), Value::Vector(vec![1.0])),
        (PropertyType::Vector(2), Value::Vector(vec![1.0])),
        (PropertyType::Blob, Value::String("a".to_owned())),
    ];
    for (ty, value) in cases {
        let Err(ColumnsError::ValueType { column, .. }) = column_of(value, &ty) else { panic!("{ty} took it") };
        assert_eq!(column, ty);
    }
}

#[test]
fn finished_builder_starts_anew() {
    for ty in [PropertyType::Scalar(Scalar::DateTime), PropertyType::List(Scalar::Bool), PropertyType::Vector(1)] {
        let mut builder = ColumnBuilder::new(&ty);
        builder.push(Value::Null).unwrap();
        assert_eq!(builder.finish().unwrap().len(), 1);
        let empty = builder.finish().unwrap();
        assert_eq!((empty.len(), empty.data_type()), (0, &arrow_type(&ty)));
    }
}
