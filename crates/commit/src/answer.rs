//! The one way out: an error of the protocol as the failure that a client receives.

use omnigraph_types::{
    BranchName, CommitId, Effect, Failure, GraphVersion, OperationId, Problem, ReadSetMember, RequestEffect, Retry,
    TableVersion,
};

use crate::decide::Found;
use crate::error::{CommitError, Site};
use crate::token::TokenMismatch;

/// The answer to a request that may write: the single exit, where its effect is attached. `Committer` calls it, on its last line.
pub(crate) fn answer<T>(result: Result<T, CommitError>, effect: &RequestEffect) -> Result<T, Failure> {
    result.map_err(|error| failure(error, effect.now()).with_effect(effect.now()))
}

/// The answer to a request that only reads.
pub(crate) fn answer_read<T>(result: Result<T, CommitError>) -> Result<T, Failure> {
    answer(result, &RequestEffect::default())
}

fn failure(error: CommitError, effect: Effect) -> Failure {
    let (problem, message) = match &error {
        CommitError::Catalog(_) | CommitError::Storage(_) | CommitError::Refused(_) => return passed_on(error),
        CommitError::RecoveryRequired { operation_id, branch, writer, phase, reason } => {
            let message = format!(
                "an interrupted {writer} of branch {branch} (operation {operation_id}) is not settled yet: {reason}; \
                 resend with the same operation id, or ask for the operation"
            );
            let (branch, writer, reason) = (branch.clone(), writer.clone(), reason.clone());
            let problem =
                Problem::RecoveryRequired { operation_id: *operation_id, branch, writer, phase: *phase, reason };
            return Failure::new(problem, message);
        }
        CommitError::Occupied { site, table, expected, found } => {
            return occupied(site, table, expected, found).with_source(error);
        }
        CommitError::IntentUnreadable { site, version } => return intent_unreadable(site, *version).with_source(error),
        CommitError::Deadline => {
            let failure = Failure::new(Problem::DeadlineExceeded, deadline_message(effect));
            return Failure { retry: Retry::SameRequest, ..failure }.with_source(error);
        }
        CommitError::Answered => {
            (Problem::Cancelled, "the request was answered before it began to take effect".to_owned())
        }
        CommitError::ReadSetChanged { branch, mismatch } => read_set_changed(branch, mismatch),
        CommitError::HeadMismatch { expected, actual } => head_mismatch(*expected, *actual),
        CommitError::Contention { attempts, winner } => (
            Problem::CommitContention { attempts: *attempts, winner: *winner },
            format!("other writers won {attempts} rounds: send the request again"),
        ),
        CommitError::OperationIdOutOfRange { operation_id } => out_of_range(*operation_id),
        CommitError::RolledBack { operation_id, reason } => (
            Problem::OperationRolledBack { operation_id: *operation_id, reason: reason.clone() },
            format!("operation {operation_id} was interrupted and undone ({reason}): send it again"),
        ),
        CommitError::ConfirmationOutdated { site, confirmed, actual } => outdated(site, confirmed, actual),
        CommitError::VersionMissing { table, version } => version_missing(table, *version),
        CommitError::EveryTable { site } => (
            Problem::InvalidRequest { field: "types".to_owned() },
            format!("the unreadable intent on branch {} concerns every table: name no types", site.branch),
        ),
        CommitError::Violation { object, expected } => (
            Problem::InvariantViolation { object: object.clone(), expected: expected.clone() },
            format!("{object} breaks the write protocol: expected {expected}; an operator must inspect the store"),
        ),
        CommitError::TaskLost => {
            (Problem::Internal, "the write ended without an answer: ask for its operation".to_owned())
        }
        CommitError::FailPoint { point, .. } => {
            (Problem::StorageUnavailable, format!("fail point {point}: the store failed, as the test wanted"))
        }
    };
    Failure::new(problem, message).with_source(error)
}

