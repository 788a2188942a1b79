//! One value of an Arrow array as text.

use std::fmt::Write;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimeUnit,
    TimestampMillisecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use omnigraph_lang::date::{format_date, format_datetime};

/// The largest integer that every JSON reader keeps.
const SAFE_INTEGER_MAX: u64 = (1 << 53) - 1;

/// The type of a value that has no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoText(pub(crate) DataType);

/// Appends the value as JSON. Integers beyond ±(2^53-1) become strings; a float that is not finite becomes null.
pub(crate) fn write_json(out: &mut String, array: &dyn Array, row: usize) -> Result<(), NoText> {
    if array.is_null(row) {
        out.push_str("null");
        return Ok(());
    }
    match array.data_type() {
        DataType::Null => out.push_str("null"),
        DataType::Boolean => put(out, array.as_boolean().value(row)),
        DataType::Int8 => put(out, array.as_primitive::<Int8Type>().value(row)),
        DataType::Int16 => put(out, array.as_primitive::<Int16Type>().value(row)),
        DataType::Int32 => put(out, array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => {
            let value = array.as_primitive::<Int64Type>().value(row);
            put_integer(out, value, value.unsigned_abs());
        }
        DataType::UInt8 => put(out, array.as_primitive::<UInt8Type>().value(row)),
        DataType::UInt16 => put(out, array.as_primitive::<UInt16Type>().value(row)),
        DataType::UInt32 => put(out, array.as_primitive::<UInt32Type>().value(row)),
        DataType::UInt64 => {
            let value = array.as_primitive::<UInt64Type>().value(row);
            put_integer(out, value, value);
        }
        DataType::Float32 => put_json(out, &array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => put_json(out, &array.as_primitive::<Float64Type>().value(row)),
        DataType::List(_) => write_items(out, array.as_list::<i32>().value(row).as_ref())?,
        DataType::LargeList(_) => write_items(out, array.as_list::<i64>().value(row).as_ref())?,
        DataType::FixedSizeList(_, _) => write_items(out, array.as_fixed_size_list().value(row).as_ref())?,
        DataType::Struct(fields) => {
            let values = array.as_struct();
            for (place, field) in fields.iter().enumerate() {
                out.push(if place == 0 { '{' } else { ',' });
                put_json(out, field.name());
                out.push(':');
                write_json(out, values.column(place).as_ref(), row)?;
            }
            out.push_str(if fields.is_empty() { "{}" } else { "}" });
        }
        _ => put_json(out, &scalar_text(array, row)?),
    }
    Ok(())
}

/// The value as a cell of a table or of CSV; none for null.
pub(crate) fn cell(array: &dyn Array, row: usize) -> Result<Option<String>, NoText> {
    if array.is_null(row) || array.data_type() == &DataType::Null {
        return Ok(None);
    }
    match array.data_type() {
        DataType::Int64 => Ok(Some(array.as_primitive::<Int64Type>().value(row).to_string())),
        DataType::UInt64 => Ok(Some(array.as_primitive::<UInt64Type>().value(row).to_string())),
        DataType::Float64 if !array.as_primitive::<Float64Type>().value(row).is_finite() => {
            Ok(Some(array.as_primitive::<Float64Type>().value(row).to_string()))
        }
        _ => match scalar_text(array, row) {
            Ok(text) => Ok(Some(text)),
            Err(_) => {
                let mut text = String::new();
                write_json(&mut text, array, row)?;
                Ok(Some(text))
            }
        },
    }
}

/// How a column of this type is aligned.
pub(crate) fn alignment_of(data_type: &DataType) -> Alignment {
    if data_type.is_numeric() { Alignment::Right } else { Alignment::Left }
}

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alignment {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Text in which nothing can move the terminal's cursor: control characters are written as escapes.
pub(crate) fn printable(text: &str) -> String {
    if !text.chars().any(char::is_control) {
        return text.to_owned();
    }
    text.chars().fold(String::with_capacity(text.len() + 8), |mut out, character| {
        if character.is_control() {
            out.extend(character.escape_default())
        } else {
            out.push(character)
        }
        out
    })
}

/// Values whose JSON form is a string.
fn scalar_text(array: &dyn Array, row: usize) -> Result<String, NoText> {
    Ok(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).to_owned(),
        DataType::Utf8View => array.as_string_view().value(row).to_owned(),
        DataType::Binary => blob(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => blob(array.as_binary::<i64>().value(row)),
        DataType::Date32 => format_date(array.as_primitive::<Date32Type>().value(row)),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            format_datetime(array.as_primitive::<TimestampMillisecondType>().value(row))
        }
        other => return Err(NoText(other.clone())),
    })
}

fn write_items(out: &mut String, items: &dyn Array) -> Result<(), NoText> {
    out.push('[');
    for item in 0..items.len() {
        if item > 0 {
            out.push(',');
        }
        write_json(out, items, item)?;
    }
    out.push(']');
    Ok(())
}

fn blob(bytes: &[u8]) -> String {
    format!("base64:{}", STANDARD.encode(bytes))
}

fn put(out: &mut String, value: impl std::fmt::Display) {
    // Writing to a String cannot fail.
    let _ = write!(out, "{value}");
}

fn put_integer(out: &mut String, value: impl std::fmt::Display, magnitude: u64) {
    let quote = if magnitude > SAFE_INTEGER_MAX { "\"" } else { "" };
    put(out, format_args!("{quote}{value}{quote}"));
}

fn put_json(out: &mut String, value: &impl serde::Serialize) {
    // Text and numbers always have a JSON form.
    out.push_str(&serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()));
}
