//! Reading rows.

use arrow::array::RecordBatch;
use datafusion::logical_expr::Expr;
use futures::stream::BoxStream;

use crate::StorageError;

/// Rows, batch by batch.
pub type BatchStream = BoxStream<'static, Result<RecordBatch, StorageError>>;

/// The order of a scan's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScanOrder {
    /// Whatever is quickest.
    #[default]
    Any,
    /// Fragment after fragment, row after row.
    Physical,
}

/// What to read.
#[derive(Debug, Clone, Default)]
pub struct ScanRequest {
    /// Columns in this order; none given means all of the table.
    pub columns: Option<Vec<String>>,
    /// Which rows.
    pub filter: Option<Predicate>,
    /// Most rows of one batch, where not Lance's own choice.
    pub batch_rows: Option<usize>,
    /// Most rows in all.
    pub limit: Option<u64>,
    /// In which order.
    pub ordered: ScanOrder,
}

/// Which rows.
#[derive(Debug, Clone)]
pub enum Predicate {
    /// The text column holds one of these values.
    IsIn {
        /// The column, by its exact name.
        column: String,
        /// The values.
        values: Vec<String>,
    },
    /// The text column holds this value.
    Equals {
        /// The column, by its exact name.
        column: String,
        /// The value.
        value: String,
    },
    /// Any boolean expression over the table's columns.
    Expr(Expr),
}
