//! Branches: their registration, their end, and what of them is retained.

use std::collections::BTreeMap;

use omnigraph_types::{AttemptId, BranchId, BranchName, CommitId, GraphVersion, OperationId, TreeId};
use serde::{Deserialize, Serialize};

use crate::own_ids::{IdRange, OwnIds};
use crate::rows;

/// The row `own_ids`: smallest and largest of each kind of id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OwnIdsBody {
    operations: Option<(OperationId, OperationId)>,
    commits: Option<(CommitId, CommitId)>,
}

impl From<OwnIds> for OwnIdsBody {
    fn from(own_ids: OwnIds) -> Self {
        let OwnIds { operations, commits } = own_ids;
        Self {
            operations: operations.map(|range| (range.min, range.max)),
            commits: commits.map(|range| (range.min, range.max)),
        }
    }
}

impl From<OwnIdsBody> for OwnIds {
    fn from(body: OwnIdsBody) -> Self {
        let OwnIdsBody { operations, commits } = body;
        Self {
            operations: operations.map(|(min, max)| IdRange { min, max }),
            commits: commits.map(|(min, max)| IdRange { min, max }),
        }
    }
}

/// What a row `branch` says of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RemovalBody {
    time_ms: u64,
    own_ids: OwnIdsBody,
}

impl From<rows::Removal> for RemovalBody {
    fn from(removal: rows::Removal) -> Self {
        let rows::Removal { time_ms, own_ids } = removal;
        Self { time_ms, own_ids: own_ids.into() }
    }
}

impl From<RemovalBody> for rows::Removal {
    fn from(body: RemovalBody) -> Self {
        let RemovalBody { time_ms, own_ids } = body;
        Self { time_ms, own_ids: own_ids.into() }
    }
}

/// A row `branch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BranchBody {
    branch_id: BranchId,
    name: BranchName,
    tree: TreeId,
    source: BranchId,
    source_commit: CommitId,
    schema_hash: String,
    created_ms: u64,
    removed: Option<RemovalBody>,
}

impl From<&rows::BranchRow> for BranchBody {
    fn from(row: &rows::BranchRow) -> Self {
        let rows::BranchRow { branch_id, name, tree, source, source_commit, schema_hash, created_ms, removed } = row;
        Self {
            branch_id: *branch_id,
            name: name.clone(),
            tree: *tree,
            source: *source,
            source_commit: *source_commit,
            schema_hash: schema_hash.clone(),
            created_ms: *created_ms,
            removed: removed.map(Into::into),
        }
    }
}

impl From<BranchBody> for rows::BranchRow {
    fn from(body: BranchBody) -> Self {
        let BranchBody { branch_id, name, tree, source, source_commit, schema_hash, created_ms, removed } = body;
        let removed = removed.map(Into::into);
        Self { branch_id, name, tree, source, source_commit, schema_hash, created_ms, removed }
    }
}

/// A row `retired`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RetiredBody {
    operation_id: OperationId,
    digest: String,
    attempt_id: AttemptId,
    actor: String,
    time_ms: u64,
    own_ids: OwnIdsBody,
}

impl From<&rows::RetiredRow> for RetiredBody {
    fn from(row: &rows::RetiredRow) -> Self {
        let rows::RetiredRow { operation_id, digest, attempt_id, actor, time_ms, own_ids } = row.clone();
        Self { operation_id, digest, attempt_id, actor, time_ms, own_ids: own_ids.into() }
    }
}

impl From<RetiredBody> for rows::RetiredRow {
    fn from(body: RetiredBody) -> Self {
        let RetiredBody { operation_id, digest, attempt_id, actor, time_ms, own_ids } = body;
        Self { operation_id, digest, attempt_id, actor, time_ms, own_ids: own_ids.into() }
    }
}

/// A row `retention`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RetentionBody {
    time_ms: u64,
    floors: BTreeMap<BranchId, GraphVersion>,
}

impl From<&rows::RetentionRow> for RetentionBody {
    fn from(row: &rows::RetentionRow) -> Self {
        let rows::RetentionRow { time_ms, floors } = row.clone();
        Self { time_ms, floors }
    }
}

impl From<RetentionBody> for rows::RetentionRow {
    fn from(body: RetentionBody) -> Self {
        let RetentionBody { time_ms, floors } = body;
        Self { time_ms, floors }
    }
}
