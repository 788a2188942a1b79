//! Arrow types of the language's types, and the schema that a query returns.
//!
//! Invariant: nullability comes from the schema of the graph, never from the data.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema as ArrowSchema, SchemaRef, TimeUnit};
use datafusion::common::ScalarValue;
use omnigraph_lang::query::ir::{OutputType, ReadQuery};
use omnigraph_lang::schema::{PropertyType, Scalar, Schema, TypeDef};
use omnigraph_lang::value::Value;
use omnigraph_types::TableId;

use crate::QueryError;

/// The zone of every timestamp.
const UTC: &str = "UTC";

/// The Arrow type of a scalar.
pub(crate) fn scalar_type(scalar: Scalar) -> DataType {
    match scalar {
        Scalar::String => DataType::Utf8,
        Scalar::Bool => DataType::Boolean,
        Scalar::I32 => DataType::Int32,
        Scalar::I64 => DataType::Int64,
        Scalar::U32 => DataType::UInt32,
        Scalar::U64 => DataType::UInt64,
        Scalar::F32 => DataType::Float32,
        Scalar::F64 => DataType::Float64,
        Scalar::Date => DataType::Date32,
        Scalar::DateTime => DataType::Timestamp(TimeUnit::Millisecond, Some(UTC.into())),
    }
}

/// The Arrow type of a property's or parameter's values.
pub(crate) fn property_type(ty: &PropertyType) -> DataType {
    let item = |scalar| Arc::new(Field::new("item", scalar, true));
    match ty {
        PropertyType::Scalar(scalar) => scalar_type(*scalar),
        PropertyType::Enum(_) => DataType::Utf8,
        PropertyType::List(scalar) => DataType::List(item(scalar_type(*scalar))),
        PropertyType::Vector(length) => {
            DataType::FixedSizeList(item(DataType::Float32), i32::try_from(*length).unwrap_or(i32::MAX))
        }
        PropertyType::Blob => DataType::LargeBinary,
    }
}

/// The columns of a node as a value: `id`, then every property that is not a Blob, in schema order.
pub(crate) fn entity_fields(def: &TypeDef) -> Fields {
    let id = Field::new("id", DataType::Utf8, false);
    let properties = def.properties.iter().filter(|property| property.ty != PropertyType::Blob);
    let properties = properties
        .map(|property| Field::new(&property.name, property_type(&property.ty), property.nullability.is_nullable()));
    std::iter::once(id).chain(properties).collect()
}

/// The type definition of a table.
pub(crate) fn type_def(schema: &Schema, table: TableId) -> Result<&TypeDef, QueryError> {
    schema.type_by_id(table).ok_or(QueryError::TypeMissing { table })
}

/// The schema of a query's result.
pub(crate) fn output_schema(schema: &Schema, read: &ReadQuery) -> Result<SchemaRef, QueryError> {
    let mut fields = Vec::with_capacity(read.projections.len());
    for projection in &read.projections {
        let ty = match &projection.ty {
            OutputType::Value(ty) => property_type(ty),
            OutputType::Entity(table) => DataType::Struct(entity_fields(type_def(schema, *table)?)),
        };
        fields.push(Field::new(&projection.name, ty, projection.nullability.is_nullable()));
    }
    Ok(Arc::new(ArrowSchema::new(fields)))
}

/// A constant as DataFusion holds it.
pub(crate) fn constant(value: &Value, ty: &PropertyType) -> Result<ScalarValue, QueryError> {
    let failed = |source| QueryError::Engine { action: "build a constant", source };
    Ok(match value {
        Value::Null => ScalarValue::try_from(&property_type(ty)).map_err(failed)?,
        Value::Bool(flag) => ScalarValue::Boolean(Some(*flag)),
        Value::I32(number) => ScalarValue::Int32(Some(*number)),
        Value::I64(number) => ScalarValue::Int64(Some(*number)),
        Value::U32(number) => ScalarValue::UInt32(Some(*number)),
        Value::U64(number) => ScalarValue::UInt64(Some(*number)),
        Value::F32(number) => ScalarValue::Float32(Some(*number)),
        Value::F64(number) => ScalarValue::Float64(Some(*number)),
        Value::Date(days) => ScalarValue::Date32(Some(*days)),
        Value::DateTime(ms) => ScalarValue::TimestampMillisecond(Some(*ms), Some(UTC.into())),
        Value::String(text) => ScalarValue::Utf8(Some(text.clone())),
        Value::Bytes(bytes) => ScalarValue::LargeBinary(Some(bytes.clone())),
        Value::List(items) => {
            let item = match ty {
                PropertyType::List(scalar) => *scalar,
                _ => Scalar::String,
            };
            let items = items.iter().map(|value| constant(value, &PropertyType::Scalar(item)));
            let items = items.collect::<Result<Vec<_>, _>>()?;
            ScalarValue::List(ScalarValue::new_list_nullable(&items, &scalar_type(item)))
        }
        Value::Vector(numbers) => {
            let values = Arc::new(arrow::array::Float32Array::from(numbers.clone()));
            let length = i32::try_from(numbers.len()).unwrap_or(i32::MAX);
            let field = Arc::new(Field::new("item", DataType::Float32, true));
            let array = arrow::array::FixedSizeListArray::try_new(field, length, values, None);
            ScalarValue::FixedSizeList(Arc::new(array.map_err(|error| failed(error.into()))?))
        }
    })
}
