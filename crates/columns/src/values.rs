//! Language values to columns and cells back to language values.
//!
//! Invariant: a value that `push` accepts is the value that `Column::value` returns for its row, bit by bit.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanBuilder, FixedSizeListArray, Float32Array, LargeBinaryBuilder, ListArray, PrimitiveBuilder,
    StringBuilder,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{
    Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMillisecondType, UInt32Type, UInt64Type,
};
use omnigraph_lang::schema::{PropertyType, Scalar};
use omnigraph_lang::value::Value;

use crate::ColumnsError;
use crate::mapping::{item_field, scalar_arrow_type, vector_length};
use crate::views::{Column, ScalarColumn};

impl ScalarColumn<'_> {
    /// The value of a row.
    pub fn value(self, row: usize) -> Value {
        if self.array().is_null(row) {
            return Value::Null;
        }
        match self {
            Self::String(array) => Value::String(array.value(row).to_owned()),
            Self::Bool(array) => Value::Bool(array.value(row)),
            Self::I32(array) => Value::I32(array.value(row)),
            Self::I64(array) => Value::I64(array.value(row)),
            Self::U32(array) => Value::U32(array.value(row)),
            Self::U64(array) => Value::U64(array.value(row)),
            Self::F32(array) => Value::F32(array.value(row)),
            Self::F64(array) => Value::F64(array.value(row)),
            Self::Date(array) => Value::Date(array.value(row)),
            Self::DateTime(array) => Value::DateTime(array.value(row)),
        }
    }
}

impl Column<'_> {
    /// The value of a row.
    pub fn value(self, row: usize) -> Value {
        if self.array().is_null(row) {
            return Value::Null;
        }
        match self {
            Self::Scalar(column) => column.value(row),
            Self::List(column) => Value::List(column.range(row).map(|item| column.items().value(item)).collect()),
            Self::Vector(column) => Value::Vector(column.components().values()[column.range(row)].to_vec()),
            Self::Blob(array) => Value::Bytes(array.value(row).to_vec()),
        }
    }
}

/// A column of one row.
pub fn column_of(value: Value, ty: &PropertyType) -> Result<ArrayRef, ColumnsError> {
    let mut builder = ColumnBuilder::new(ty);
    builder.push(value)?;
    builder.finish()
}

/// Collects the values of one column.
#[derive(Debug)]
pub struct ColumnBuilder {
    ty: PropertyType,
    cells: Cells,
}

#[derive(Debug)]
enum Cells {
    Scalar(ScalarCells),
    List { lengths: Vec<usize>, valid: Vec<bool>, scalar: Scalar, items: ScalarCells },
    Vector { length: u32, valid: Vec<bool>, components: Vec<f32> },
    Blob(LargeBinaryBuilder),
}

#[derive(Debug)]
enum ScalarCells {
    String(StringBuilder),
    Bool(BooleanBuilder),
    I32(PrimitiveBuilder<Int32Type>),
    I64(PrimitiveBuilder<Int64Type>),
    U32(PrimitiveBuilder<UInt32Type>),
    U64(PrimitiveBuilder<UInt64Type>),
    F32(PrimitiveBuilder<Float32Type>),
    F64(PrimitiveBuilder<Float64Type>),
    Date(PrimitiveBuilder<Date32Type>),
    DateTime(PrimitiveBuilder<TimestampMillisecondType>),
}

impl ColumnBuilder {
    /// A builder without values for a column of that type.
    pub fn new(ty: &PropertyType) -> Self {
        let cells = match ty {
            PropertyType::Scalar(scalar) => Cells::Scalar(ScalarCells::new(*scalar)),
            PropertyType::Enum(_) => Cells::Scalar(ScalarCells::new(Scalar::String)),
            PropertyType::List(scalar) => Cells::List {
                lengths: Vec::new(),
                valid: Vec::new(),
                scalar: *scalar,
                items: ScalarCells::new(*scalar),
            },
            PropertyType::Vector(length) => {
                Cells::Vector { length: *length, valid: Vec::new(), components: Vec::new() }
            }
            PropertyType::Blob => Cells::Blob(LargeBinaryBuilder::new()),
        };
        Self { ty: ty.clone(), cells }
    }

    /// Adds a row. A builder that refused a value must be dropped.
    pub fn push(&mut self, value: Value) -> Result<(), ColumnsError> {
        match self.cells.push(value) {
            Ok(()) => Ok(()),
            Err(Misfit(found)) => Err(ColumnsError::ValueType { column: self.ty.clone(), found }),
        }
    }

    /// The column of the rows added; the builder is empty afterwards.
    pub fn finish(&mut self) -> Result<ArrayRef, ColumnsError> {
        Ok(match &mut self.cells {
            Cells::Scalar(cells) => cells.finish(),
            Cells::List { lengths, valid, scalar, items } => {
                let offsets = OffsetBuffer::from_lengths(std::mem::take(lengths));
                let nulls = NullBuffer::from(std::mem::take(valid));
                Arc::new(ListArray::try_new(item_field(*scalar), offsets, items.finish(), Some(nulls))?)
            }
            Cells::Vector { length, valid, components } => {
                let components = Arc::new(Float32Array::from(std::mem::take(components)));
                let nulls = NullBuffer::from(std::mem::take(valid));
                let (field, length) = (item_field(Scalar::F32), vector_length(*length));
                Arc::new(FixedSizeListArray::try_new(field, length, components, Some(nulls))?)
            }
            Cells::Blob(builder) => Arc::new(builder.finish()),
        })
    }
}

