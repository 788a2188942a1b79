//! What can go wrong in a write and its recovery.

use omnigraph_catalog::CatalogError;
use omnigraph_storage::{Certainty, StorageError};
use omnigraph_types::{
    BranchName, CommitId, Effect, Failure, GraphName, GraphVersion, OperationId, Phase, Problem, Retry, TableVersion,
};
use thiserror::Error;

use crate::effect::UNREADABLE;
use crate::failpoint::{FailPoint, Injected};
use crate::intent::Intent;
use crate::token::TokenMismatch;

/// A branch on which a person is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) graph: GraphName,
    pub(crate) branch: BranchName,
}

impl Site {
    /// The command that shows what stands in the way, and how to mend it.
    pub(crate) fn way_out(&self) -> String {
        repair_command(&self.graph, &self.branch)
    }
}

/// The command that shows what stands in the way on a branch, and how to mend it.
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
    #[error("table {table} holds transaction {found} where {expected} belongs")]
    Occupied { site: Site, table: String, expected: String, found: String },
    /// An interrupted write could not be settled in time. `effect` speaks of the request that is told so.
    #[error("operation {operation_id} must be settled first: {reason}")]
    RecoveryRequired {
        operation_id: OperationId,
        branch: BranchName,
        writer: String,
        phase: Phase,
        reason: String,
        effect: Effect,
    },
    /// A write that may have taken effect met something that does not let it tell.
    #[error("the write may have taken effect: {cause}")]
    InDoubt { cause: Box<CommitError> },
    #[error("the intent of version {version} on branch {branch} cannot be read", branch = site.branch)]
    IntentUnreadable { site: Site, version: GraphVersion },
    /// What a person confirmed is not what is there.
    #[error("what stands in the way on branch {branch} is not what was confirmed", branch = site.branch)]
    ConfirmationOutdated { site: Site, confirmed: String, actual: String },
    /// Nothing of what stands in the way can be mended from what is stored.
    #[error("version {version} of table {table} is missing")]
    VersionMissing { table: String, version: TableVersion },
    /// A choice of tables where all are concerned.
    #[error("an unreadable intent concerns every table of its branch")]
    EveryTable { site: Site },
    #[error("an invariant does not hold: {expected}")]
    Violation { object: String, expected: String },
    #[error("the deadline passed before the write began to take effect")]
    Deadline,
    #[error("the task of the write ended without an answer")]
    TaskLost,
    #[error("fail point {point}")]
    FailPoint { point: FailPoint, injected: Injected },
}

impl CommitError {
    /// Whether a store call may have been applied although it failed.
    pub(crate) fn certainty(&self) -> Certainty {
        match self {
            Self::Storage(error) | Self::Catalog(CatalogError::Storage(error)) => error.certainty(),
            Self::FailPoint { injected: Injected::ReplyLost, .. } => Certainty::Unknown,
            _ => Certainty::NotApplied,
        }
    }

    /// Whether a failed attempt to take a ticket has certainly left none.
    pub(crate) fn is_certainly_unarmed(&self) -> bool {
        self.certainty() == Certainty::NotApplied && !matches!(self, Self::RecoveryRequired { .. })
    }

    /// An armed attempt that its owner could not settle.
    pub(crate) fn unsettled(intent: &Intent, branch: &BranchName, phase: Phase) -> Self {
        Self::RecoveryRequired {
            operation_id: intent.operation_id,
            branch: branch.clone(),
            writer: intent.writer.clone(),
            phase,
            reason: "the store does not let it be settled now".to_owned(),
            effect: Effect::Unknown,
        }
    }

    /// The same error, met by a request that may have taken effect before: what did not let it look proves nothing of that.
    pub(crate) fn in_doubt(self) -> Self {
        match self {
            Self::Storage(_)
            | Self::Catalog(CatalogError::Storage(_) | CatalogError::Corrupt { .. })
            | Self::FailPoint { .. }
            | Self::Contention { .. } => Self::InDoubt { cause: Box::new(self) },
            told => told,
        }
    }

    /// Whether a publication was refused because a precondition does not hold.
    pub(crate) fn is_unmet(&self) -> bool {
        matches!(self, Self::Catalog(CatalogError::Unmet(_)))
    }

    /// Whether time cannot mend it: what is stored is not what it must be.
    pub(crate) fn is_lasting(&self) -> bool {
        match self {
            Self::Violation { .. } | Self::IntentUnreadable { .. } | Self::VersionMissing { .. } => true,
            Self::Storage(error) | Self::Catalog(CatalogError::Storage(error)) => {
                matches!(
                    error,
                    StorageError::Corrupt { .. } | StorageError::Misplaced { .. } | StorageError::TableNotFound { .. }
                )
            }
            Self::Catalog(CatalogError::Corrupt { .. }) => true,
            _ => false,
        }
    }

