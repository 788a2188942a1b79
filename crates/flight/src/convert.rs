//! Words of the contract to words of the engine and back, for every service of the server.
//!
//! A text of the contract that is not a name or an id is refused with the field that holds it.

use std::fmt::Display;
use std::str::FromStr;

use omnigraph_engine::{
    CommitInfo, LoadMode, LoadOutcome, LoadReceipt, OnConflict, ReadAt, TypeCounts, TypeKind, ValidateOnly,
};
use omnigraph_types::{BranchName, CommitId, Failure, GraphName, OperationId, Problem};
use omnigraph_wire::v1 as wire;
use prost_types::Timestamp;

const MS_PER_SECOND: u64 = 1_000;
const NANOS_PER_MS: u64 = 1_000_000;

/// A field of a request that is not what it must be.
pub fn invalid(field: &str, message: impl Into<String>) -> Failure {
    Failure::new(Problem::InvalidRequest { field: field.to_owned() }, message)
}

/// A graph's name.
pub fn graph_name(field: &str, text: &str) -> Result<GraphName, Failure> {
    parsed(field, text)
}

/// A branch's name.
pub fn branch_name(field: &str, text: &str) -> Result<BranchName, Failure> {
    parsed(field, text)
}

fn parsed<T>(field: &str, text: &str) -> Result<T, Failure>
where
    T: FromStr,
    T::Err: Display,
{
    text.parse().map_err(|error: T::Err| invalid(field, format!("{field}: {error}")))
}

/// A commit's id.
pub fn commit_id(field: &str, text: &str) -> Result<CommitId, Failure> {
    text.parse().map_err(|_| {
        invalid(field, format!("{field} is {text:?}: give a commit's id, 26 characters as responses tell it"))
    })
}

/// A commit's id where the empty text asks for none.
pub fn expected_head(text: &str) -> Result<Option<CommitId>, Failure> {
    if text.is_empty() { Ok(None) } else { commit_id("expected_head", text).map(Some) }
}

/// An operation's id where the empty text asks for a fresh one.
pub fn operation_id(text: &str) -> Result<Option<OperationId>, Failure> {
    if text.is_empty() { Ok(None) } else { required_operation_id(text).map(Some) }
}

/// An operation's id.
pub fn required_operation_id(text: &str) -> Result<OperationId, Failure> {
    let message =
        || format!("operation_id is {text:?}: give a ULID, 26 Crockford characters, a fresh one for each operation");
    text.parse().map_err(|_| invalid("operation_id", message()))
}

/// The value of an enum field, refused if this version of the contract does not name it.
fn enumerated<T: TryFrom<i32>>(field: &str, number: i32) -> Result<T, Failure> {
    let message = || format!("{field} is {number}, which this server does not know: use a value of the contract");
    T::try_from(number).map_err(|_| invalid(field, message()))
}

/// A load's mode. There is no default.
pub fn load_mode(number: i32) -> Result<LoadMode, Failure> {
    match enumerated("mode", number)? {
        wire::LoadMode::Unspecified => {
            Err(invalid("mode", "mode is not set: a load has no default mode; use append, merge or overwrite"))
        }
        wire::LoadMode::Append => Ok(LoadMode::Append),
        wire::LoadMode::Merge => Ok(LoadMode::Merge),
        wire::LoadMode::Overwrite => Ok(LoadMode::Overwrite),
    }
}

/// What a write does about conflicts.
pub fn on_conflict(number: i32) -> Result<OnConflict, Failure> {
    Ok(match enumerated("on_conflict", number)? {
        wire::OnConflict::Unspecified => OnConflict::ByKind,
        wire::OnConflict::Fail => OnConflict::Fail,
        wire::OnConflict::Retry => OnConflict::Retry,
    })
}

/// Whether a write commits.
pub fn validate_only(flag: bool) -> ValidateOnly {
    if flag { ValidateOnly::Yes } else { ValidateOnly::No }
}

/// The state that a read names in its field `at`; the head of `main` if it names none.
pub fn read_at(point: Option<wire::ReadPoint>) -> Result<ReadAt, Failure> {
    read_point("at", point)
}

/// The state that a field names; the head of `main` if it names none.
pub fn read_point(name: &str, point: Option<wire::ReadPoint>) -> Result<ReadAt, Failure> {
    use wire::read_point::Point;
    let Some(point) = point else { return Ok(ReadAt::Branch(BranchName::Main)) };
    match point.point {
        None => Err(invalid(
            name,
            format!("{name} is empty: set branch, commit or branch_at_time, or leave it out for the head of main"),
        )),
        Some(Point::Branch(branch)) => Ok(ReadAt::Branch(branch_name(&format!("{name}.branch"), &branch)?)),
        Some(Point::Commit(id)) => Ok(ReadAt::Commit(commit_id(&format!("{name}.commit"), &id)?)),
        Some(Point::BranchAtTime(moment)) => {
            let field = format!("{name}.branch_at_time.time");
            let time = moment.time.ok_or_else(|| invalid(&field, format!("{field} is missing")))?;
            let branch = branch_name(&format!("{name}.branch_at_time.branch"), &moment.branch)?;
            Ok(ReadAt::BranchAtTime { branch, time_ms: milliseconds(&field, time)? })
        }
    }
}

/// The name of a query in a text, where the empty text asks for the only one.
pub fn query_name(text: String) -> Option<String> {
    if text.is_empty() { None } else { Some(text) }
}

