//! `common.proto`: modes, read points, commits and receipts.

use omnigraph_types::{
    BranchName, Commit, CommitKind, Failure, GraphVersion, LoadMode, OnConflict, ReadAt, TypeCounts, TypeKind,
    WriteMode, WriteOutcome, WriteReceipt,
};

use super::field::{
    all, branch_name, commit_id, decoded, each, enumerated, invalid, milliseconds, moment, parsed, present, timestamp,
};
use super::message::{AnswerCodec, MalformedAnswer};
use crate::ResourceName;
use crate::v1;

/// Encodes the mode of a load.
pub(super) fn load_mode_to_wire(mode: LoadMode) -> i32 {
    let mode = match mode {
        LoadMode::Append => v1::LoadMode::Append,
        LoadMode::Merge => v1::LoadMode::Merge,
        LoadMode::Overwrite => v1::LoadMode::Overwrite,
    };
    mode.into()
}

/// Decodes the mode of a load. There is no default.
pub fn load_mode_from_wire(field: &str, number: i32) -> Result<LoadMode, Failure> {
    match enumerated(field, number)? {
        v1::LoadMode::Unspecified => {
            Err(invalid(field, "mode is not set: a load has no default mode; use append, merge or overwrite"))
        }
        v1::LoadMode::Append => Ok(LoadMode::Append),
        v1::LoadMode::Merge => Ok(LoadMode::Merge),
        v1::LoadMode::Overwrite => Ok(LoadMode::Overwrite),
    }
}

/// Encodes what a write does about conflicts.
pub(super) fn on_conflict_to_wire(on_conflict: OnConflict) -> i32 {
    let on_conflict = match on_conflict {
        OnConflict::ByKind => v1::OnConflict::Unspecified,
        OnConflict::Fail => v1::OnConflict::Fail,
        OnConflict::Retry => v1::OnConflict::Retry,
    };
    on_conflict.into()
}

/// Decodes what a write does about conflicts.
pub fn on_conflict_from_wire(field: &str, number: i32) -> Result<OnConflict, Failure> {
    Ok(match enumerated(field, number)? {
        v1::OnConflict::Unspecified => OnConflict::ByKind,
        v1::OnConflict::Fail => OnConflict::Fail,
        v1::OnConflict::Retry => OnConflict::Retry,
    })
}

/// Encodes `validate_only`.
pub(super) fn write_mode_to_wire(mode: WriteMode) -> bool {
    match mode {
        WriteMode::Commit => false,
        WriteMode::ValidateOnly => true,
    }
}

/// Decodes `validate_only`.
pub(super) fn write_mode_from_wire(validate_only: bool) -> WriteMode {
    if validate_only { WriteMode::ValidateOnly } else { WriteMode::Commit }
}

/// Encodes the state that a read sees.
pub(super) fn read_at_to_wire(at: ReadAt) -> v1::ReadPoint {
    use v1::read_point::Point;
    let point = match at {
        ReadAt::Branch(branch) => Point::Branch(branch.into()),
        ReadAt::Commit(commit) => Point::Commit(commit.to_string()),
        ReadAt::BranchAtTime { branch, time_ms } => {
            Point::BranchAtTime(v1::BranchAtTime { branch: branch.into(), time: Some(timestamp(time_ms)) })
        }
    };
    v1::ReadPoint { point: Some(point) }
}

