//! NDJSON text in any chunking to batches, one stream per type that occurs.
//!
//! Memory: one partial line, and pending rows up to a bound in rows per type and in bytes of text over all types.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, FieldRef, Schema as ArrowSchema};
use omnigraph_columns::mapping::ID;
use omnigraph_columns::values::ColumnBuilder;
use omnigraph_lang::ndjson::{Envelope, LineLimits, is_blank, parse_line, strip_byte_order_mark};
use omnigraph_lang::schema::{PropertyType, Scalar};
use omnigraph_lang::value::Value;
use omnigraph_types::{Limits, TableId};

use crate::cause::{DataFault, Defect};
use crate::error::{EngineError, Result};
use crate::load::columns::AbsentIds;
use crate::load::findings::RowNumbers;
use crate::load::intake::{Intake, TakenBatch};
use crate::schema::{GraphSchema, TypePlan};

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
            fault: DataFault::NotUtf8 { line: self.lines, byte: error.valid_up_to() + 1 },
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
        let text = PropertyType::Scalar(Scalar::String);
        let fixed = std::iter::repeat_n(&text, plan.first_property());
        let properties = plan.def.properties.iter().map(|property| &property.ty);
        let columns = fixed.chain(properties).map(ColumnBuilder::new).collect();
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
            let column = columns.next().ok_or(EngineError::from(Defect::SurplusValues))?;
            column.push(value)?;
        }
        self.lines.push(line);
        Ok(())
    }

    fn flush(&mut self, intake: &mut Intake, out: &mut Vec<TakenBatch>) -> Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let arrays = self.columns.iter_mut().map(ColumnBuilder::finish).collect::<Result<Vec<_>, _>>()?;
        let batch = RecordBatch::try_new(sent_schema(&self.plan), arrays)
            .map_err(|source| EngineError::Arrow { action: "build a batch", source })?;
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
