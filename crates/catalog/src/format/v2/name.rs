//! Entries of graph names.

use omnigraph_types::{BranchId, GraphId, OperationId};
use serde::{Deserialize, Serialize};

use crate::name_entry::{NameCreated, NameDeleted, NameEntry};
use crate::newer::{Newer, Reading};
use crate::stamp::STORAGE_FORMAT;

/// One object `__graphs/<name>/<sequence>.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case", deny_unknown_fields)]
enum NameBody {
    Created {
        format: u32,
        graph_id: GraphId,
        main_branch_id: BranchId,
        operation_id: OperationId,
        digest: String,
        actor: String,
        created_ms: u64,
    },
    Deleted {
        format: u32,
        graph_id: GraphId,
        operation_id: OperationId,
        digest: String,
        actor: String,
        deleted_ms: u64,
    },
    #[serde(other, skip_serializing)]
    Newer,
}

/// The bytes of an entry.
pub(crate) fn encode_name_entry(entry: &NameEntry) -> Result<Vec<u8>, serde_json::Error> {
    let format = STORAGE_FORMAT;
    let body = match entry.clone() {
        NameEntry::Created(NameCreated { graph_id, main_branch_id, operation_id, digest, actor, created_ms }) => {
            NameBody::Created { format, graph_id, main_branch_id, operation_id, digest, actor, created_ms }
        }
        NameEntry::Deleted(NameDeleted { graph_id, operation_id, digest, actor, deleted_ms }) => {
            NameBody::Deleted { format, graph_id, operation_id, digest, actor, deleted_ms }
        }
    };
    serde_json::to_vec(&body)
}

/// Reads an entry, whose format stamp was checked.
pub(crate) fn decode_name_entry(bytes: &[u8]) -> Result<Reading<NameEntry>, serde_json::Error> {
    let entry = match serde_json::from_slice::<NameBody>(bytes)? {
        NameBody::Created { format: _, graph_id, main_branch_id, operation_id, digest, actor, created_ms } => {
            NameEntry::Created(NameCreated { graph_id, main_branch_id, operation_id, digest, actor, created_ms })
        }
        NameBody::Deleted { format: _, graph_id, operation_id, digest, actor, deleted_ms } => {
            NameEntry::Deleted(NameDeleted { graph_id, operation_id, digest, actor, deleted_ms })
        }
        NameBody::Newer => {
            return Ok(Reading::Newer(Newer::of_this_format("the entry of a graph's name")));
        }
    };
    Ok(Reading::Known(entry))
}
