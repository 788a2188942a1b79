//! A failure as `google.rpc.Status`, within given bounds.

use omnigraph_types::{CommitId, Diagnostic, Failure, MergeConflict, OperationId, Problem, Resource, Violation};
use prost::{Message, Name};
use prost_types::Any;
use tonic::Code;

use super::bounds::{Bounds, cut};
use super::detail;
use super::trailers::ERROR_DOMAIN;
use crate::google::rpc;
use crate::v1::{self, ErrorReason};

/// An encoded failure.
pub(super) struct Fitted {
    pub(super) code: Code,
    pub(super) reason: &'static str,
    pub(super) status: rpc::Status,
}

/// Encodes a failure: its `ErrorInfo`, its own detail, then the standard details that apply.
pub(super) fn encode(failure: &Failure, bounds: Bounds) -> Fitted {
    let mut parts = Parts::new(bounds);
    let reason = describe(&failure.problem, &mut parts);
    let code = detail::code_of(reason);
    let message = cut(&failure.message, bounds.message_bytes);
    parts.meta("effect", detail::effect_name(failure.effect));
    parts.meta("retry", detail::retry_name(failure.retry));
    let info = rpc::ErrorInfo {
        reason: detail::reason_name(reason).to_owned(),
        domain: ERROR_DOMAIN.to_owned(),
        metadata: parts.metadata.into_iter().collect(),
    };
    let mut details = vec![pack(&info)];
    details.extend(parts.typed);
    if let Some(delay) = failure.retry_after {
        details.push(pack(&rpc::RetryInfo { retry_delay: prost_types::Duration::try_from(delay).ok() }));
    }
    details.extend(parts.standard);
    // A command that was cut would be worse than none.
    if let Some(command) = failure.help.as_ref().filter(|command| command.len() <= bounds.text_bytes) {
        let link = rpc::help::Link { description: command.clone(), url: String::new() };
        details.push(pack(&rpc::Help { links: vec![link] }));
    }
    Fitted { code, reason: detail::reason_name(reason), status: rpc::Status { code: code as i32, message, details } }
}

fn pack<M: Message + Name>(message: &M) -> Any {
    Any { type_url: format!("type.googleapis.com/{}", M::full_name()), value: message.encode_to_vec() }
}

/// The details of a failure while they are collected.
struct Parts {
    bounds: Bounds,
    metadata: Vec<(String, String)>,
    typed: Option<Any>,
    standard: Vec<Any>,
}

impl Parts {
    fn new(bounds: Bounds) -> Self {
        Self { bounds, metadata: Vec::new(), typed: None, standard: Vec::new() }
    }

    fn text(&self, text: &str) -> String {
        cut(text, self.bounds.text_bytes)
    }

    fn texts(&self, texts: &[String]) -> Vec<String> {
        texts.iter().take(self.bounds.items).map(|text| self.text(text)).collect()
    }

    fn meta(&mut self, key: &str, value: impl AsRef<str>) {
        let value = self.text(value.as_ref());
        self.metadata.push((key.to_owned(), value));
    }

    fn typed<M: Message + Name>(&mut self, detail: &M) {
        self.typed = Some(pack(detail));
    }

    fn field(&mut self, field: &str, description: &str) {
        let violation = rpc::bad_request::FieldViolation {
            field: self.text(field),
            description: self.text(description),
            ..Default::default()
        };
        self.standard.push(pack(&rpc::BadRequest { field_violations: vec![violation] }));
    }

    fn resource(&mut self, resource: Resource, name: &str) {
        let info = rpc::ResourceInfo {
            resource_type: detail::resource_type(resource).to_owned(),
            resource_name: self.text(name),
            ..Default::default()
        };
        self.standard.push(pack(&info));
    }

    fn precondition(&mut self, reason: ErrorReason, subject: &str) {
        let violation = rpc::precondition_failure::Violation {
            r#type: detail::reason_name(reason).to_owned(),
            subject: self.text(subject),
            description: String::new(),
        };
        self.standard.push(pack(&rpc::PreconditionFailure { violations: vec![violation] }));
    }
}

