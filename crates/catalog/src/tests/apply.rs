//! The pure step from a version to the next, change by change.

use omnigraph_types::{AttemptId, BranchId, CommitId, OperationId, TableId, TableVersion, TreeId};
use ulid::Ulid;

use super::samples::{self, Dice, VERSION};
use crate::operations::Operations;
use crate::own_ids::OwnIds;
use crate::publication::{Change, PinChange, Publication};
use crate::rows::{
    BranchRow, CommitRow, DecidedBy, PublicationKind, PublicationResult, PublicationRow, RecoveryRow, TableRow,
    UnsettledRow,
};
use crate::state::State;

fn publication(dice: &mut Dice, changes: Vec<Change>) -> Publication {
    Publication {
        kind: PublicationKind::Commit,
        decision: DecidedBy::Own.about(AttemptId(dice.id())),
        preconditions: Vec::new(),
        changes,
        operations: Operations::one(OperationId(dice.id()), "d".repeat(64)),
    }
}

/// The state before, and the one after a single change without what every publication does.
fn step(change: impl FnOnce(&State, &mut Dice) -> Change) -> (State, State) {
    let mut dice = Dice::new(6);
    let before = State { retired: None, retention: None, ..samples::state(&mut dice) };
    let change = change(&before, &mut dice);
    let made = publication(&mut dice, vec![change]);
    let mut after = before.apply(&made);
    assert_eq!(after.version, VERSION.next());
    let row = after.publications.pop().unwrap();
    let result = made.result(before.branch_id);
    let PublicationRow { version, branch_id, kind, decision, operations, .. } = row.clone();
    assert_eq!((version, branch_id, &row.result), (VERSION.next(), before.branch_id, &result));
    assert_eq!((kind, decision, &operations), (made.kind, made.decision, &made.operations));
    after.version = before.version;
    assert_eq!(after.own_ids, before.own_ids.with(&made.operations, row.result.commit()));
    after.own_ids = before.own_ids;
    (before, after)
}

/// Asserts that nothing but one table's row has changed, and returns it.
fn only_table_changed(before: &State, after: &State, id: TableId) -> TableRow {
    let mut expected = before.clone();
    expected.tables.insert(id, after.tables[&id].clone());
    expected.tables_changed.insert(id);
    assert_eq!(*after, expected);
    after.tables[&id].clone()
}

#[test]
fn commit_moves_the_head() {
    let operations = Operations::one(OperationId(Dice::new(8).id()), String::new());
    let commit = samples::commit(&mut Dice::new(8), VERSION.next(), &operations);
    let (before, after) = step(|_, _| Change::Commit(commit.clone()));
    assert_eq!((after.head, after.head_commit()), (commit.id, &commit));
    assert_eq!(after, State { head: commit.id, commits: [before.commits.clone(), vec![commit]].concat(), ..before });
}

#[test]
fn schema_puts_another_contract_in_force() {
    let (before, after) = step(|_, _| Change::Schema { hash: "5".repeat(64) });
    assert_eq!(after, State { schema_hash: "5".repeat(64), ..before });
}

#[test]
fn added_table_is_there_and_renamed_one_has_its_name() {
    let (before, after) = step(|_, dice| Change::TableAdded(samples::table(dice, 9)));
    assert_eq!(only_table_changed(&before, &after, TableId(9)).id, TableId(9));
    let (before, after) = step(|_, _| Change::TableRenamed { table: TableId(2), type_name: "Harbour".to_owned() });
    let renamed = only_table_changed(&before, &after, TableId(2));
    assert_eq!(renamed, TableRow { type_name: "Harbour".to_owned(), ..before.tables[&TableId(2)].clone() });
}

#[test]
fn dropped_table_is_gone_and_takes_the_base_with_it() {
    let mut before = samples::state(&mut Dice::new(6));
    before.base = Some(3);
    before.tables_changed.insert(TableId(1));
    let made = publication(&mut Dice::new(6), vec![Change::TableDropped { table: TableId(2) }]);
    let after = before.apply(&made);
    assert_eq!((after.tables.len(), after.tables.contains_key(&TableId(2))), (2, false));
    assert_eq!((after.base, after.tables_changed.len()), (None, 0), "the next version lists all its tables");
}

