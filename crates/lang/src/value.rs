//! One value of a property or parameter, decoded from and encoded to JSON by the one rule set that every channel shares.
//!
//! Invariant: a value that `decode` returns can be encoded, and the encoding decodes to an equal value.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use thiserror::Error;

use crate::date::{DateError, check_days, check_milliseconds, parse_date, parse_datetime, write_date, write_datetime};
use crate::json::JsonValue;
use crate::schema::{Nullability, PropertyType, Scalar};
use crate::text::{clip, put, write_json_string};

/// What a managed Blob's text starts with.
const BASE64_PREFIX: &str = "base64:";
/// 2^53-1: beyond it a JSON reader that uses doubles loses bits.
const SAFE_INTEGER_MAX: u64 = (1 << 53) - 1;

/// One value. Dates are days and timestamps milliseconds since 1970-01-01.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// `Bool`.
    Bool(bool),
    /// `I32`.
    I32(i32),
    /// `I64`.
    I64(i64),
    /// `U32`.
    U32(u32),
    /// `U64`.
    U64(u64),
    /// `F32`, finite.
    F32(f32),
    /// `F64`, finite.
    F64(f64),
    /// `Date`: days.
    Date(i32),
    /// `DateTime`: milliseconds, UTC.
    DateTime(i64),
    /// `String`, or a value of an enum.
    String(String),
    /// `Blob`.
    Bytes(Vec<u8>),
    /// `[T]`: values of one scalar type, none of them null.
    List(Vec<Value>),
    /// `Vector(n)`: finite numbers.
    Vector(Vec<f32>),
}

impl Value {
    /// The value of any integer type.
    pub fn as_integer(&self) -> Option<i128> {
        match self {
            Self::I32(number) => Some(i128::from(*number)),
            Self::I64(number) => Some(i128::from(*number)),
            Self::U32(number) => Some(i128::from(*number)),
            Self::U64(number) => Some(i128::from(*number)),
            _ => None,
        }
    }

    /// The value of either float type; exact.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Self::F32(number) => Some(f64::from(*number)),
            Self::F64(number) => Some(*number),
            _ => None,
        }
    }

    /// The integer as a value of an integer type, if it is in range.
    pub fn integer_of(number: i128, ty: Scalar) -> Option<Self> {
        match ty {
            Scalar::I32 => i32::try_from(number).ok().map(Self::I32),
            Scalar::I64 => i64::try_from(number).ok().map(Self::I64),
            Scalar::U32 => u32::try_from(number).ok().map(Self::U32),
            Scalar::U64 => u64::try_from(number).ok().map(Self::U64),
            _ => None,
        }
    }
}

/// Why a JSON value is not a value of the declared type. Texts are clipped.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ValueError {
    /// Null, or left out, where a value is required.
    #[error("null is not allowed")]
    Null,
    /// Another kind of JSON value.
    #[error("expected {expected}, got {found}")]
    Kind {
        /// The declared type.
        expected: String,
        /// The kind that was found.
        found: &'static str,
    },
    /// A number with a fraction or exponent, or a text that spells no integer.
    #[error("{text} is not an integer: write digits without dot, exponent, plus sign, spaces or leading zeros")]
    NotInteger {
        /// As written.
        text: String,
    },
    /// An integer that its type cannot hold.
    #[error("{text} is outside the range of {ty}")]
    OutOfRange {
        /// As written.
        text: String,
        /// The declared type.
        ty: Scalar,
    },
    /// A number that overflows its float type.
    #[error("{text} overflows {ty}")]
    NotFinite {
        /// As written.
        text: String,
        /// The declared type.
        ty: Scalar,
    },
    /// No date.
    #[error(transparent)]
    Date(#[from] DateError),
    /// A vector of another length.
    #[error("expected {expected} numbers, got {actual}")]
    VectorLength {
        /// As declared.
        expected: u32,
        /// As found.
        actual: usize,
    },
    /// One component of a vector.
    #[error("component {index} of the vector: {source}")]
    Component {
        /// From 0.
        index: usize,
        /// What is wrong with it.
        source: Box<ValueError>,
    },
    /// One item of a list.
    #[error("item {index} of the list: {source}")]
    Item {
        /// From 0.
        index: usize,
        /// What is wrong with it.
        source: Box<ValueError>,
    },
    /// Not padded standard base64.
    #[error("the text after `base64:` is not padded standard base64")]
    Base64,
    /// A Blob as anything but `base64:`.
    #[error("{text:?} is not a Blob: write \"base64:\" and padded standard base64; external URIs are not supported")]
    BlobUri {
        /// As written.
        text: String,
    },
}

