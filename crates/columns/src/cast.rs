//! Casts of incoming columns to the types of a table: only those that keep every value.
//!
//! The table of casts in the README of `engine` documents this file. A cast is chosen once per stream from the two types, so a
//! stream that has none is refused before its data arrives. A value that would change is refused by row. Equal types copy nothing.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, Int32Array, Int64Array, ListArray, PrimitiveArray, UInt64Array,
    new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{CastOptions, cast_with_options, take};
use arrow::datatypes::{
    ArrowPrimitiveType, DECIMAL256_MAX_PRECISION, DataType, Date32Type, Decimal256Type, FieldRef, Float32Type,
    Float64Type, Int64Type, TimeUnit, TimestampMillisecondType, UInt64Type, i256,
};
use arrow::error::ArrowError;
use omnigraph_lang::clip;
use omnigraph_lang::number::float_as_integer;

use crate::mapping::describe;
use crate::views::place;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// How a column becomes a column of the table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cast {
    /// The types are equal: the column is shared.
    Keep,
    /// The column has Arrow's type Null: every row is null.
    Nulls,
    /// An Arrow kernel that keeps every value, or rounds an F64 to F32.
    Kernel,
    /// An Arrow kernel that gives null for what does not fit.
    Narrow,
    /// Integers to floats.
    IntegerToFloat,
    /// Decimals to integers: what follows the point must be zero.
    DecimalToInteger,
    /// Days and timestamps: the count times `multiply`, by `divide`, which must leave no rest.
    Rescale {
        /// Factor.
        multiply: i64,
        /// Divisor.
        divide: i64,
    },
    /// A dictionary: its values, then this.
    Decode(Box<Cast>),
    /// Any kind of list, its items by this.
    List(Box<Cast>),
    /// Any kind of list to a vector, its items by this.
    Vector(Box<Cast>),
}

/// Why a column cannot be cast.
#[derive(Debug, Clone, PartialEq)]
pub enum CastFault {
    /// The value of this row would change.
    Value {
        /// From 0.
        row: usize,
        /// The value and the target.
        reason: String,
    },
    /// A list of another length than the vector's.
    Length {
        /// From 0.
        row: usize,
        /// The vector's.
        expected: usize,
        /// The list's.
        actual: usize,
    },
    /// The kernel refused the whole column.
    Column {
        /// Why.
        reason: String,
    },
}

impl From<ArrowError> for CastFault {
    fn from(error: ArrowError) -> Self {
        Self::Column { reason: error.to_string() }
    }
}

/// The cast from one type to another, if there is one that keeps every value it accepts.
pub fn plan(from: &DataType, to: &DataType) -> Option<Cast> {
    use DataType::{
        Boolean, Date32, Date64, Dictionary, FixedSizeList, Float16, Float32, Float64, LargeList, LargeUtf8, List,
        Null, Timestamp, Utf8, Utf8View,
    };
    Some(match (from, to) {
        (Null, _) => Cast::Nulls,
        (Dictionary(_, values), _) => Cast::Decode(Box::new(plan(values, to)?)),
        (Utf8, Utf8) | (Boolean, Boolean) | (Date32, Date32) | (Float32, Float32) | (Float64, Float64) => Cast::Keep,
        (LargeUtf8 | Utf8View, Utf8) => Cast::Kernel,
        (Float16, Float32 | Float64) | (Float32, Float64) | (Float64, Float32) => Cast::Kernel,
        (from, to) if from.is_integer() && to.is_integer() => {
            if from == to {
                Cast::Keep
            } else {
                Cast::Narrow
            }
        }
        (from, Float32 | Float64) if from.is_integer() => Cast::IntegerToFloat,
        (from, to) if from.is_decimal() && to.is_integer() => Cast::DecimalToInteger,
        (Timestamp(TimeUnit::Millisecond, zone), Timestamp(_, wanted)) if zone == wanted => Cast::Keep,
        (Timestamp(unit, _), Timestamp(..)) => rescale(*unit, 1),
        (Date64, Timestamp(..)) => Cast::Rescale { multiply: 1, divide: 1 },
        (Date32, Timestamp(..)) => Cast::Rescale { multiply: DAY_MS, divide: 1 },
        (Date64, Date32) => Cast::Rescale { multiply: 1, divide: DAY_MS },
        (Timestamp(unit, _), Date32) => rescale(*unit, DAY_MS),
        (List(_) | LargeList(_) | FixedSizeList(..), List(item)) => {
            Cast::List(Box::new(plan(item_type(from)?, item.data_type())?))
        }
        (FixedSizeList(_, length), FixedSizeList(_, wanted)) if length != wanted => return None,
        (FixedSizeList(field, _), FixedSizeList(wanted, _)) if field == wanted => Cast::Keep,
        (List(_) | LargeList(_) | FixedSizeList(..), FixedSizeList(item, _)) => {
            Cast::Vector(Box::new(plan(item_type(from)?, item.data_type())?))
        }
        _ => return None,
    })
}

