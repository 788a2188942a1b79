//! A status as a failure.

use std::error::Error as StdError;
use std::str::FromStr;
use std::time::Duration;

use omnigraph_types::{
    BranchName, ConstraintKind, Diagnostic, Effect, Failure, MergeConflict, OperationId, Problem, ReadSetMember,
    Resource, Span, UnknownMember, Violation, WriterName,
};
use prost::{Message, Name};
use tonic::{Code, ConnectError, TimeoutExpired};

use super::detail;
use super::trailers::ERROR_DOMAIN;
use crate::google::rpc;
use crate::v1::{self, ErrorReason};

/// Links of a chain of sources that are examined.
const SOURCES_MAX: usize = 16;

/// Decodes the message that travels in a status's details. Without details of ours the failure says as much as the code proves.
pub fn from_rpc_status(status: &rpc::Status) -> Failure {
    let details = Details { status };
    let plain = || without_details(Code::from_i32(status.code), &status.message, None);
    let Some(info) = details.find::<rpc::ErrorInfo>().filter(|info| info.domain == ERROR_DOMAIN) else {
        return plain();
    };
    let problem = detail::reason_of(&info.reason).and_then(|reason| problem(reason, &info, &details));
    let mut failure = match problem {
        Some(problem) => Failure::new(problem, status.message.clone()),
        None => plain(),
    };
    if let Some(effect) = info.metadata.get("effect").and_then(|name| detail::effect_of(name)) {
        failure.effect = effect;
    }
    if let Some(retry) = info.metadata.get("retry").and_then(|name| detail::retry_of(name)) {
        failure.retry = retry;
    }
    failure.retry_after = details
        .find::<rpc::RetryInfo>()
        .and_then(|info| info.retry_delay)
        .and_then(|delay| Duration::try_from(delay).ok());
    failure.help =
        details.find::<rpc::Help>().and_then(|help| help.links.into_iter().next()).map(|link| link.description);
    failure
}

/// What a status proves that has no details of ours: it came from a proxy, from another program, or from this side of the connection.
pub(super) fn without_details(code: Code, message: &str, source: Option<&(dyn StdError + 'static)>) -> Failure {
    let local = source.map(local_fault);
    let (problem, effect) = match (code, local) {
        (_, Some(LocalFault::NotConnected)) => (Problem::StorageUnavailable, Effect::None),
        (_, Some(LocalFault::TimedOut)) => (Problem::DeadlineExceeded, Effect::Unknown),
        (_, Some(LocalFault::Broken)) => (Problem::StorageUnavailable, Effect::Unknown),
        (Code::Unavailable, None) => (Problem::StorageUnavailable, Effect::Unknown),
        (Code::DeadlineExceeded, None) => (Problem::DeadlineExceeded, Effect::Unknown),
        (Code::Cancelled, None) => (Problem::Cancelled, Effect::Unknown),
        (Code::Unauthenticated, None) => (Problem::Unauthenticated, Effect::None),
        (Code::PermissionDenied, None) => (Problem::PermissionDenied { action: String::new() }, Effect::None),
        (Code::Unimplemented, None) => (Problem::Unimplemented { feature: message.to_owned() }, Effect::None),
        (Code::InvalidArgument, None) => (Problem::InvalidRequest { field: String::new() }, Effect::None),
        (Code::ResourceExhausted | Code::OutOfRange, None) => {
            (Problem::ResourceLimit { limit: String::new(), value: 0, asked: 0 }, Effect::Unknown)
        }
        (
            Code::Ok
            | Code::Unknown
            | Code::NotFound
            | Code::AlreadyExists
            | Code::FailedPrecondition
            | Code::Aborted
            | Code::Internal
            | Code::DataLoss,
            None,
        ) => (Problem::Internal, Effect::Unknown),
    };
    let message = if message.is_empty() { code.description() } else { message };
    Failure::new(problem, message).with_effect(effect)
}

/// A fault on this side of the connection.
enum LocalFault {
    /// The request was not sent.
    NotConnected,
    /// This side stopped waiting.
    TimedOut,
    /// The connection broke during the call.
    Broken,
}

fn local_fault(source: &(dyn StdError + 'static)) -> LocalFault {
    let mut link = Some(source);
    for _ in 0..SOURCES_MAX {
        match link {
            Some(error) if error.is::<ConnectError>() => return LocalFault::NotConnected,
            Some(error) if error.is::<TimeoutExpired>() => return LocalFault::TimedOut,
            Some(error) => link = error.source(),
            None => break,
        }
    }
    LocalFault::Broken
}

/// The details of a status, looked up by type.
struct Details<'a> {
    status: &'a rpc::Status,
}

impl Details<'_> {
    fn find<M: Message + Name + Default>(&self) -> Option<M> {
        let name = M::full_name();
        let named = |url: &str| url.rsplit('/').next() == Some(name.as_str());
        let detail = self.status.details.iter().find(|detail| named(&detail.type_url))?;
        M::decode(detail.value.as_slice()).ok()
    }
}

