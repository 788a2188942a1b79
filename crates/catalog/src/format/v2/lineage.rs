//! Commits and publications, in a state's window or in a history fragment.
//!
//! A publication and all its operations are one row, so that none can be read, spilled or merged without the others.

use arrow::array::RecordBatch;
use omnigraph_types::{AttemptId, BranchId, CommitId, GraphVersion, OperationId};
use serde::{Deserialize, Deserializer, Serialize};

use super::kinds::{CommitKind, DecidedBy, PublicationKind};
use super::table::CountsBody;
use crate::error::CatalogError;
use crate::format::raw::{RawRows, Rows};
use crate::newer::{Newer, Noticed};
use crate::operations::{OPERATIONS_MAX, OperationEntry, Operations};
use crate::rows;

/// An operation of a commit. The counts of a commit's only operation are the commit's, and are not stored twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommitOperationBody {
    operation_id: OperationId,
    actor: String,
    kind: CommitKind,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    counts: Vec<CountsBody>,
}

/// A row `commit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommitBody {
    id: CommitId,
    parents: Vec<CommitId>,
    branch_id: BranchId,
    version: GraphVersion,
    actor: String,
    time_ms: u64,
    kind: CommitKind,
    schema_hash: String,
    #[serde(deserialize_with = "some_operations")]
    operations: Vec<CommitOperationBody>,
    counts: Vec<CountsBody>,
}

fn some_operations<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<CommitOperationBody>, D::Error> {
    let operations = Vec::<CommitOperationBody>::deserialize(deserializer)?;
    match operations.len() {
        1..=OPERATIONS_MAX => Ok(operations),
        count => Err(serde::de::Error::invalid_length(count, &"from 1 to 256 operations")),
    }
}

impl From<&rows::CommitRow> for CommitBody {
    fn from(row: &rows::CommitRow) -> Self {
        let operation = |operation: &rows::CommitOperation| CommitOperationBody {
            operation_id: operation.operation_id,
            actor: operation.actor.clone(),
            kind: operation.kind.into(),
            counts: operation.counts.iter().map(CountsBody::from).collect(),
        };
        Self {
            id: row.id,
            parents: row.parents.clone(),
            branch_id: row.branch_id,
            version: row.version,
            actor: row.actor.clone(),
            time_ms: row.time_ms,
            kind: row.kind.into(),
            schema_hash: row.schema_hash.clone(),
            operations: row.operations.iter().map(operation).collect(),
            counts: row.counts.iter().map(CountsBody::from).collect(),
        }
    }
}

impl CommitBody {
    pub(super) fn read(self, noticed: &mut Noticed) -> rows::CommitRow {
        let mut operations = Vec::with_capacity(self.operations.len());
        for operation in self.operations {
            operations.push(rows::CommitOperation {
                operation_id: operation.operation_id,
                actor: operation.actor,
                kind: operation.kind.read(noticed),
                counts: operation.counts.into_iter().filter_map(|counts| counts.read(noticed)).collect(),
            });
        }
        rows::CommitRow {
            id: self.id,
            parents: self.parents,
            branch_id: self.branch_id,
            version: self.version,
            actor: self.actor,
            time_ms: self.time_ms,
            kind: self.kind.read(noticed),
            schema_hash: self.schema_hash,
            operations,
            counts: self.counts.into_iter().filter_map(|counts| counts.read(noticed)).collect(),
        }
    }
}

/// The operations of a publication.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<OperationBody>", into = "Vec<OperationBody>")]
pub(super) struct OperationsBody(Operations);

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OperationBody {
    operation_id: OperationId,
    digest: String,
}

impl TryFrom<Vec<OperationBody>> for OperationsBody {
    type Error = &'static str;

    fn try_from(bodies: Vec<OperationBody>) -> Result<Self, Self::Error> {
        let entry = |body: OperationBody| OperationEntry { operation_id: body.operation_id, digest: body.digest };
        Operations::try_from(bodies.into_iter().map(entry).collect::<Vec<_>>()).map(Self)
    }
}

impl From<OperationsBody> for Vec<OperationBody> {
    fn from(body: OperationsBody) -> Self {
        let entries = Vec::from(body.0).into_iter();
        entries.map(|entry| OperationBody { operation_id: entry.operation_id, digest: entry.digest }).collect()
    }
}

impl From<&Operations> for OperationsBody {
    fn from(operations: &Operations) -> Self {
        Self(operations.clone())
    }
}

impl From<OperationsBody> for Operations {
    fn from(body: OperationsBody) -> Self {
        body.0
    }
}

/// Who decided about a version, and for which attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DecisionBody {
    by: DecidedBy,
    attempt_id: AttemptId,
}

impl From<rows::Decision> for DecisionBody {
    fn from(decision: rows::Decision) -> Self {
        Self { by: decision.by.into(), attempt_id: decision.attempt_id }
    }
}

