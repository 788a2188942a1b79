//! Property types, nullability and exact range bounds.

use std::cmp::Ordering;
use std::fmt;

use crate::number::compare_integer_float;

/// A scalar type that may also be the item of a list. `Blob` and `enum` are property types of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scalar {
    /// UTF-8 text.
    String,
    /// True or false.
    Bool,
    /// 32 bits, signed.
    I32,
    /// 64 bits, signed.
    I64,
    /// 32 bits, unsigned.
    U32,
    /// 64 bits, unsigned.
    U64,
    /// Single precision, always finite.
    F32,
    /// Double precision, always finite.
    F64,
    /// Days since 1970-01-01.
    Date,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    DateTime,
}

impl Scalar {
    /// Every scalar type.
    pub const ALL: [Self; 10] = [
        Self::String,
        Self::Bool,
        Self::I32,
        Self::I64,
        Self::U32,
        Self::U64,
        Self::F32,
        Self::F64,
        Self::Date,
        Self::DateTime,
    ];

    /// The name in schema and query text.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "String",
            Self::Bool => "Bool",
            Self::I32 => "I32",
            Self::I64 => "I64",
            Self::U32 => "U32",
            Self::U64 => "U64",
            Self::F32 => "F32",
            Self::F64 => "F64",
            Self::Date => "Date",
            Self::DateTime => "DateTime",
        }
    }

    /// The scalar of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scalar| scalar.name() == name)
    }

    /// Whether it is one of the four integer types.
    pub fn is_integer(self) -> bool {
        matches!(self, Self::I32 | Self::I64 | Self::U32 | Self::U64)
    }

    /// Whether it is one of the two float types.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Whether it is an integer or a float type.
    pub fn is_numeric(self) -> bool {
        self.is_integer() || self.is_float()
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The type of a property or parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PropertyType {
    /// A scalar.
    Scalar(Scalar),
    /// A list of scalars, none of them null.
    List(Scalar),
    /// One of the named values, sorted and without repetition. Stored as text.
    Enum(Vec<String>),
    /// That many finite single-precision numbers, at least one.
    Vector(u32),
    /// Bytes.
    Blob,
}

impl PropertyType {
    /// The scalar that its values are compared as: enums are text; lists, vectors and blobs have none.
    pub fn scalar(&self) -> Option<Scalar> {
        match self {
            Self::Scalar(scalar) => Some(*scalar),
            Self::Enum(_) => Some(Scalar::String),
            Self::List(_) | Self::Vector(_) | Self::Blob => None,
        }
    }
}

impl fmt::Display for PropertyType {
    /// The type as written in schema text, without `?`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(scalar) => scalar.fmt(f),
            Self::List(scalar) => write!(f, "[{scalar}]"),
            Self::Enum(values) => write!(f, "enum({})", values.join(", ")),
            Self::Vector(length) => write!(f, "Vector({length})"),
            Self::Blob => f.write_str("Blob"),
        }
    }
}

/// Whether null is a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nullability {
    /// Null is an error.
    Required,
    /// Null is a value; a member left out is null.
    Nullable,
}

impl Nullability {
    /// Whether null is allowed.
    pub fn is_nullable(self) -> bool {
        self == Self::Nullable
    }

    /// `?` or nothing, as written after a type.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Required => "",
            Self::Nullable => "?",
        }
    }
}

/// One end of a range, as an exact number. A float bound has the width of its property: it is rounded as the property's values are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// A whole number between -2^63 and 2^64-1.
    Integer(i128),
    /// A finite number, the bound of an F32 property.
    Single(f32),
    /// A finite number, the bound of any other property.
    Double(f64),
}

impl Bound {
    /// The bound against an integer, by exact value.
    pub fn compare_integer(self, value: i128) -> Ordering {
        match self {
            Self::Integer(bound) => bound.cmp(&value),
            // Bounds are finite, so an order always exists.
            Self::Single(bound) => Self::Double(f64::from(bound)).compare_integer(value),
            Self::Double(bound) => compare_integer_float(value, bound).map_or(Ordering::Equal, Ordering::reverse),
        }
    }

    /// The bound against a float, by exact value; `None` for NaN.
    pub fn compare_float(self, value: f64) -> Option<Ordering> {
        match self {
            Self::Integer(bound) => compare_integer_float(bound, value),
            Self::Single(bound) => f64::from(bound).partial_cmp(&value),
            Self::Double(bound) => bound.partial_cmp(&value),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(bound) => bound.fmt(f),
            Self::Single(bound) => write!(f, "{bound:?}"),
            Self::Double(bound) => write!(f, "{bound:?}"),
        }
    }
}
