//! The one schema of all files of a load.
//!
//! Files whose columns have the same Arrow types are sent as they are, and the server casts. Where the types differ, the column of every file
//! is cast here to the declared type, by the casts of the server: so files load together whenever each loads alone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use omnigraph_columns::cast::{Cast, CastFault, plan};
use omnigraph_columns::mapping::describe;

use super::columns::TypeColumns;
use super::error::InputError;
use super::rows::{Batches, Table};

/// Gives all tables one schema, or says which two files have other columns.
pub(super) fn unify(
    tables: Vec<(PathBuf, Table)>,
    of: &TypeColumns,
) -> Result<(SchemaRef, Vec<(PathBuf, Table)>), InputError> {
    let (first_file, first) = tables.first().ok_or(InputError::NoFiles)?;
    for (file, table) in &tables[1..] {
        same_columns((first_file, &first.schema), (file, &table.schema))?;
    }
    let field = |(place, field): (usize, &Arc<Field>)| {
        let same = tables.iter().all(|(_, table)| table.schema.field(place).data_type() == field.data_type());
        let declared = of.schema.field_with_name(field.name()).map_or(field.data_type(), |field| field.data_type());
        let data_type = if same { field.data_type() } else { declared };
        Field::new(field.name(), data_type.clone(), true)
    };
    let schema = Arc::new(Schema::new(first.schema.fields().iter().enumerate().map(field).collect::<Vec<_>>()));
    let cast = |(file, table): (PathBuf, Table)| {
        let table = cast_to(&schema, &file, table)?;
        Ok((file, table))
    };
    let tables = tables.into_iter().map(cast).collect::<Result<Vec<_>, InputError>>()?;
    Ok((schema, tables))
}

/// Both lists are in the order of the type, so that they are equal if their sets are.
fn same_columns(first: (&PathBuf, &SchemaRef), other: (&PathBuf, &SchemaRef)) -> Result<(), InputError> {
    for ((with, columns), (without, others)) in [(first, other), (other, first)] {
        if let Some(column) = columns.fields().iter().find(|field| others.column_with_name(field.name()).is_none()) {
            let (with, without) = (with.clone(), without.clone());
            return Err(InputError::FilesDiffer { with, without, column: column.name().clone() });
        }
    }
    Ok(())
}

fn cast_to(schema: &SchemaRef, file: &Path, table: Table) -> Result<Table, InputError> {
    let mut casts: Vec<Cast> = Vec::with_capacity(schema.fields().len());
    for (from, to) in table.schema.fields().iter().zip(schema.fields()) {
        let cast =
            if from.data_type() == to.data_type() { Some(Cast::Keep) } else { plan(from.data_type(), to.data_type()) };
        casts.push(cast.ok_or_else(|| InputError::NoCast {
            file: file.to_owned(),
            column: to.name().clone(),
            found: from.data_type().to_string(),
            wanted: describe(to.data_type()),
        })?);
    }
    if casts.iter().all(|cast| *cast == Cast::Keep) {
        return Ok(Table { schema: Arc::clone(schema), batches: table.batches });
    }
    let (target, file, mut rows_before) = (Arc::clone(schema), file.to_owned(), 0);
    let batches: Batches = Box::new(table.batches.map(move |batch| {
        let batch = batch?;
        let columns = batch.columns().iter().zip(&casts).zip(target.fields());
        let columns = columns.map(|((column, cast), field)| {
            let data_type: &DataType = field.data_type();
            cast.apply(column, data_type).map_err(|fault| refused(&file, field.name(), rows_before, fault))
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        rows_before += batch.num_rows() as u64;
        RecordBatch::try_new(Arc::clone(&target), columns)
            .map_err(|source| InputError::Malformed { file: file.clone(), source })
    }));
    Ok(Table { schema: Arc::clone(schema), batches })
}

fn refused(file: &Path, column: &str, rows_before: u64, fault: CastFault) -> InputError {
    let (file, column) = (file.to_owned(), column.to_owned());
    match fault {
        CastFault::Value { row, reason } => {
            InputError::Value { file, row: Some(rows_before + row as u64 + 1), column, reason }
        }
        CastFault::Length { row, expected, actual } => {
            let reason = format!("expected {expected} numbers, got {actual}");
            InputError::Value { file, row: Some(rows_before + row as u64 + 1), column, reason }
        }
        CastFault::Column { reason } => InputError::Value { file, row: None, column, reason },
    }
}