impl DecisionBody {
    pub(super) fn read(self, noticed: &mut Noticed) -> rows::Decision {
        rows::Decision { by: self.by.read(noticed), attempt_id: self.attempt_id }
    }
}

/// What a publication means for its operations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case", deny_unknown_fields)]
enum ResultBody {
    Commit {
        commit_id: CommitId,
    },
    Branch {
        branch_id: BranchId,
    },
    Undone {
        reason: String,
    },
    Nothing,
    #[serde(other, skip_serializing)]
    Newer,
}

impl From<&rows::PublicationResult> for ResultBody {
    fn from(result: &rows::PublicationResult) -> Self {
        match result {
            rows::PublicationResult::Commit(commit_id) => Self::Commit { commit_id: *commit_id },
            rows::PublicationResult::Branch(branch_id) => Self::Branch { branch_id: *branch_id },
            rows::PublicationResult::Undone(reason) => Self::Undone { reason: reason.clone() },
            rows::PublicationResult::Nothing => Self::Nothing,
        }
    }
}

impl ResultBody {
    fn read(self, noticed: &mut Noticed) -> rows::PublicationResult {
        match self {
            Self::Commit { commit_id } => rows::PublicationResult::Commit(commit_id),
            Self::Branch { branch_id } => rows::PublicationResult::Branch(branch_id),
            Self::Undone { reason } => rows::PublicationResult::Undone(reason),
            Self::Nothing => rows::PublicationResult::Nothing,
            Self::Newer => {
                noticed.notice("the result of a publication");
                rows::PublicationResult::Nothing
            }
        }
    }
}

/// A row `publication`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PublicationBody {
    version: GraphVersion,
    branch_id: BranchId,
    kind: PublicationKind,
    decision: DecisionBody,
    result: ResultBody,
    operations: OperationsBody,
}

impl From<&rows::PublicationRow> for PublicationBody {
    fn from(row: &rows::PublicationRow) -> Self {
        Self {
            version: row.version,
            branch_id: row.branch_id,
            kind: row.kind.into(),
            decision: row.decision.into(),
            result: (&row.result).into(),
            operations: (&row.operations).into(),
        }
    }
}

impl PublicationBody {
    fn read(self, noticed: &mut Noticed) -> rows::PublicationRow {
        rows::PublicationRow {
            version: self.version,
            branch_id: self.branch_id,
            kind: self.kind.read(noticed),
            decision: self.decision.read(noticed),
            result: self.result.read(noticed),
            operations: self.operations.into(),
        }
    }
}

/// Commits and publications, both oldest first.
#[derive(Debug)]
pub(crate) struct Lineage {
    pub(crate) commits: Vec<rows::CommitRow>,
    pub(crate) publications: Vec<rows::PublicationRow>,
    pub(crate) newer: Option<Newer>,
}

/// The rows of a history fragment.
pub(crate) fn encode_lineage(
    commits: &[rows::CommitRow],
    publications: &[rows::PublicationRow],
) -> Result<RecordBatch, CatalogError> {
    let mut rows = Rows::default();
    push_lineage(&mut rows, commits, publications)?;
    rows.into_batch()
}

/// Reads a history fragment.
pub(crate) fn decode_lineage(batches: &[RecordBatch], version: GraphVersion) -> Result<Lineage, CatalogError> {
    let rows = RawRows::read(batches, version)?;
    let mut noticed = Noticed::default();
    rows.notice_other_kinds(&["commit", "publication"], &mut noticed);
    let (commits, publications) = read_lineage(&rows, &mut noticed)?;
    Ok(Lineage { commits, publications, newer: noticed.into_newer() })
}

pub(super) fn push_lineage(
    rows: &mut Rows,
    commits: &[rows::CommitRow],
    publications: &[rows::PublicationRow],
) -> Result<(), CatalogError> {
    for commit in commits {
        rows.push("commit", commit.id.to_string(), &CommitBody::from(commit))?;
    }
    for publication in publications {
        rows.push("publication", publication.version.to_string(), &PublicationBody::from(publication))?;
    }
    Ok(())
}

pub(super) fn read_lineage(
    rows: &RawRows<'_>,
    noticed: &mut Noticed,
) -> Result<(Vec<rows::CommitRow>, Vec<rows::PublicationRow>), CatalogError> {
    let commits: Vec<CommitBody> = rows.all("commit")?;
    let publications: Vec<PublicationBody> = rows.all("publication")?;
    let commits = commits.into_iter().map(|body| body.read(noticed)).collect();
    let publications: Vec<rows::PublicationRow> = publications.into_iter().map(|body| body.read(noticed)).collect();
    if !publications.is_sorted_by(|older, newer| older.version < newer.version) {
        return Err(rows.corrupt("one publication row for each version, oldest first"));
    }
    Ok((commits, publications))
}
