//! The canonical spelling of an entity id from its key values.
//!
//! One member is spelled alone; two or more make a compact JSON array of their spellings as strings, in the order stored with the
//! type. Invariant: different key tuples of one type have different ids.

use std::borrow::Cow;
use std::fmt::Write;

use thiserror::Error;

use crate::date::{write_date, write_datetime};
use crate::text::write_json_string;
use crate::value::Value;

/// Why a key cannot be spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum KeyError {
    /// A null member.
    #[error("a key member is null")]
    Null,
    /// NaN or an infinity.
    #[error("a key member is not a finite number")]
    NotFinite,
    /// A list, vector or blob.
    #[error("a key member is a list, a vector or a blob")]
    Type,
    /// No member at all.
    #[error("the key has no members")]
    Empty,
}

/// One value of a key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KeyPart<'a> {
    /// A String or an enum value, or the id of an endpoint.
    Text(&'a str),
    /// A Bool.
    Bool(bool),
    /// Any integer type.
    Integer(i128),
    /// An F32, spelled at its own width.
    F32(f32),
    /// An F64.
    F64(f64),
    /// Days since 1970-01-01.
    Date(i32),
    /// Milliseconds since 1970-01-01T00:00:00Z.
    DateTime(i64),
}

impl<'a> TryFrom<&'a Value> for KeyPart<'a> {
    type Error = KeyError;

    fn try_from(value: &'a Value) -> Result<Self, KeyError> {
        Ok(match value {
            Value::String(text) => Self::Text(text),
            Value::Bool(flag) => Self::Bool(*flag),
            Value::I32(number) => Self::Integer(i128::from(*number)),
            Value::I64(number) => Self::Integer(i128::from(*number)),
            Value::U32(number) => Self::Integer(i128::from(*number)),
            Value::U64(number) => Self::Integer(i128::from(*number)),
            Value::F32(number) => Self::F32(*number),
            Value::F64(number) => Self::F64(*number),
            Value::Date(days) => Self::Date(*days),
            Value::DateTime(ms) => Self::DateTime(*ms),
            Value::Null => return Err(KeyError::Null),
            Value::Bytes(_) | Value::List(_) | Value::Vector(_) => return Err(KeyError::Type),
        })
    }
}

/// The id of a key. A single text member is borrowed as it is.
pub fn spell_key<'a>(parts: &[KeyPart<'a>]) -> Result<Cow<'a, str>, KeyError> {
    match parts {
        [] => Err(KeyError::Empty),
        [KeyPart::Text(text)] => Ok(Cow::Borrowed(text)),
        [part] => {
            let mut id = String::new();
            write_part(&mut id, *part)?;
            Ok(Cow::Owned(id))
        }
        parts => {
            let mut id = String::from("[");
            let mut spelling = String::new();
            for (index, part) in parts.iter().enumerate() {
                if index > 0 {
                    id.push(',');
                }
                spelling.clear();
                write_part(&mut spelling, *part)?;
                write_json_string(&mut id, &spelling);
            }
            id.push(']');
            Ok(Cow::Owned(id))
        }
    }
}

fn write_part(out: &mut String, part: KeyPart<'_>) -> Result<(), KeyError> {
    // Display of a float is the shortest decimal that reads back, without exponent and without `.0`; adding zero turns -0 into 0.
    let written = match part {
        KeyPart::Text(text) => out.write_str(text),
        KeyPart::Bool(flag) => write!(out, "{flag}"),
        KeyPart::Integer(number) => write!(out, "{number}"),
        KeyPart::F32(number) if number.is_finite() => write!(out, "{}", number + 0.0),
        KeyPart::F64(number) if number.is_finite() => write!(out, "{}", number + 0.0),
        KeyPart::F32(_) | KeyPart::F64(_) => return Err(KeyError::NotFinite),
        KeyPart::Date(days) => {
            write_date(out, days);
            Ok(())
        }
        KeyPart::DateTime(ms) => {
            write_datetime(out, ms);
            Ok(())
        }
    };
    // Writing to a String cannot fail.
    let _ = written;
    Ok(())
}

#[cfg(test)]
mod tests;
