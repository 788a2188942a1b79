//! Cells of text to values of a declared type.
//!
//! The rules are those of the JSON value codec where it takes text: numbers are decimal and fit their type, dates and times are ISO, enum
//! values are checked by the server. Lists and vectors are written in a cell as a JSON array, blobs as `base64:` text.
//!
//! Invariant: no value is changed to make it fit; what does not fit names its row.

use std::str::FromStr;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, FixedSizeListArray, LargeBinaryArray, ListArray, PrimitiveArray, StringArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, FieldRef, Float32Type, Float64Type, Int32Type, Int64Type, TimeUnit,
    TimestampMillisecondType, UInt32Type, UInt64Type,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use omnigraph_lang::date::{parse_date, parse_datetime};
use serde_json::Value;

/// Longest part of a wrong cell that an error repeats.
const VALUE_CHARACTERS_MAX: usize = 60;

/// What a DateTime cell holds.
const DATE_TIME: &str = "a DateTime: YYYY-MM-DDTHH:MM:SS, with a fraction and Z or ±HH:MM if any";

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

/// Reads every cell of `cells` as `data_type`; the empty cell and the texts of `null_values` are null.
pub(crate) fn parse_column(
    cells: &StringArray,
    data_type: &DataType,
    null_values: &[String],
) -> Result<ArrayRef, TextError> {
    let options: Vec<Option<&str>> = cells
        .iter()
        .map(|cell| cell.filter(|text| !text.is_empty() && !null_values.iter().any(|null| null == text)))
        .collect();
    parse_cells(&options, data_type)
}

fn parse_cells(cells: &[Option<&str>], data_type: &DataType) -> Result<ArrayRef, TextError> {
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
        DataType::List(item) => list(cells, item),
        DataType::FixedSizeList(item, length) => vector(cells, item, *length),
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
    let mut value: String = text.chars().take(VALUE_CHARACTERS_MAX).collect();
    if value.len() < text.len() {
        value.push('…');
    }
    TextError::Cell { index, value, expected: expected.to_owned() }
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

/// Items of a JSON array as texts; an item that is null or not a scalar is none.
fn items(text: &str) -> Option<Vec<String>> {
    let Ok(Value::Array(values)) = serde_json::from_str::<Value>(text) else { return None };
    let text_of = |value: Value| match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    values.into_iter().map(text_of).collect()
}

/// The items of all cells one after another, the end of each cell, and which cells are not null.
struct Items {
    texts: Vec<String>,
    lengths: Vec<usize>,
    cell_of: Vec<usize>,
    nulls: NullBuffer,
}

fn all_items(cells: &[Option<&str>], expected: &str) -> Result<Items, TextError> {
    let lists = each(cells, expected, items)?;
    let nulls = NullBuffer::from_iter(lists.iter().map(Option::is_some));
    let mut all = Items { texts: Vec::new(), lengths: Vec::with_capacity(lists.len()), cell_of: Vec::new(), nulls };
    for (index, list) in lists.into_iter().enumerate() {
        let list = list.unwrap_or_default();
        all.lengths.push(list.len());
        all.cell_of.extend(std::iter::repeat_n(index, list.len()));
        all.texts.extend(list);
    }
    Ok(all)
}

/// The items as values of `item`; an error names the cell that holds the item.
fn item_values(all: &Items, item: &FieldRef) -> Result<ArrayRef, TextError> {
    let texts: Vec<Option<&str>> = all.texts.iter().map(|text| Some(text.as_str())).collect();
    parse_cells(&texts, item.data_type()).map_err(|error| match error {
        TextError::Cell { index, value, expected } => TextError::Cell { index: all.cell_of[index], value, expected },
        TextError::Unsupported => TextError::Unsupported,
    })
}

fn list(cells: &[Option<&str>], item: &FieldRef) -> Result<ArrayRef, TextError> {
    let all = all_items(cells, "a JSON array without nulls, such as [\"a\",\"b\"]")?;
    let values = item_values(&all, item)?;
    let offsets = OffsetBuffer::from_lengths(all.lengths.iter().copied());
    let array = ListArray::try_new(FieldRef::clone(item), offsets, values, Some(all.nulls));
    array.map(|array| Arc::new(array) as ArrayRef).map_err(|_| TextError::Unsupported)
}

fn vector(cells: &[Option<&str>], item: &FieldRef, length: i32) -> Result<ArrayRef, TextError> {
    let expected = format!("a Vector({length}): a JSON array of {length} numbers");
    let wanted = usize::try_from(length).map_err(|_| TextError::Unsupported)?;
    let parts = each(cells, &expected, |text| items(text).filter(|items| items.len() == wanted))?;
    let nulls = NullBuffer::from_iter(parts.iter().map(Option::is_some));
    let mut texts: Vec<Option<&str>> = Vec::with_capacity(parts.len() * wanted);
    for part in &parts {
        match part {
            Some(items) => texts.extend(items.iter().map(|text| Some(text.as_str()))),
            None => texts.extend(std::iter::repeat_n(None, wanted)),
        }
    }
    let values = parse_cells(&texts, item.data_type()).map_err(|error| match error {
        TextError::Cell { index, value, .. } => TextError::Cell { index: index / wanted.max(1), value, expected },
        TextError::Unsupported => TextError::Unsupported,
    })?;
    let array = FixedSizeListArray::try_new(FieldRef::clone(item), length, values, Some(nulls));
    array.map(|array| Arc::new(array) as ArrayRef).map_err(|_| TextError::Unsupported)
}
