//! The one error of this crate.
//!
//! Reading changes nothing, so every failure says that nothing was stored.

use arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use omnigraph_catalog::CatalogError;
use omnigraph_columns::ColumnsError;
use omnigraph_storage::{StorageError, reading_error};
use omnigraph_types::{Effect, Failure, Problem, TableId};
use thiserror::Error;

use crate::control::Stopped;

/// The limit that bounds a query's memory, by its name in `Limits`.
pub(crate) const MEMORY_LIMIT: &str = "query_memory_bytes_max";

/// Why a query did not run to its end.
#[derive(Debug, Error)]
pub enum QueryError {
    /// The query needs more memory than its limit, even with spilling to disk.
    #[error("the query needs about {asked} bytes of memory at once and may hold {limit} ({MEMORY_LIMIT})")]
    Memory {
        /// The limit, in bytes.
        limit: u64,
        /// Bytes held plus the bytes of the last request, which was refused.
        asked: u64,
        /// The cause.
        source: DataFusionError,
    },
    /// A sum or an average left the range of its result type.
    #[error("{column:?} exceeds the range of {result}")]
    Overflow {
        /// Name of the output column.
        column: String,
        /// The result type, as the language names it.
        result: &'static str,
    },
    /// A parameter or `now()` was not replaced by its value before running.
    #[error("{what} has no value")]
    Unbound {
        /// The operand, as written in a query.
        what: String,
    },
    /// The query names a type that the schema or the snapshot does not have.
    #[error("type {table} of the query is not part of the snapshot")]
    TypeMissing {
        /// The type's table.
        table: TableId,
    },
    /// A table could not be opened.
    #[error("open a table of the snapshot")]
    Catalog(#[from] CatalogError),
    /// Reading a table failed.
    #[error("read a table of the snapshot")]
    Storage(#[from] StorageError),
    /// A constant does not fit its type.
    #[error("build a constant of the query")]
    Columns(#[from] ColumnsError),
    /// A file of rows that do not fit into memory failed.
    #[error("{action} on disk")]
    Spill {
        /// The step that failed, as a verb phrase.
        action: &'static str,
        /// The cause.
        source: DataFusionError,
    },
    /// It was stopped before its end.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// Planning or running failed.
    #[error("{action}")]
    Engine {
        /// The step that failed, as a verb phrase.
        action: &'static str,
        /// The cause.
        source: DataFusionError,
    },
}

impl QueryError {
    /// The failure to show, with this error as its source.
    pub fn failure(self) -> Failure {
        match self {
            Self::Catalog(error) => error.failure(),
            Self::Storage(error) => error.failure(),
            Self::Stopped(stopped) => stopped.failure(),
            other => other.own_failure(),
        }
        .with_effect(Effect::None)
    }

    fn own_failure(self) -> Failure {
        let message = self.to_string();
        let problem = match &self {
            Self::Memory { limit, asked, .. } => {
                Problem::ResourceLimit { limit: MEMORY_LIMIT.to_owned(), value: *limit, asked: *asked }
            }
            Self::Overflow { column, .. } => Problem::EvaluationFailed { column: column.clone() },
            Self::Unbound { .. } | Self::Columns(_) | Self::Engine { .. } => Problem::Internal,
            Self::TypeMissing { table } => {
                Problem::Corrupt { object: "snapshot".to_owned(), expected: format!("a table {table}") }
            }
            Self::Spill { .. } => Problem::StorageUnavailable,
            Self::Stopped(_) | Self::Catalog(_) | Self::Storage(_) => Problem::Internal,
        };
        let message = match &self {
            Self::Spill { .. } => {
                "the server's disk for spilled data cannot be written or read: free space there, then resend".to_owned()
            }
            Self::Memory { .. } => format!("{message}: match or return less, or raise the limit"),
            Self::Overflow { .. } => {
                format!("{message}: narrow the rows or group them, or return avg, or sum a property of type F64")
            }
            Self::Unbound { .. }
            | Self::TypeMissing { .. }
            | Self::Catalog(_)
            | Self::Storage(_)
            | Self::Stopped(_)
            | Self::Columns(_)
            | Self::Engine { .. } => message,
        };
        Failure::new(problem, message).with_source(self)
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        error.failure()
    }
}

/// Turns what DataFusion reports into this crate's error: its own errors travel through DataFusion as external ones.
pub(crate) fn engine_error(action: &'static str, error: DataFusionError) -> QueryError {
    if let DataFusionError::External(inner) = error.find_root() {
        if let Some(Overflowed { column, result }) = inner.downcast_ref::<Overflowed>() {
            return QueryError::Overflow { column: column.clone(), result };
        }
        if let Some(stopped) = inner.downcast_ref::<Stopped>() {
            return QueryError::Stopped(*stopped);
        }
    }
    match reading_error(action, Box::new(error)) {
        Ok(error) => QueryError::Storage(error),
        Err(cause) => match cause.downcast::<DataFusionError>() {
            Ok(source) if is_of_disk(&source) => QueryError::Spill { action, source: *source },
            Ok(source) => QueryError::Engine { action, source: *source },
            Err(source) => QueryError::Engine { action, source: DataFusionError::External(source) },
        },
    }
}

/// Whether a file failed: the only files that a query writes are those it spills to.
fn is_of_disk(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::IoError(_) => true,
        DataFusionError::ArrowError(error, _) => matches!(error.as_ref(), ArrowError::IoError(..)),
        _ => false,
    }
}

/// Whether a memory reservation was refused.
pub(crate) fn exhaustion(error: &DataFusionError) -> Exhaustion {
    match error.find_root() {
        DataFusionError::ResourcesExhausted(_) => Exhaustion::Memory,
        _ => Exhaustion::None,
    }
}

/// Which budget is exhausted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exhaustion {
    /// The memory budget.
    Memory,
    /// None: the error has another cause.
    None,
}

/// An overflow on its way through DataFusion.
#[derive(Debug, Error)]
#[error("{column:?} exceeds the range of {result}")]
pub(crate) struct Overflowed {
    /// Name of the output column.
    pub(crate) column: String,
    /// The result type, as the language names it.
    pub(crate) result: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflow_inside_datafusion_comes_out_typed_and_without_effect() {
        let inner = Overflowed { column: "sum(p.n)".to_owned(), result: "I64" };
        let wrapped = DataFusionError::External(Box::new(inner)).context("project");
        let failure = engine_error("run the query", wrapped).failure();
        assert_eq!(failure.effect, Effect::None);
        assert_eq!(failure.problem, Problem::EvaluationFailed { column: "sum(p.n)".to_owned() });
        assert!(failure.message.contains("I64"), "{}", failure.message);
    }
}
