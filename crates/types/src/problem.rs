//! What went wrong, as data.

use std::time::Duration;

use crate::certainty::{Effect, Retry};
use crate::detail::{Diagnostic, MergeConflict, Phase, ReadSetMember, Resource, Violation};
use crate::{BranchName, CommitId, OperationId, WriterName};

/// What went wrong, with the fields a program needs. One variant per reason of the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Something the operation had read or replaces changed since it was captured.
    ReadSetChanged {
        /// The branch.
        branch: BranchName,
        /// What changed.
        member: ReadSetMember,
        /// What was captured.
        expected: String,
        /// The current value.
        actual: String,
    },
    /// Other writers won every round that the budget or the deadline allowed.
    CommitContention {
        /// Rounds lost.
        attempts: u32,
        /// The commit that won last.
        winner: Option<CommitId>,
    },
    /// The branch's head is not the `expected_head` of the request.
    HeadMismatch {
        /// What the request named.
        expected: CommitId,
        /// The head now.
        actual: CommitId,
    },
    /// An interrupted write must be settled first, and could not be within the deadline; or the outcome of this write itself is open.
    RecoveryRequired {
        /// The operation whose outcome is open.
        operation_id: OperationId,
        /// The branch.
        branch: BranchName,
        /// The writer, such as `load`.
        writer: WriterName,
        /// The phase that the write was in.
        phase: Phase,
        /// Why it could not be settled here.
        reason: String,
    },
    /// Rows whose ids exist already.
    KeyConflict {
        /// Node or edge type.
        type_name: String,
        /// The first ids.
        ids: Vec<String>,
        /// How many in all.
        total: u64,
        /// 1-based source row of the first one, where known.
        source_row: Option<u64>,
    },
    /// Rows that break a rule of the schema.
    ConstraintViolation {
        /// The first violations.
        violations: Vec<Violation>,
        /// How many in all.
        total: u64,
    },
    /// Branches that cannot be merged without a decision.
    MergeConflicts {
        /// The first conflicts.
        conflicts: Vec<MergeConflict>,
        /// How many in all.
        total: u64,
    },
    /// A query's text is wrong.
    QueryInvalid {
        /// Findings, in the order of the text.
        diagnostics: Vec<Diagnostic>,
    },
    /// A schema's text is wrong.
    SchemaInvalid {
        /// Findings, in the order of the text.
        diagnostics: Vec<Diagnostic>,
    },
    /// A schema change that is not supported.
    SchemaUnsupported {
        /// The plan's unsupported steps, as text.
        steps: Vec<String>,
    },
    /// A schema change that is refused while other branches live.
    LiveBranches {
        /// Their names.
        branches: Vec<String>,
    },
    /// A named limit would be exceeded.
    ResourceLimit {
        /// The limit's name in `Limits`.
        limit: String,
        /// Its value.
        value: u64,
        /// What the request asked for.
        asked: u64,
    },
    /// Something named does not exist.
    NotFound {
        /// What kind of thing.
        resource: Resource,
        /// Its name or id.
        name: String,
    },
    /// Something that was to be created exists.
    AlreadyExists {
        /// What kind of thing.
        resource: Resource,
        /// Its name or id.
        name: String,
    },
    /// A field of the request is wrong.
    InvalidRequest {
        /// Path of the field, such as `branch`.
        field: String,
    },
    /// A query parameter is missing, unknown, or of another type.
    ParamInvalid {
        /// The parameter's name, without `$`.
        parameter: String,
    },
    /// A value of a read leaves the range of its type.
    EvaluationFailed {
        /// The output column.
        column: String,
    },
    /// Data that cannot be loaded: text, columns, or values of another type.
    LoadInvalid {
        /// Node or edge type, where known.
        type_name: Option<String>,
        /// 1-based row of the client's stream, or line of its NDJSON text.
        row: Option<u64>,
        /// Column or property, where known.
        column: Option<String>,
    },
    /// An operation id was used before for another request.
    OperationIdReused {
        /// Digest of the first request, in hexadecimal.
        first_digest: String,
        /// What the first request committed.
        commit: Option<CommitId>,
    },
    /// The operation was interrupted and undone.
    OperationRolledBack {
        /// The operation.
        operation_id: OperationId,
        /// Why it was undone.
        reason: String,
    },
    /// A table holds a commit that is not the graph's own.
    TableOccupied {
        /// Node or edge type.
        table: String,
        /// The transaction that was expected.
        expected: String,
        /// The transaction found.
        found: String,
    },
    /// The call or option is not offered.
    Unimplemented {
        /// What was asked for.
        feature: String,
    },
    /// No credentials, or not valid ones.
    Unauthenticated,
    /// The actor may not do this.
    PermissionDenied {
        /// What was asked for.
        action: String,
    },
    /// The store cannot be reached or refuses.
    StorageUnavailable,
    /// The graph was written in a storage format that this program does not serve.
    StorageFormat {
        /// The format found.
        found: u32,
        /// The format supported.
        supported: u32,
    },
    /// A stored object cannot be read as what it must be.
    Corrupt {
        /// The object.
        object: String,
        /// What was expected.
        expected: String,
    },
    /// A rule of the write protocol does not hold.
    InvariantViolation {
        /// The object.
        object: String,
        /// What was expected.
        expected: String,
    },
    /// The request's deadline passed.
    DeadlineExceeded,
    /// The caller cancelled.
    Cancelled,
    /// A defect of the program.
    Internal,
}