#[test]
fn pin_says_tree_owner_version_rows_and_content() {
    let mut pin = None;
    let (before, after) = step(|state, dice| {
        let made = PinChange {
            table: TableId(1),
            tree: Some(TreeId(dice.id())),
            owner: BranchId(dice.id()),
            version: TableVersion(8),
            row_count: 3,
            content_commit: state.commits[0].id,
        };
        Change::Pin(pin.insert(made).clone())
    });
    let PinChange { table: _, tree, owner, version, row_count, content_commit } = pin.unwrap();
    let row = only_table_changed(&before, &after, TableId(1));
    assert_eq!(row, TableRow { tree, owner, version, row_count, content_commit, ..before.tables[&TableId(1)].clone() });
}

#[test]
fn moved_pin_of_the_same_rows_keeps_owner_and_content() {
    let (before, after) =
        step(|state, _| Change::Pin(PinChange::same_rows(&state.tables[&TableId(3)], TableVersion(77))));
    let row = only_table_changed(&before, &after, TableId(3));
    assert_eq!(row, TableRow { version: TableVersion(77), ..before.tables[&TableId(3)].clone() });
}

#[test]
fn unsettled_rows_are_added_and_removed_by_attempt_and_table() {
    let (before, after) = step(|state, _| Change::UnsettledAdded(state.unsettled[0].clone()));
    assert_eq!(after.unsettled, [before.unsettled.clone(), vec![before.unsettled[0].clone()]].concat());
    let (before, after) = step(|state, _| {
        let UnsettledRow { attempt_id, table, .. } = state.unsettled[0].clone();
        Change::UnsettledRemoved { attempt_id, table }
    });
    assert_eq!(after, State { unsettled: before.unsettled[1..].to_vec(), ..before.clone() });
    let (before, after) = step(|state, dice| Change::UnsettledRemoved {
        attempt_id: AttemptId(dice.id()),
        table: state.unsettled[0].table,
    });
    assert_eq!(after, before, "another attempt's row of the same table stays");
}

#[test]
fn newest_recoveries_are_kept() {
    let mut state = samples::state(&mut Dice::new(6));
    let row = state.recoveries[0].clone();
    for time_ms in 0..100 {
        let change = Change::Recovery(RecoveryRow { time_ms, ..row.clone() });
        state = state.apply(&publication(&mut Dice::new(6), vec![change]));
    }
    let times: Vec<u64> = state.recoveries.iter().map(|row| row.time_ms).collect();
    assert_eq!(times, (36..100).collect::<Vec<_>>());
}

#[test]
fn branch_is_registered_and_then_a_tombstone() {
    let row = samples::branch(&mut Dice::new(11));
    let retired = samples::retired(&mut Dice::new(12));
    let row = BranchRow { removed: None, ..row };
    let tombstone = row.removed_by(&retired);
    assert_eq!(tombstone.removed.map(|removal| removal.own_ids), Some(retired.own_ids));
    for row in [row, tombstone] {
        let (before, after) = step(|_, _| Change::Branch(row.clone()));
        assert_eq!(after.is_live(row.branch_id), row.is_live());
        assert_eq!(after.branches.len(), before.branches.len() + 1);
        assert!(after.branches_changed.contains(&row.branch_id));
    }
}

#[test]
fn retirement_and_retention_are_recorded() {
    let (before, after) = step(|_, dice| Change::Retired(samples::retired(dice)));
    assert!(after.retired.is_some());
    assert_eq!(State { retired: None, ..after }, before);
    let (before, after) = step(|_, dice| Change::Retention(samples::retention(dice)));
    assert!(after.retention.is_some());
    assert_eq!(State { retention: None, ..after }, before);
}