/// From a unit to milliseconds, or to `ms` of them.
fn rescale(unit: TimeUnit, ms: i64) -> Cast {
    match unit {
        TimeUnit::Second => Cast::Rescale { multiply: 1_000, divide: ms },
        TimeUnit::Millisecond => Cast::Rescale { multiply: 1, divide: ms },
        TimeUnit::Microsecond => Cast::Rescale { multiply: 1, divide: 1_000 * ms },
        TimeUnit::Nanosecond => Cast::Rescale { multiply: 1, divide: 1_000_000 * ms },
    }
}

fn item_type(list: &DataType) -> Option<&DataType> {
    match list {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => Some(item.data_type()),
        _ => None,
    }
}

impl Cast {
    /// The column as a column of type `to`, for which the cast was planned.
    pub fn apply(&self, array: &ArrayRef, to: &DataType) -> Result<ArrayRef, CastFault> {
        match self {
            Self::Keep => Ok(array.clone()),
            Self::Nulls => Ok(new_null_array(to, array.len())),
            Self::Kernel => kernel(array, to),
            Self::Narrow => narrow(array, to),
            Self::IntegerToFloat => integer_to_float(array, to),
            Self::DecimalToInteger => decimal_to_integer(array, to),
            Self::Rescale { multiply, divide } => rescale_column(array, to, *multiply, *divide),
            Self::Decode(rest) => match array.data_type() {
                DataType::Dictionary(_, values) => rest.apply(&kernel(array, values)?, to),
                _ => rest.apply(array, to),
            },
            Self::List(item) => list(array, to, item),
            Self::Vector(item) => vector(array, to, item),
        }
    }
}

