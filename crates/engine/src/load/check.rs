//! Checks of single rows: nulls, finite numbers, calendar years, ranges, patterns, enum sets, list items, vectors.
//!
//! Every rule first tests the whole column at the speed of memory; only a column that fails is searched row by row. Nulls are a stage of their own: where one is
//! found, the other rules are not tested.

use arrow::array::{Array, ArrayRef, PrimitiveArray, StringArray};
use arrow::datatypes::ArrowPrimitiveType;
use omnigraph_columns::views::{Column, ListColumn, ScalarColumn, VectorColumn, text};
use omnigraph_lang::date::{DAY_MAX, DAY_MIN, MILLISECOND_MAX, MILLISECOND_MIN};
use omnigraph_lang::schema::{PropertyType, Range};
use omnigraph_types::ConstraintKind;
use omnigraph_types::mutant;

use crate::cause::Defect;
use crate::error::{EngineError, Result};
use crate::load::findings::{Findings, RowNumbers, Rule};
use crate::schema::{ColumnRange, TypePlan};
use crate::words::{list, quote};

/// Positions of items.
type Places = std::ops::Range<usize>;

/// One batch under check.
pub(crate) struct Checked<'a> {
    /// Its type.
    pub(crate) plan: &'a TypePlan,
    /// Its number of rows.
    pub(crate) row_count: usize,
    /// Their numbers.
    pub(crate) rows: &'a RowNumbers,
    /// Ids as far as they are known before ids are computed.
    pub(crate) entities: Option<&'a StringArray>,
    /// Violations that one error lists.
    pub(crate) most: u64,
}

