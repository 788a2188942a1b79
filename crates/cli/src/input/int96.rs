//! The old timestamps of Parquet: a day and the nanoseconds in it, 96 bits, which nanoseconds in 64 bits hold for 1677 to 2262 only.
//!
//! They are read twice, as milliseconds, which never wrap, and as nanoseconds, which wrap around. The difference, by arithmetic that wraps as
//! well, is what the milliseconds leave out: it must be zero, or the value would change.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{
    DataType, Field, Schema, SchemaRef, TimeUnit, TimestampMillisecondType, TimestampNanosecondType,
};
use parquet::basic::Type as PhysicalType;
use parquet::schema::types::SchemaDescriptor;

use super::error::InputError;

/// Nanoseconds of a millisecond.
const NANOSECONDS: i64 = 1_000_000;

/// The columns of a file, by their places among its roots, whose values are such timestamps.
pub(super) fn roots(schema: &SchemaDescriptor) -> Vec<usize> {
    let leaves = schema.columns().iter().enumerate();
    let mut roots: Vec<usize> = leaves
        .filter(|(_, leaf)| leaf.physical_type() == PhysicalType::INT96)
        .map(|(leaf, _)| schema.get_column_root_idx(leaf))
        .collect();
    roots.dedup();
    roots
}

/// The schema in which those columns hold milliseconds.
pub(super) fn as_milliseconds(schema: &SchemaRef, roots: &[usize]) -> SchemaRef {
    let field = |(place, field): (usize, &Arc<Field>)| match roots.contains(&place) {
        true => Arc::new(field.as_ref().clone().with_data_type(milliseconds(field.data_type()))),
        false => Arc::clone(field),
    };
    let fields: Vec<Arc<Field>> = schema.fields().iter().enumerate().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn milliseconds(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Millisecond, zone.clone()),
        DataType::List(item) => {
            DataType::List(Arc::new(item.as_ref().clone().with_data_type(milliseconds(item.data_type()))))
        }
        other => other.clone(),
    }
}

/// Refuses a value that whole milliseconds do not hold. `nanoseconds` has the columns to look at, by the names that they have in `batch`.
pub(super) fn check(
    batch: &RecordBatch,
    nanoseconds: &RecordBatch,
    file: &Path,
    rows_before: u64,
) -> Result<(), InputError> {
    for (field, exact) in nanoseconds.schema_ref().fields().iter().zip(nanoseconds.columns()) {
        let Some(whole) = batch.column_by_name(field.name()) else { continue };
        if let Some(row) = first_with_rest(whole, exact) {
            return Err(InputError::Value {
                file: file.to_owned(),
                row: Some(rows_before + row as u64 + 1),
                column: field.name().clone(),
                reason: "the time is finer than a millisecond, and a DateTime holds whole milliseconds".to_owned(),
            });
        }
    }
    Ok(())
}

/// The first row with a value that has more than whole milliseconds.
fn first_with_rest(whole: &ArrayRef, exact: &ArrayRef) -> Option<usize> {
    if let (Some(whole), Some(exact)) = (whole.as_list_opt::<i32>(), exact.as_list_opt::<i32>()) {
        let item = first_with_rest(whole.values(), exact.values())?;
        return (0..whole.len())
            .find(|row| usize::try_from(whole.value_offsets()[row + 1]).is_ok_and(|end| item < end));
    }
    let whole = whole.as_primitive_opt::<TimestampMillisecondType>()?;
    let exact = exact.as_primitive_opt::<TimestampNanosecondType>()?;
    (0..whole.len().min(exact.len()))
        .find(|&row| whole.is_valid(row) && exact.value(row) != whole.value(row).wrapping_mul(NANOSECONDS))
}