fn kernel(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, CastFault> {
    Ok(cast_with_options(array, to, &CastOptions { safe: false, ..CastOptions::default() })?)
}

/// The value of one row as text, for messages.
fn shown(array: &ArrayRef, row: usize) -> String {
    let text = arrow::util::display::array_value_to_string(array, row).unwrap_or_default();
    clip(&text)
}

fn value_fault(array: &ArrayRef, row: usize, to: &DataType) -> CastFault {
    CastFault::Value { row, reason: format!("{} cannot be kept exactly as {}", shown(array, row), describe(to)) }
}

fn narrow(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, CastFault> {
    let out = cast_with_options(array, to, &CastOptions { safe: true, ..CastOptions::default() })?;
    if out.null_count() == array.null_count() {
        return Ok(out);
    }
    let lost = (0..array.len()).find(|&row| array.is_valid(row) && out.is_null(row));
    Err(value_fault(array, lost.unwrap_or_default(), to))
}

fn integer_to_float(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, CastFault> {
    let floats = kernel(array, to)?;
    // Every integer type but U64 fits in 64 signed bits.
    let inexact = if *array.data_type() == DataType::UInt64 {
        first_inexact(array.as_primitive::<UInt64Type>(), &floats)
    } else {
        first_inexact(kernel(array, &DataType::Int64)?.as_primitive::<Int64Type>(), &floats)
    };
    match inexact {
        Some(row) => Err(value_fault(array, row, to)),
        None => Ok(floats),
    }
}

fn decimal_to_integer(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, CastFault> {
    let whole = whole_numbers(array)?;
    let fits = |number: i128| match to {
        DataType::UInt64 => u64::try_from(number).is_ok(),
        _ => i64::try_from(number).is_ok(),
    };
    let lost = (0..array.len()).find(|&row| array.is_valid(row) && !whole[row].is_some_and(fits));
    if let Some(row) = lost {
        return Err(value_fault(array, row, to));
    }
    if *to == DataType::UInt64 {
        let numbers = whole.iter().map(|number| number.and_then(|number| u64::try_from(number).ok()));
        return Ok(Arc::new(numbers.collect::<UInt64Array>()));
    }
    let numbers = whole.iter().map(|number| number.and_then(|number| i64::try_from(number).ok()));
    narrow(&(Arc::new(numbers.collect::<Int64Array>()) as ArrayRef), to)
}

/// The decimals that are whole numbers of 128 bits; none for null and for every other.
fn whole_numbers(array: &ArrayRef) -> Result<Vec<Option<i128>>, CastFault> {
    let scale = match array.data_type() {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => *scale,
        other => return Err(CastFault::Column { reason: format!("{other} is no decimal") }),
    };
    let wide = kernel(array, &DataType::Decimal256(DECIMAL256_MAX_PRECISION, scale))?;
    let wide = wide.as_primitive::<Decimal256Type>();
    let power = i256::from_i128(10).checked_pow(scale.unsigned_abs().into());
    let whole = |number: i256| {
        let power = power?;
        match scale {
            0.. if number.checked_rem(power)? == i256::ZERO => number.checked_div(power)?.to_i128(),
            0.. => None,
            _ => number.checked_mul(power)?.to_i128(),
        }
    };
    Ok(wide.iter().map(|number| number.and_then(whole)).collect())
}

/// The first row whose float is not its integer.
fn first_inexact<T>(integers: &PrimitiveArray<T>, floats: &ArrayRef) -> Option<usize>
where
    T: ArrowPrimitiveType<Native: Into<i128>>,
{
    let exact = |row: usize, float: f64| float_as_integer(float) == Some(integers.value(row).into());
    let mut rows = (0..integers.len()).filter(|&row| integers.is_valid(row));
    match floats.as_primitive_opt::<Float32Type>() {
        Some(floats) => rows.find(|&row| !exact(row, floats.value(row).into())),
        None => {
            let floats = floats.as_primitive::<Float64Type>();
            rows.find(|&row| !exact(row, floats.value(row)))
        }
    }
}

fn rescale_column(array: &ArrayRef, to: &DataType, multiply: i64, divide: i64) -> Result<ArrayRef, CastFault> {
    let counts = match array.data_type() {
        DataType::Date32 => kernel(&kernel(array, &DataType::Int32)?, &DataType::Int64)?,
        _ => kernel(array, &DataType::Int64)?,
    };
    let counts: &Int64Array = counts.as_primitive();
    let scaled = |row: usize| {
        let count = counts.value(row).checked_mul(multiply)?;
        (count % divide == 0).then(|| count / divide)
    };
    if *to == DataType::Date32 {
        let days = |row| scaled(row).and_then(|days| i32::try_from(days).ok());
        let out: Int32Array = collect(counts, days).map_err(|row| value_fault(array, row, to))?;
        return Ok(Arc::new(out.reinterpret_cast::<Date32Type>()));
    }
    let out: Int64Array = if (multiply, divide) == (1, 1) {
        counts.clone()
    } else {
        collect(counts, scaled).map_err(|row| value_fault(array, row, to))?
    };
    Ok(Arc::new(out.reinterpret_cast::<TimestampMillisecondType>().with_timezone_opt(zone_of(to))))
}

fn zone_of(ty: &DataType) -> Option<Arc<str>> {
    match ty {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    }
}

/// The values of all rows that are not null; the first row without one fails.
fn collect<T: ArrowPrimitiveType>(
    like: &Int64Array,
    value: impl Fn(usize) -> Option<T::Native>,
) -> Result<PrimitiveArray<T>, usize> {
    let values =
        (0..like.len()).map(|row| if like.is_null(row) { Ok(T::Native::default()) } else { value(row).ok_or(row) });
    let values = values.collect::<Result<Vec<_>, _>>()?;
    Ok(PrimitiveArray::new(values.into(), like.nulls().cloned()))
}

/// Any list as a list with 32-bit offsets and items of the type it has.
fn as_list(array: &ArrayRef) -> Result<ListArray, CastFault> {
    match array.data_type() {
        DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            Ok(kernel(array, &DataType::List(item.clone()))?.as_list::<i32>().clone())
        }
        _ => Ok(array.as_list::<i32>().clone()),
    }
}

/// Items of a list column, cast; a fault of an item is moved to its row.
fn items(list: &ListArray, item: &Cast, field: &FieldRef) -> Result<(OffsetBuffer<i32>, ArrayRef), CastFault> {
    if *item == Cast::Keep {
        return Ok((list.offsets().clone(), list.values().clone()));
    }
    let lengths = list.offsets().windows(2).map(|pair| place(pair[1] - pair[0]));
    let offsets = OffsetBuffer::from_lengths(lengths);
    let start = place(list.offsets()[0]);
    let used = list.values().slice(start, place(list.offsets()[list.len()]) - start);
    let row_of = |index: usize| offsets.partition_point(|&offset| place(offset) <= index) - 1;
    let cast = item.apply(&used, field.data_type()).map_err(|fault| match fault {
        CastFault::Value { row, reason } => CastFault::Value { row: row_of(row), reason },
        other => other,
    })?;
    Ok((offsets, cast))
}

fn list(array: &ArrayRef, to: &DataType, item: &Cast) -> Result<ArrayRef, CastFault> {
    let DataType::List(field) = to else { return Err(CastFault::Column { reason: format!("{to} is no list") }) };
    let list = as_list(array)?;
    let (offsets, values) = items(&list, item, field)?;
    Ok(Arc::new(ListArray::try_new(field.clone(), offsets, values, list.nulls().cloned())?))
}

fn vector(array: &ArrayRef, to: &DataType, item: &Cast) -> Result<ArrayRef, CastFault> {
    let DataType::FixedSizeList(field, length) = to else {
        return Err(CastFault::Column { reason: format!("{to} is no vector") });
    };
    if let Some(vectors) = array.as_fixed_size_list_opt() {
        let values = item.apply(vectors.values(), field.data_type())?;
        return Ok(Arc::new(FixedSizeListArray::try_new(field.clone(), *length, values, vectors.nulls().cloned())?));
    }
    let list = as_list(array)?;
    let expected = place(*length);
    let wrong = (0..list.len()).find(|&row| list.is_valid(row) && place(list.value_length(row)) != expected);
    if let Some(row) = wrong {
        return Err(CastFault::Length { row, expected, actual: place(list.value_length(row)) });
    }
    let (offsets, values) = items(&list, item, field)?;
    let start = |row: usize| place(offsets[row]) as u64;
    let places = (0..list.len()).flat_map(|row| {
        let valid = list.is_valid(row);
        (0..expected as u64).map(move |place| (valid, place)).map(move |(valid, place)| (row, valid, place))
    });
    let indices: UInt64Array = places.map(|(row, valid, place)| valid.then(|| start(row) + place)).collect();
    let values = take(values.as_ref(), &indices, None)?;
    Ok(Arc::new(FixedSizeListArray::try_new(field.clone(), *length, values, list.nulls().cloned())?))
}

#[cfg(test)]
mod tests;
