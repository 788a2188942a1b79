//! Rows as every reader of a file yields them.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::columns::ColumnChoice;
use super::error::InputError;

/// How files are read.
#[derive(Debug, Clone)]
pub(crate) struct ReadOptions {
    /// Which columns are taken, and under which names.
    pub(crate) columns: ColumnChoice,
    /// Cell texts that mean null, besides the empty cell without quotes.
    pub(crate) null_values: Vec<String>,
    /// What separates cells of text, where it is not what the format's name says.
    pub(crate) delimiter: Option<u8>,
    /// Rows of one batch.
    pub(crate) batch_rows: usize,
}

/// Batches of one schema.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch, InputError>> + Send>;

/// Rows with one schema: of one file, or of all files of a load.
pub(crate) struct Table {
    /// Schema of every batch.
    pub(crate) schema: SchemaRef,
    /// The rows.
    pub(crate) batches: Batches,
}