#[test]
fn clone_inherits_schema_tables_head_and_commits_alone() {
    let source = samples::state(&mut Dice::new(12));
    let branch_id = BranchId(Dice::new(13).id());
    let clone = source.clone().inherited_by(branch_id);
    assert_eq!(clone.branch_id, branch_id);
    assert_eq!((&clone.schema_hash, clone.head, &clone.tables), (&source.schema_hash, source.head, &source.tables));
    assert_eq!(clone.commits, source.commits);
    assert_eq!(clone.own_ids, OwnIds::default());
    assert!(clone.publications.is_empty() && clone.unsettled.is_empty() && clone.recoveries.is_empty());
    assert!(clone.branches.is_empty() && clone.retired.is_none() && clone.retention.is_none());
}

#[test]
fn result_of_a_publication_follows_from_its_changes() {
    let mut dice = Dice::new(14);
    let own = BranchId(dice.id());
    let state = samples::state(&mut dice);
    let branch = samples::branch(&mut dice);
    let undone = RecoveryRow { kind: PublicationKind::Abort, ..state.recoveries[0].clone() };
    let completed = RecoveryRow { kind: PublicationKind::Commit, ..undone.clone() };
    let cases = [
        (vec![Change::Commit(state.commits[0].clone())], PublicationResult::Commit(state.commits[0].id)),
        (
            vec![Change::Commit(state.commits[0].clone()), Change::Recovery(completed)],
            PublicationResult::Commit(state.commits[0].id),
        ),
        (vec![Change::Branch(branch.clone())], PublicationResult::Branch(branch.branch_id)),
        (vec![Change::Retired(samples::retired(&mut dice))], PublicationResult::Branch(own)),
        (vec![Change::Recovery(undone.clone())], PublicationResult::Undone(undone.reason)),
        (vec![Change::Retention(samples::retention(&mut dice))], PublicationResult::Nothing),
        (Vec::new(), PublicationResult::Nothing),
    ];
    for (changes, result) in cases {
        assert_eq!(publication(&mut dice, changes).result(own), result);
    }
}

#[test]
fn own_ids_span_what_a_chain_published_but_not_its_end() {
    let mut dice = Dice::new(15);
    let commit = |number: u128| {
        let commit = samples::commit(&mut Dice::new(8), VERSION, &Operations::one(OperationId(Ulid(1)), String::new()));
        Change::Commit(CommitRow { id: CommitId(Ulid(number)), ..commit })
    };
    let ids = |state: &State| {
        let operations = state.own_ids.operations.map(|range| (range.min.0.0, range.max.0.0));
        (operations, state.own_ids.commits.map(|range| (range.min.0.0, range.max.0.0)))
    };
    let mut state = State { own_ids: OwnIds::default(), publications: Vec::new(), ..samples::state(&mut dice) };
    let steps = [
        (PublicationKind::Optimize, 50, Vec::new(), (Some((50, 50)), None)),
        (PublicationKind::Commit, 40, vec![commit(7)], (Some((40, 50)), Some((7, 7)))),
        (PublicationKind::Abort, 60, Vec::new(), (Some((40, 60)), Some((7, 7)))),
        (PublicationKind::Commit, 45, vec![commit(3)], (Some((40, 60)), Some((3, 7)))),
        (
            PublicationKind::Retire,
            99,
            vec![Change::Retired(samples::retired(&mut dice))],
            (Some((40, 60)), Some((3, 7))),
        ),
    ];
    for (kind, operation, changes, expected) in steps {
        let operations = Operations::one(OperationId(Ulid(operation)), String::new());
        let made = Publication { kind, operations, ..publication(&mut dice, changes) };
        state = state.apply(&made);
        assert_eq!(ids(&state), expected, "{kind:?}");
    }
    let holds = [39, 40, 52, 60, 61, 99].map(|number| state.own_ids.may_hold(OperationId(Ulid(number))));
    assert_eq!(holds, [false, true, true, true, false, false]);
    let holds = [2, 3, 7, 8].map(|number| state.own_ids.may_hold_commit(CommitId(Ulid(number))));
    assert_eq!(holds, [false, true, true, false]);
    assert!(!OwnIds::default().may_hold(OperationId(Ulid(0))), "a chain that published nothing holds nothing");
}