    /// Why an attempt was undone, in words that a client may see: the store's own name paths.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Storage(_) => "the store failed while the write took effect".to_owned(),
            other => other.to_string(),
        }
    }

    /// The failure a client is told.
    pub(crate) fn failure(self) -> Failure {
        let (problem, message) = match self {
            Self::Catalog(error) => return error.failure(),
            Self::Storage(error) => return error.failure(),
            Self::Refused(failure) => return failure,
            Self::RecoveryRequired { operation_id, branch, writer, phase, reason, effect } => {
                let message = format!(
                    "an interrupted {writer} of branch {branch} (operation {operation_id}) is not settled yet: {reason}; \
                     resend with the same operation id, or ask for the operation"
                );
                let problem = Problem::RecoveryRequired { operation_id, branch, writer, phase, reason };
                return Failure::new(problem, message).with_effect(effect);
            }
            Self::InDoubt { cause } => return cause.failure().with_effect(Effect::Unknown),
            Self::Occupied { ref site, .. } | Self::IntentUnreadable { ref site, .. } => {
                let unreadable = matches!(&self, Self::Occupied { found, .. } if found == UNREADABLE);
                let help = if unreadable { format!("omnigraph check {}", site.graph) } else { site.way_out() };
                let (problem, message) = self.describe();
                return Failure::new(problem, message).with_help(help).with_source(self);
            }
            Self::TaskLost => {
                (Problem::Internal, "the write ended without an answer: ask for its operation".to_owned())
            }
            ref other => other.describe(),
        };
        Failure::new(problem, message).with_source(self)
    }

    fn describe(&self) -> (Problem, String) {
        match self {
            Self::ReadSetChanged { branch, mismatch } => (
                Problem::ReadSetChanged {
                    branch: branch.clone(),
                    member: mismatch.member.clone(),
                    expected: mismatch.expected.clone(),
                    actual: mismatch.actual.clone(),
                },
                format!(
                    "{} changed on branch {branch} since the write was captured: read again and decide again, or ask for a \
                     retry on conflict",
                    mismatch.member
                ),
            ),
            Self::HeadMismatch { expected, actual } => (
                Problem::HeadMismatch { expected: *expected, actual: *actual },
                format!("the branch's head is {actual}, not the expected {expected}: read again and decide again"),
            ),
            Self::Contention { attempts, winner } => (
                Problem::CommitContention { attempts: *attempts, winner: *winner },
                format!("other writers won {attempts} rounds: send the request again"),
            ),
            Self::OperationIdOutOfRange { operation_id } => (
                Problem::InvalidRequest { field: "operation_id".to_owned() },
                format!(
                    "operation id {operation_id} lies more than a day ahead or eight days back of the server's clock, where a \
                     resend cannot be recognized: use a fresh ULID"
                ),
            ),
            Self::RolledBack { operation_id, reason } => (
                Problem::OperationRolledBack { operation_id: *operation_id, reason: reason.clone() },
                format!("operation {operation_id} was interrupted and undone ({reason}): send it again"),
            ),
            Self::Occupied { site, table, expected, found } if found == UNREADABLE => (
                Problem::TableOccupied { table: table.clone(), expected: expected.clone(), found: found.clone() },
                format!(
                    "behind the version of table {table} that is in force stands something that cannot be read, so nothing can be \
                     written to it: `omnigraph check {}` names the object, which must be moved away; reads and other tables go on",
                    site.graph
                ),
            ),
            Self::Occupied { site, table, expected, found } => (
                Problem::TableOccupied { table: table.clone(), expected: expected.clone(), found: found.clone() },
                format!(
                    "table {table} holds a commit that is not the graph's own (transaction {found}, where {expected} belongs), so \
                     nothing can be written to it until `{}` has put it back; reads and other tables go on",
                    site.way_out()
                ),
            ),
            Self::IntentUnreadable { site, version } => (
                Problem::Corrupt {
                    object: format!("the intent of version {version} on branch {}", site.branch),
                    expected: "an intent of format 1".to_owned(),
                },
                format!(
                    "the intent of version {version} on branch {} cannot be read, so nothing can be written to the branch until \
                     `{}` has taken it out of the way; reads go on",
                    site.branch,
                    site.way_out()
                ),
            ),
            Self::ConfirmationOutdated { site, confirmed, actual } => (
                Problem::ReadSetChanged {
                    branch: site.branch.clone(),
                    member: "repair".to_owned(),
                    expected: confirmed.clone(),
                    actual: actual.clone(),
                },
                format!(
                    "what stands in the way on branch {} is not what was confirmed: look again with `{}`, and confirm what it \
                     shows",
                    site.branch,
                    site.way_out()
                ),
            ),
            Self::VersionMissing { table, version } => (
                Problem::Corrupt {
                    object: format!("version {version} of table {table}"),
                    expected: "the version that the branch pins".to_owned(),
                },
                format!(
                    "version {version} of table {table} is missing, and nothing that is stored can replace it: restore the files \
                     of the table from a backup; other tables go on"
                ),
            ),
            Self::EveryTable { site } => (
                Problem::InvalidRequest { field: "types".to_owned() },
                format!("the unreadable intent on branch {} concerns every table: name no types", site.branch),
            ),
            Self::Violation { object, expected } => (
                Problem::InvariantViolation { object: object.clone(), expected: expected.clone() },
                format!("{object} breaks the write protocol: expected {expected}; an operator must look at the store"),
            ),
            Self::Deadline => (
                Problem::DeadlineExceeded,
                "the deadline passed before the write began to take effect: nothing was stored".to_owned(),
            ),
            Self::FailPoint { point, .. } => {
                (Problem::StorageUnavailable, format!("fail point {point}: the store failed, as the test wanted"))
            }
            Self::Catalog(_)
            | Self::Storage(_)
            | Self::Refused(_)
            | Self::RecoveryRequired { .. }
            | Self::InDoubt { .. }
            | Self::TaskLost => (Problem::Internal, "the write failed".to_owned()),
        }
    }

    /// What a caller may do is part of the problem; only the deadline before arm is known to have had no effect.
    pub(crate) fn into_failure(self) -> Failure {
        let no_effect = matches!(self, Self::Deadline);
        let failure = self.failure();
        if no_effect { Failure { retry: Retry::SameRequest, ..failure.with_effect(Effect::None) } } else { failure }
    }
}
