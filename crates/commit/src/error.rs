//! What can go wrong in a write and its recovery.

use omnigraph_catalog::{CatalogError, Newer};
use omnigraph_storage::{Certainty, StorageError};
use omnigraph_types::{
    BranchName, CommitId, Failure, GraphName, GraphVersion, OperationId, Phase, TableVersion, WriterName,
};
use thiserror::Error;

use crate::decide::Found;
use crate::failpoint::{FailPoint, Injected};
use crate::intent::NewerIntent;
use crate::token::TokenMismatch;

/// A branch on which a person is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) graph: GraphName,
    pub(crate) branch: BranchName,
}

impl Site {
    /// The command that shows what needs repair, and repairs it.
    pub(crate) fn way_out(&self) -> String {
        repair_command(&self.graph, &self.branch)
    }
}

/// The command that shows what needs repair on a branch, and repairs it.
pub fn repair_command(graph: &GraphName, branch: &BranchName) -> String {
    let option = match branch {
        BranchName::Main => String::new(),
        BranchName::Named(_) => format!(" --branch '{}'", branch.as_str().replace('\'', "'\\''")),
    };
    format!("omnigraph repair {graph}{option}")
}

/// An error of the write protocol.
#[derive(Debug, Error)]
pub(crate) enum CommitError {
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The writer's own validation or staging refused.
    #[error("the write was refused")]
    Refused(Failure),
    #[error("{member} changed on branch {branch}", member = mismatch.member)]
    ReadSetChanged { branch: BranchName, mismatch: TokenMismatch },
    #[error("the head is {actual}, not {expected}")]
    HeadMismatch { expected: CommitId, actual: CommitId },
    #[error("lost {attempts} rounds against other writers")]
    Contention { attempts: u32, winner: Option<CommitId> },
    #[error("operation id {operation_id} lies outside the range that can be answered for")]
    OperationIdOutOfRange { operation_id: OperationId },
    #[error("operation {operation_id} was rolled back: {reason}")]
    RolledBack { operation_id: OperationId, reason: String },
    #[error("table {table} holds {found} where {expected} belongs")]
    Occupied { site: Site, table: String, expected: String, found: Found },
    /// An interrupted write could not be settled in time.
    #[error("operation {operation_id} must be settled first: {reason}")]
    RecoveryRequired { operation_id: OperationId, branch: BranchName, writer: WriterName, phase: Phase, reason: String },
    #[error("the intent of version {version} on branch {branch} cannot be read", branch = site.branch)]
    IntentUnreadable { site: Site, version: GraphVersion },
    /// The state that a person confirmed has changed.
    #[error("what needs repair on branch {branch} is not what was confirmed", branch = site.branch)]
    ConfirmationOutdated { site: Site, confirmed: String, actual: String },
    /// A damaged version that nothing stored can replace.
    #[error("version {version} of table {table} is missing")]
    VersionMissing { table: String, version: TableVersion },
    /// A repair of chosen tables, where the intent may concern all of them.
    #[error("an unreadable intent concerns every table of its branch")]
    EveryTable { site: Site },
    #[error("an invariant does not hold: {expected}")]
    Violation { object: String, expected: String },
    #[error("the deadline passed")]
    Deadline,
    /// The caller was answered that nothing happens, so nothing may.
    #[error("the request was answered before it began to take effect")]
    Answered,
    #[error("the task of the write ended without an answer")]
    TaskLost,
    #[error("fail point {point}")]
    FailPoint { point: FailPoint, injected: Injected },
}

impl CommitError {
    /// The next version is held by an intent that only a newer server knows whole.
    pub(crate) fn newer_intent(branch: &BranchName, NewerIntent { version, newer }: &NewerIntent) -> Self {
        let what = format!("the intent of version {version} on branch {branch} ({})", newer.what);
        CatalogError::Newer(Newer { what, format: newer.format }).into()
    }

    /// Whether a store call may have been applied although it failed.
    pub(crate) fn certainty(&self) -> Certainty {
        match self {
            Self::Storage(error) => error.certainty(),
            Self::Catalog(error) => error.certainty(),
            Self::FailPoint { injected: Injected::ReplyLost, .. } | Self::TaskLost => Certainty::Unknown,
            Self::FailPoint { injected: Injected::Refused, .. }
            | Self::Refused(_)
            | Self::ReadSetChanged { .. }
            | Self::HeadMismatch { .. }
            | Self::Contention { .. }
            | Self::OperationIdOutOfRange { .. }
            | Self::RolledBack { .. }
            | Self::Occupied { .. }
            | Self::IntentUnreadable { .. }
            | Self::ConfirmationOutdated { .. }
            | Self::VersionMissing { .. }
            | Self::EveryTable { .. }
            | Self::RecoveryRequired { .. }
            | Self::Violation { .. }
            | Self::Deadline
            | Self::Answered => Certainty::NotApplied,
        }
    }

    /// Whether waiting cannot help: a stored object is not what it must be.
    pub(crate) fn is_lasting(&self) -> bool {
        match self {
            Self::Violation { .. }
            | Self::IntentUnreadable { .. }
            | Self::VersionMissing { .. }
            | Self::Catalog(CatalogError::Corrupt { .. } | CatalogError::Format { .. } | CatalogError::Newer { .. }) => {
                true
            }
            Self::Storage(error) | Self::Catalog(CatalogError::Storage(error)) => {
                matches!(
                    error,
                    StorageError::Corrupt { .. } | StorageError::Misplaced { .. } | StorageError::TableNotFound { .. }
                )
            }
            Self::Catalog(
                CatalogError::GraphNotFound(_)
                | CatalogError::GraphExists(_)
                | CatalogError::GraphDeleted(_)
                | CatalogError::BranchNotFound(_)
                | CatalogError::BranchExists(_)
                | CatalogError::CommitNotFound(_)
                | CatalogError::NoCommitAtTime { .. }
                | CatalogError::OperationIdReused { .. }
                | CatalogError::Incoherent(_)
                | CatalogError::Answered
                | CatalogError::Unmet(_),
            )
            | Self::Refused(_)
            | Self::ReadSetChanged { .. }
            | Self::HeadMismatch { .. }
            | Self::Contention { .. }
            | Self::OperationIdOutOfRange { .. }
            | Self::RolledBack { .. }
            | Self::Occupied { .. }
            | Self::RecoveryRequired { .. }
            | Self::ConfirmationOutdated { .. }
            | Self::EveryTable { .. }
            | Self::Deadline
            | Self::Answered
            | Self::TaskLost
            | Self::FailPoint { .. } => false,
        }
    }

    /// Why an attempt was undone, in words that a client may see: a store's own error names paths.
    pub(crate) fn reason(&self) -> String {
        match self.of_store() {
            Some(error) => caused("the store failed while the write took effect", error),
            None => self.to_string(),
        }
    }

    /// Why an armed attempt could not be settled, in words that a client may see.
    pub(crate) fn reason_unsettled(&self) -> String {
        let reason = "the store fails, so that it cannot be settled now";
        self.of_store().map_or_else(|| reason.to_owned(), |error| caused(reason, error))
    }

    /// The store's error, if this is one.
    pub(crate) fn of_store(&self) -> Option<&StorageError> {
        match self {
            Self::Storage(error) | Self::Catalog(CatalogError::Storage(error)) => Some(error),
            _ => None,
        }
    }
}

/// A sentence with what the system said.
fn caused(sentence: &str, error: &StorageError) -> String {
    error.system_phrase().map_or_else(|| sentence.to_owned(), |cause| format!("{sentence} ({cause})"))
}
