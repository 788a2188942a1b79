//! The one function that checks preconditions.

use omnigraph_types::mutant;
use omnigraph_types::{BranchId, GraphVersion, OperationId};

use crate::publication::{Precondition, Unmet};
use crate::state::State;

/// Checks every precondition on the state at N. `seen` says how an operation has ended on the branch, if it has.
pub(crate) fn check(
    state: &State,
    preconditions: &[Precondition],
    seen: &dyn Fn(OperationId) -> Option<String>,
) -> Result<(), Unmet> {
    for precondition in preconditions {
        let found = match precondition {
            Precondition::ExactHead(head) => (state.head != *head).then(|| state.head.to_string()),
            Precondition::SchemaIs(hash) => (state.schema_hash != *hash).then(|| state.schema_hash.clone()),
            Precondition::PinIs { table, tree, version } => match state.tables.get(table) {
                Some(row) if mutant!(92, row.tree == *tree, true) && row.version == *version => None,
                Some(row) => Some(format!("version {}", row.version)),
                None => Some("no such table".to_owned()),
            },
            Precondition::OperationUnseen(operation) => seen(*operation),
            Precondition::NameFree(name) => {
                mutant!(94, state.live_branch(name), None).map(|row| format!("branch {}", row.branch_id))
            }
            Precondition::BranchLive(branch) => (!state.is_live(*branch)).then(|| "no such branch".to_owned()),
            Precondition::NoOtherBranches => state.live_branches().next().map(|row| format!("branch {}", row.name)),
            Precondition::CommitRetained { commit: _, branch_id, version } => lost(state, *branch_id, *version),
        };
        if let Some(found) = found {
            return Err(Unmet { precondition: precondition.clone(), found });
        }
    }
    Ok(())
}

/// Why a version of a branch is not retained; none if it is.
///
/// Before the first cleanup everything is. A retention row has a floor for every branch that was live then, so a live branch without one was
/// registered since, and a removed one has lost its versions.
fn lost(state: &State, branch: BranchId, version: GraphVersion) -> Option<String> {
    let retention = state.retention.as_ref()?;
    match retention.floors.get(&branch) {
        Some(floor) if mutant!(93, version >= *floor, version > *floor) => None,
        Some(floor) => Some(format!("versions from {floor}")),
        None if state.is_live(branch) => None,
        None => Some("no version of a removed branch".to_owned()),
    }
}
