//! The receipt rule (I-8): an operation is applied at most once, and whoever sends it again is answered by what it did.
//!
//! Everything that asks "was this operation here before" asks here: before every round of a request, of a branch that was removed, after an
//! interruption, and for `GetOperation`.

use omnigraph_catalog::{BranchRow, CatalogError, CommitRow, OperationRow, PublicationKind, RetiredRow, Snapshot};
use omnigraph_types::mutant;
use omnigraph_types::{BranchName, OperationId};

use crate::context::Context;
use crate::error::CommitError;

/// What makes a request the same request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identity<'a> {
    /// The operation.
    pub(crate) operation_id: OperationId,
    /// The digest of the whole request.
    pub(crate) digest: &'a str,
    /// The kind of publication that it makes.
    pub(crate) kind: PublicationKind,
}

/// What is recorded of an operation on one branch.
#[derive(Debug)]
pub(crate) struct Recorded {
    rows: Vec<OperationRow>,
}

/// What a request finds of its operation.
#[must_use]
#[derive(Debug)]
pub(crate) enum Receipt {
    /// The same request did this before.
    Done(OperationRow),
    /// It has taken no effect.
    Open {
        /// How often it was aborted.
        aborts: u32,
    },
}

/// Everything recorded of an operation at `newest`.
pub(crate) async fn recorded(
    context: &Context,
    newest: &Snapshot,
    operation_id: OperationId,
) -> Result<Recorded, CommitError> {
    Ok(Recorded { rows: context.catalog().operation_rows(newest, operation_id).await? })
}

impl Recorded {
    /// What the operation did; aborts are nothing done. Its commit comes first: the removal of the branch, which goes without a ticket, may
    /// have been sent under the same id.
    pub(crate) fn done(&self) -> Option<&OperationRow> {
        let commit = self.rows.iter().find(|row| mutant!(61, row.kind == PublicationKind::Commit, false));
        commit.or_else(|| self.rows.iter().rev().find(|row| mutant!(62, !row.is_undone(), true)))
    }

    /// Its last abort.
    pub(crate) fn aborted(&self) -> Option<&OperationRow> {
        self.rows.iter().rev().find(|row| row.is_undone())
    }

    fn aborts(&self) -> u32 {
        u32::try_from(self.rows.len()).unwrap_or(u32::MAX)
    }
}

/// Looks for a request's operation on the branch. `OperationIdReused` if it was another request's; `OperationIdOutOfRange` if nothing is
/// recorded of an id so old or so new that nothing would be.
pub(crate) async fn find(context: &Context, newest: &Snapshot, identity: Identity<'_>) -> Result<Receipt, CommitError> {
    let recorded = recorded(context, newest, identity.operation_id).await?;
    if let Some(row) = recorded.done() {
        return same(identity, row).map(|()| Receipt::Done(row.clone()));
    }
    if recorded.rows.is_empty() {
        check_age(context, identity.operation_id)?;
    }
    Ok(Receipt::Open { aborts: recorded.aborts() })
}

/// What a request did on a branch of this name that was removed since.
pub(crate) async fn on_removed(
    context: &Context,
    name: &BranchName,
    identity: Identity<'_>,
) -> Result<Option<OperationRow>, CommitError> {
    let found = recorded_on_removed(context, name, identity.operation_id).await?;
    match found.as_ref().and_then(|(_, recorded)| recorded.done()) {
        Some(row) => same(identity, row).map(|()| Some(row.clone())),
        None => Ok(None),
    }
}

/// What is recorded of an operation on a branch of this name that was removed since, and that branch's last version; none if no such branch
/// knows it.
pub(crate) async fn recorded_on_removed(
    context: &Context,
    name: &BranchName,
    operation_id: OperationId,
) -> Result<Option<(Snapshot, Recorded)>, CommitError> {
    let Some(last) = context.catalog().removed_with(name, operation_id).await? else { return Ok(None) };
    let recorded = recorded(context, &last, operation_id).await?;
    Ok(Some((last, recorded)))
}

/// Who ended a chain.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndedBy {
    /// This request.
    ThisRequest,
    /// Another operation.
    Another,
}

/// Whether a request ended a chain. `OperationIdReused` if its operation did, for another request.
pub(crate) fn ended_by(identity: Identity<'_>, retired: &RetiredRow) -> Result<EndedBy, CommitError> {
    let RetiredRow { operation_id, digest, .. } = retired;
    if mutant!(65, *operation_id != identity.operation_id, false) {
        return Ok(EndedBy::Another);
    }
    if mutant!(64, digest != identity.digest, false) {
        let (operation_id, first_digest) = (*operation_id, digest.clone());
        return Err(CatalogError::OperationIdReused { operation_id, first_digest, commit: None }.into());
    }
    Ok(EndedBy::ThisRequest)
}

/// The commit that a row of a write names, read on the chain that holds the row.
pub(crate) async fn commit_of(context: &Context, row: &OperationRow) -> Result<CommitRow, CommitError> {
    let id = row.commit_id().ok_or_else(|| CommitError::Violation {
        object: format!("operation {}", row.operation_id),
        expected: "a commit id in its row".to_owned(),
    })?;
    Ok(context.catalog().commit_at(row.branch_id, row.version, id).await?)
}

/// The branch that a row of a registration or a removal names, as main registers it.
pub(crate) fn subject_of(registry: &Snapshot, row: &OperationRow) -> Result<BranchRow, CommitError> {
    let branch = row.branch().and_then(|branch| registry.state().branches.get(&branch));
    branch.cloned().ok_or_else(|| reused(row))
}

fn same(identity: Identity<'_>, row: &OperationRow) -> Result<(), CommitError> {
    if mutant!(60, row.kind == identity.kind, true) && mutant!(59, row.digest == identity.digest, true) {
        return Ok(());
    }
    Err(reused(row))
}

/// The refusal of an id that was another request's.
pub(crate) fn reused(row: &OperationRow) -> CommitError {
    let (operation_id, first_digest) = (row.operation_id, row.digest.clone());
    CatalogError::OperationIdReused { operation_id, first_digest, commit: row.commit_id() }.into()
}

/// An unknown id can be answered for only inside the range in which operation rows are kept.
fn check_age(context: &Context, operation_id: OperationId) -> Result<(), CommitError> {
    let now = context.clock().wall_ms();
    let limits = context.limits();
    let earliest = now.saturating_sub(limits.operation_id_behind_ms);
    let latest = now.saturating_add(limits.operation_id_ahead_ms);
    if mutant!(63, (earliest..=latest).contains(&operation_id.timestamp_ms()), true) {
        Ok(())
    } else {
        Err(CommitError::OperationIdOutOfRange { operation_id })
    }
}
