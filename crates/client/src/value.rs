//! One typed value of a result, with every bit of it kept.

use omnigraph_wire::v1;

use crate::error::ClientError;

/// A value of a result's row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Null.
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
    /// `F32`.
    F32(f32),
    /// `F64`.
    F64(f64),
    /// `String`, or an enum's name.
    String(String),
    /// `Blob`.
    Bytes(Vec<u8>),
    /// `Date`: days since 1970-01-01.
    Date(i32),
    /// `DateTime`: milliseconds since 1970-01-01T00:00:00Z.
    DateTime(i64),
    /// A list.
    List(Vec<Value>),
    /// A vector.
    Vector(Vec<f32>),
    /// A whole node.
    Node {
        /// Its type.
        type_name: String,
        /// Its id.
        id: String,
        /// Its properties in the order of the schema, nulls included.
        properties: Vec<(String, Value)>,
    },
}

impl Value {
    pub(crate) fn from_wire(value: v1::Value) -> Result<Self, ClientError> {
        use v1::value::Kind;
        Ok(match value.kind.ok_or(ClientError::Answer { what: "a value of no kind" })? {
            Kind::NullValue(_) => Self::Null,
            Kind::BoolValue(value) => Self::Bool(value),
            Kind::Int32Value(value) => Self::I32(value),
            Kind::Int64Value(value) => Self::I64(value),
            Kind::Uint32Value(value) => Self::U32(value),
            Kind::Uint64Value(value) => Self::U64(value),
            Kind::FloatValue(value) => Self::F32(value),
            Kind::DoubleValue(value) => Self::F64(value),
            Kind::StringValue(value) => Self::String(value),
            Kind::BytesValue(value) => Self::Bytes(value.into()),
            Kind::DateValue(value) => Self::Date(value),
            Kind::DatetimeValue(value) => Self::DateTime(value),
            Kind::ListValue(list) => {
                Self::List(list.values.into_iter().map(Self::from_wire).collect::<Result<_, _>>()?)
            }
            Kind::VectorValue(vector) => Self::Vector(vector.values),
            Kind::NodeValue(node) => {
                let property = |property: v1::PropertyValue| {
                    let value = property.value.ok_or(ClientError::Answer { what: "a property without a value" })?;
                    Ok((property.name, Self::from_wire(value)?))
                };
                let properties = node.properties.into_iter().map(property).collect::<Result<_, ClientError>>()?;
                Self::Node { type_name: node.r#type, id: node.id, properties }
            }
        })
    }
}