fn milliseconds(field: &str, time: Timestamp) -> Result<u64, Failure> {
    let parts = u64::try_from(time.seconds).ok().zip(u64::try_from(time.nanos).ok());
    let total =
        parts.and_then(|(seconds, nanos)| seconds.checked_mul(MS_PER_SECOND)?.checked_add(nanos / NANOS_PER_MS));
    total.ok_or_else(|| invalid(field, format!("{field} lies before 1970 or is not a time")))
}

/// A moment, from milliseconds since 1970.
pub fn timestamp(time_ms: u64) -> Timestamp {
    Timestamp {
        seconds: i64::try_from(time_ms / MS_PER_SECOND).unwrap_or(i64::MAX),
        // Fewer than 1000 milliseconds, in nanoseconds, fit in an i32.
        nanos: i32::try_from(time_ms % MS_PER_SECOND * NANOS_PER_MS).unwrap_or(0),
    }
}

/// A commit as responses tell it.
pub fn commit(graph: &GraphName, info: &CommitInfo) -> wire::Commit {
    wire::Commit {
        name: format!("graphs/{graph}/commits/{}", info.id),
        commit_id: info.id.to_string(),
        graph: graph.to_string(),
        branch: info.branch.to_string(),
        parent_commit_ids: info.parents.iter().map(ToString::to_string).collect(),
        actor: info.actor.clone(),
        create_time: Some(timestamp(info.time_ms)),
        operation_id: info.operation_id.to_string(),
        kind: commit_kind(&info.kind).into(),
        graph_version: info.version.0,
        schema_hash: info.schema_hash.clone(),
        counts: type_counts(&info.counts),
    }
}

fn commit_kind(kind: &str) -> wire::CommitKind {
    match kind {
        "create_graph" => wire::CommitKind::CreateGraph,
        "load" => wire::CommitKind::Load,
        "mutation" => wire::CommitKind::Mutate,
        "merge" => wire::CommitKind::Merge,
        "schema_apply" => wire::CommitKind::SchemaApply,
        _ => wire::CommitKind::Unspecified,
    }
}

/// Rows changed by type, sorted by name.
pub fn type_counts(counts: &[TypeCounts]) -> Vec<wire::TypeCounts> {
    let mut counts: Vec<_> = counts.iter().map(type_count).collect();
    counts.sort_by(|a, b| a.r#type.cmp(&b.r#type));
    counts
}

fn type_count(counts: &TypeCounts) -> wire::TypeCounts {
    wire::TypeCounts {
        r#type: counts.type_name.clone(),
        kind: type_kind(counts.kind).into(),
        inserted: counts.inserted,
        updated: counts.updated,
        deleted: counts.deleted,
        total: counts.row_count,
    }
}

/// The receipt of an operation that made no commit.
pub fn head_receipt(operation_id: OperationId, head: CommitId) -> wire::WriteReceipt {
    wire::WriteReceipt {
        operation_id: operation_id.to_string(),
        commit: None,
        head: head.to_string(),
        counts: Vec::new(),
        replayed: false,
    }
}

/// Whether a type's rows are nodes or edges.
pub fn type_kind(kind: TypeKind) -> wire::TypeKind {
    match kind {
        TypeKind::Node => wire::TypeKind::Node,
        TypeKind::Edge => wire::TypeKind::Edge,
    }
}

/// The receipt of a load.
pub fn load_receipt(graph: &GraphName, receipt: &LoadReceipt) -> wire::WriteReceipt {
    let head = receipt.commit.as_ref().map_or(receipt.read_from, |commit| commit.id);
    wire::WriteReceipt {
        operation_id: receipt.operation_id.to_string(),
        commit: receipt.commit.as_ref().map(|info| commit(graph, info)),
        head: head.to_string(),
        counts: type_counts(&receipt.counts),
        replayed: receipt.outcome == LoadOutcome::Replayed,
    }
}

/// The receipt of a write that made `info`.
pub fn commit_receipt(graph: &GraphName, info: &CommitInfo) -> wire::WriteReceipt {
    wire::WriteReceipt {
        operation_id: info.operation_id.to_string(),
        commit: Some(commit(graph, info)),
        head: info.id.to_string(),
        counts: type_counts(&info.counts),
        replayed: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_without_a_point_is_of_the_head_of_main() {
        assert_eq!(read_at(None).unwrap(), ReadAt::Branch(BranchName::Main));
    }

    #[test]
    fn read_point_without_content_is_refused_by_field() {
        let failure = read_at(Some(wire::ReadPoint { point: None })).unwrap_err();
        assert_eq!(failure.problem, Problem::InvalidRequest { field: "at".to_owned() });
    }

    #[test]
    fn time_before_1970_is_refused_by_field() {
        let time = Some(Timestamp { seconds: -1, nanos: 0 });
        let point = wire::read_point::Point::BranchAtTime(wire::BranchAtTime { branch: "main".into(), time });
        let failure = read_at(Some(wire::ReadPoint { point: Some(point) })).unwrap_err();
        assert_eq!(failure.problem, Problem::InvalidRequest { field: "at.branch_at_time.time".to_owned() });
    }

    #[test]
    fn moment_keeps_its_milliseconds() {
        let time = timestamp(1_700_000_000_123);
        assert_eq!((time.seconds, time.nanos), (1_700_000_000, 123_000_000));
        assert_eq!(milliseconds("t", time).unwrap(), 1_700_000_000_123);
    }

    #[test]
    fn load_without_a_mode_is_refused() {
        assert_eq!(load_mode(0).unwrap_err().problem, Problem::InvalidRequest { field: "mode".to_owned() });
        assert_eq!(load_mode(99).unwrap_err().problem, Problem::InvalidRequest { field: "mode".to_owned() });
    }
}
