//! What can go wrong while printing.

use std::io;

use thiserror::Error;

/// A result that cannot be printed.
#[derive(Debug, Error)]
pub(crate) enum OutputError {
    /// The standard output cannot be written.
    #[error("writing the result failed: {0}")]
    Write(#[from] io::Error),
    /// A column of a type that no query returns.
    #[error("column {column:?} has type {data_type}, which cannot be printed")]
    Type {
        /// The column.
        column: String,
        /// Its type.
        data_type: String,
    },
}
