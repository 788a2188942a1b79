//! The one error that crosses the engine's boundary, and what its receiver may do next.
//!
//! A `Failure` is data: the wire crate encodes it as `google.rpc.Status` with typed details and the client decodes it again, so a
//! caller matches on `Problem` and reads `effect` and `retry` instead of guessing from a code. Text in `message` is for people; nothing
//! matches on it.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{BranchName, CommitId, OperationId, Span};

/// Whether the failed request changed anything that others can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Proven: no attempt of this request made anything visible, nor will.
    None,
    /// The operation is committed.
    Committed,
    /// Not known yet: ask `GetOperation`, or resend with the same operation id.
    Unknown,
}

/// What the caller may do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Retry {
    /// Send the same request again, with the same operation id.
    SameRequest,
    /// Read again, decide again, and send a new request.
    AfterReread,
    /// The same request will never succeed.
    Never,
}

/// The phases of a write, by the protocol's letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// A: arm the intent.
    Arm,
    /// B: apply and confirm the effects.
    Apply,
    /// C: publish.
    Publish,
    /// D: reply and housekeeping.
    Reply,
}

impl Phase {
    /// The letter used in logs, fail points and details.
    pub fn letter(self) -> &'static str {
        match self {
            Self::Arm => "A",
            Self::Apply => "B",
            Self::Publish => "C",
            Self::Reply => "D",
        }
    }
}

/// What kind of thing a `NotFound` or `AlreadyExists` is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resource {
    /// A graph, by name.
    Graph,
    /// A branch, by name.
    Branch,
    /// A commit, by id.
    Commit,
    /// An entity, by type and id.
    Entity,
    /// An operation, by id.
    Operation,
    /// A node or edge type, by name.
    Type,
}

/// Which rule a row broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConstraintKind {
    /// `@range`.
    Range,
    /// `@check`.
    Check,
    /// A value outside an enum's set.
    Enum,
    /// A null in a required column.
    Null,
    /// `@unique`, or the same id twice in one write.
    Unique,
    /// An edge whose source or target does not exist after the write.
    OrphanEdge,
    /// `@card`.
    Cardinality,
    /// A vector of another length, or with a value that is not finite.
    Vector,
}

impl ConstraintKind {
    /// The name used on the wire and in texts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::Check => "check",
            Self::Enum => "enum",
            Self::Null => "null",
            Self::Unique => "unique",
            Self::OrphanEdge => "orphan_edge",
            Self::Cardinality => "cardinality",
            Self::Vector => "vector",
        }
    }
}

/// One row that broke one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Node or edge type.
    pub type_name: String,
    /// The entity's id, where known.
    pub entity: Option<String>,
    /// The property or properties the rule is about.
    pub properties: Vec<String>,
    /// The rule.
    pub kind: ConstraintKind,
    /// The rule and the offending value, as a person reads it.
    pub message: String,
    /// 1-based row of the client's stream, or line of its NDJSON text.
    pub source_row: Option<u64>,
}

/// One finding about a schema's or a query's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code, such as `T6` or `ParseError`.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// Where.
    pub span: Option<Span>,
    /// The way out, where one is known.
    pub hint: Option<String>,
}

/// One conflict of a branch merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeConflict {
    /// Kind of conflict.
    pub kind: String,
    /// Node or edge type.
    pub type_name: String,
    /// The entity's id.
    pub entity: String,
}

/// What went wrong, with the fields a program needs. One variant per reason of the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Something the operation had read or replaces changed since it was captured.
    ReadSetChanged {
        /// The branch.
        branch: BranchName,
        /// What changed: `table:<Type>`, `schema`, `head`, or `repair` where a repair was confirmed.
        member: String,
        /// What was captured.
        expected: String,
        /// What is there now.
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
    /// An interrupted write must be settled first, and could not be within the deadline; or this one's own outcome is open.
    RecoveryRequired {
        /// The operation whose outcome is open.
        operation_id: OperationId,
        /// The branch.
        branch: BranchName,
        /// The kind of writer, such as `load`.
        writer: String,
        /// The phase that it was in.
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
    /// The call or option is not there yet.
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

/// A failed request: what happened, whether anything was stored, and what to do next.
#[derive(Clone)]
pub struct Failure {
    /// What went wrong.
    pub problem: Problem,
    /// For people: the thing, the place, the way out. Holds no store path.
    pub message: String,
    /// Whether anything became visible.
    pub effect: Effect,
    /// What the caller may do.
    pub retry: Retry,
    /// How long to wait before a retry, where that helps.
    pub retry_after: Option<Duration>,
    /// The command that a person runs next, where there is one.
    pub help: Option<String>,
    /// For the log only.
    pub source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Failure {
    /// A failure with the effect, retry and delay that its problem implies.
    pub fn new(problem: Problem, message: impl Into<String>) -> Self {
        let (effect, retry) = (problem.effect(), problem.retry());
        let retry_after = problem.retry_after();
        Self { problem, message: message.into(), effect, retry, retry_after, help: None, source: None }
    }

    /// Keeps the error that caused this one, for the log.
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// Names the command that a person runs next.
    pub fn with_help(mut self, command: impl Into<String>) -> Self {
        self.help = Some(command.into());
        self
    }

    /// States another effect than the one implied.
    pub fn with_effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("problem", &self.problem)
            .field("message", &self.message)
            .field("effect", &self.effect)
            .field("retry", &self.retry)
            .field("source", &self.source)
            .finish()
    }
}

impl StdError for Failure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

impl Problem {
    /// The effect that the problem implies.
    fn effect(&self) -> Effect {
        match self {
            Self::RecoveryRequired { .. } | Self::DeadlineExceeded | Self::Cancelled | Self::Internal => {
                Effect::Unknown
            }
            _ => Effect::None,
        }
    }

    /// What the caller may do after it.
    fn retry(&self) -> Retry {
        match self {
            Self::CommitContention { .. }
            | Self::RecoveryRequired { .. }
            | Self::OperationRolledBack { .. }
            | Self::StorageUnavailable
            | Self::DeadlineExceeded
            | Self::Cancelled => Retry::SameRequest,
            Self::ReadSetChanged { .. } | Self::HeadMismatch { .. } | Self::LiveBranches { .. } => Retry::AfterReread,
            _ => Retry::Never,
        }
    }

    /// How long to wait before a retry.
    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::CommitContention { .. } => Some(Duration::from_millis(100)),
            Self::RecoveryRequired { .. } | Self::StorageUnavailable => Some(Duration::from_secs(1)),
            _ => None,
        }
    }
}
