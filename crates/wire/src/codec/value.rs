//! `value.proto`: the types of columns. Values themselves are encoded from Arrow and decoded to the client's own type.

use omnigraph_types::{ColumnInfo, ColumnType, ScalarType};

use super::field::{decoded, present};
use super::message::{AnswerCodec, MalformedAnswer};
use crate::v1;
use crate::v1::data_type::Kind;

fn scalar_to_wire(scalar: ScalarType) -> i32 {
    let scalar = match scalar {
        ScalarType::String => v1::ScalarType::String,
        ScalarType::Bool => v1::ScalarType::Bool,
        ScalarType::I32 => v1::ScalarType::I32,
        ScalarType::I64 => v1::ScalarType::I64,
        ScalarType::U32 => v1::ScalarType::U32,
        ScalarType::U64 => v1::ScalarType::U64,
        ScalarType::F32 => v1::ScalarType::F32,
        ScalarType::F64 => v1::ScalarType::F64,
        ScalarType::Date => v1::ScalarType::Date,
        ScalarType::DateTime => v1::ScalarType::DateTime,
        ScalarType::Blob => v1::ScalarType::Blob,
    };
    scalar.into()
}

fn scalar_from_wire(number: i32) -> Result<ScalarType, MalformedAnswer> {
    Ok(match v1::ScalarType::try_from(number) {
        Ok(v1::ScalarType::String) => ScalarType::String,
        Ok(v1::ScalarType::Bool) => ScalarType::Bool,
        Ok(v1::ScalarType::I32) => ScalarType::I32,
        Ok(v1::ScalarType::I64) => ScalarType::I64,
        Ok(v1::ScalarType::U32) => ScalarType::U32,
        Ok(v1::ScalarType::U64) => ScalarType::U64,
        Ok(v1::ScalarType::F32) => ScalarType::F32,
        Ok(v1::ScalarType::F64) => ScalarType::F64,
        Ok(v1::ScalarType::Date) => ScalarType::Date,
        Ok(v1::ScalarType::DateTime) => ScalarType::DateTime,
        Ok(v1::ScalarType::Blob) => ScalarType::Blob,
        Ok(v1::ScalarType::Unspecified) | Err(_) => return Err(MalformedAnswer { field: "DataType.kind" }),
    })
}

impl AnswerCodec for v1::DataType {
    type Value = ColumnType;

    fn to_wire(ty: ColumnType) -> Self {
        let kind = match ty {
            ColumnType::Scalar(scalar) => Kind::Scalar(scalar_to_wire(scalar)),
            ColumnType::List(scalar) => Kind::List(scalar_to_wire(scalar)),
            ColumnType::Vector(length) => Kind::VectorLength(length),
            ColumnType::Enum(values) => Kind::Enum(v1::EnumType { values }),
            ColumnType::Node(type_name) => Kind::NodeType(type_name),
        };
        Self { kind: Some(kind) }
    }

    fn from_wire(ty: Self) -> Result<ColumnType, MalformedAnswer> {
        Ok(match present("DataType.kind", ty.kind)? {
            Kind::Scalar(scalar) => ColumnType::Scalar(scalar_from_wire(scalar)?),
            Kind::List(scalar) => ColumnType::List(scalar_from_wire(scalar)?),
            Kind::VectorLength(length) => ColumnType::Vector(length),
            Kind::Enum(names) => ColumnType::Enum(names.values),
            Kind::NodeType(type_name) => ColumnType::Node(type_name),
        })
    }
}

impl AnswerCodec for v1::Column {
    type Value = ColumnInfo;

    fn to_wire(column: ColumnInfo) -> Self {
        Self { name: column.name, r#type: Some(v1::DataType::to_wire(column.ty)), nullable: column.nullable }
    }

    fn from_wire(column: Self) -> Result<ColumnInfo, MalformedAnswer> {
        Ok(ColumnInfo { ty: decoded("Column.type", column.r#type)?, name: column.name, nullable: column.nullable })
    }
}