impl Problem {
    /// The effect that the problem implies.
    pub(crate) fn effect(&self) -> Effect {
        match self {
            Self::RecoveryRequired { .. } | Self::DeadlineExceeded | Self::Cancelled | Self::Internal => {
                Effect::Unknown
            }
            Self::ReadSetChanged { .. }
            | Self::CommitContention { .. }
            | Self::HeadMismatch { .. }
            | Self::KeyConflict { .. }
            | Self::ConstraintViolation { .. }
            | Self::MergeConflicts { .. }
            | Self::QueryInvalid { .. }
            | Self::SchemaInvalid { .. }
            | Self::SchemaUnsupported { .. }
            | Self::LiveBranches { .. }
            | Self::ResourceLimit { .. }
            | Self::NotFound { .. }
            | Self::AlreadyExists { .. }
            | Self::InvalidRequest { .. }
            | Self::ParamInvalid { .. }
            | Self::EvaluationFailed { .. }
            | Self::LoadInvalid { .. }
            | Self::OperationIdReused { .. }
            | Self::OperationRolledBack { .. }
            | Self::TableOccupied { .. }
            | Self::Unimplemented { .. }
            | Self::Unauthenticated
            | Self::PermissionDenied { .. }
            | Self::StorageUnavailable
            | Self::StorageFormat { .. }
            | Self::Corrupt { .. }
            | Self::InvariantViolation { .. } => Effect::None,
        }
    }

    /// What the caller may do after it.
    pub(crate) fn retry(&self) -> Retry {
        match self {
            Self::CommitContention { .. }
            | Self::RecoveryRequired { .. }
            | Self::OperationRolledBack { .. }
            | Self::StorageUnavailable
            | Self::DeadlineExceeded
            | Self::Cancelled => Retry::SameRequest,
            Self::ReadSetChanged { .. } | Self::HeadMismatch { .. } | Self::LiveBranches { .. } => Retry::AfterReread,
            Self::KeyConflict { .. }
            | Self::ConstraintViolation { .. }
            | Self::MergeConflicts { .. }
            | Self::QueryInvalid { .. }
            | Self::SchemaInvalid { .. }
            | Self::SchemaUnsupported { .. }
            | Self::ResourceLimit { .. }
            | Self::NotFound { .. }
            | Self::AlreadyExists { .. }
            | Self::InvalidRequest { .. }
            | Self::ParamInvalid { .. }
            | Self::EvaluationFailed { .. }
            | Self::LoadInvalid { .. }
            | Self::OperationIdReused { .. }
            | Self::TableOccupied { .. }
            | Self::Unimplemented { .. }
            | Self::Unauthenticated
            | Self::PermissionDenied { .. }
            | Self::StorageFormat { .. }
            | Self::Corrupt { .. }
            | Self::InvariantViolation { .. }
            | Self::Internal => Retry::Never,
        }
    }

    /// How long to wait before a retry.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::CommitContention { .. } => Some(Duration::from_millis(100)),
            Self::RecoveryRequired { .. } | Self::StorageUnavailable => Some(Duration::from_secs(1)),
            Self::ReadSetChanged { .. }
            | Self::HeadMismatch { .. }
            | Self::KeyConflict { .. }
            | Self::ConstraintViolation { .. }
            | Self::MergeConflicts { .. }
            | Self::QueryInvalid { .. }
            | Self::SchemaInvalid { .. }
            | Self::SchemaUnsupported { .. }
            | Self::LiveBranches { .. }
            | Self::ResourceLimit { .. }
            | Self::NotFound { .. }
            | Self::AlreadyExists { .. }
            | Self::InvalidRequest { .. }
            | Self::ParamInvalid { .. }
            | Self::EvaluationFailed { .. }
            | Self::LoadInvalid { .. }
            | Self::OperationIdReused { .. }
            | Self::OperationRolledBack { .. }
            | Self::TableOccupied { .. }
            | Self::Unimplemented { .. }
            | Self::Unauthenticated
            | Self::PermissionDenied { .. }
            | Self::StorageFormat { .. }
            | Self::Corrupt { .. }
            | Self::InvariantViolation { .. }
            | Self::DeadlineExceeded
            | Self::Cancelled
            | Self::Internal => None,
        }
    }
}