/// Adds what a problem holds to the parts, and returns its reason.
fn describe(problem: &Problem, parts: &mut Parts) -> ErrorReason {
    match problem {
        Problem::ReadSetChanged { branch, member, expected, actual } => {
            read_set(parts, branch.as_str(), &member.to_string(), [expected, actual])
        }
        Problem::CommitContention { attempts, winner } => contention(parts, *attempts, *winner),
        Problem::HeadMismatch { expected, actual } => head_mismatch(parts, *expected, *actual),
        Problem::RecoveryRequired { operation_id, branch, writer, phase, reason } => {
            let open = v1::RecoveryRequired {
                operation_id: operation_id.to_string(),
                branch: parts.text(branch.as_str()),
                writer: writer.to_string(),
                phase: detail::phase_to_wire(*phase) as i32,
                reason: parts.text(reason),
            };
            parts.meta("phase", phase.letter());
            recovery_required(parts, &open)
        }
        Problem::KeyConflict { type_name, ids, total, source_row } => {
            key_conflict(parts, type_name, ids, (*total, *source_row))
        }
        Problem::ConstraintViolation { violations, total } => constraint_violation(parts, violations, *total),
        Problem::MergeConflicts { conflicts, total } => merge_conflicts(parts, conflicts, *total),
        Problem::QueryInvalid { diagnostics } => invalid_text(parts, ErrorReason::QueryInvalid, diagnostics),
        Problem::SchemaInvalid { diagnostics } => invalid_text(parts, ErrorReason::SchemaInvalid, diagnostics),
        Problem::SchemaUnsupported { steps } => schema_unsupported(parts, steps),
        Problem::LiveBranches { branches } => live_branches(parts, branches),
        Problem::ResourceLimit { limit, value, asked } => resource_limit(parts, limit, *value, *asked),
        Problem::NotFound { resource, name } => named(parts, *resource, name, detail::not_found(*resource)),
        Problem::AlreadyExists { resource, name } => named(parts, *resource, name, detail::exists(*resource)),
        Problem::InvalidRequest { field } => invalid_field(parts, "field", field, ErrorReason::InvalidRequest),
        Problem::ParamInvalid { parameter } => invalid_field(parts, "parameter", parameter, ErrorReason::ParamInvalid),
        Problem::EvaluationFailed { column } => {
            named_facts(parts, &[("column", column)], ErrorReason::EvaluationFailed)
        }
        Problem::LoadInvalid { type_name, row, column } => {
            load_invalid(parts, type_name.as_deref(), *row, column.as_deref())
        }
        Problem::OperationIdReused { first_digest, commit } => id_reused(parts, first_digest, *commit),
        Problem::OperationRolledBack { operation_id, reason } => rolled_back(parts, *operation_id, reason),
        Problem::TableOccupied { table, expected, found } => table_occupied(parts, table, expected, found),
        Problem::Unimplemented { feature } => named_facts(parts, &[("feature", feature)], ErrorReason::Unimplemented),
        Problem::PermissionDenied { action } => {
            named_facts(parts, &[("action", action)], ErrorReason::PermissionDenied)
        }
        Problem::StorageFormat { found, supported } => storage_format(parts, *found, *supported),
        Problem::Corrupt { object, expected } => object_fault(parts, object, expected, ErrorReason::Corrupt),
        Problem::InvariantViolation { object, expected } => {
            object_fault(parts, object, expected, ErrorReason::InvariantViolation)
        }
        Problem::StorageUnavailable => ErrorReason::StorageUnavailable,
        Problem::Unauthenticated => ErrorReason::Unauthenticated,
        Problem::DeadlineExceeded => ErrorReason::DeadlineExceeded,
        Problem::Cancelled => ErrorReason::Cancelled,
        Problem::Internal => ErrorReason::Internal,
    }
}

fn read_set(parts: &mut Parts, branch: &str, member: &str, [expected, actual]: [&String; 2]) -> ErrorReason {
    let detail = v1::ReadSetConflict {
        branch: parts.text(branch),
        member: parts.text(member),
        expected: parts.text(expected),
        actual: parts.text(actual),
    };
    parts.meta("branch", branch);
    parts.meta("member", member);
    parts.typed(&detail);
    ErrorReason::ReadSetChanged
}

fn contention(parts: &mut Parts, attempts: u32, winner: Option<CommitId>) -> ErrorReason {
    let winner = winner.map(|id| id.to_string()).unwrap_or_default();
    parts.meta("attempts", attempts.to_string());
    parts.meta("winner", &winner);
    parts.typed(&v1::CommitContention { attempts, winner });
    ErrorReason::CommitContention
}

