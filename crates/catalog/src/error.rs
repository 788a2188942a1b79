//! What can go wrong between a graph's name and one version of one branch.

use omnigraph_storage::{Certainty, StorageError};
use omnigraph_types::date::format_datetime;
use omnigraph_types::{BranchName, CommitId, Effect, Failure, GraphName, OperationId, Problem, Resource};
use thiserror::Error;

use crate::newer::Newer;
use crate::publication::{Incoherent, Unmet};
use crate::stamp::STORAGE_FORMAT;

/// An error of the catalog.
#[derive(Debug, Error)]
pub enum CatalogError {
    /// No graph of this name.
    #[error("there is no graph {0}")]
    GraphNotFound(GraphName),
    /// A graph of this name exists.
    #[error("graph {0} exists already")]
    GraphExists(GraphName),
    /// The graph was deleted; its name may mean another one by now.
    #[error("graph {0} was deleted")]
    GraphDeleted(GraphName),
    /// No branch of this name.
    #[error("there is no branch {0:?}")]
    BranchNotFound(BranchName),
    /// A live branch has this name.
    #[error("branch {0:?} exists already")]
    BranchExists(BranchName),
    /// No commit of this id in this graph.
    #[error("there is no commit {0}")]
    CommitNotFound(CommitId),
    /// Nothing was committed on the branch at or before the time asked for.
    #[error("branch {branch:?} has no commit at or before {}", moment(*time_ms))]
    NoCommitAtTime {
        /// The branch.
        branch: BranchName,
        /// The time asked for, in milliseconds since 1970-01-01T00:00:00Z.
        time_ms: u64,
    },
    /// The operation id was used for another request.
    #[error("operation {operation_id} was used before for another request")]
    OperationIdReused {
        /// The operation.
        operation_id: OperationId,
        /// Digest of the first request.
        first_digest: String,
        /// What it committed.
        commit: Option<CommitId>,
    },
    /// The stored format is not the one this program serves.
    #[error("storage format {found}; this program serves {supported}")]
    Format {
        /// The format found.
        found: u32,
        /// The format served.
        supported: u32,
    },
    /// The graph holds something of this format that only a newer program knows.
    #[error("{} is of a kind that only a newer server knows", .0.what)]
    Newer(Newer),
    /// A stored object is not what it must be.
    #[error("{object} cannot be read: expected {expected}")]
    Corrupt {
        /// Which object, in words a client may see.
        object: String,
        /// What was expected.
        expected: String,
    },
    /// A publication's precondition does not hold on the state that it would follow.
    #[error("a precondition does not hold: {0:?}")]
    Unmet(Unmet),
    /// The parts of a publication contradict each other.
    #[error("a publication must have {}", .0.expected)]
    Incoherent(Incoherent),
    /// The caller was answered that nothing happens, so nothing may.
    #[error("the request was answered before it began to take effect")]
    Answered,
    /// The store failed.
    #[error("the store failed")]
    Storage(#[from] StorageError),
}

impl CatalogError {
    /// Whether a store call may have been applied although it failed.
    pub fn certainty(&self) -> Certainty {
        match self {
            Self::Storage(error) => error.certainty(),
            Self::GraphNotFound(_)
            | Self::GraphExists(_)
            | Self::GraphDeleted(_)
            | Self::BranchNotFound(_)
            | Self::BranchExists(_)
            | Self::CommitNotFound(_)
            | Self::NoCommitAtTime { .. }
            | Self::OperationIdReused { .. }
            | Self::Format { .. }
            | Self::Newer(_)
            | Self::Corrupt { .. }
            | Self::Unmet(_)
            | Self::Incoherent(_)
            | Self::Answered => Certainty::NotApplied,
        }
    }

    /// The failure that a client receives.
    pub fn failure(self) -> Failure {
        let (problem, message) = match self {
            Self::Storage(error) => return error.failure(),
            ref other => other.describe(),
        };
        Failure::new(problem, message).with_effect(Effect::None).with_source(self)
    }

    fn describe(&self) -> (Problem, String) {
        match self {
            Self::GraphNotFound(name) => (
                not_found(Resource::Graph, name.to_string()),
                format!("there is no graph {name}: create it, or list the graphs there are"),
            ),
            Self::GraphDeleted(name) => (
                not_found(Resource::Graph, name.to_string()),
                format!("graph {name} was deleted: create it again, or list the graphs there are"),
            ),
            Self::GraphExists(name) => (
                Problem::AlreadyExists { resource: Resource::Graph, name: name.to_string() },
                format!("graph {name} exists already: use it, or choose another name"),
            ),
            Self::BranchNotFound(name) => (
                not_found(Resource::Branch, name.to_string()),
                format!("there is no branch {:?} in this graph: every graph has `main`", name.as_str()),
            ),
            Self::BranchExists(name) => (
                Problem::AlreadyExists { resource: Resource::Branch, name: name.to_string() },
                format!("branch {:?} exists already: use it, or choose another name", name.as_str()),
            ),
            Self::CommitNotFound(id) => (
                not_found(Resource::Commit, id.to_string()),
                format!("there is no commit {id} in this graph: list its commits"),
            ),
            Self::NoCommitAtTime { branch, time_ms } => (
                not_found(Resource::Commit, format!("{branch}@{time_ms}")),
                format!("branch {branch} has no commit at or before {}: name a later time", moment(*time_ms)),
            ),
            Self::OperationIdReused { operation_id, first_digest, commit } => (
                Problem::OperationIdReused { first_digest: first_digest.clone(), commit: *commit },
                format!(
                    "operation {operation_id} was used before for another request: choose a fresh operation id, or resend \
                     the first request unchanged"
                ),
            ),
            Self::Format { found, supported } => {
                (Problem::StorageFormat { found: *found, supported: *supported }, format_advice(*found, *supported))
            }
            Self::Newer(Newer { what, format }) => (
                Problem::StorageFormat { found: *format, supported: STORAGE_FORMAT },
                format!(
                    "{what} is of a kind that only a newer server knows: upgrade this server to write here; reads go on"
                ),
            ),
            Self::Corrupt { object, expected } => (
                Problem::Corrupt { object: object.clone(), expected: expected.clone() },
                format!("{object} cannot be read: expected {expected}; an operator must look at the store"),
            ),
            Self::Unmet(unmet) => (
                Problem::InvariantViolation {
                    object: "publication".to_owned(),
                    expected: format!("{:?}", unmet.precondition),
                },
                "a precondition of a publication does not hold although the ticket for its version was held".to_owned(),
            ),
            Self::Incoherent(Incoherent { expected }) => (
                Problem::InvariantViolation { object: "publication".to_owned(), expected: (*expected).to_owned() },
                format!("a publication was refused because it must have {expected}; no version was written"),
            ),
            Self::Answered => (Problem::Cancelled, self.to_string()),
            Self::Storage(_) => (Problem::StorageUnavailable, "the store failed".to_owned()),
        }
    }
}

/// A time as people write it.
fn moment(time_ms: u64) -> String {
    format_datetime(i64::try_from(time_ms).unwrap_or(i64::MAX))
}

fn not_found(resource: Resource, name: String) -> Problem {
    Problem::NotFound { resource, name }
}

fn format_advice(found: u32, supported: u32) -> String {
    if found < supported {
        format!(
            "the graph is stored in format {found}, this program serves {supported}: export it with the older program and \
             load it with this one"
        )
    } else {
        format!("the graph is stored in format {found}, this program serves {supported}: upgrade this program")
    }
}
