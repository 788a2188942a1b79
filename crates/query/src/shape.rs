//! From the flat columns of a plan to the columns that the client asked for.
//!
//! Invariant: every batch has exactly the promised schema; Arrow checks that no required column holds a null.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StructArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Fields, Schema as ArrowSchema, SchemaRef};
use arrow::error::ArrowError;
use omnigraph_columns::mapping::{arrow_type, entity_fields};
use omnigraph_lang::query::ir::OutputType;

use crate::QueryError;
use crate::input::Input;
use crate::plan::width;

/// Which flat columns make an output column.
#[derive(Debug)]
enum Source {
    Value(usize),
    Entity(Fields, Range<usize>),
}

/// Builds output batches.
#[derive(Debug)]
pub(crate) struct Shape {
    schema: SchemaRef,
    sources: Vec<Source>,
}

impl Shape {
    pub(crate) fn of(input: Input<'_>) -> Result<Self, QueryError> {
        let schema = output_schema(input)?;
        let (mut sources, mut next) = (Vec::new(), 0);
        for (projection, field) in input.read.projections.iter().zip(schema.fields()) {
            let end = next + width(input, projection)?;
            sources.push(match field.data_type() {
                DataType::Struct(fields) => Source::Entity(fields.clone(), next..end),
                _ => Source::Value(next),
            });
            next = end;
        }
        Ok(Self { schema, sources })
    }

    /// The promised schema.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The output batch of a batch of flat columns.
    pub(crate) fn apply(&self, flat: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let mut columns = Vec::with_capacity(self.sources.len());
        for (source, field) in self.sources.iter().zip(self.schema.fields()) {
            columns.push(match source {
                Source::Value(at) => fit(flat.column(*at), field.data_type())?,
                Source::Entity(fields, range) => entity(fields, &flat.columns()[range.clone()], flat.num_rows())?,
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(flat.num_rows()));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
    }
}

/// The schema of the query's result. Nullability comes from the schema of the graph, never from data.
fn output_schema(input: Input<'_>) -> Result<SchemaRef, QueryError> {
    let mut fields = Vec::with_capacity(input.read.projections.len());
    for projection in &input.read.projections {
        let ty = match &projection.ty {
            OutputType::Value(ty) => arrow_type(ty),
            OutputType::Entity(table) => DataType::Struct(entity_fields(input.type_def(*table)?)),
        };
        fields.push(Field::new(&projection.name, ty, projection.nullability.is_nullable()));
    }
    Ok(Arc::new(ArrowSchema::new(fields)))
}

fn entity(fields: &Fields, columns: &[ArrayRef], rows: usize) -> Result<ArrayRef, ArrowError> {
    let columns = fields.iter().zip(columns).map(|(field, column)| fit(column, field.data_type()));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, None, rows)?))
}

/// The column in its promised type, which differs at most in how it is laid out.
fn fit(column: &ArrayRef, ty: &DataType) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == ty { Ok(Arc::clone(column)) } else { cast(column, ty) }
}
