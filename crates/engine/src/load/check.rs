//! Checks of single rows: nulls, finite numbers, calendar years, ranges, patterns, enum sets, list items, vectors.
//!
//! Every rule first asks one question of the whole column that clean data answers at the speed of memory; only a column that fails it
//! is looked through row by row. Nulls are a stage of their own: where one is found, the other rules are not asked.

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, StringArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMillisecondType,
    UInt32Type, UInt64Type,
};
use omnigraph_lang::date::{DAY_MAX, DAY_MIN, MILLISECOND_MAX, MILLISECOND_MIN};
use omnigraph_lang::schema::{PropertyType, Range};
use omnigraph_types::ConstraintKind;

use crate::error::{EngineError, Result, list, quote};
use crate::load::findings::{Findings, RowNumbers, Rule};
use crate::schema::TypePlan;

/// One batch under check.
pub(crate) struct Checked<'a> {
    /// Its type.
    pub(crate) plan: &'a TypePlan,
    /// How many rows it has.
    pub(crate) row_count: usize,
    /// Their numbers.
    pub(crate) rows: &'a RowNumbers,
    /// Ids where they are known already.
    pub(crate) entities: Option<&'a StringArray>,
    /// Violations that one error lists.
    pub(crate) most: u64,
}

impl Checked<'_> {
    /// Stage 2: no null in a required column. The column `id` is filled in later.
    pub(crate) fn nulls(&self, columns: &[ArrayRef]) -> Result<()> {
        let mut findings = Findings::new(self.most);
        for (column, array) in columns.iter().enumerate().skip(1) {
            if !self.plan.arrow.field(column).is_nullable() && array.null_count() > 0 {
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
            let array = &columns[column];
            self.stored_values(&mut findings, column, array)?;
            if let PropertyType::Enum(values) = &property.ty {
                self.enum_values(&mut findings, column, array.as_string(), values);
            }
        }
        for range in &self.plan.ranges {
            self.range(&mut findings, range.column, &columns[range.column], &range.range)?;
        }
        for check in &self.plan.checks {
            let array: &StringArray = columns[check.column].as_string();
            self.report_valid(&mut findings, check.column, ConstraintKind::Check, array, |row| {
                let value = array.value(row);
                let fails = !check.regex.is_match(value);
                fails.then(|| format!("{} does not match {}", quote(value), quote(&check.pattern)))
            });
        }
        findings.into_result()
    }

    /// What every value of a type must be, whatever the constraints: finite, within the calendar, items not null.
    fn stored_values(&self, findings: &mut Findings, column: usize, array: &ArrayRef) -> Result<()> {
        match array.data_type() {
            DataType::Float32 => self.within::<Float32Type>(findings, column, array, f32::is_finite, "is not finite"),
            DataType::Float64 => self.within::<Float64Type>(findings, column, array, f64::is_finite, "is not finite"),
            DataType::Date32 => {
                let legal = |days| (DAY_MIN..=DAY_MAX).contains(&days);
                self.within::<Date32Type>(findings, column, array, legal, "days lie outside the years 0001 to 9999");
            }
            DataType::Timestamp(..) => {
                let legal = |ms| (MILLISECOND_MIN..=MILLISECOND_MAX).contains(&ms);
                let fault = "milliseconds lie outside the years 0001 to 9999";
                self.within::<TimestampMillisecondType>(findings, column, array, legal, fault);
            }
            DataType::List(_) => self.list_items(findings, column, array)?,
            DataType::FixedSizeList(..) => self.vectors(findings, column, array),
            _ => {}
        }
        Ok(())
    }

    fn within<T: ArrowPrimitiveType>(
        &self,
        findings: &mut Findings,
        column: usize,
        array: &ArrayRef,
        legal: impl Fn(T::Native) -> bool + Copy,
        fault: &str,
    ) {
        let array = array.as_primitive::<T>();
        if all_values(array, legal) {
            return;
        }
        self.report_valid(findings, column, ConstraintKind::Range, array, |row| {
            let value = array.value(row);
            (!legal(value)).then(|| format!("{value:?} {fault}"))
        });
    }

    fn list_items(&self, findings: &mut Findings, column: usize, array: &ArrayRef) -> Result<()> {
        let lists = array.as_list::<i32>();
        let items = lists.values();
        let legal = legal_items(items)?;
        if items.null_count() == 0 && (0..items.len()).all(&legal) {
            return Ok(());
        }
        let items_of = |row: usize| {
            let (start, end) = (lists.value_offsets()[row], lists.value_offsets()[row + 1]);
            usize::try_from(start).unwrap_or_default()..usize::try_from(end).unwrap_or_default()
        };
        self.report_valid(findings, column, ConstraintKind::Null, lists, |row| {
            let null = items_of(row).find(|&item| items.is_null(item))?;
            Some(format!("item {} of the list is null", null - items_of(row).start))
        });
        self.report_valid(findings, column, ConstraintKind::Range, lists, |row| {
            let wrong = items_of(row).find(|&item| items.is_valid(item) && !legal(item))?;
            Some(format!(
                "item {} of the list is not finite, or no day of the years 0001 to 9999",
                wrong - items_of(row).start
            ))
        });
        Ok(())
    }

    fn vectors(&self, findings: &mut Findings, column: usize, array: &ArrayRef) {
        let vectors = array.as_fixed_size_list();
        let components = vectors.values().as_primitive::<Float32Type>();
        if components.null_count() == 0 && components.values().iter().all(|number| number.is_finite()) {
            return;
        }
        let length = usize::try_from(vectors.value_length()).unwrap_or_default();
        self.report_valid(findings, column, ConstraintKind::Vector, vectors, |row| {
            (0..length).find_map(|component| {
                let at = row * length + component;
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

    fn range(&self, findings: &mut Findings, column: usize, array: &ArrayRef, range: &Range) -> Result<()> {
        match array.data_type() {
            DataType::Int32 => self.in_range::<Int32Type>(findings, column, array, range, integer),
            DataType::Int64 => self.in_range::<Int64Type>(findings, column, array, range, integer),
            DataType::UInt32 => self.in_range::<UInt32Type>(findings, column, array, range, integer),
            DataType::UInt64 => self.in_range::<UInt64Type>(findings, column, array, range, integer),
            DataType::Float32 => {
                self.in_range::<Float32Type>(findings, column, array, range, |range, value| {
                    range.contains_f64(value.into())
                });
            }
            DataType::Float64 => self.in_range::<Float64Type>(findings, column, array, range, Range::contains_f64),
            _ => return Err(EngineError::Defect("a range on a column that is not numeric")),
        }
        Ok(())
    }

    fn in_range<T: ArrowPrimitiveType>(
        &self,
        findings: &mut Findings,
        column: usize,
        array: &ArrayRef,
        range: &Range,
        contains: impl Fn(&Range, T::Native) -> bool,
    ) {
        let array = array.as_primitive::<T>();
        // The extremes decide for all others.
        let extremes = [arrow::compute::min(array), arrow::compute::max(array)];
        if extremes.into_iter().flatten().all(|value| contains(range, value)) {
            return;
        }
        self.report_valid(findings, column, ConstraintKind::Range, array, |row| {
            let value = array.value(row);
            (!contains(range, value)).then(|| format!("{value:?} is outside {range}"))
        });
    }

    /// Asks every row; a text is the violation's message.
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

    /// Asks every row that is not null.
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

/// Whether every value is legal; what lies under a null may be reported as illegal and is looked at again by row.
fn all_values<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, legal: impl Fn(T::Native) -> bool) -> bool {
    array.values().iter().all(|&value| legal(value))
}

/// Whether an item of a list is finite and within the calendar.
fn legal_items(items: &ArrayRef) -> Result<Box<dyn Fn(usize) -> bool + '_>> {
    Ok(match items.data_type() {
        DataType::Float32 => {
            let items = items.as_primitive::<Float32Type>();
            Box::new(|at| items.value(at).is_finite())
        }
        DataType::Float64 => {
            let items = items.as_primitive::<Float64Type>();
            Box::new(|at| items.value(at).is_finite())
        }
        DataType::Date32 => {
            let items = items.as_primitive::<Date32Type>();
            Box::new(|at| (DAY_MIN..=DAY_MAX).contains(&items.value(at)))
        }
        DataType::Timestamp(..) => {
            let items = items.as_primitive::<TimestampMillisecondType>();
            Box::new(|at| (MILLISECOND_MIN..=MILLISECOND_MAX).contains(&items.value(at)))
        }
        DataType::Utf8 | DataType::Boolean => Box::new(|_| true),
        ty if ty.is_integer() => Box::new(|_| true),
        _ => return Err(EngineError::Defect("a list of a type that no table has")),
    })
}
