//! The language's types as Arrow types and back: the one place that pairs them.
//!
//! Invariants: an Arrow type that `arrow_type` returns reads back by `language_type` as the same type, an enum as `String`. Column 0 of
//! every table is `id`; `src` and `dst` follow on edges; then the properties in schema order. Nullability comes from the
//! schema of the graph, never from data.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema as ArrowSchema, SchemaRef, TimeUnit};
use omnigraph_lang::schema::{PropertyDef, PropertyType, Scalar, TypeDef};

use crate::ColumnsError;

/// Position of `id` in every table.
pub const ID: usize = 0;
/// Position of `src` in the table of an edge type.
pub const SRC: usize = 1;
/// Position of `dst` in the table of an edge type.
pub const DST: usize = 2;

/// The zone of every timestamp.
const UTC: &str = "UTC";
/// The name of the items of lists and vectors.
const ITEM: &str = "item";

/// The Arrow type of a scalar.
pub fn scalar_arrow_type(scalar: Scalar) -> DataType {
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
pub fn arrow_type(ty: &PropertyType) -> DataType {
    match ty {
        PropertyType::Scalar(scalar) => scalar_arrow_type(*scalar),
        PropertyType::Enum(_) => DataType::Utf8,
        PropertyType::List(scalar) => DataType::List(item_field(*scalar)),
        PropertyType::Vector(length) => DataType::FixedSizeList(item_field(Scalar::F32), vector_length(*length)),
        PropertyType::Blob => DataType::LargeBinary,
    }
}

/// The field of the items of a list of that scalar, or of a vector.
pub(crate) fn item_field(scalar: Scalar) -> Arc<Field> {
    Arc::new(Field::new(ITEM, scalar_arrow_type(scalar), true))
}

/// A vector's length as Arrow counts it: the grammar admits at most `i32::MAX`.
pub(crate) fn vector_length(length: u32) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

/// The scalar whose columns have this Arrow type.
pub fn language_scalar(ty: &DataType) -> Option<Scalar> {
    Some(match ty {
        DataType::Utf8 => Scalar::String,
        DataType::Boolean => Scalar::Bool,
        DataType::Int32 => Scalar::I32,
        DataType::Int64 => Scalar::I64,
        DataType::UInt32 => Scalar::U32,
        DataType::UInt64 => Scalar::U64,
        DataType::Float32 => Scalar::F32,
        DataType::Float64 => Scalar::F64,
        DataType::Date32 => Scalar::Date,
        DataType::Timestamp(TimeUnit::Millisecond, Some(zone)) if zone.as_ref() == UTC => Scalar::DateTime,
        _ => return None,
    })
}

/// The language type whose columns have this Arrow type, whatever the name and nullability of items. Enums read as `String`.
pub fn language_type(ty: &DataType) -> Option<PropertyType> {
    match ty {
        DataType::List(item) => language_scalar(item.data_type()).map(PropertyType::List),
        DataType::FixedSizeList(item, length) if *item.data_type() == DataType::Float32 => {
            u32::try_from(*length).ok().map(PropertyType::Vector)
        }
        DataType::LargeBinary => Some(PropertyType::Blob),
        scalar => language_scalar(scalar).map(PropertyType::Scalar),
    }
}

/// An Arrow type in the words of the schema language, or in Arrow's own where the language has no such type.
pub fn describe(ty: &DataType) -> String {
    language_type(ty).map_or_else(|| ty.to_string(), |ty| ty.to_string())
}

/// The field of a property.
pub fn property_field(property: &PropertyDef) -> Field {
    Field::new(&property.name, arrow_type(&property.ty), property.nullability.is_nullable())
}

/// The columns of a type's table. [`ColumnsError::BlobStored`] names the first Blob property.
pub fn table_schema(def: &TypeDef) -> Result<SchemaRef, ColumnsError> {
    if let Some(blob) = def.properties.iter().find(|property| property.ty == PropertyType::Blob) {
        return Err(ColumnsError::BlobStored { type_name: def.name.clone(), property: blob.name.clone() });
    }
    let fixed: &[&str] = if def.is_edge() { &["id", "src", "dst"] } else { &["id"] };
    let fixed = fixed.iter().map(|name| Field::new(*name, DataType::Utf8, false));
    Ok(Arc::new(ArrowSchema::new(fixed.chain(def.properties.iter().map(property_field)).collect::<Vec<_>>())))
}

/// The fields of a node as a value: `id`, then every property that is not a Blob, in schema order.
pub fn entity_fields(def: &TypeDef) -> Fields {
    let id = Field::new("id", DataType::Utf8, false);
    let properties = def.properties.iter().filter(|property| property.ty != PropertyType::Blob);
    std::iter::once(id).chain(properties.map(property_field)).collect()
}

#[cfg(test)]
mod tests;
