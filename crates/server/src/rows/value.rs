//! Cells of a result as values of the contract, with every bit kept.
//!
//! A column is viewed once per batch, so a cell is read without another match on its column's type.

use arrow::array::ArrayRef;
use omnigraph_columns::ColumnsError;
use omnigraph_columns::views::{EntityColumn, ResultColumn};
use omnigraph_lang::value::Value;
use omnigraph_types::{ColumnInfo, ColumnType};
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::value::Kind;

/// The cells of one column of a batch.
pub(crate) struct Cells<'a> {
    column: ResultColumn<'a>,
    /// The type of its nodes; empty where it holds values.
    node_type: &'a str,
}

impl<'a> Cells<'a> {
    /// The cells of a column that the result describes so.
    pub(crate) fn of(array: &'a ArrayRef, column: &'a ColumnInfo) -> Result<Self, ColumnsError> {
        let node_type = match &column.ty {
            ColumnType::Node(name) => name.as_str(),
            ColumnType::Scalar(_) | ColumnType::List(_) | ColumnType::Vector(_) | ColumnType::Enum(_) => "",
        };
        Ok(Self { column: ResultColumn::of(array.as_ref())?, node_type })
    }

    /// The value of a row.
    pub(crate) fn value(&self, row: usize) -> wire::Value {
        match &self.column {
            ResultColumn::Values(column) => value(column.value(row)),
            ResultColumn::Entities(nodes) if nodes.is_null(row) => value(Value::Null),
            ResultColumn::Entities(nodes) => of_kind(Kind::NodeValue(node(nodes, row, self.node_type))),
        }
    }
}

fn of_kind(kind: Kind) -> wire::Value {
    wire::Value { kind: Some(kind) }
}

fn value(value: Value) -> wire::Value {
    of_kind(match value {
        Value::Null => Kind::NullValue(prost_types::NullValue::NullValue.into()),
        Value::Bool(flag) => Kind::BoolValue(flag),
        Value::I32(number) => Kind::Int32Value(number),
        Value::I64(number) => Kind::Int64Value(number),
        Value::U32(number) => Kind::Uint32Value(number),
        Value::U64(number) => Kind::Uint64Value(number),
        Value::F32(number) => Kind::FloatValue(number),
        Value::F64(number) => Kind::DoubleValue(number),
        Value::Date(days) => Kind::DateValue(days),
        Value::DateTime(ms) => Kind::DatetimeValue(ms),
        Value::String(text) => Kind::StringValue(text),
        Value::Bytes(bytes) => Kind::BytesValue(bytes.into()),
        Value::List(items) => Kind::ListValue(wire::ValueList { values: items.into_iter().map(self::value).collect() }),
        Value::Vector(values) => Kind::VectorValue(wire::Vector { values }),
    })
}

/// A whole node: its id and its properties.
fn node(nodes: &EntityColumn<'_>, row: usize, node_type: &str) -> wire::NodeValue {
    let property = |(name, column): &(&str, omnigraph_columns::views::Column<'_>)| wire::PropertyValue {
        name: (*name).to_owned(),
        value: Some(value(column.value(row))),
    };
    wire::NodeValue {
        r#type: node_type.to_owned(),
        id: nodes.ids.value(row).to_owned(),
        properties: nodes.properties.iter().map(property).collect(),
    }
}