impl Checked<'_> {
    /// Stage 2: no null in a required column. The column `id` is filled in later.
    pub(crate) fn nulls(&self, columns: &[ArrayRef]) -> Result<()> {
        let mut findings = Findings::new(self.most);
        for (column, array) in columns.iter().enumerate().skip(1) {
            if mutant!(155, !self.plan.arrow.field(column).is_nullable(), false) && array.null_count() > 0 {
                self.report(&mut findings, column, ConstraintKind::Null, |row| {
                    array.is_null(row).then(|| "a value is required, got null".to_owned())
                });
            }
        }
        findings.into_result()
    }

    /// Stage 3: everything else about single values.
    pub(crate) fn values(&self, columns: &[ArrayRef]) -> Result<()> {
        let mut findings = Findings::new(self.most);
        let first = self.plan.first_property();
        for (at, property) in self.plan.def.properties.iter().enumerate() {
            let column = first + at;
            self.stored_values(&mut findings, column, Column::of(columns[column].as_ref())?)?;
            if let PropertyType::Enum(values) = &property.ty
                && mutant!(160, true, false)
            {
                self.enum_values(&mut findings, column, text(&columns[column])?, values);
            }
        }
        for range in &self.plan.ranges {
            self.range(&mut findings, range, ScalarColumn::of(columns[range.column].as_ref())?)?;
        }
        for check in mutant!(161, self.plan.checks.as_slice(), &[]) {
            let array = text(&columns[check.column])?;
            self.report_valid(&mut findings, check.column, ConstraintKind::Check, array, |row| {
                let value = array.value(row);
                let fails = !check.regex.is_match(value);
                fails.then(|| format!("{} does not match {}", quote(value), quote(&check.pattern)))
            });
        }
        findings.into_result()
    }

    /// The rules of the type itself, whatever the constraints: finite numbers, years of the calendar, no null items.
    fn stored_values(&self, findings: &mut Findings, at: usize, column: Column<'_>) -> Result<()> {
        match column {
            Column::Scalar(scalar) => self.scalars(findings, at, scalar),
            Column::List(lists) => self.list_items(findings, at, lists),
            Column::Vector(vectors) => self.vectors(findings, at, vectors),
            Column::Blob(_) => return Err(EngineError::from(Defect::BlobColumn)),
        }
        Ok(())
    }

    fn scalars(&self, findings: &mut Findings, at: usize, column: ScalarColumn<'_>) {
        match column {
            ScalarColumn::F32(array) => self.within(findings, at, array, f32::is_finite, "is not finite"),
            ScalarColumn::F64(array) => self.within(findings, at, array, f64::is_finite, "is not finite"),
            ScalarColumn::Date(array) => {
                self.within(findings, at, array, is_calendar_day, "days lie outside the years 0001 to 9999");
            }
            ScalarColumn::DateTime(array) => {
                let fault = "milliseconds lie outside the years 0001 to 9999";
                self.within(findings, at, array, is_calendar_instant, fault);
            }
            // Every value of these is legal.
            ScalarColumn::String(_)
            | ScalarColumn::Bool(_)
            | ScalarColumn::I32(_)
            | ScalarColumn::I64(_)
            | ScalarColumn::U32(_)
            | ScalarColumn::U64(_) => {}
        }
    }

    fn within<T: ArrowPrimitiveType>(
        &self,
        findings: &mut Findings,
        column: usize,
        array: &PrimitiveArray<T>,
        legal: impl Fn(T::Native) -> bool + Copy,
        fault: &str,
    ) {
        // Bytes under a null may be illegal: the rows decide then.
        if mutant!(156, array.values().iter().all(|&value| legal(value)), true) {
            return;
        }
        self.report_valid(findings, column, ConstraintKind::Range, array, |row| {
            let value = array.value(row);
            (!legal(value)).then(|| format!("{value:?} {fault}"))
        });
    }

    fn list_items(&self, findings: &mut Findings, at: usize, column: ListColumn<'_>) {
        let (lists, items) = (column.array(), column.items());
        let all = items.array();
        if mutant!(157, all.null_count() == 0 && illegal_item(items, 0..all.len()).is_none(), true) {
            return;
        }
        self.report_valid(findings, at, ConstraintKind::Null, lists, |row| {
            let range = column.range(row);
            let null = range.clone().find(|&item| all.is_null(item))?;
            Some(format!("item {} of the list is null", null - range.start))
        });
        self.report_valid(findings, at, ConstraintKind::Range, lists, |row| {
            let range = column.range(row);
            let illegal = illegal_item(items, range.clone())?;
            let item = illegal - range.start;
            Some(format!("item {item} of the list is not finite, or no day of the years 0001 to 9999"))
        });
    }

    fn vectors(&self, findings: &mut Findings, at: usize, column: VectorColumn<'_>) {
        let components = column.components();
        let is_sound = components.null_count() == 0 && components.values().iter().all(|number| number.is_finite());
        if mutant!(158, is_sound, true) {
            return;
        }
        self.report_valid(findings, at, ConstraintKind::Vector, column.array(), |row| {
            column.range(row).enumerate().find_map(|(component, at)| {
                if components.is_null(at) {
                    return Some(format!("component {component} of the vector is null"));
                }
                let number = components.value(at);
                (!number.is_finite()).then(|| format!("component {component} of the vector is {number:?}"))
            })
        });
    }

    fn enum_values(&self, findings: &mut Findings, column: usize, array: &StringArray, values: &[String]) {
        let holds = |value: &str| values.binary_search_by(|known| known.as_str().cmp(value)).is_ok();
        self.report_valid(findings, column, ConstraintKind::Enum, array, |row| {
            let value = array.value(row);
            (!holds(value)).then(|| format!("{} is none of {}", quote(value), list(values)))
        });
    }

    fn range(&self, findings: &mut Findings, range: &ColumnRange, column: ScalarColumn<'_>) -> Result<()> {
        match column {
            ScalarColumn::I32(array) => self.in_range(findings, range, array, integer),
            ScalarColumn::I64(array) => self.in_range(findings, range, array, integer),
            ScalarColumn::U32(array) => self.in_range(findings, range, array, integer),
            ScalarColumn::U64(array) => self.in_range(findings, range, array, integer),
            ScalarColumn::F32(array) => {
                self.in_range(findings, range, array, |range, value| range.contains_f64(value.into()));
            }
            ScalarColumn::F64(array) => self.in_range(findings, range, array, Range::contains_f64),
            ScalarColumn::String(_) | ScalarColumn::Bool(_) | ScalarColumn::Date(_) | ScalarColumn::DateTime(_) => {
                return Err(EngineError::from(Defect::RangeNotNumeric));
            }
        }
        Ok(())
    }

    fn in_range<T: ArrowPrimitiveType>(
        &self,
        findings: &mut Findings,
        ColumnRange { column, range }: &ColumnRange,
        array: &PrimitiveArray<T>,
        contains: impl Fn(&Range, T::Native) -> bool,
    ) {
        // The extremes decide for all others.
        let extremes = [arrow::compute::min(array), arrow::compute::max(array)];
        if mutant!(159, extremes.into_iter().flatten().all(|value| contains(range, value)), true) {
            return;
        }
        self.report_valid(findings, *column, ConstraintKind::Range, array, |row| {
            let value = array.value(row);
            (!contains(range, value)).then(|| format!("{value:?} is outside {range}"))
        });
    }

    /// Tests every row; a text is the message of a violation.
    fn report(
        &self,
        findings: &mut Findings,
        column: usize,
        kind: ConstraintKind,
        fault: impl Fn(usize) -> Option<String>,
    ) {
        let properties = [self.plan.column_name(column).to_owned()];
        let rule = Rule { type_name: self.plan.name(), properties: &properties, kind };
        for row in 0..self.row_count {
            if let Some(message) = fault(row) {
                findings.add(&rule, || (self.entity(row), Some(self.rows.of(row)), message));
            }
        }
    }

    /// Tests every row that is not null.
    fn report_valid(
        &self,
        findings: &mut Findings,
        column: usize,
        kind: ConstraintKind,
        array: &dyn Array,
        fault: impl Fn(usize) -> Option<String>,
    ) {
        self.report(findings, column, kind, |row| if array.is_null(row) { None } else { fault(row) });
    }

    fn entity(&self, row: usize) -> Option<String> {
        self.entities.filter(|ids| ids.is_valid(row)).map(|ids| ids.value(row).to_owned())
    }
}

fn integer<N: Into<i128>>(range: &Range, value: N) -> bool {
    range.contains_i128(value.into())
}

fn is_calendar_day(days: i32) -> bool {
    (DAY_MIN..=DAY_MAX).contains(&days)
}

fn is_calendar_instant(ms: i64) -> bool {
    (MILLISECOND_MIN..=MILLISECOND_MAX).contains(&ms)
}

/// The first item that is not null, and not finite or outside of the calendar.
fn illegal_item(items: ScalarColumn<'_>, places: Places) -> Option<usize> {
    fn first<T: ArrowPrimitiveType>(
        items: &PrimitiveArray<T>,
        mut places: Places,
        legal: impl Fn(T::Native) -> bool,
    ) -> Option<usize> {
        places.find(|&at| items.is_valid(at) && !legal(items.value(at)))
    }
    match items {
        ScalarColumn::F32(items) => first(items, places, f32::is_finite),
        ScalarColumn::F64(items) => first(items, places, f64::is_finite),
        ScalarColumn::Date(items) => first(items, places, is_calendar_day),
        ScalarColumn::DateTime(items) => first(items, places, is_calendar_instant),
        ScalarColumn::String(_)
        | ScalarColumn::Bool(_)
        | ScalarColumn::I32(_)
        | ScalarColumn::I64(_)
        | ScalarColumn::U32(_)
        | ScalarColumn::U64(_) => None,
    }
}
