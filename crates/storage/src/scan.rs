//! Reading rows of one exact version.
//!
//! Invariants: only the columns asked for, and those of the filter, are read; rows stream; what is read ahead is bounded in bytes.

use arrow::array::RecordBatch;
use datafusion::common::Column;
use datafusion::logical_expr::{Expr, lit};
use futures::stream::{self, BoxStream, StreamExt};
use lance::dataset::scanner::Scanner;
use lance_core::Error as LanceError;
use lance_core::datatypes::Schema as LanceSchema;
use lance_table::format::Fragment;

use crate::blame::lance_error;
use crate::unfit::Unfit;
use crate::{StagedFiles, StorageError, Table};

/// Bytes that one scan reads ahead of its consumer.
pub(crate) const READ_AHEAD_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// What a scan does, for errors.
const ACTION: &str = "scan a table";

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
    /// Columns in this order, by their exact names; none given means all of the table.
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

impl Predicate {
    pub(crate) fn expression(&self) -> Expr {
        match self {
            Self::IsIn { values, .. } if values.is_empty() => lit(false),
            Self::IsIn { column, values } => {
                named(column).in_list(values.iter().map(|value| lit(value.as_str())).collect(), false)
            }
            Self::Equals { column, value } => named(column).eq(lit(value.as_str())),
            Self::Expr(expression) => expression.clone(),
        }
    }
}

/// A column by its exact name: no quoting, no folding of case.
fn named(column: &str) -> Expr {
    Expr::Column(Column::new_unqualified(column))
}

impl Table {
    /// Reads rows.
    pub async fn scan(&self, request: ScanRequest) -> Result<BatchStream, StorageError> {
        self.run(self.dataset().scan(), request).await
    }

    /// Reads rows of some fragments only, in the order given.
    ///
    /// # Errors
    /// `Mismatch` if this version has no such fragment.
    pub async fn scan_fragments(&self, ids: &[u64], request: ScanRequest) -> Result<BatchStream, StorageError> {
        let fragments = self.fragments_by_id(ids).map_err(|unfit| self.unfit(ACTION, unfit))?;
        self.scan_these(fragments, request).await
    }

    /// Reads rows of staged files of this tree as if they were the table's only fragments, file after file.
    ///
    /// # Errors
    /// `Mismatch` if the files have a column that this version has not.
    pub async fn scan_staged(&self, files: &StagedFiles, request: ScanRequest) -> Result<BatchStream, StorageError> {
        let schema = self.dataset().schema();
        let mut fragments = files.fragments_for(schema, &self.bases()).map_err(|unfit| self.unfit(ACTION, unfit))?;
        // Ids that no fragment of this version has, as a commit would give them.
        let next = self.dataset().manifest().max_fragment_id().map_or(0, |id| id + 1);
        for (id, fragment) in (next..).zip(&mut fragments) {
            fragment.id = id;
        }
        self.scan_these(fragments, request).await
    }

    async fn scan_these(&self, fragments: Vec<Fragment>, request: ScanRequest) -> Result<BatchStream, StorageError> {
        if fragments.is_empty() {
            return Ok(stream::empty().boxed());
        }
        let mut scanner = self.dataset().scan();
        scanner.with_fragments(fragments);
        self.run(scanner, request).await
    }

    async fn run(&self, mut scanner: Scanner, request: ScanRequest) -> Result<BatchStream, StorageError> {
        let object = self.pin().to_string();
        let failed = |error| lance_error(ACTION, &object, error);
        if let Some(columns) = &request.columns {
            let columns = self.columns(columns).map_err(|unfit| self.unfit(ACTION, unfit))?;
            scanner.project_with_schema(&columns).map_err(failed)?;
        }
        if let Some(filter) = &request.filter {
            scanner.filter_expr(filter.expression());
        }
        if let Some(rows) = request.batch_rows {
            scanner.batch_size(rows);
        }
        if let Some(limit) = request.limit {
            scanner.limit(Some(i64::try_from(limit).unwrap_or(i64::MAX)), None).map_err(failed)?;
        }
        scanner.scan_in_order(request.ordered == ScanOrder::Physical);
        scanner.io_buffer_size(READ_AHEAD_BYTES_MAX);
        let rows = scanner.try_into_stream().await.map_err(failed)?;
        Ok(rows.map(move |batch| batch.map_err(|error| read_error(&object, error))).boxed())
    }

    /// The columns of these exact names, in this order. Lance's projection by name would read a name as an expression.
    pub(crate) fn columns<Name: AsRef<str>>(&self, names: &[Name]) -> Result<LanceSchema, Unfit> {
        let schema = self.dataset().schema();
        let find = |name: &Name| {
            let found = schema.fields.iter().find(|field| field.name == name.as_ref());
            found.cloned().ok_or_else(|| Unfit::NoColumn { path: vec![name.as_ref().to_owned()] })
        };
        let fields = names.iter().map(find).collect::<Result<_, _>>()?;
        Ok(LanceSchema { fields, metadata: schema.metadata.clone() })
    }

    pub(crate) fn unfit(&self, action: &'static str, unfit: Unfit) -> StorageError {
        StorageError::Mismatch { action, object: self.pin().to_string(), source: Box::new(unfit) }
    }
}

/// The error of a scan that was accepted and then failed: its arguments were checked, so a mismatch now is one of the file's content.
fn read_error(object: &str, error: LanceError) -> StorageError {
    match lance_error(ACTION, object, error) {
        StorageError::Mismatch { object, source, .. } => {
            StorageError::Corrupt { object, expected: "a Lance file", source }
        }
        other => other,
    }
}