/// A ULID of the wire: absent if empty or not one.
fn id<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// The problem of a reason, or `None` if its details are missing or are not what they must be.
fn problem(reason: ErrorReason, info: &rpc::ErrorInfo, details: &Details<'_>) -> Option<Problem> {
    let meta = |key: &str| info.metadata.get(key).cloned();
    let not_found = |resource| Some(Problem::NotFound { resource, name: resource_name(details, info)? });
    match reason {
        ErrorReason::Unspecified => None,
        ErrorReason::ReadSetChanged => details.find().and_then(read_set),
        ErrorReason::CommitContention => details.find().map(|detail: v1::CommitContention| Problem::CommitContention {
            attempts: detail.attempts,
            winner: id(&detail.winner),
        }),
        ErrorReason::HeadMismatch => details.find().and_then(|detail: v1::HeadMismatch| {
            Some(Problem::HeadMismatch { expected: id(&detail.expected)?, actual: id(&detail.actual)? })
        }),
        ErrorReason::RecoveryRequired => details.find().and_then(recovery_required),
        ErrorReason::KeyConflict => details.find().map(key_conflict),
        ErrorReason::ConstraintViolation => details.find().and_then(constraint_violation),
        ErrorReason::MergeConflict => details.find().and_then(merge_conflicts),
        ErrorReason::QueryInvalid => {
            details.find().map(|detail| Problem::QueryInvalid { diagnostics: diagnostics(detail) })
        }
        ErrorReason::SchemaInvalid => {
            details.find().map(|detail| Problem::SchemaInvalid { diagnostics: diagnostics(detail) })
        }
        ErrorReason::SchemaUnsupported => {
            details.find().map(|detail: v1::SchemaUnsupported| Problem::SchemaUnsupported { steps: detail.steps })
        }
        ErrorReason::LiveBranches => {
            details.find().map(|detail: v1::LiveBranches| Problem::LiveBranches { branches: detail.branches })
        }
        ErrorReason::ResourceLimit => details.find().map(resource_limit),
        ErrorReason::GraphNotFound => not_found(Resource::Graph),
        ErrorReason::BranchNotFound => not_found(Resource::Branch),
        ErrorReason::CommitNotFound => not_found(Resource::Commit),
        ErrorReason::EntityNotFound => not_found(Resource::Entity),
        ErrorReason::OperationNotFound => not_found(Resource::Operation),
        ErrorReason::TypeNotFound => not_found(Resource::Type),
        ErrorReason::GraphExists | ErrorReason::BranchExists | ErrorReason::ResourceExists => exists(details, info),
        ErrorReason::InvalidRequest => Some(Problem::InvalidRequest { field: meta("field")? }),
        ErrorReason::ParamInvalid => Some(Problem::ParamInvalid { parameter: meta("parameter")? }),
        ErrorReason::EvaluationFailed => Some(Problem::EvaluationFailed { column: meta("column")? }),
        ErrorReason::LoadInvalid => details.find().map(load_invalid),
        ErrorReason::OperationIdReused => details.find().map(|detail: v1::OperationIdReused| {
            Problem::OperationIdReused { first_digest: detail.first_digest, commit: id(&detail.commit) }
        }),
        ErrorReason::OperationRolledBack => details.find().and_then(|detail: v1::OperationRolledBack| {
            Some(Problem::OperationRolledBack { operation_id: id(&detail.operation_id)?, reason: detail.reason })
        }),
        ErrorReason::TableOccupied => details.find().map(table_occupied),
        ErrorReason::Unimplemented => Some(Problem::Unimplemented { feature: meta("feature")? }),
        ErrorReason::Unauthenticated => Some(Problem::Unauthenticated),
        ErrorReason::PermissionDenied => Some(Problem::PermissionDenied { action: meta("action")? }),
        ErrorReason::Internal => Some(Problem::Internal),
        ErrorReason::StorageUnavailable => Some(Problem::StorageUnavailable),
        ErrorReason::StorageFormat => Some(Problem::StorageFormat {
            found: meta("found")?.parse().ok()?,
            supported: meta("supported")?.parse().ok()?,
        }),
        ErrorReason::Corrupt => details
            .find()
            .map(|fault: v1::ObjectFault| Problem::Corrupt { object: fault.object, expected: fault.expected }),
        ErrorReason::InvariantViolation => details.find().map(|fault: v1::ObjectFault| Problem::InvariantViolation {
            object: fault.object,
            expected: fault.expected,
        }),
        ErrorReason::DeadlineExceeded => Some(Problem::DeadlineExceeded),
        ErrorReason::Cancelled => Some(Problem::Cancelled),
    }
}