/// The JSON value as a value of the type. Values of an enum are read as text: whether the text is in the set is the caller's check.
pub fn decode(json: &JsonValue<'_>, ty: &PropertyType, nullability: Nullability) -> Result<Value, ValueError> {
    if matches!(json, JsonValue::Null) {
        return if nullability.is_nullable() { Ok(Value::Null) } else { Err(ValueError::Null) };
    }
    match ty {
        PropertyType::Scalar(scalar) => decode_scalar(json, *scalar),
        PropertyType::Enum(_) => decode_scalar(json, Scalar::String),
        PropertyType::List(scalar) => {
            let JsonValue::Array(items) = json else { return Err(kind_error(json, ty.to_string())) };
            let item = |(index, item)| {
                decode_scalar(item, *scalar).map_err(|source| ValueError::Item { index, source: Box::new(source) })
            };
            items.iter().enumerate().map(item).collect::<Result<_, _>>().map(Value::List)
        }
        PropertyType::Vector(length) => decode_vector(json, *length),
        PropertyType::Blob => decode_blob(json),
    }
}

/// The JSON value as a non-null scalar.
fn decode_scalar(json: &JsonValue<'_>, ty: Scalar) -> Result<Value, ValueError> {
    match (ty, json) {
        (_, JsonValue::Null) => Err(ValueError::Null),
        (Scalar::String, JsonValue::String(text)) => Ok(Value::String(text.as_ref().to_owned())),
        (Scalar::Bool, JsonValue::Bool(flag)) => Ok(Value::Bool(*flag)),
        (Scalar::I32 | Scalar::I64 | Scalar::U32 | Scalar::U64, JsonValue::Number(token)) => {
            // A token's integer part has no leading zero, so only dots and exponents must be looked for.
            integer(token, ty)
        }
        (Scalar::I32 | Scalar::I64 | Scalar::U32 | Scalar::U64, JsonValue::String(text)) => integer(text, ty),
        (Scalar::F32, JsonValue::Number(token)) => float32(token).map(Value::F32),
        (Scalar::F64, JsonValue::Number(token)) => match token.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Value::F64(number)),
            _ => Err(ValueError::NotFinite { text: clip(token), ty }),
        },
        (Scalar::Date, JsonValue::String(text)) => Ok(Value::Date(parse_date(text)?)),
        (Scalar::Date, JsonValue::Number(token)) => Ok(Value::Date(check_days(count(token)?)?)),
        (Scalar::DateTime, JsonValue::String(text)) => Ok(Value::DateTime(parse_datetime(text)?)),
        (Scalar::DateTime, JsonValue::Number(token)) => Ok(Value::DateTime(check_milliseconds(count(token)?)?)),
        _ => Err(kind_error(json, ty.to_string())),
    }
}

fn kind_error(json: &JsonValue<'_>, expected: String) -> ValueError {
    ValueError::Kind { expected, found: json.kind() }
}

/// Whether the text is `0` or digits without leading zeros, perhaps after a minus sign.
fn is_integer_text(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) && (digits.len() == 1 || digits[0] != b'0')
}

fn integer(text: &str, ty: Scalar) -> Result<Value, ValueError> {
    if !is_integer_text(text) {
        return Err(ValueError::NotInteger { text: clip(text) });
    }
    let number = text.parse::<i128>().ok().and_then(|number| Value::integer_of(number, ty));
    number.ok_or_else(|| ValueError::OutOfRange { text: clip(text), ty })
}

