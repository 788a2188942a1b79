//! The crate's one error, and the failure that a client gets for it.
//!
//! Invariant: a `Failure` made here names the type, the column or property, the value and the row where they are known, and no store path.

use std::io;
use std::time::Duration;

use arrow::error::ArrowError;
use omnigraph_catalog::CatalogError;
use omnigraph_columns::ColumnsError;
use omnigraph_commit::FailPointsError;
use omnigraph_lang::LangError;
use omnigraph_query::{QueryError, Stopped};
use omnigraph_storage::StorageError;
use omnigraph_types::{
    BranchName, Effect, Failure, FeatureName, GraphName, Problem, ReadSetMember, Resource, Retry, Violation, os_phrase,
};
use thiserror::Error;
use tokio::task::JoinError;

use crate::cause::{DataFault, Defect, LoadMisuse};
use crate::words::{list, quote};

/// When a request that was refused because others are in progress may be sent again.
const BUSY_RETRY_AFTER: Duration = Duration::from_secs(1);

/// What the engine's parts return.
pub(crate) type Result<T, E = EngineError> = std::result::Result<T, E>;

/// Why an operation failed.
#[derive(Debug, Error)]
pub enum EngineError {
    /// A text is not accepted.
    #[error(transparent)]
    Lang(#[from] LangError),
    /// The catalog failed.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A query failed.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A column disagrees with the schema it was made for.
    #[error(transparent)]
    Columns(#[from] ColumnsError),
    /// The write protocol refused, with everything a client needs.
    #[error("{0}")]
    Refused(Box<Failure>),
    /// A temporary file failed.
    #[error("{action} failed in the spill directory")]
    Spill {
        /// What was being done.
        action: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// An Arrow kernel failed on what had been checked.
    #[error("{action} failed")]
    Arrow {
        /// What was being done.
        action: &'static str,
        /// The cause.
        source: ArrowError,
    },
    /// A worker task died.
    #[error("a worker task died")]
    Task(#[from] JoinError),
    /// Two parts of this program do not agree.
    #[error("{0}")]
    Defect(#[from] Defect),
    /// Data cannot be taken as it is.
    #[error("{fault}")]
    LoadInvalid {
        /// Node or edge type, where known.
        type_name: Option<String>,
        /// 1-based row or line, where known.
        row: Option<u64>,
        /// Column, where known.
        column: Option<String>,
        /// What is wrong.
        fault: DataFault,
    },
    /// Rows break rules of the schema.
    #[error("{total} rows break a rule of the schema")]
    Violations {
        /// The first of them; at least one.
        violations: Vec<Violation>,
        /// How many in all.
        total: u64,
    },
    /// Rows whose ids exist.
    #[error("{total} ids of {type_name} exist already")]
    KeyConflict {
        /// The type.
        type_name: String,
        /// The first ids.
        ids: Vec<String>,
        /// How many in all.
        total: u64,
        /// Row of the first.
        source_row: Option<u64>,
    },
    /// A limit would be exceeded.
    #[error("{limit} is {value}")]
    Limit {
        /// Name of the limit.
        limit: &'static str,
        /// Its value.
        value: u64,
        /// What was asked for.
        asked: u64,
        /// The way out.
        advice: &'static str,
    },
    /// What a limit bounds is taken at the moment; the same request may be sent again.
    #[error("{limit} is {value}")]
    Busy {
        /// Name of the limit.
        limit: &'static str,
        /// Its value.
        value: u64,
        /// What was asked for.
        asked: u64,
        /// The way out.
        advice: &'static str,
    },
    /// The client of a load that had its turn sent too little while others waited.
    #[error(
        "the client sent too little for load_patience_ms = {patience_ms} while other loads waited for a turn; nothing was stored: collect the rows, then resend"
    )]
    Outwaited {
        /// How long others wait for a client.
        patience_ms: u64,
    },
    /// The deadline passed before a load was complete.
    #[error("the deadline passed before the load was complete: nothing of it is stored")]
    LoadDeadline,
    /// No such type.
    #[error("there is no type {name:?}")]
    TypeNotFound {
        /// What was asked for.
        name: String,
        /// The types there are.
        defined: Vec<String>,
    },
    /// A load is not used as it may be.
    #[error(transparent)]
    LoadMisused(#[from] LoadMisuse),
    /// A type has no such column.
    #[error("{type_name} has no column {column:?}")]
    ColumnNotFound {
        /// The type.
        type_name: String,
        /// The name in the request.
        column: String,
        /// The columns there are.
        defined: Vec<String>,
    },
    /// The branch `main` cannot be deleted.
    #[error("the branch main cannot be deleted")]
    MainDeleted,
    /// A graph is deleted only by a request that repeats its name.
    #[error("the deletion of graph {name} is not confirmed")]
    NotConfirmed {
        /// The graph.
        name: GraphName,
    },
    /// A read was stopped before its end.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The server stops, and begins no read.
    #[error("the server stops")]
    Stopping,
    /// The threads of reads cannot be started.
    #[error("start the threads of reads")]
    Threads(#[source] io::Error),
    /// `OMNIGRAPH_FAILPOINTS` cannot be used.
    #[error(transparent)]
    FailPoints(#[from] FailPointsError),
    /// Something the program does not do yet.
    #[error("{feature} is not supported")]
    Unimplemented {
        /// What.
        feature: FeatureName,
    },
    /// The schema or a table's place changed under a load.
    #[error("{member} changed")]
    Moved {
        /// The branch.
        branch: BranchName,
        /// What changed.
        member: ReadSetMember,
        /// What was captured.
        expected: String,
        /// The current value.
        actual: String,
    },
}

impl From<Failure> for EngineError {
    fn from(failure: Failure) -> Self {
        Self::Refused(Box::new(failure))
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        error.failure()
    }
}

impl EngineError {
    /// The failure to show.
    pub(crate) fn failure(self) -> Failure {
        match self {
            Self::Lang(error) => error.failure(),
            Self::Catalog(error) => error.failure(),
            Self::Storage(error) => error.failure(),
            Self::Query(error) => error.failure(),
            Self::Refused(failure) => *failure,
            Self::Spill { ref source, .. } => {
                let message = describe_spill(source);
                Failure::new(Problem::StorageUnavailable, message).with_source(self)
            }
            Self::Columns(ColumnsError::BlobStored { type_name, property }) => {
                unsupported(FeatureName::BlobProperties, &format!(" ({type_name}.{property})"))
            }
            Self::Columns(_) | Self::Arrow { .. } | Self::Task(_) | Self::Threads(_) | Self::Defect(_) => {
                Failure::new(Problem::Internal, format!("a defect of the server: {self}"))
                    .with_effect(Effect::None)
                    .with_source(self)
            }
            Self::LoadInvalid { type_name, row, column, fault } => {
                Failure::new(Problem::LoadInvalid { type_name, row, column }, fault.to_string())
            }
            Self::Violations { violations, total } => {
                let message = describe_violations(&violations, total);
                Failure::new(Problem::ConstraintViolation { violations, total }, message)
            }
            Self::KeyConflict { type_name, ids, total, source_row } => {
                let message = describe_conflict(&type_name, &ids, total, source_row);
                Failure::new(Problem::KeyConflict { type_name, ids, total, source_row }, message)
            }
            Self::Limit { limit, value, asked, advice } => over(limit, value, asked, advice),
            Self::Busy { limit, value, asked, advice } => busy(over(limit, value, asked, advice)),
            Self::Outwaited { patience_ms } => {
                let (limit, asked) = ("load_patience_ms".to_owned(), patience_ms.saturating_add(1));
                let problem = Problem::ResourceLimit { limit, value: patience_ms, asked };
                busy(Failure::new(problem, self.to_string()))
            }
            Self::LoadDeadline => Failure::new(Problem::DeadlineExceeded, self.to_string()).with_effect(Effect::None),
            Self::TypeNotFound { name, defined } => {
                let message = format!("there is no type {}; the graph has: {}", quote(&name), list(&defined));
                Failure::new(Problem::NotFound { resource: Resource::Type, name }, message)
            }
            Self::LoadMisused(misuse) => invalid(misuse.field(), misuse.to_string()),
            Self::ColumnNotFound { type_name, column, defined } => {
                let message = format!("{type_name} has no column {}; it has: {}", quote(&column), list(&defined));
                invalid("columns", message)
            }
            Self::MainDeleted => {
                invalid("branch", "main is the branch that every graph has: delete the graph instead".to_owned())
            }
            Self::NotConfirmed { name } => {
                invalid("confirm", format!("deleting a graph needs its name once more, {name}, as a confirmation"))
            }
            Self::Stopped(stopped) => stopped.failure(),
            Self::Stopping => {
                let message = "the server stops: call again, another server answers";
                Failure::new(Problem::Cancelled, message).with_effect(Effect::None)
            }
            Self::FailPoints(error) => invalid("OMNIGRAPH_FAILPOINTS", error.to_string()),
            Self::Unimplemented { feature } => unsupported(feature, ""),
            Self::Moved { branch, member, expected, actual } => {
                let message = format!("{member} changed while the load ran: load again");
                Failure::new(Problem::ReadSetChanged { branch, member, expected, actual }, message)
            }
        }
    }
}

/// The refusal of what exceeds a limit.
fn over(limit: &str, value: u64, asked: u64, advice: &str) -> Failure {
    let problem = Problem::ResourceLimit { limit: limit.to_owned(), value, asked };
    Failure::new(problem, format!("{limit} is {value}, asked for {asked}: {advice}"))
}

/// The same refusal, of what may be sent again a little later.
fn busy(mut failure: Failure) -> Failure {
    (failure.retry, failure.retry_after) = (Retry::SameRequest, Some(BUSY_RETRY_AFTER));
    failure
}

/// The refusal of a request because of one of its fields.
fn invalid(field: &str, message: String) -> Failure {
    Failure::new(Problem::InvalidRequest { field: field.to_owned() }, message)
}

fn describe_violations(violations: &[Violation], total: u64) -> String {
    let Some(first) = violations.first() else { return "rows break a rule of the schema".to_owned() };
    let place = first.source_row.map_or(String::new(), |row| format!(", row {row}"));
    let entity = first.entity.as_ref().map_or(String::new(), |id| format!(" {}", quote(id)));
    let properties = match first.properties.is_empty() {
        true => String::new(),
        false => format!(", {}", first.properties.join(", ")),
    };
    let rest = match total.saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    format!("{}{entity}{place}{properties}: {}: {}{rest}", first.type_name, first.kind.as_str(), first.message)
}

fn describe_conflict(type_name: &str, ids: &[String], total: u64, source_row: Option<u64>) -> String {
    let first = ids.first().map_or(String::new(), |id| format!(" {}", quote(id)));
    let place = source_row.map_or(String::new(), |row| format!(" (row {row})"));
    let rest = match total.saturating_sub(1) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{type_name}{first}{place}{rest} exist already: load with mode merge to replace them, or leave them out")
}

fn describe_spill(source: &io::Error) -> String {
    let said = os_phrase(source);
    format!("the server's disk for spilled data cannot be written or read ({said}): free space there, then resend")
}

/// Whether a failure says that the graph it was asked of does not exist (any more).
pub(crate) fn is_graph_gone(failure: &Failure) -> bool {
    matches!(failure.problem, Problem::NotFound { resource: Resource::Graph, .. })
}

/// The refusal of what this version does not do. `place` follows its name.
fn unsupported(feature: FeatureName, place: &str) -> Failure {
    let message = format!("{feature}{place} is not supported by this version");
    Failure::new(Problem::Unimplemented { feature: feature.to_string() }, message)
}

/// Whether stored data is damaged or foreign, so that no other try will read it.
pub(crate) fn is_damaged(failure: &Failure) -> bool {
    match failure.problem {
        Problem::Corrupt { .. } | Problem::InvariantViolation { .. } | Problem::StorageFormat { .. } => true,
        Problem::ReadSetChanged { .. }
        | Problem::CommitContention { .. }
        | Problem::HeadMismatch { .. }
        | Problem::RecoveryRequired { .. }
        | Problem::KeyConflict { .. }
        | Problem::ConstraintViolation { .. }
        | Problem::MergeConflicts { .. }
        | Problem::QueryInvalid { .. }
        | Problem::SchemaInvalid { .. }
        | Problem::SchemaUnsupported { .. }
        | Problem::LiveBranches { .. }
        | Problem::ResourceLimit { .. }
        | Problem::NotFound { .. }
        | Problem::AlreadyExists { .. }
        | Problem::InvalidRequest { .. }
        | Problem::ParamInvalid { .. }
        | Problem::EvaluationFailed { .. }
        | Problem::LoadInvalid { .. }
        | Problem::OperationIdReused { .. }
        | Problem::OperationRolledBack { .. }
        | Problem::TableOccupied { .. }
        | Problem::Unimplemented { .. }
        | Problem::Unauthenticated
        | Problem::PermissionDenied { .. }
        | Problem::StorageUnavailable
        | Problem::DeadlineExceeded
        | Problem::Cancelled
        | Problem::Internal => false,
    }
}