fn head_mismatch(parts: &mut Parts, expected: CommitId, actual: CommitId) -> ErrorReason {
    let detail = v1::HeadMismatch { expected: expected.to_string(), actual: actual.to_string() };
    parts.meta("expected", &detail.expected);
    parts.meta("actual", &detail.actual);
    parts.typed(&detail);
    parts.precondition(ErrorReason::HeadMismatch, "expected_head");
    ErrorReason::HeadMismatch
}

fn recovery_required(parts: &mut Parts, open: &v1::RecoveryRequired) -> ErrorReason {
    parts.meta("operation_id", &open.operation_id);
    parts.meta("branch", &open.branch);
    parts.typed(open);
    ErrorReason::RecoveryRequired
}

fn key_conflict(
    parts: &mut Parts,
    type_name: &str,
    ids: &[String],
    (total, source_row): (u64, Option<u64>),
) -> ErrorReason {
    parts.meta("type", type_name);
    parts.meta("total", total.to_string());
    parts.resource(Resource::Entity, ids.first().map_or("", String::as_str));
    let detail = v1::KeyConflict { r#type: parts.text(type_name), ids: parts.texts(ids), total, source_row };
    parts.typed(&detail);
    ErrorReason::KeyConflict
}

fn constraint_violation(parts: &mut Parts, violations: &[Violation], total: u64) -> ErrorReason {
    let encode = |violation: &Violation| v1::ConstraintViolation {
        r#type: parts.text(&violation.type_name),
        entity: violation.entity.as_deref().map(|entity| parts.text(entity)),
        properties: parts.texts(&violation.properties),
        rule: detail::rule_to_wire(violation.kind) as i32,
        message: parts.text(&violation.message),
        source_row: violation.source_row,
    };
    let items = violations.iter().take(parts.bounds.items).map(encode).collect();
    if let Some(first) = violations.first() {
        let field = format!("{}.{}", first.type_name, first.properties.join(","));
        parts.field(&field, &first.message);
    }
    parts.meta("total", total.to_string());
    parts.typed(&v1::ConstraintViolations { violations: items, total });
    ErrorReason::ConstraintViolation
}

fn merge_conflicts(parts: &mut Parts, conflicts: &[MergeConflict], total: u64) -> ErrorReason {
    let encode = |conflict: &MergeConflict| v1::MergeConflict {
        kind: detail::conflict_to_wire(conflict.kind) as i32,
        r#type: parts.text(&conflict.type_name),
        entity: parts.text(&conflict.entity),
    };
    let items = conflicts.iter().take(parts.bounds.items).map(encode).collect();
    parts.meta("total", total.to_string());
    parts.typed(&v1::MergeConflicts { conflicts: items, total });
    parts.precondition(ErrorReason::MergeConflict, "target_branch");
    ErrorReason::MergeConflict
}

fn invalid_text(parts: &mut Parts, reason: ErrorReason, diagnostics: &[Diagnostic]) -> ErrorReason {
    let encode = |diagnostic: &Diagnostic| v1::Diagnostic {
        code: parts.text(&diagnostic.code),
        message: parts.text(&diagnostic.message),
        span: diagnostic.span.map(|span| v1::TextSpan {
            start: span.start as u64,
            end: span.end as u64,
            line: span.line,
            column: span.column,
        }),
        hint: diagnostic.hint.as_deref().map(|hint| parts.text(hint)),
    };
    let items = diagnostics.iter().take(parts.bounds.items).map(encode).collect();
    if let Some(first) = diagnostics.first() {
        parts.meta("code", &first.code);
        let field = if reason == ErrorReason::SchemaInvalid { "schema" } else { "query" };
        parts.field(field, &first.message);
    }
    parts.typed(&v1::Diagnostics { diagnostics: items, total: diagnostics.len() as u64 });
    reason
}

fn schema_unsupported(parts: &mut Parts, steps: &[String]) -> ErrorReason {
    let detail = v1::SchemaUnsupported { steps: parts.texts(steps), total: steps.len() as u64 };
    parts.typed(&detail);
    parts.precondition(ErrorReason::SchemaUnsupported, "schema");
    ErrorReason::SchemaUnsupported
}

fn live_branches(parts: &mut Parts, branches: &[String]) -> ErrorReason {
    let detail = v1::LiveBranches { branches: parts.texts(branches), total: branches.len() as u64 };
    parts.typed(&detail);
    parts.precondition(ErrorReason::LiveBranches, "branches");
    ErrorReason::LiveBranches
}

fn resource_limit(parts: &mut Parts, limit: &str, value: u64, asked: u64) -> ErrorReason {
    parts.meta("limit", limit);
    parts.meta("value", value.to_string());
    parts.meta("asked", asked.to_string());
    let limit = parts.text(limit);
    let violation = rpc::quota_failure::Violation {
        subject: format!("limit:{limit}"),
        quota_id: limit.clone(),
        quota_value: i64::try_from(value).unwrap_or(i64::MAX),
        ..Default::default()
    };
    parts.standard.push(pack(&rpc::QuotaFailure { violations: vec![violation] }));
    parts.typed(&v1::ResourceLimit { limit, value, asked });
    ErrorReason::ResourceLimit
}

fn named(parts: &mut Parts, resource: Resource, name: &str, reason: ErrorReason) -> ErrorReason {
    parts.meta("name", name);
    parts.resource(resource, name);
    reason
}

fn invalid_field(parts: &mut Parts, key: &str, field: &str, reason: ErrorReason) -> ErrorReason {
    parts.meta(key, field);
    let prefixed = if reason == ErrorReason::ParamInvalid { format!("params_json.{field}") } else { field.to_owned() };
    parts.field(&prefixed, "");
    reason
}

fn load_invalid(parts: &mut Parts, type_name: Option<&str>, row: Option<u64>, column: Option<&str>) -> ErrorReason {
    let detail = v1::LoadInvalid {
        r#type: type_name.map(|name| parts.text(name)),
        row,
        column: column.map(|name| parts.text(name)),
    };
    let row = row.map(|row| row.to_string());
    let known = [("type", type_name), ("row", row.as_deref()), ("column", column)];
    let known = known.iter().filter_map(|(key, value)| value.map(|value| (*key, value)));
    let mut field = String::from("data");
    for (key, value) in known {
        parts.meta(key, value);
        field.push_str(&format!(".{key}[{value}]"));
    }
    parts.field(&field, "");
    parts.typed(&detail);
    ErrorReason::LoadInvalid
}

fn id_reused(parts: &mut Parts, first_digest: &str, commit: Option<CommitId>) -> ErrorReason {
    let commit = commit.map(|id| id.to_string()).unwrap_or_default();
    parts.meta("first_digest", first_digest);
    parts.meta("commit", &commit);
    parts.field("operation_id", "");
    let detail = v1::OperationIdReused { first_digest: parts.text(first_digest), commit };
    parts.typed(&detail);
    ErrorReason::OperationIdReused
}

fn rolled_back(parts: &mut Parts, operation_id: OperationId, reason: &str) -> ErrorReason {
    let detail = v1::OperationRolledBack { operation_id: operation_id.to_string(), reason: parts.text(reason) };
    parts.meta("operation_id", &detail.operation_id);
    parts.typed(&detail);
    ErrorReason::OperationRolledBack
}

fn table_occupied(parts: &mut Parts, table: &str, expected: &str, found: &str) -> ErrorReason {
    let detail =
        v1::TableOccupied { table: parts.text(table), expected: parts.text(expected), found: parts.text(found) };
    parts.meta("table", table);
    parts.typed(&detail);
    parts.precondition(ErrorReason::TableOccupied, table);
    ErrorReason::TableOccupied
}

fn storage_format(parts: &mut Parts, found: u32, supported: u32) -> ErrorReason {
    parts.precondition(ErrorReason::StorageFormat, "storage_format");
    named_facts(
        parts,
        &[("found", &found.to_string()), ("supported", &supported.to_string())],
        ErrorReason::StorageFormat,
    )
}

fn object_fault(parts: &mut Parts, object: &str, expected: &str, reason: ErrorReason) -> ErrorReason {
    let detail = v1::ObjectFault { object: parts.text(object), expected: parts.text(expected) };
    parts.meta("object", object);
    parts.typed(&detail);
    reason
}

fn named_facts(parts: &mut Parts, facts: &[(&str, &str)], reason: ErrorReason) -> ErrorReason {
    for (key, value) in facts {
        parts.meta(key, value);
    }
    reason
}
