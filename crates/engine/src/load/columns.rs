//! The plan that turns the columns of one stream into the columns of a table, made once before the data arrives.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray, new_null_array};
use arrow::datatypes::SchemaRef;
use omnigraph_columns::cast::{Cast, CastFault, plan as plan_cast};
use omnigraph_columns::mapping::{ID, describe};
use omnigraph_types::ConstraintKind;

use crate::cause::{DataFault, Defect};
use crate::error::{EngineError, Result};
use crate::load::findings::{Findings, RowNumbers, Rule};
use crate::schema::TypePlan;

/// The source of a column of the table.
#[derive(Debug, Clone)]
enum Source {
    /// A column of the stream.
    Column { index: usize, cast: Cast },
    /// None: the column is null, and ids are computed or minted.
    Absent,
}

/// The meaning of a null in the column `id` of a keyed type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AbsentIds {
    /// A null, which is refused.
    Refused,
    /// The row named no id.
    Computed,
}

/// A stream's columns, matched with its table's.
#[derive(Debug, Clone)]
pub(crate) struct ColumnPlan {
    plan: Arc<TypePlan>,
    incoming: SchemaRef,
    sources: Vec<Source>,
    absent_ids: AbsentIds,
}

impl ColumnPlan {
    /// Matches by name. Refuses a column that the type does not have, a required one that is missing, and a type that cannot be cast.
    pub(crate) fn new(plan: &Arc<TypePlan>, incoming: &SchemaRef, absent_ids: AbsentIds) -> Result<Self> {
        let table = &plan.arrow;
        let type_name = || plan.name().to_owned();
        let refuse = |column: &str, fault: DataFault| EngineError::LoadInvalid {
            type_name: Some(type_name()),
            row: None,
            column: Some(column.to_owned()),
            fault,
        };
        let expected = || {
            let columns =
                table.fields().iter().map(|field| format!("{} {}", field.name(), describe(field.data_type())));
            columns.collect::<Vec<_>>()
        };
        for (at, field) in incoming.fields().iter().enumerate() {
            if table.index_of(field.name()).is_err() {
                let column = field.name().clone();
                let fault = DataFault::UnknownColumn { type_name: type_name(), column, expected: expected() };
                return Err(refuse(field.name(), fault));
            }
            if incoming.fields()[..at].iter().any(|other| other.name() == field.name()) {
                return Err(refuse(field.name(), DataFault::RepeatedColumn { column: field.name().clone() }));
            }
        }
        let mut sources = Vec::with_capacity(table.fields().len());
        for (at, field) in table.fields().iter().enumerate() {
            let source = match incoming.index_of(field.name()) {
                Ok(index) => {
                    let from = incoming.field(index).data_type();
                    let cast = plan_cast(from, field.data_type()).ok_or_else(|| {
                        let wanted = format!("{} ({})", describe(field.data_type()), field.data_type());
                        let (column, sent) = (field.name().clone(), from.to_string());
                        refuse(field.name(), DataFault::NoCast { type_name: type_name(), column, wanted, sent })
                    })?;
                    Source::Column { index, cast }
                }
                Err(_) if at == ID || field.is_nullable() => Source::Absent,
                Err(_) => {
                    let sent = incoming.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
                    let (type_name, column) = (type_name(), field.name().clone());
                    let fault = DataFault::MissingColumn { type_name, column, sent, expected: expected() };
                    return Err(refuse(field.name(), fault));
                }
            };
            sources.push(source);
        }
        Ok(Self { plan: plan.clone(), incoming: incoming.clone(), sources, absent_ids })
    }

    /// The type.
    pub(crate) fn type_plan(&self) -> &Arc<TypePlan> {
        &self.plan
    }

    /// Whether the stream has a source for the column.
    pub(crate) fn has(&self, column: usize) -> bool {
        matches!(self.sources[column], Source::Column { .. })
    }

    /// The batch's columns as the table's, `id` as the client sent it or all null.
    pub(crate) fn map(&self, batch: &RecordBatch, rows: &RowNumbers) -> Result<Mapped> {
        let same = batch.num_columns() == self.incoming.fields().len()
            && batch
                .schema_ref()
                .fields()
                .iter()
                .zip(self.incoming.fields())
                .all(|(a, b)| a.name() == b.name() && a.data_type() == b.data_type());
        if !same {
            return Err(EngineError::LoadInvalid {
                type_name: Some(self.plan.name().to_owned()),
                row: Some(rows.of(0)),
                column: None,
                fault: DataFault::OtherColumns { type_name: self.plan.name().to_owned() },
            });
        }
        let mut columns = Vec::with_capacity(self.sources.len());
        for (at, source) in self.sources.iter().enumerate() {
            let ty = self.plan.arrow.field(at).data_type();
            columns.push(match source {
                Source::Column { index, cast } => {
                    let array = batch.column(*index);
                    cast.apply(array, ty).map_err(|fault| self.refuse(at, fault, rows))?
                }
                Source::Absent => new_null_array(ty, batch.num_rows()),
            });
        }
        Ok(Mapped { columns, sent_id: self.has(ID), absent_ids: self.absent_ids })
    }

    fn refuse(&self, column: usize, fault: CastFault, rows: &RowNumbers) -> EngineError {
        let (type_name, name) = (self.plan.name(), self.plan.column_name(column));
        let invalid = |row: Option<usize>, fault: String| {
            let (row, type_name, column) = (row.map(|row| rows.of(row)), type_name.to_owned(), name.to_owned());
            let (named, of) = (Some(type_name.clone()), Some(column.clone()));
            let fault = DataFault::Value { type_name, row, column, fault };
            EngineError::LoadInvalid { type_name: named, row, column: of, fault }
        };
        match fault {
            CastFault::Value { row, reason } => invalid(Some(row), reason),
            CastFault::Column { reason } => invalid(None, reason),
            CastFault::Length { row, expected, actual } => {
                let mut findings = Findings::new(1);
                let properties = [name.to_owned()];
                let rule = Rule { type_name, properties: &properties, kind: ConstraintKind::Vector };
                let message = format!("expected {expected} numbers, got {actual}");
                findings.add(&rule, || (None, Some(rows.of(row)), message));
                match findings.into_result() {
                    Err(error) => error,
                    Ok(()) => EngineError::from(Defect::FindingLost),
                }
            }
        }
    }
}

/// A batch's columns in the order and types of the table.
pub(crate) struct Mapped {
    /// One per column of the table.
    pub(crate) columns: Vec<ArrayRef>,
    sent_id: bool,
    absent_ids: AbsentIds,
}

impl Mapped {
    /// The client's ids, if it sent the column.
    pub(crate) fn sent_ids(&self) -> Option<&StringArray> {
        self.sent_id.then(|| self.columns[ID].as_string())
    }

    /// The meaning of a null among them.
    pub(crate) fn absent_ids(&self) -> AbsentIds {
        self.absent_ids
    }
}
