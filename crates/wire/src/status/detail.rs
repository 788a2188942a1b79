//! The enums of the contract and of `types`, one as the other. Every match names every case, so that a new one cannot be forgotten.

use omnigraph_types::{ConstraintKind, Effect, MergeConflictKind, Phase, Resource, Retry};
use tonic::Code;

use crate::v1::{self, ConstraintRule, ErrorReason, WritePhase};

/// Prefix of the enum's names, which `ErrorInfo.reason` and the trailer leave out.
const REASON_PREFIX: &str = "ERROR_REASON_";

/// The name of a reason on the wire.
pub(super) fn reason_name(reason: ErrorReason) -> &'static str {
    let name = reason.as_str_name();
    name.strip_prefix(REASON_PREFIX).unwrap_or(name)
}

/// The reason of a name on the wire.
pub(super) fn reason_of(name: &str) -> Option<ErrorReason> {
    ErrorReason::from_str_name(&format!("{REASON_PREFIX}{name}"))
}

/// The code of a reason.
pub(super) fn code_of(reason: ErrorReason) -> Code {
    match reason {
        ErrorReason::Unspecified => Code::Unknown,
        ErrorReason::ReadSetChanged | ErrorReason::CommitContention | ErrorReason::OperationRolledBack => Code::Aborted,
        ErrorReason::HeadMismatch
        | ErrorReason::MergeConflict
        | ErrorReason::SchemaUnsupported
        | ErrorReason::LiveBranches
        | ErrorReason::TableOccupied
        | ErrorReason::StorageFormat => Code::FailedPrecondition,
        ErrorReason::RecoveryRequired | ErrorReason::StorageUnavailable => Code::Unavailable,
        ErrorReason::KeyConflict
        | ErrorReason::GraphExists
        | ErrorReason::BranchExists
        | ErrorReason::ResourceExists => Code::AlreadyExists,
        ErrorReason::ConstraintViolation
        | ErrorReason::QueryInvalid
        | ErrorReason::SchemaInvalid
        | ErrorReason::InvalidRequest
        | ErrorReason::ParamInvalid
        | ErrorReason::LoadInvalid
        | ErrorReason::EvaluationFailed
        | ErrorReason::OperationIdReused => Code::InvalidArgument,
        ErrorReason::ResourceLimit => Code::ResourceExhausted,
        ErrorReason::GraphNotFound
        | ErrorReason::BranchNotFound
        | ErrorReason::CommitNotFound
        | ErrorReason::EntityNotFound
        | ErrorReason::OperationNotFound
        | ErrorReason::TypeNotFound => Code::NotFound,
        ErrorReason::Unimplemented => Code::Unimplemented,
        ErrorReason::Unauthenticated => Code::Unauthenticated,
        ErrorReason::PermissionDenied => Code::PermissionDenied,
        ErrorReason::Internal => Code::Internal,
        ErrorReason::Corrupt | ErrorReason::InvariantViolation => Code::DataLoss,
        ErrorReason::DeadlineExceeded => Code::DeadlineExceeded,
        ErrorReason::Cancelled => Code::Cancelled,
    }
}

/// The reason of something that does not exist.
pub(super) fn not_found(resource: Resource) -> ErrorReason {
    match resource {
        Resource::Graph => ErrorReason::GraphNotFound,
        Resource::Branch => ErrorReason::BranchNotFound,
        Resource::Commit => ErrorReason::CommitNotFound,
        Resource::Entity => ErrorReason::EntityNotFound,
        Resource::Operation => ErrorReason::OperationNotFound,
        Resource::Type => ErrorReason::TypeNotFound,
    }
}

/// The reason of something that exists already.
pub(super) fn exists(resource: Resource) -> ErrorReason {
    match resource {
        Resource::Graph => ErrorReason::GraphExists,
        Resource::Branch => ErrorReason::BranchExists,
        Resource::Commit | Resource::Entity | Resource::Operation | Resource::Type => ErrorReason::ResourceExists,
    }
}

/// Every kind of resource.
const RESOURCES: [Resource; 6] =
    [Resource::Graph, Resource::Branch, Resource::Commit, Resource::Entity, Resource::Operation, Resource::Type];

/// The type of a resource in `ResourceInfo`.
pub(super) fn resource_type(resource: Resource) -> &'static str {
    match resource {
        Resource::Graph => "omnigraph.v1.Graph",
        Resource::Branch => "omnigraph.v1.Branch",
        Resource::Commit => "omnigraph.v1.Commit",
        Resource::Entity => "omnigraph.v1.Entity",
        Resource::Operation => "omnigraph.v1.Operation",
        Resource::Type => "omnigraph.v1.TypeSummary",
    }
}