/// The kind of a value that its column does not take.
struct Misfit(&'static str);

impl Cells {
    fn push(&mut self, value: Value) -> Result<(), Misfit> {
        match (self, value) {
            (Self::Scalar(cells), value) => return cells.push(value),
            (Self::List { lengths, valid, items, .. }, Value::List(values)) => {
                lengths.push(values.len());
                valid.push(true);
                return values.into_iter().try_for_each(|value| items.push(value));
            }
            (Self::List { lengths, valid, .. }, Value::Null) => {
                lengths.push(0);
                valid.push(false);
            }
            (Self::Vector { length, valid, components }, Value::Vector(values)) if fits(*length, &values) => {
                valid.push(true);
                components.extend(values);
            }
            (Self::Vector { length, valid, components }, Value::Null) => {
                valid.push(false);
                components.extend((0..*length).map(|_| 0.0));
            }
            (Self::Blob(builder), Value::Bytes(bytes)) => builder.append_value(bytes),
            (Self::Blob(builder), Value::Null) => builder.append_null(),
            (Self::List { .. } | Self::Vector { .. } | Self::Blob(_), value) => return Err(Misfit(kind(&value))),
        }
        Ok(())
    }
}

fn fits(length: u32, components: &[f32]) -> bool {
    usize::try_from(length) == Ok(components.len())
}

impl ScalarCells {
    fn new(scalar: Scalar) -> Self {
        match scalar {
            Scalar::String => Self::String(StringBuilder::new()),
            Scalar::Bool => Self::Bool(BooleanBuilder::new()),
            Scalar::I32 => Self::I32(PrimitiveBuilder::new()),
            Scalar::I64 => Self::I64(PrimitiveBuilder::new()),
            Scalar::U32 => Self::U32(PrimitiveBuilder::new()),
            Scalar::U64 => Self::U64(PrimitiveBuilder::new()),
            Scalar::F32 => Self::F32(PrimitiveBuilder::new()),
            Scalar::F64 => Self::F64(PrimitiveBuilder::new()),
            Scalar::Date => Self::Date(PrimitiveBuilder::new()),
            Scalar::DateTime => Self::DateTime(PrimitiveBuilder::new().with_data_type(scalar_arrow_type(scalar))),
        }
    }

    fn push(&mut self, value: Value) -> Result<(), Misfit> {
        match (self, value) {
            (cells, Value::Null) => cells.push_null(),
            (Self::String(builder), Value::String(text)) => builder.append_value(text),
            (Self::Bool(builder), Value::Bool(flag)) => builder.append_value(flag),
            (Self::I32(builder), Value::I32(number)) => builder.append_value(number),
            (Self::I64(builder), Value::I64(number)) => builder.append_value(number),
            (Self::U32(builder), Value::U32(number)) => builder.append_value(number),
            (Self::U64(builder), Value::U64(number)) => builder.append_value(number),
            (Self::F32(builder), Value::F32(number)) => builder.append_value(number),
            (Self::F64(builder), Value::F64(number)) => builder.append_value(number),
            (Self::Date(builder), Value::Date(days)) => builder.append_value(days),
            (Self::DateTime(builder), Value::DateTime(ms)) => builder.append_value(ms),
            (_, value) => return Err(Misfit(kind(&value))),
        }
        Ok(())
    }

    fn push_null(&mut self) {
        match self {
            Self::String(builder) => builder.append_null(),
            Self::Bool(builder) => builder.append_null(),
            Self::I32(builder) => builder.append_null(),
            Self::I64(builder) => builder.append_null(),
            Self::U32(builder) => builder.append_null(),
            Self::U64(builder) => builder.append_null(),
            Self::F32(builder) => builder.append_null(),
            Self::F64(builder) => builder.append_null(),
            Self::Date(builder) => builder.append_null(),
            Self::DateTime(builder) => builder.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::String(builder) => Arc::new(builder.finish()),
            Self::Bool(builder) => Arc::new(builder.finish()),
            Self::I32(builder) => Arc::new(builder.finish()),
            Self::I64(builder) => Arc::new(builder.finish()),
            Self::U32(builder) => Arc::new(builder.finish()),
            Self::U64(builder) => Arc::new(builder.finish()),
            Self::F32(builder) => Arc::new(builder.finish()),
            Self::F64(builder) => Arc::new(builder.finish()),
            Self::Date(builder) => Arc::new(builder.finish()),
            Self::DateTime(builder) => Arc::new(builder.finish()),
        }
    }
}

/// The kind of a value, for an error.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "Bool",
        Value::I32(_) => "I32",
        Value::I64(_) => "I64",
        Value::U32(_) => "U32",
        Value::U64(_) => "U64",
        Value::F32(_) => "F32",
        Value::F64(_) => "F64",
        Value::Date(_) => "Date",
        Value::DateTime(_) => "DateTime",
        Value::String(_) => "String",
        Value::Bytes(_) => "Blob",
        Value::List(_) => "list",
        Value::Vector(_) => "Vector",
    }
}

#[cfg(test)]
mod tests;
