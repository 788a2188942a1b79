//! Typed, checked access to columns: the type is looked at once per column, cells are read without another check.
//!
//! Invariant: a view exists only over a column whose Arrow type is one that `mapping` gives.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, FixedSizeListArray, LargeBinaryArray, ListArray, PrimitiveArray,
    RecordBatch, StringArray, StructArray,
};
use arrow::datatypes::{
    DataType, Date32Type, Field, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMillisecondType, UInt32Type,
    UInt64Type,
};
use omnigraph_lang::schema::Scalar;

use crate::ColumnsError;
use crate::mapping::language_scalar;

/// A column of a scalar or enum type.
#[derive(Debug, Clone, Copy)]
pub enum ScalarColumn<'a> {
    /// `String`, or the values of an enum.
    String(&'a StringArray),
    /// `Bool`.
    Bool(&'a BooleanArray),
    /// `I32`.
    I32(&'a PrimitiveArray<Int32Type>),
    /// `I64`.
    I64(&'a PrimitiveArray<Int64Type>),
    /// `U32`.
    U32(&'a PrimitiveArray<UInt32Type>),
    /// `U64`.
    U64(&'a PrimitiveArray<UInt64Type>),
    /// `F32`.
    F32(&'a PrimitiveArray<Float32Type>),
    /// `F64`.
    F64(&'a PrimitiveArray<Float64Type>),
    /// `Date`: days.
    Date(&'a PrimitiveArray<Date32Type>),
    /// `DateTime`: milliseconds, UTC.
    DateTime(&'a PrimitiveArray<TimestampMillisecondType>),
}

impl<'a> ScalarColumn<'a> {
    /// A view of a column of a scalar type.
    pub fn of(array: &'a dyn Array) -> Result<Self, ColumnsError> {
        let scalar = language_scalar(array.data_type()).ok_or_else(|| mismatch(array, "a scalar"))?;
        Ok(match scalar {
            Scalar::String => Self::String(array.as_string()),
            Scalar::Bool => Self::Bool(array.as_boolean()),
            Scalar::I32 => Self::I32(array.as_primitive()),
            Scalar::I64 => Self::I64(array.as_primitive()),
            Scalar::U32 => Self::U32(array.as_primitive()),
            Scalar::U64 => Self::U64(array.as_primitive()),
            Scalar::F32 => Self::F32(array.as_primitive()),
            Scalar::F64 => Self::F64(array.as_primitive()),
            Scalar::Date => Self::Date(array.as_primitive()),
            Scalar::DateTime => Self::DateTime(array.as_primitive()),
        })
    }

    /// The column as Arrow has it.
    pub fn array(self) -> &'a dyn Array {
        match self {
            Self::String(array) => array,
            Self::Bool(array) => array,
            Self::I32(array) => array,
            Self::I64(array) => array,
            Self::U32(array) => array,
            Self::U64(array) => array,
            Self::F32(array) => array,
            Self::F64(array) => array,
            Self::Date(array) => array,
            Self::DateTime(array) => array,
        }
    }
}

/// A column of a list type.
#[derive(Debug, Clone, Copy)]
pub struct ListColumn<'a> {
    lists: &'a ListArray,
    items: ScalarColumn<'a>,
}

impl<'a> ListColumn<'a> {
    /// The lists as Arrow has them.
    pub fn array(self) -> &'a ListArray {
        self.lists
    }

    /// The items of all lists; a slice of a column has more of them than its lists use.
    pub fn items(self) -> ScalarColumn<'a> {
        self.items
    }

    /// The items that all lists of the column span.
    pub fn used(self) -> Range<usize> {
        let offsets = self.lists.value_offsets();
        place(offsets[0])..place(offsets[self.lists.len()])
    }

    /// Where the items of one row's list lie.
    pub fn range(self, row: usize) -> Range<usize> {
        let offsets = self.lists.value_offsets();
        place(offsets[row])..place(offsets[row + 1])
    }
}

/// An offset as an index: Arrow's offsets are never negative.
pub(crate) fn place(offset: i32) -> usize {
    usize::try_from(offset).unwrap_or_default()
}

/// A column of a vector type.
#[derive(Debug, Clone, Copy)]
pub struct VectorColumn<'a> {
    vectors: &'a FixedSizeListArray,
    components: &'a PrimitiveArray<Float32Type>,
}

impl<'a> VectorColumn<'a> {
    /// The vectors as Arrow has them.
    pub fn array(self) -> &'a FixedSizeListArray {
        self.vectors
    }

    /// The components of all vectors, one after the other.
    pub fn components(self) -> &'a PrimitiveArray<Float32Type> {
        self.components
    }

    /// Where the components of one row's vector lie.
    pub fn range(self, row: usize) -> Range<usize> {
        let length = place(self.vectors.value_length());
        row * length..(row + 1) * length
    }
}

/// A column of any type of the language.
#[derive(Debug, Clone, Copy)]
pub enum Column<'a> {
    /// A scalar or an enum.
    Scalar(ScalarColumn<'a>),
    /// A list.
    List(ListColumn<'a>),
    /// A vector.
    Vector(VectorColumn<'a>),
    /// A Blob.
    Blob(&'a LargeBinaryArray),
}

impl<'a> Column<'a> {
    /// A view of a column.
    pub fn of(array: &'a dyn Array) -> Result<Self, ColumnsError> {
        let foreign = || mismatch(array, "a type of the language");
        Ok(match array.data_type() {
            DataType::List(_) => {
                let lists = array.as_list::<i32>();
                Self::List(ListColumn { lists, items: ScalarColumn::of(lists.values().as_ref())? })
            }
            DataType::FixedSizeList(..) => {
                let vectors = array.as_fixed_size_list();
                let components = vectors.values().as_primitive_opt().ok_or_else(foreign)?;
                Self::Vector(VectorColumn { vectors, components })
            }
            DataType::LargeBinary => Self::Blob(array.as_binary()),
            _ => Self::Scalar(ScalarColumn::of(array).map_err(|_| foreign())?),
        })
    }

    /// The column as Arrow has it.
    pub fn array(self) -> &'a dyn Array {
        match self {
            Self::Scalar(column) => column.array(),
            Self::List(column) => column.lists,
            Self::Vector(column) => column.vectors,
            Self::Blob(array) => array,
        }
    }
}

/// A column of nodes as values.
#[derive(Debug, Clone)]
pub struct EntityColumn<'a> {
    nodes: &'a StructArray,
    /// The nodes' ids.
    pub ids: &'a StringArray,
    /// Their properties, each with its name.
    pub properties: Vec<(&'a str, Column<'a>)>,
}

impl<'a> EntityColumn<'a> {
    fn of(array: &'a dyn Array) -> Result<Self, ColumnsError> {
        let mismatched = || mismatch(array, "a node");
        let columns = array.as_struct_opt().ok_or_else(mismatched)?;
        let mut fields = columns.fields().iter().zip(columns.columns());
        let (_, ids) = fields.next().filter(|(field, _)| field.name() == "id").ok_or_else(mismatched)?;
        let property =
            |(field, array): (&'a Arc<Field>, &'a ArrayRef)| Ok((field.name().as_str(), Column::of(array.as_ref())?));
        let properties = fields.map(property).collect::<Result<_, ColumnsError>>()?;
        Ok(Self { nodes: columns, ids: text(ids)?, properties })
    }

    /// Whether a row has no node.
    pub fn is_null(&self, row: usize) -> bool {
        self.nodes.is_null(row)
    }
}

/// A column of a query's result.
#[derive(Debug, Clone)]
pub enum ResultColumn<'a> {
    /// Values.
    Values(Column<'a>),
    /// Nodes.
    Entities(EntityColumn<'a>),
}

impl<'a> ResultColumn<'a> {
    /// A view of a column.
    pub fn of(array: &'a dyn Array) -> Result<Self, ColumnsError> {
        Ok(match array.data_type() {
            DataType::Struct(_) => Self::Entities(EntityColumn::of(array)?),
            _ => Self::Values(Column::of(array)?),
        })
    }
}

/// A column of texts.
pub fn text(array: &ArrayRef) -> Result<&StringArray, ColumnsError> {
    array.as_string_opt::<i32>().ok_or_else(|| mismatch(array.as_ref(), "String"))
}

/// The column of texts at a position of a batch that a scan returned. A missing column reads as one of Arrow's type Null.
pub fn text_at(batch: &RecordBatch, position: usize) -> Result<&StringArray, ColumnsError> {
    let missing = || ColumnsError::ColumnType { expected: "String".to_owned(), found: DataType::Null };
    text(batch.columns().get(position).ok_or_else(missing)?)
}

pub(crate) fn mismatch(array: &dyn Array, expected: &str) -> ColumnsError {
    ColumnsError::ColumnType { expected: expected.to_owned(), found: array.data_type().clone() }
}