/// The resource of a type in `ResourceInfo`.
pub(super) fn resource_of(resource_type_name: &str) -> Option<Resource> {
    RESOURCES.into_iter().find(|resource| resource_type(*resource) == resource_type_name)
}

/// Every effect.
const EFFECTS: [Effect; 3] = [Effect::None, Effect::Committed, Effect::Unknown];

/// The name of an effect in the metadata.
pub(super) fn effect_name(effect: Effect) -> &'static str {
    match effect {
        Effect::None => "none",
        Effect::Committed => "committed",
        Effect::Unknown => "unknown",
    }
}

/// The effect of a name in the metadata.
pub(super) fn effect_of(name: &str) -> Option<Effect> {
    EFFECTS.into_iter().find(|effect| effect_name(*effect) == name)
}

/// Every retry.
const RETRIES: [Retry; 3] = [Retry::SameRequest, Retry::AfterReread, Retry::Never];

/// The name of a retry in the metadata.
pub(super) fn retry_name(retry: Retry) -> &'static str {
    match retry {
        Retry::SameRequest => "same_request",
        Retry::AfterReread => "after_reread",
        Retry::Never => "never",
    }
}

/// The retry of a name in the metadata.
pub(super) fn retry_of(name: &str) -> Option<Retry> {
    RETRIES.into_iter().find(|retry| retry_name(*retry) == name)
}

/// A phase in the contract.
pub(super) fn phase_to_wire(phase: Phase) -> WritePhase {
    match phase {
        Phase::Arm => WritePhase::Arm,
        Phase::Apply => WritePhase::Apply,
        Phase::Publish => WritePhase::Publish,
        Phase::Reply => WritePhase::Reply,
    }
}

/// A phase of the contract.
pub(super) fn phase_from_wire(phase: WritePhase) -> Option<Phase> {
    match phase {
        WritePhase::Unspecified => None,
        WritePhase::Arm => Some(Phase::Arm),
        WritePhase::Apply => Some(Phase::Apply),
        WritePhase::Publish => Some(Phase::Publish),
        WritePhase::Reply => Some(Phase::Reply),
    }
}

/// A rule in the contract.
pub(super) fn rule_to_wire(kind: ConstraintKind) -> ConstraintRule {
    match kind {
        ConstraintKind::Range => ConstraintRule::Range,
        ConstraintKind::Check => ConstraintRule::Check,
        ConstraintKind::Enum => ConstraintRule::Enum,
        ConstraintKind::Null => ConstraintRule::Null,
        ConstraintKind::Unique => ConstraintRule::Unique,
        ConstraintKind::OrphanEdge => ConstraintRule::OrphanEdge,
        ConstraintKind::Cardinality => ConstraintRule::Cardinality,
        ConstraintKind::Vector => ConstraintRule::Vector,
    }
}

/// A rule of the contract.
pub(super) fn rule_from_wire(rule: ConstraintRule) -> Option<ConstraintKind> {
    match rule {
        ConstraintRule::Unspecified => None,
        ConstraintRule::Range => Some(ConstraintKind::Range),
        ConstraintRule::Check => Some(ConstraintKind::Check),
        ConstraintRule::Enum => Some(ConstraintKind::Enum),
        ConstraintRule::Null => Some(ConstraintKind::Null),
        ConstraintRule::Unique => Some(ConstraintKind::Unique),
        ConstraintRule::OrphanEdge => Some(ConstraintKind::OrphanEdge),
        ConstraintRule::Cardinality => Some(ConstraintKind::Cardinality),
        ConstraintRule::Vector => Some(ConstraintKind::Vector),
    }
}

/// A kind of merge conflict in the contract.
pub(super) fn conflict_to_wire(kind: MergeConflictKind) -> v1::MergeConflictKind {
    match kind {
        MergeConflictKind::DivergentInsert => v1::MergeConflictKind::DivergentInsert,
        MergeConflictKind::DivergentUpdate => v1::MergeConflictKind::DivergentUpdate,
        MergeConflictKind::DeleteVersusUpdate => v1::MergeConflictKind::DeleteVersusUpdate,
        MergeConflictKind::RuleBroken => v1::MergeConflictKind::RuleBroken,
    }
}

/// A kind of merge conflict of the contract.
pub(super) fn conflict_from_wire(kind: v1::MergeConflictKind) -> Option<MergeConflictKind> {
    match kind {
        v1::MergeConflictKind::Unspecified => None,
        v1::MergeConflictKind::DivergentInsert => Some(MergeConflictKind::DivergentInsert),
        v1::MergeConflictKind::DivergentUpdate => Some(MergeConflictKind::DivergentUpdate),
        v1::MergeConflictKind::DeleteVersusUpdate => Some(MergeConflictKind::DeleteVersusUpdate),
        v1::MergeConflictKind::RuleBroken => Some(MergeConflictKind::RuleBroken),
    }
}
