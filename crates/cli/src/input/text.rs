//! Cells of text to values of a declared type.
//!
//! The rules are those of the JSON value codec where it takes text: numbers are decimal and fit their type, dates and times are ISO, enum
//! values are checked by the server. Lists and vectors are written in a cell as a JSON array, blobs as `base64:` text.
//!
//! Invariant: no value is changed to make it fit; what does not fit names its row.

use std::str::FromStr;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, LargeBinaryArray, PrimitiveArray, StringArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, TimeUnit,
    TimestampMillisecondType, UInt32Type, UInt64Type,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use omnigraph_columns::mapping::language_type;
use omnigraph_columns::values::ColumnBuilder;
use omnigraph_lang::date::{parse_date, parse_datetime};
use omnigraph_lang::json::{self, JsonLimits};
use omnigraph_lang::schema::Nullability;
use omnigraph_lang::value::{Value, decode};

/// Longest part of a wrong cell that an error repeats.
const VALUE_CHARACTERS_MAX: usize = 60;

/// What a DateTime cell holds.
const DATE_TIME: &str = "a DateTime: YYYY-MM-DDTHH:MM:SS, with a fraction of whole milliseconds and Z or ±HH:MM if any";

/// A cell that is not a value of the declared type, or a type that text cannot hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextError {
    /// The cell at `index` of the array.
    Cell {
        /// Which.
        index: usize,
        /// Its text, cut.
        value: String,
        /// What it should be.
        expected: String,
    },
    /// The type itself.
    Unsupported,
}

/// Reads every cell as `data_type`; none is null.
pub(crate) fn parse_column(cells: &[Option<&str>], data_type: &DataType) -> Result<ArrayRef, TextError> {
    match data_type {
        DataType::Utf8 => Ok(Arc::new(StringArray::from(cells.to_vec()))),
        DataType::Boolean => {
            let values: Vec<Option<bool>> = each(cells, "Bool: true or false", boolean)?;
            Ok(Arc::new(BooleanArray::from(values)))
        }
        DataType::Int32 => number::<Int32Type>(cells, "I32: a whole number from -2147483648 to 2147483647"),
        DataType::Int64 => number::<Int64Type>(cells, "I64: a whole number from -2^63 to 2^63-1"),
        DataType::UInt32 => number::<UInt32Type>(cells, "U32: a whole number from 0 to 4294967295"),
        DataType::UInt64 => number::<UInt64Type>(cells, "U64: a whole number from 0 to 2^64-1"),
        DataType::Float32 => {
            let values =
                each(cells, "F32: a finite number", |text| text.parse::<f32>().ok().filter(|value| value.is_finite()))?;
            Ok(Arc::new(PrimitiveArray::<Float32Type>::from_iter(values)))
        }
        DataType::Float64 => {
            let values =
                each(cells, "F64: a finite number", |text| text.parse::<f64>().ok().filter(|value| value.is_finite()))?;
            Ok(Arc::new(PrimitiveArray::<Float64Type>::from_iter(values)))
        }
        DataType::Date32 => {
            let values = each(cells, "a Date: YYYY-MM-DD", |text| parse_date(text).ok())?;
            Ok(Arc::new(PrimitiveArray::<Date32Type>::from_iter(values)))
        }
        DataType::Timestamp(TimeUnit::Millisecond, zone) => {
            let values = each(cells, DATE_TIME, |text| parse_datetime(text).ok())?;
            let array = PrimitiveArray::<TimestampMillisecondType>::from_iter(values);
            Ok(Arc::new(array.with_timezone_opt(zone.clone())))
        }
        DataType::LargeBinary => {
            let values = each(cells, "a Blob: `base64:` and standard padded base64", blob)?;
            let slices: Vec<Option<&[u8]>> = values.iter().map(|value| value.as_deref()).collect();
            Ok(Arc::new(LargeBinaryArray::from(slices)))
        }
        DataType::List(_) | DataType::FixedSizeList(..) => arrays(cells, data_type),
        _ => Err(TextError::Unsupported),
    }
}

/// Reads each cell by `read`; null stays null.
fn each<T>(
    cells: &[Option<&str>],
    expected: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Vec<Option<T>>, TextError> {
    let value_of = |(index, cell): (usize, &Option<&str>)| match cell {
        None => Ok(None),
        Some(text) => read(text).map(Some).ok_or_else(|| wrong(index, text, expected)),
    };
    cells.iter().enumerate().map(value_of).collect()
}

fn wrong(index: usize, text: &str, expected: &str) -> TextError {
    let expected = match text {
        "" => format!("{expected}; an empty cell without quotes is null, and --null-values '' makes this one null"),
        _ => expected.to_owned(),
    };
    let mut value: String = text.chars().take(VALUE_CHARACTERS_MAX).collect();
    if value.len() < text.len() {
        value.push('…');
    }
    TextError::Cell { index, value, expected }
}

fn number<T: ArrowPrimitiveType>(cells: &[Option<&str>], expected: &str) -> Result<ArrayRef, TextError>
where
    T::Native: FromStr,
{
    let values = each(cells, expected, |text| match text.starts_with('+') {
        true => None,
        false => text.parse::<T::Native>().ok(),
    })?;
    Ok(Arc::new(PrimitiveArray::<T>::from_iter(values)))
}

fn boolean(text: &str) -> Option<bool> {
    match () {
        () if text.eq_ignore_ascii_case("true") => Some(true),
        () if text.eq_ignore_ascii_case("false") => Some(false),
        () => None,
    }
}

fn blob(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text.strip_prefix("base64:")?).ok()
}

/// Lists and vectors: each cell is a JSON array that follows the rules of the JSON value codec, so that no item is spelled anew.
fn arrays(cells: &[Option<&str>], data_type: &DataType) -> Result<ArrayRef, TextError> {
    let limits = JsonLimits { depth_max: JsonLimits::DEPTH_MAX, structurals_max: u64::MAX };
    let ty = language_type(data_type).ok_or(TextError::Unsupported)?;
    let mut builder = ColumnBuilder::new(&ty);
    for (index, cell) in cells.iter().enumerate() {
        let value = match cell {
            None => Value::Null,
            Some(text) => {
                let refused = |reason: String| wrong(index, text, &format!("{ty} as a JSON array: {reason}"));
                let json = json::parse(text, &limits).map_err(|error| refused(error.to_string()))?;
                decode(&json, &ty, Nullability::Required).map_err(|error| refused(error.to_string()))?
            }
        };
        builder.push(value).map_err(|_| TextError::Unsupported)?;
    }
    builder.finish().map_err(|_| TextError::Unsupported)
}
