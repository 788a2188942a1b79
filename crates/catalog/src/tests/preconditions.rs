//! Every precondition, held and not held.

use std::collections::BTreeMap;

use omnigraph_types::{BranchId, BranchName, CommitId, GraphVersion, OperationId, TableId, TableVersion, TreeId};

use super::samples::{self, Dice};
use crate::check::check;
use crate::publication::Precondition;
use crate::rows::{BranchRow, Removal, RetentionRow};
use crate::state::State;

/// What a check finds instead; none where the precondition holds.
fn found(state: &State, precondition: Precondition) -> Option<String> {
    let seen = OperationId(Dice::new(7).id());
    let seen = move |operation| (operation == seen).then(|| "published as version 3".to_owned());
    let unmet = check(state, std::slice::from_ref(&precondition), &seen).err()?;
    assert_eq!(unmet.precondition, precondition);
    Some(unmet.found)
}

struct Case {
    precondition: Precondition,
    found: Option<&'static str>,
}

fn holds(precondition: Precondition) -> Case {
    Case { precondition, found: None }
}

fn fails(precondition: Precondition, found: &'static str) -> Case {
    Case { precondition, found: Some(found) }
}

fn branch(name: &str, dice: &mut Dice, removed: Option<Removal>) -> BranchRow {
    BranchRow { name: name.parse().unwrap(), removed, ..samples::branch(dice) }
}

#[test]
fn each_precondition_holds_and_fails_as_the_table_says() {
    let mut dice = Dice::new(4);
    let mut state = samples::state(&mut dice);
    let removal = samples::removal(&mut dice);
    let (live, removed) = (branch("live", &mut dice, None), branch("gone", &mut dice, Some(removal)));
    state.branches = [&live, &removed].map(|row| (row.branch_id, row.clone())).into();
    state.retention = None;
    let unknown = BranchId(dice.id());
    let pinned = state.tables[&TableId(1)].clone();
    let pin = |version: TableVersion, tree: Option<TreeId>| Precondition::PinIs { table: pinned.id, tree, version };
    let other_tree = Some(TreeId(dice.id()));
    let name = |text: &str| Precondition::NameFree(text.parse::<BranchName>().unwrap());
    let retained =
        |branch_id: BranchId| Precondition::CommitRetained { commit: state.head, branch_id, version: GraphVersion(1) };
    let cases = [
        holds(Precondition::ExactHead(state.head)),
        fails(Precondition::ExactHead(CommitId(dice.id())), &*state.head.to_string().leak()),
        holds(Precondition::SchemaIs(state.schema_hash.clone())),
        fails(Precondition::SchemaIs("0".repeat(64)), &*state.schema_hash.clone().leak()),
        holds(pin(pinned.version, pinned.tree)),
        fails(pin(TableVersion(5), pinned.tree), &*format!("version {}", pinned.version).leak()),
        fails(pin(pinned.version, other_tree), &*format!("version {}", pinned.version).leak()),
        fails(Precondition::PinIs { table: TableId(77), tree: None, version: TableVersion(1) }, "no such table"),
        holds(Precondition::OperationUnseen(OperationId(dice.id()))),
        fails(Precondition::OperationUnseen(OperationId(Dice::new(7).id())), "published as version 3"),
        holds(name("gone")),
        holds(name("new")),
        fails(name("live"), &*format!("branch {}", live.branch_id).leak()),
        holds(Precondition::BranchLive(state.main_branch_id)),
        holds(Precondition::BranchLive(live.branch_id)),
        fails(Precondition::BranchLive(removed.branch_id), "no such branch"),
        fails(Precondition::BranchLive(unknown), "no such branch"),
        fails(Precondition::NoOtherBranches, "branch live"),
        // Nothing was ever cleaned up.
        holds(retained(state.main_branch_id)),
        holds(retained(removed.branch_id)),
    ];
    for case in cases {
        assert_eq!(found(&state, case.precondition.clone()).as_deref(), case.found, "{:?}", case.precondition);
    }
    state.branches.remove(&live.branch_id);
    assert_eq!(found(&state, Precondition::NoOtherBranches), None, "a tombstone is no live branch");
}

#[test]
fn commit_is_retained_from_the_floor_of_its_branch_on() {
    let mut dice = Dice::new(5);
    let mut state = samples::state(&mut dice);
    let registered_since = branch("since", &mut dice, None);
    let (before, since) = (samples::removal(&mut dice), samples::removal(&mut dice));
    let removed_before = branch("before", &mut dice, Some(before));
    let removed_since = branch("after", &mut dice, Some(since));
    state.branches =
        [&registered_since, &removed_before, &removed_since].map(|row| (row.branch_id, row.clone())).into();
    let floors = BTreeMap::from([(state.main_branch_id, GraphVersion(4)), (removed_since.branch_id, GraphVersion(2))]);
    state.retention = Some(RetentionRow { time_ms: 1, floors });
    let retained = |branch_id: BranchId, version: u64| {
        let version = GraphVersion(version);
        found(&state, Precondition::CommitRetained { commit: state.head, branch_id, version })
    };
    assert_eq!(retained(state.main_branch_id, 4), None);
    assert_eq!(retained(state.main_branch_id, 5), None);
    assert_eq!(retained(state.main_branch_id, 3).as_deref(), Some("versions from 4"));
    assert_eq!(retained(removed_since.branch_id, 2), None, "the cleanup has kept it");
    assert_eq!(retained(removed_since.branch_id, 1).as_deref(), Some("versions from 2"));
    assert_eq!(retained(registered_since.branch_id, 1), None);
    let lost = Some("no version of a removed branch".to_owned());
    assert_eq!(retained(removed_before.branch_id, 9), lost);
    assert_eq!(retained(BranchId(dice.id()), 9), lost);
}