/// Decodes the state that a read sees: the head of `main` if the field is not set.
pub fn read_at_from_wire(field: &str, point: Option<v1::ReadPoint>) -> Result<ReadAt, Failure> {
    use v1::read_point::Point;
    let Some(point) = point else { return Ok(ReadAt::Branch(BranchName::Main)) };
    match point.point {
        None => Err(invalid(
            field,
            format!("{field} is empty: set branch, commit or branch_at_time, or leave it out for the head of main"),
        )),
        Some(Point::Branch(branch)) => Ok(ReadAt::Branch(branch_name(&format!("{field}.branch"), &branch)?)),
        Some(Point::Commit(id)) => Ok(ReadAt::Commit(commit_id(&format!("{field}.commit"), &id)?)),
        Some(Point::BranchAtTime(at)) => {
            let path = format!("{field}.branch_at_time.time");
            let time = at.time.ok_or_else(|| invalid(&path, format!("{path} is missing")))?;
            let branch = branch_name(&format!("{field}.branch_at_time.branch"), &at.branch)?;
            let refused = || invalid(&path, format!("{path} is before 1970 or is not a time"));
            Ok(ReadAt::BranchAtTime { branch, time_ms: milliseconds(time).ok_or_else(refused)? })
        }
    }
}

/// Encodes whether rows are nodes or edges.
pub(super) fn type_kind_to_wire(kind: TypeKind) -> i32 {
    let kind = match kind {
        TypeKind::Node => v1::TypeKind::Node,
        TypeKind::Edge => v1::TypeKind::Edge,
    };
    kind.into()
}

/// Decodes whether rows are nodes or edges; none for a kind that this program does not know.
pub(super) fn type_kind_from_wire(number: i32) -> Option<TypeKind> {
    match v1::TypeKind::try_from(number) {
        Ok(v1::TypeKind::Node) => Some(TypeKind::Node),
        Ok(v1::TypeKind::Edge) => Some(TypeKind::Edge),
        Ok(v1::TypeKind::Unspecified) | Err(_) => None,
    }
}

fn commit_kind_to_wire(kind: CommitKind) -> i32 {
    let kind = match kind {
        CommitKind::CreateGraph => v1::CommitKind::CreateGraph,
        CommitKind::Load => v1::CommitKind::Load,
        CommitKind::Mutate => v1::CommitKind::Mutate,
        CommitKind::Merge => v1::CommitKind::Merge,
        CommitKind::SchemaApply => v1::CommitKind::SchemaApply,
        CommitKind::Group => v1::CommitKind::Group,
        CommitKind::Newer => v1::CommitKind::Unspecified,
    };
    kind.into()
}

fn commit_kind_from_wire(number: i32) -> CommitKind {
    match v1::CommitKind::try_from(number) {
        Ok(v1::CommitKind::CreateGraph) => CommitKind::CreateGraph,
        Ok(v1::CommitKind::Load) => CommitKind::Load,
        Ok(v1::CommitKind::Mutate) => CommitKind::Mutate,
        Ok(v1::CommitKind::Merge) => CommitKind::Merge,
        Ok(v1::CommitKind::SchemaApply) => CommitKind::SchemaApply,
        Ok(v1::CommitKind::Group) => CommitKind::Group,
        Ok(v1::CommitKind::Unspecified) | Err(_) => CommitKind::Newer,
    }
}

impl AnswerCodec for v1::TypeCounts {
    type Value = TypeCounts;

    fn to_wire(counts: TypeCounts) -> Self {
        Self {
            r#type: counts.type_name,
            kind: counts.kind.map_or(v1::TypeKind::Unspecified.into(), type_kind_to_wire),
            inserted: counts.inserted,
            updated: counts.updated,
            deleted: counts.deleted,
            total: counts.row_count,
        }
    }

    fn from_wire(counts: Self) -> Result<TypeCounts, MalformedAnswer> {
        Ok(TypeCounts {
            kind: type_kind_from_wire(counts.kind),
            type_name: counts.r#type,
            inserted: counts.inserted,
            updated: counts.updated,
            deleted: counts.deleted,
            row_count: counts.total,
        })
    }
}

impl AnswerCodec for v1::Commit {
    type Value = Commit;