fn resource_name(details: &Details<'_>, info: &rpc::ErrorInfo) -> Option<String> {
    let from_resource = details.find::<rpc::ResourceInfo>().map(|resource| resource.resource_name);
    from_resource.or_else(|| info.metadata.get("name").cloned())
}

fn exists(details: &Details<'_>, info: &rpc::ErrorInfo) -> Option<Problem> {
    let resource = details.find::<rpc::ResourceInfo>()?;
    let resource = detail::resource_of(&resource.resource_type)?;
    Some(Problem::AlreadyExists { resource, name: resource_name(details, info)? })
}

fn read_set(detail: v1::ReadSetConflict) -> Option<Problem> {
    let branch = BranchName::from_str(&detail.branch).ok()?;
    let member = detail.member.parse().unwrap_or_else(|UnknownMember(member)| ReadSetMember::Newer(member));
    Some(Problem::ReadSetChanged { branch, member, expected: detail.expected, actual: detail.actual })
}

fn recovery_required(open: v1::RecoveryRequired) -> Option<Problem> {
    let phase = detail::phase_from_wire(open.phase())?;
    Some(Problem::RecoveryRequired {
        operation_id: id::<OperationId>(&open.operation_id)?,
        branch: BranchName::from_str(&open.branch).ok()?,
        // The rest is what a caller acts on.
        writer: open.writer.parse().unwrap_or(WriterName::UNKNOWN),
        phase,
        reason: open.reason,
    })
}

fn key_conflict(detail: v1::KeyConflict) -> Problem {
    Problem::KeyConflict {
        type_name: detail.r#type,
        ids: detail.ids,
        total: detail.total,
        source_row: detail.source_row,
    }
}

/// Violations of rules that this side does not know make the whole detail unreadable: a wrong rule would be worse.
fn constraint_violation(detail: v1::ConstraintViolations) -> Option<Problem> {
    let decode = |violation: v1::ConstraintViolation| {
        let kind: ConstraintKind = detail::rule_from_wire(violation.rule())?;
        Some(Violation {
            type_name: violation.r#type,
            entity: violation.entity,
            properties: violation.properties,
            kind,
            message: violation.message,
            source_row: violation.source_row,
        })
    };
    let violations = detail.violations.into_iter().map(decode).collect::<Option<_>>()?;
    Some(Problem::ConstraintViolation { violations, total: detail.total })
}

/// Conflicts of kinds that this side does not know make the whole detail unreadable: a wrong kind would be worse.
fn merge_conflicts(detail: v1::MergeConflicts) -> Option<Problem> {
    let decode = |conflict: v1::MergeConflict| {
        Some(MergeConflict {
            kind: detail::conflict_from_wire(conflict.kind())?,
            type_name: conflict.r#type,
            entity: conflict.entity,
        })
    };
    let conflicts = detail.conflicts.into_iter().map(decode).collect::<Option<_>>()?;
    Some(Problem::MergeConflicts { conflicts, total: detail.total })
}

fn diagnostics(detail: v1::Diagnostics) -> Vec<Diagnostic> {
    let decode = |diagnostic: v1::Diagnostic| Diagnostic {
        code: diagnostic.code,
        message: diagnostic.message,
        span: diagnostic.span.and_then(|span| {
            Some(Span {
                start: usize::try_from(span.start).ok()?,
                end: usize::try_from(span.end).ok()?,
                line: span.line,
                column: span.column,
            })
        }),
        hint: diagnostic.hint,
    };
    detail.diagnostics.into_iter().map(decode).collect()
}

fn resource_limit(detail: v1::ResourceLimit) -> Problem {
    Problem::ResourceLimit { limit: detail.limit, value: detail.value, asked: detail.asked }
}

fn load_invalid(detail: v1::LoadInvalid) -> Problem {
    Problem::LoadInvalid { type_name: detail.r#type, row: detail.row, column: detail.column }
}

fn table_occupied(detail: v1::TableOccupied) -> Problem {
    Problem::TableOccupied { table: detail.table, expected: detail.expected, found: detail.found }
}
