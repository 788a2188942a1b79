//! NDJSON text in any chunking to batches, one stream per type that occurs.
//!
//! Memory: one partial line, and pending rows up to a bound in rows per type and in bytes of text over all types.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanBuilder, FixedSizeListArray, Float32Array, ListArray, PrimitiveBuilder, RecordBatch, StringBuilder,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{
    DataType, Date32Type, Field, FieldRef, Float32Type, Float64Type, Int32Type, Int64Type, Schema as ArrowSchema,
    TimestampMillisecondType, UInt32Type, UInt64Type,
};
use arrow::error::ArrowError;
use omnigraph_lang::ndjson::{Envelope, LineLimits, is_blank, parse_line, strip_byte_order_mark};
use omnigraph_lang::value::Value;
use omnigraph_types::{Limits, TableId};

use crate::error::{EngineError, Result};
use crate::load::columns::AbsentIds;
use crate::load::findings::RowNumbers;
use crate::load::intake::{Intake, TakenBatch};
use crate::schema::{GraphSchema, ID, TypePlan};

/// Rows of one type that make a batch.
const BATCH_ROWS: usize = 8_192;
/// Bytes of text of all types' pending rows together, beyond which all become batches.
const PENDING_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A reader of NDJSON text.
#[derive(Debug)]
pub(crate) struct NdjsonReader {
    limits: LineLimits,
    partial: Vec<u8>,
    lines: u64,
    pending_bytes: usize,
    types: BTreeMap<TableId, TypeRows>,
}

#[derive(Debug)]
struct TypeRows {
    stream: usize,
    plan: Arc<TypePlan>,
    lines: Vec<u64>,
    columns: Vec<ColumnBuilder>,
}

impl NdjsonReader {
    /// A reader at the start of a text.
    pub(crate) fn new(limits: &Limits) -> Self {
        let limits = LineLimits::from(limits);
        Self { limits, partial: Vec::new(), lines: 0, pending_bytes: 0, types: BTreeMap::new() }
    }

    /// Takes more of the text; batches that are full go into `out`.
    pub(crate) fn feed(
        &mut self,
        chunk: &[u8],
        schema: &GraphSchema,
        intake: &mut Intake,
        out: &mut Vec<TakenBatch>,
    ) -> Result<()> {
        let mut rest = chunk;
        while let Some(at) = rest.iter().position(|&byte| byte == b'\n') {
            let (line, after) = (&rest[..at], &rest[at + 1..]);
            rest = after;
            if self.partial.is_empty() {
                self.line(line, schema, intake, out)?;
            } else {
                self.check_length(line.len())?;
                let mut whole = std::mem::take(&mut self.partial);
                whole.extend_from_slice(line);
                self.line(&whole, schema, intake, out)?;
                whole.clear();
                self.partial = whole;
            }
        }
        self.check_length(rest.len())?;
        self.partial.extend_from_slice(rest);
        Ok(())
    }

    /// Ends the text: the last line needs no line end.
    pub(crate) fn finish(mut self, schema: &GraphSchema, intake: &mut Intake, out: &mut Vec<TakenBatch>) -> Result<()> {
        let last = std::mem::take(&mut self.partial);
        if !last.is_empty() {
            self.line(&last, schema, intake, out)?;
        }
        self.flush_all(intake, out)
    }

    fn check_length(&self, more: usize) -> Result<()> {
        let (asked, value) = ((self.partial.len() + more) as u64, self.limits.bytes_max);
        if asked > value {
            let advice = "a line holds one row: write shorter lines, or raise the limit";
            return Err(EngineError::Limit { limit: "ndjson_line_bytes_max", value, asked, advice });
        }
        Ok(())
    }

    fn line(
        &mut self,
        line: &[u8],
        schema: &GraphSchema,
        intake: &mut Intake,
        out: &mut Vec<TakenBatch>,
    ) -> Result<()> {
        self.lines += 1;
        let text = std::str::from_utf8(line).map_err(|error| EngineError::LoadInvalid {
            type_name: None,
            row: Some(self.lines),
            column: None,
            reason: format!("line {}: byte {} is no UTF-8: NDJSON is UTF-8 text", self.lines, error.valid_up_to() + 1),
        })?;
        let text = if self.lines == 1 { strip_byte_order_mark(text) } else { text };
        if is_blank(text) {
            return Ok(());
        }
        let row = parse_line(text, &self.limits, &schema.schema).map_err(|error| error.failure(self.lines))?;
        let rows = match self.types.entry(row.type_id) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(TypeRows::open(schema.by_id(row.type_id)?, intake)?),
        };
        rows.push(row, self.lines)?;
        self.pending_bytes += line.len();
        if rows.lines.len() >= BATCH_ROWS {
            rows.flush(intake, out)?;
        }
        if self.pending_bytes >= PENDING_BYTES_MAX {
            self.flush_all(intake, out)?;
        }
        Ok(())
    }

    fn flush_all(&mut self, intake: &mut Intake, out: &mut Vec<TakenBatch>) -> Result<()> {
        self.pending_bytes = 0;
        self.types.values_mut().try_for_each(|rows| rows.flush(intake, out))
    }
}