fn deadline_message(effect: Effect) -> &'static str {
    match effect {
        Effect::None => "the deadline passed before the write began to take effect: nothing was stored",
        Effect::Unknown => {
            "the deadline passed before the outcome was known: send the same request again with the same operation_id, or ask \
             GetOperation"
        }
        Effect::Committed => "the deadline passed after the write was committed: ask GetOperation for what it did",
    }
}

/// Failures that other crates have described already.
fn passed_on(error: CommitError) -> Failure {
    match error {
        CommitError::Catalog(error) => error.failure(),
        CommitError::Storage(error) => error.failure(),
        CommitError::Refused(failure) => failure,
        other => Failure::new(Problem::Internal, other.to_string()).with_source(other),
    }
}

fn read_set_changed(branch: &BranchName, mismatch: &TokenMismatch) -> (Problem, String) {
    let TokenMismatch { member, expected, actual } = mismatch;
    let problem = Problem::ReadSetChanged {
        branch: branch.clone(),
        member: member.clone(),
        expected: expected.clone(),
        actual: actual.clone(),
    };
    let message = format!(
        "{member} changed on branch {branch} since the write was captured: read again and decide again, or ask for a retry on \
         conflict"
    );
    (problem, message)
}

fn head_mismatch(expected: CommitId, actual: CommitId) -> (Problem, String) {
    let message = format!("the branch's head is {actual}, not the expected {expected}: read again and decide again");
    (Problem::HeadMismatch { expected, actual }, message)
}

fn out_of_range(operation_id: OperationId) -> (Problem, String) {
    let message = format!(
        "operation id {operation_id} lies more than a day ahead or eight days behind the server's clock, where a resend cannot \
         be recognized: use a fresh ULID"
    );
    (Problem::InvalidRequest { field: "operation_id".to_owned() }, message)
}

fn outdated(site: &Site, confirmed: &str, actual: &str) -> (Problem, String) {
    let problem = Problem::ReadSetChanged {
        branch: site.branch.clone(),
        member: ReadSetMember::Repair,
        expected: confirmed.to_owned(),
        actual: actual.to_owned(),
    };
    let message = format!(
        "what needs repair on branch {} has changed since it was shown: run `{}` again, and confirm what it shows",
        site.branch,
        site.way_out()
    );
    (problem, message)
}

fn occupied(site: &Site, table: &str, expected: &str, found: &Found) -> Failure {
    let check = format!("omnigraph check {}", site.graph);
    let (help, message) = match found {
        Found::Unreadable => {
            let message = format!(
                "table {table} has an unreadable version after its current one, so nothing can be written to it: `{check}` names \
                 the object, which must be moved away; reads and other tables go on"
            );
            (check, message)
        }
        Found::Transaction(_) | Found::Nothing => {
            let way_out = site.way_out();
            let message = format!(
                "table {table} holds a commit that is not the graph's own (transaction {found}, where {expected} belongs), so \
                 nothing can be written to it until `{way_out}` has restored it; reads and other tables go on"
            );
            (way_out, message)
        }
    };
    let (table, expected) = (table.to_owned(), expected.to_owned());
    Failure::new(Problem::TableOccupied { table, expected, found: found.to_string() }, message).with_help(help)
}

fn intent_unreadable(site: &Site, version: GraphVersion) -> Failure {
    let object = format!("the intent of version {version} on branch {}", site.branch);
    let way_out = site.way_out();
    let message = format!(
        "{object} cannot be read, so nothing can be written to the branch until `{way_out}` has aborted it; reads go on"
    );
    Failure::new(Problem::Corrupt { object, expected: "an intent of format 2".to_owned() }, message).with_help(way_out)
}

fn version_missing(table: &str, version: TableVersion) -> (Problem, String) {
    let problem = Problem::Corrupt {
        object: format!("version {version} of table {table}"),
        expected: "the version that the branch pins".to_owned(),
    };
    let message = format!(
        "version {version} of table {table} is missing, and nothing that is stored can replace it: restore the files of the \
         table from a backup; other tables go on"
    );
    (problem, message)
}