    fn to_wire(commit: Commit) -> Self {
        Self {
            name: ResourceName::Commit(commit.graph.clone(), commit.id).to_string(),
            commit_id: commit.id.to_string(),
            graph: commit.graph.into(),
            branch: commit.branch.into(),
            parent_commit_ids: commit.parents.iter().map(ToString::to_string).collect(),
            actor: commit.actor,
            create_time: Some(timestamp(commit.time_ms)),
            operation_id: commit.operation_id.to_string(),
            kind: commit_kind_to_wire(commit.kind),
            graph_version: commit.version.0,
            schema_hash: commit.schema_hash,
            counts: each(commit.counts),
        }
    }

    fn from_wire(commit: Self) -> Result<Commit, MalformedAnswer> {
        let parents = commit.parent_commit_ids.iter().map(|id| parsed("Commit.parent_commit_ids", id));
        Ok(Commit {
            id: parsed("Commit.commit_id", &commit.commit_id)?,
            graph: parsed("Commit.graph", &commit.graph)?,
            branch: parsed("Commit.branch", &commit.branch)?,
            parents: parents.collect::<Result<_, _>>()?,
            actor: commit.actor,
            time_ms: moment("Commit.create_time", commit.create_time)?,
            operation_id: parsed("Commit.operation_id", &commit.operation_id)?,
            kind: commit_kind_from_wire(commit.kind),
            version: GraphVersion(commit.graph_version),
            schema_hash: commit.schema_hash,
            counts: all(commit.counts)?,
        })
    }
}

fn outcome_to_wire(outcome: WriteOutcome) -> i32 {
    let outcome = match outcome {
        WriteOutcome::Committed => v1::WriteOutcome::Committed,
        WriteOutcome::Replayed => v1::WriteOutcome::Replayed,
        WriteOutcome::Unchanged => v1::WriteOutcome::Unchanged,
        WriteOutcome::Validated => v1::WriteOutcome::Validated,
        WriteOutcome::Done => v1::WriteOutcome::Done,
        WriteOutcome::Newer => v1::WriteOutcome::Unspecified,
    };
    outcome.into()
}

fn outcome_from_wire(number: i32) -> WriteOutcome {
    match v1::WriteOutcome::try_from(number) {
        Ok(v1::WriteOutcome::Committed) => WriteOutcome::Committed,
        Ok(v1::WriteOutcome::Replayed) => WriteOutcome::Replayed,
        Ok(v1::WriteOutcome::Unchanged) => WriteOutcome::Unchanged,
        Ok(v1::WriteOutcome::Validated) => WriteOutcome::Validated,
        Ok(v1::WriteOutcome::Done) => WriteOutcome::Done,
        Ok(v1::WriteOutcome::Unspecified) | Err(_) => WriteOutcome::Newer,
    }
}

/// Encodes a receipt. Its `rows_read` travels beside it, in the messages of loads.
pub(super) fn receipt_to_wire(receipt: WriteReceipt) -> v1::WriteReceipt {
    v1::WriteReceipt {
        operation_id: receipt.operation_id.to_string(),
        commit: receipt.commit.map(v1::Commit::to_wire),
        head: receipt.head.to_string(),
        counts: each(receipt.counts),
        outcome: outcome_to_wire(receipt.outcome),
    }
}

/// Decodes a receipt that was sent in this field, beside its `rows_read`; 0 for what is not a load.
pub(super) fn receipt_from_wire(
    field: &'static str,
    receipt: Option<v1::WriteReceipt>,
    rows_read: u64,
) -> Result<WriteReceipt, MalformedAnswer> {
    let receipt = present(field, receipt)?;
    Ok(WriteReceipt {
        operation_id: parsed("WriteReceipt.operation_id", &receipt.operation_id)?,
        outcome: outcome_from_wire(receipt.outcome),
        commit: receipt.commit.map(|commit| decoded("WriteReceipt.commit", Some(commit))).transpose()?,
        head: parsed("WriteReceipt.head", &receipt.head)?,
        counts: all(receipt.counts)?,
        rows_read,
    })
}