impl TypeRows {
    fn open(plan: &Arc<TypePlan>, intake: &mut Intake) -> Result<Self> {
        let columns = plan.arrow.fields().iter().map(|field| ColumnBuilder::new(field.data_type()));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let stream = intake.open(plan, &sent_schema(plan), AbsentIds::Computed)?;
        Ok(Self { stream, plan: plan.clone(), lines: Vec::new(), columns })
    }

    fn push(&mut self, row: Envelope, line: u64) -> Result<()> {
        let ends = row.ends.map(|ends| [ends.from, ends.to]);
        let ends = ends.into_iter().flatten().map(Value::String);
        let id = row.id.map_or(Value::Null, Value::String);
        let values = std::iter::once(id).chain(ends).chain(row.values);
        let mut columns = self.columns.iter_mut();
        for value in values {
            let column =
                columns.next().ok_or(EngineError::Defect("a line has more values than its type has columns"))?;
            column.push(value)?;
        }
        self.lines.push(line);
        Ok(())
    }

    fn flush(&mut self, intake: &mut Intake, out: &mut Vec<TakenBatch>) -> Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let arrow = |source| EngineError::Arrow { action: "build a batch", source };
        let fields = self.plan.arrow.fields().iter();
        let arrays = self.columns.iter_mut().zip(fields).map(|(column, field)| column.finish(field.data_type()));
        let arrays = arrays.collect::<Result<Vec<_>, _>>().map_err(arrow)?;
        let batch = RecordBatch::try_new(sent_schema(&self.plan), arrays).map_err(arrow)?;
        let rows = RowNumbers::Listed(std::mem::take(&mut self.lines));
        out.push(intake.take(self.stream, &batch, &rows)?);
        Ok(())
    }
}

/// The table's schema with an id that may be absent.
fn sent_schema(plan: &TypePlan) -> Arc<ArrowSchema> {
    let nullable = |(at, field): (usize, &FieldRef)| match at {
        ID => Arc::new(Field::clone(field).with_nullable(true)),
        _ => field.clone(),
    };
    Arc::new(ArrowSchema::new(plan.arrow.fields().iter().enumerate().map(nullable).collect::<Vec<_>>()))
}

/// Collects the values of one column.
#[derive(Debug)]
enum ColumnBuilder {
    Text(StringBuilder),
    Bool(BooleanBuilder),
    I32(PrimitiveBuilder<Int32Type>),
    I64(PrimitiveBuilder<Int64Type>),
    U32(PrimitiveBuilder<UInt32Type>),
    U64(PrimitiveBuilder<UInt64Type>),
    F32(PrimitiveBuilder<Float32Type>),
    F64(PrimitiveBuilder<Float64Type>),
    Date(PrimitiveBuilder<Date32Type>),
    DateTime(PrimitiveBuilder<TimestampMillisecondType>),
    List { lengths: Vec<usize>, valid: Vec<bool>, items: Box<ColumnBuilder> },
    Vector { length: usize, valid: Vec<bool>, numbers: Vec<f32> },
}

impl ColumnBuilder {
    fn new(ty: &DataType) -> Result<Self> {
        Ok(match ty {
            DataType::Utf8 => Self::Text(StringBuilder::new()),
            DataType::Boolean => Self::Bool(BooleanBuilder::new()),
            DataType::Int32 => Self::I32(PrimitiveBuilder::new()),
            DataType::Int64 => Self::I64(PrimitiveBuilder::new()),
            DataType::UInt32 => Self::U32(PrimitiveBuilder::new()),
            DataType::UInt64 => Self::U64(PrimitiveBuilder::new()),
            DataType::Float32 => Self::F32(PrimitiveBuilder::new()),
            DataType::Float64 => Self::F64(PrimitiveBuilder::new()),
            DataType::Date32 => Self::Date(PrimitiveBuilder::new()),
            DataType::Timestamp(_, zone) => Self::DateTime(PrimitiveBuilder::new().with_timezone_opt(zone.clone())),
            DataType::List(item) => {
                Self::List { lengths: Vec::new(), valid: Vec::new(), items: Box::new(Self::new(item.data_type())?) }
            }
            DataType::FixedSizeList(_, length) => {
                let length = usize::try_from(*length).unwrap_or_default();
                Self::Vector { length, valid: Vec::new(), numbers: Vec::new() }
            }
            _ => return Err(EngineError::Defect("a column type that no table has")),
        })
    }

