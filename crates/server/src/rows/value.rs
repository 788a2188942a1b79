//! One cell of an Arrow array as a value of the contract, with every bit kept.
//!
//! The Arrow types are exactly those that the language maps to; any other one is answered with `None`, which the caller reports as a defect.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, TimeUnit, TimestampMillisecondType,
    UInt32Type, UInt64Type,
};
use bytes::Bytes;
use omnigraph_engine::{ColumnInfo, ColumnType};
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::ScalarType;
use omnigraph_wire::v1::data_type::Kind as TypeKind;
use omnigraph_wire::v1::value::Kind;

/// The value of `array` at `row`. `None` if the type has no counterpart in the contract.
pub(crate) fn value(array: &ArrayRef, row: usize, column: &wire::Column) -> Option<wire::Value> {
    let node_type = match column.r#type.as_ref().and_then(|data_type| data_type.kind.as_ref()) {
        Some(TypeKind::NodeType(name)) => name.as_str(),
        _ => "",
    };
    Some(wire::Value { kind: Some(kind(array, row, node_type)?) })
}

fn kind(array: &ArrayRef, row: usize, node_type: &str) -> Option<Kind> {
    if array.is_null(row) {
        return Some(Kind::NullValue(prost_types::NullValue::NullValue.into()));
    }
    Some(match array.data_type() {
        DataType::Boolean => Kind::BoolValue(array.as_boolean().value(row)),
        DataType::Int32 => Kind::Int32Value(array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => Kind::Int64Value(array.as_primitive::<Int64Type>().value(row)),
        DataType::UInt32 => Kind::Uint32Value(array.as_primitive::<UInt32Type>().value(row)),
        DataType::UInt64 => Kind::Uint64Value(array.as_primitive::<UInt64Type>().value(row)),
        DataType::Float32 => Kind::FloatValue(array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => Kind::DoubleValue(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => Kind::StringValue(array.as_string::<i32>().value(row).to_owned()),
        DataType::LargeUtf8 => Kind::StringValue(array.as_string::<i64>().value(row).to_owned()),
        DataType::LargeBinary => Kind::BytesValue(Bytes::copy_from_slice(array.as_binary::<i64>().value(row))),
        DataType::Date32 => Kind::DateValue(array.as_primitive::<Date32Type>().value(row)),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            Kind::DatetimeValue(array.as_primitive::<TimestampMillisecondType>().value(row))
        }
        DataType::List(_) => Kind::ListValue(list(&array.as_list::<i32>().value(row))?),
        DataType::FixedSizeList(_, _) => {
            let items = array.as_fixed_size_list().value(row);
            let values = items.as_primitive_opt::<Float32Type>()?.values().to_vec();
            Kind::VectorValue(wire::Vector { values })
        }
        DataType::Struct(_) => Kind::NodeValue(node(array, row, node_type)?),
        _ => return None,
    })
}

fn list(items: &ArrayRef) -> Option<wire::ValueList> {
    let item = |row| Some(wire::Value { kind: Some(kind(items, row, "")?) });
    Some(wire::ValueList { values: (0..items.len()).map(item).collect::<Option<_>>()? })
}

/// A whole node: the struct's `id` and its other fields as properties.
fn node(array: &ArrayRef, row: usize, node_type: &str) -> Option<wire::NodeValue> {
    let mut node = wire::NodeValue { r#type: node_type.to_owned(), ..Default::default() };
    let columns = array.as_struct();
    for (field, values) in columns.fields().iter().zip(columns.columns()) {
        match (field.name().as_str(), kind(values, row, "")?) {
            ("id", Kind::StringValue(id)) => node.id = id,
            (name, kind) => {
                let value = Some(wire::Value { kind: Some(kind) });
                node.properties.push(wire::PropertyValue { name: name.to_owned(), value });
            }
        }
    }
    Some(node)
}

/// The type of a result's column. `None` if it has no counterpart in the contract.
pub(crate) fn data_type(arrow: &DataType, info: &ColumnInfo) -> Option<wire::DataType> {
    let kind = match (&info.ty, arrow) {
        (ColumnType::Entity(name), _) => TypeKind::NodeType(name.clone()),
        (ColumnType::Value(_), DataType::List(item)) => TypeKind::List(scalar(item.data_type())?.into()),
        (ColumnType::Value(_), DataType::FixedSizeList(_, length)) => {
            TypeKind::VectorLength(u32::try_from(*length).ok()?)
        }
        (ColumnType::Value(_), plain) => TypeKind::Scalar(scalar(plain)?.into()),
    };
    Some(wire::DataType { kind: Some(kind) })
}

fn scalar(arrow: &DataType) -> Option<ScalarType> {
    Some(match arrow {
        DataType::Utf8 | DataType::LargeUtf8 => ScalarType::String,
        DataType::Boolean => ScalarType::Bool,
        DataType::Int32 => ScalarType::I32,
        DataType::Int64 => ScalarType::I64,
        DataType::UInt32 => ScalarType::U32,
        DataType::UInt64 => ScalarType::U64,
        DataType::Float32 => ScalarType::F32,
        DataType::Float64 => ScalarType::F64,
        DataType::Date32 => ScalarType::Date,
        DataType::Timestamp(TimeUnit::Millisecond, _) => ScalarType::DateTime,
        DataType::LargeBinary => ScalarType::Blob,
        _ => return None,
    })
}