/// A count of days or milliseconds; one that i128 cannot hold is clamped, as it is out of range anyway.
fn count(token: &str) -> Result<i128, ValueError> {
    if !is_integer_text(token) {
        return Err(ValueError::NotInteger { text: clip(token) });
    }
    Ok(token.parse().unwrap_or(i128::MAX))
}

/// Read at its own width, so that a decimal is rounded once.
fn float32(token: &str) -> Result<f32, ValueError> {
    match token.parse::<f32>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(ValueError::NotFinite { text: clip(token), ty: Scalar::F32 }),
    }
}

fn decode_vector(json: &JsonValue<'_>, length: u32) -> Result<Value, ValueError> {
    let JsonValue::Array(items) = json else {
        return Err(kind_error(json, PropertyType::Vector(length).to_string()));
    };
    if usize::try_from(length) != Ok(items.len()) {
        return Err(ValueError::VectorLength { expected: length, actual: items.len() });
    }
    let component = |(index, item): (usize, &JsonValue<'_>)| {
        let number = match item {
            JsonValue::Number(token) => float32(token),
            JsonValue::Null => Err(ValueError::Null),
            other => Err(kind_error(other, "a number".to_owned())),
        };
        number.map_err(|source| ValueError::Component { index, source: Box::new(source) })
    };
    items.iter().enumerate().map(component).collect::<Result<_, _>>().map(Value::Vector)
}

fn decode_blob(json: &JsonValue<'_>) -> Result<Value, ValueError> {
    let JsonValue::String(text) = json else { return Err(kind_error(json, PropertyType::Blob.to_string())) };
    match text.strip_prefix(BASE64_PREFIX) {
        Some(encoded) => STANDARD.decode(encoded).map(Value::Bytes).map_err(|_| ValueError::Base64),
        None => Err(ValueError::BlobUri { text: clip(text) }),
    }
}

/// How integers beyond ±(2^53-1) are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntegerStyle {
    /// I64 and U64 beyond as strings: for readers that hold numbers as doubles.
    Safe,
    /// Always as numbers.
    Native,
}

/// Appends the value's JSON text.
pub fn encode_into(out: &mut String, value: &Value, style: IntegerStyle) {
    // Debug of a finite float is its shortest spelling that reads back, and valid JSON.
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::I32(number) => put(out, format_args!("{number}")),
        Value::U32(number) => put(out, format_args!("{number}")),
        Value::I64(number) if is_unsafe(number.unsigned_abs(), style) => put(out, format_args!("\"{number}\"")),
        Value::I64(number) => put(out, format_args!("{number}")),
        Value::U64(number) if is_unsafe(*number, style) => put(out, format_args!("\"{number}\"")),
        Value::U64(number) => put(out, format_args!("{number}")),
        Value::F32(number) => put(out, format_args!("{number:?}")),
        Value::F64(number) => put(out, format_args!("{number:?}")),
        Value::Date(days) => quoted(out, |out| write_date(out, *days)),
        Value::DateTime(ms) => quoted(out, |out| write_datetime(out, *ms)),
        Value::String(text) => write_json_string(out, text),
        Value::Bytes(bytes) => quoted(out, |out| {
            out.push_str(BASE64_PREFIX);
            STANDARD.encode_string(bytes, out);
        }),
        Value::List(items) => array(out, items, |out, item| encode_into(out, item, style)),
        Value::Vector(components) => array(out, components, |out, number| put(out, format_args!("{number:?}"))),
    }
}

/// The value's JSON text.
pub fn encode(value: &Value, style: IntegerStyle) -> String {
    let mut out = String::new();
    encode_into(&mut out, value, style);
    out
}

/// Appends a JSON string: only `"`, `\` and control characters are escaped.
pub fn encode_text_into(out: &mut String, text: &str) {
    write_json_string(out, text);
}

fn is_unsafe(magnitude: u64, style: IntegerStyle) -> bool {
    style == IntegerStyle::Safe && magnitude > SAFE_INTEGER_MAX
}

fn quoted(out: &mut String, write: impl FnOnce(&mut String)) {
    out.push('"');
    write(out);
    out.push('"');
}

fn array<T>(out: &mut String, items: &[T], write: impl Fn(&mut String, &T)) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(']');
}

#[cfg(test)]
mod tests;
