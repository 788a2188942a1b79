//! The one error of this crate.

use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use omnigraph_lang::key::KeyError;
use omnigraph_lang::schema::PropertyType;
use thiserror::Error;

/// Why a column and the language do not agree. All but `BlobStored` mean that two parts of this program disagree.
#[derive(Debug, Error)]
pub enum ColumnsError {
    /// A column of an Arrow type that no language type maps to, or of another one than was asked for.
    #[error("a column of Arrow type {found} is not {expected}")]
    ColumnType {
        /// What was asked for, as the language names it.
        expected: String,
        /// The column's type.
        found: DataType,
    },
    /// A value that is not of its column's type.
    #[error("a value of kind {found} does not belong in a column of type {column}")]
    ValueType {
        /// The column's type.
        column: PropertyType,
        /// The kind of the value.
        found: &'static str,
    },
    /// A key that cannot be spelled.
    #[error("spell a key")]
    Key(#[from] KeyError),
    /// Arrow refused to assemble a column.
    #[error("assemble a column")]
    Arrow(#[from] ArrowError),
    /// Tables do not store Blobs.
    #[error("storage of Blob properties ({type_name}.{property}) is not supported")]
    BlobStored {
        /// The node or edge type.
        type_name: String,
        /// The property.
        property: String,
    },
}