    fn push(&mut self, value: Value) -> Result<()> {
        match (self, value) {
            (Self::Text(builder), Value::String(text)) => builder.append_value(text),
            (Self::Text(builder), Value::Null) => builder.append_null(),
            (Self::Bool(builder), Value::Bool(flag)) => builder.append_value(flag),
            (Self::Bool(builder), Value::Null) => builder.append_null(),
            (Self::I32(builder), Value::I32(number)) => builder.append_value(number),
            (Self::I32(builder), Value::Null) => builder.append_null(),
            (Self::I64(builder), Value::I64(number)) => builder.append_value(number),
            (Self::I64(builder), Value::Null) => builder.append_null(),
            (Self::U32(builder), Value::U32(number)) => builder.append_value(number),
            (Self::U32(builder), Value::Null) => builder.append_null(),
            (Self::U64(builder), Value::U64(number)) => builder.append_value(number),
            (Self::U64(builder), Value::Null) => builder.append_null(),
            (Self::F32(builder), Value::F32(number)) => builder.append_value(number),
            (Self::F32(builder), Value::Null) => builder.append_null(),
            (Self::F64(builder), Value::F64(number)) => builder.append_value(number),
            (Self::F64(builder), Value::Null) => builder.append_null(),
            (Self::Date(builder), Value::Date(days)) => builder.append_value(days),
            (Self::Date(builder), Value::Null) => builder.append_null(),
            (Self::DateTime(builder), Value::DateTime(ms)) => builder.append_value(ms),
            (Self::DateTime(builder), Value::Null) => builder.append_null(),
            (Self::List { lengths, valid, items }, Value::List(values)) => {
                lengths.push(values.len());
                valid.push(true);
                return values.into_iter().try_for_each(|value| items.push(value));
            }
            (Self::List { lengths, valid, .. }, Value::Null) => {
                lengths.push(0);
                valid.push(false);
            }
            (Self::Vector { length, valid, numbers }, Value::Vector(values)) if values.len() == *length => {
                valid.push(true);
                numbers.extend(values);
            }
            (Self::Vector { length, valid, numbers }, Value::Null) => {
                valid.push(false);
                numbers.resize(numbers.len() + *length, 0.0);
            }
            _ => return Err(EngineError::Defect("a value of another type than its column")),
        }
        Ok(())
    }

    /// The column, and an empty builder afterwards.
    fn finish(&mut self, ty: &DataType) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Bool(builder) => Arc::new(builder.finish()),
            Self::I32(builder) => Arc::new(builder.finish()),
            Self::I64(builder) => Arc::new(builder.finish()),
            Self::U32(builder) => Arc::new(builder.finish()),
            Self::U64(builder) => Arc::new(builder.finish()),
            Self::F32(builder) => Arc::new(builder.finish()),
            Self::F64(builder) => Arc::new(builder.finish()),
            Self::Date(builder) => Arc::new(builder.finish()),
            Self::DateTime(builder) => Arc::new(builder.finish()),
            Self::List { lengths, valid, items } => {
                let field = item_field(ty)?;
                let offsets = OffsetBuffer::from_lengths(std::mem::take(lengths));
                let nulls = NullBuffer::from(std::mem::take(valid));
                let items = items.finish(field.data_type())?;
                Arc::new(ListArray::try_new(field, offsets, items, Some(nulls))?)
            }
            Self::Vector { length, valid, numbers } => {
                let numbers = Arc::new(Float32Array::from(std::mem::take(numbers)));
                let nulls = NullBuffer::from(std::mem::take(valid));
                let length = i32::try_from(*length).unwrap_or_default();
                Arc::new(FixedSizeListArray::try_new(item_field(ty)?, length, numbers, Some(nulls))?)
            }
        })
    }
}

fn item_field(ty: &DataType) -> Result<FieldRef, ArrowError> {
    match ty {
        DataType::List(field) | DataType::FixedSizeList(field, _) => Ok(field.clone()),
        other => Err(ArrowError::SchemaError(format!("{other} has no items"))),
    }
}
