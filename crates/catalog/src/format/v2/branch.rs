//! Branches: their registration, their end, and what of them is retained.

use std::collections::BTreeMap;

use omnigraph_types::{AttemptId, BranchId, BranchName, CommitId, GraphVersion, OperationId, TreeId};
use serde::{Deserialize, Serialize};

use crate::rows;

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
    removed_ms: Option<u64>,
}

impl From<&rows::BranchRow> for BranchBody {
    fn from(row: &rows::BranchRow) -> Self {
        let rows::BranchRow { branch_id, name, tree, source, source_commit, schema_hash, created_ms, removed_ms } = row;
        Self {
            branch_id: *branch_id,
            name: name.clone(),
            tree: *tree,
            source: *source,
            source_commit: *source_commit,
            schema_hash: schema_hash.clone(),
            created_ms: *created_ms,
            removed_ms: *removed_ms,
        }
    }
}

impl From<BranchBody> for rows::BranchRow {
    fn from(body: BranchBody) -> Self {
        let BranchBody { branch_id, name, tree, source, source_commit, schema_hash, created_ms, removed_ms } = body;
        Self { branch_id, name, tree, source, source_commit, schema_hash, created_ms, removed_ms }
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
}

impl From<&rows::RetiredRow> for RetiredBody {
    fn from(row: &rows::RetiredRow) -> Self {
        let rows::RetiredRow { operation_id, digest, attempt_id, actor, time_ms } = row.clone();
        Self { operation_id, digest, attempt_id, actor, time_ms }
    }
}

impl From<RetiredBody> for rows::RetiredRow {
    fn from(body: RetiredBody) -> Self {
        let RetiredBody { operation_id, digest, attempt_id, actor, time_ms } = body;
        Self { operation_id, digest, attempt_id, actor, time_ms }
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
