use std::collections::BTreeMap;
use std::sync::Arc;

use omnigraph_types::{BranchId, BranchName, CommitId, Effect, OperationId};
use ulid::Ulid;

use super::{Findings, LIMIT_SLACK, Rule, check};
use crate::history::{
    Answered, Asked, At, BranchFact, CommitFact, Event, Form, History, Keys, Kind, Load, Mode, Moment, Purpose, Reason,
    Resolution, Row,
};

const LIMIT: Moment = 1_000_000;

fn commit(number: u64) -> CommitId {
    CommitId(Ulid::from_parts(1, u128::from(number)))
}

fn operation(number: u64) -> OperationId {
    OperationId(Ulid::from_parts(2, u128::from(number)))
}

fn identity(number: u64) -> BranchId {
    BranchId(Ulid::from_parts(3, u128::from(number)))
}

fn side() -> BranchName {
    "side".parse().unwrap()
}

fn row(key: &str, mark: &str) -> Row {
    Row { key: key.to_owned(), mark: mark.to_owned() }
}

/// A load of one note, `n<number>`.
fn note(number: u64, branch: BranchName) -> Load {
    let rows = BTreeMap::from([(Kind::Note, vec![row(&format!("n{number}"), &format!("m{number}"))])]);
    Load {
        operation: operation(number),
        branch,
        mode: Mode::Append,
        form: Form::Ndjson,
        purpose: Purpose::Commit,
        keys: Keys::Own,
        expected_head: None,
        rows,
    }
}

fn refused(reason: Reason, effect: Effect) -> Answered {
    Answered::Refused { reason, effect, text: "for the test".to_owned() }
}

/// A history in the making: calls follow one another, ten moments each.
struct Tale {
    history: History,
    now: Moment,
}

impl Tale {
    /// A graph with its first commit, 0.
    fn new() -> Self {
        let mut tale = Self { history: History::default(), now: 0 };
        tale.publish(0, None, &note(0, BranchName::Main), &[]);
        tale
    }

    fn publish(&mut self, id: u64, parent: Option<u64>, load: &Load, totals: &[(Kind, u64)]) {
        let fact = CommitFact {
            id: commit(id),
            parent: parent.map(commit),
            branch: load.branch.clone(),
            operation: load.operation,
            totals: totals.iter().copied().collect(),
        };
        self.history.commits.insert(commit(id), fact);
    }

    fn call(&mut self, asked: Asked, answered: Answered) {
        let (call, reply) = (self.now, self.now + 9);
        self.now += 10;
        self.history.events.push(Event { client: 0, server: 0, call, reply, limit: LIMIT, asked, answered });
    }

    fn load(&mut self, load: &Load, answered: Answered) {
        self.call(Asked::Load(Arc::new(load.clone())), answered);
    }

    /// An acknowledged append of note `id` as commit `id` after `parent`.
    fn append(&mut self, id: u64, parent: u64) {
        let load = note(id, BranchName::Main);
        self.publish(id, Some(parent), &load, &[]);
        self.load(&load, Answered::Committed(commit(id)));
    }

    fn read(&mut self, at: At, served: u64, rows: &[(&str, &str)]) {
        let rows = Arc::new(rows.iter().map(|(key, mark)| row(key, mark)).collect());
        self.call(Asked::Read { at, kind: Kind::Note }, Answered::Rows { commit: commit(served), rows });
    }

    fn read_main(&mut self, served: u64, rows: &[(&str, &str)]) {
        self.read(At::Branch(BranchName::Main), served, rows);
    }

    fn create(&mut self, number: u64, id: u64) {
        let asked = Asked::Create { operation: operation(number), name: side(), source: At::Commit(commit(0)) };
        let fact = BranchFact { name: side(), id: identity(id), head: commit(0), source: Some(commit(0)) };
        self.call(asked, Answered::Branch(fact));
    }

    fn delete(&mut self, number: u64) {
        self.call(Asked::Delete { operation: operation(number), name: side() }, Answered::Deleted);
    }

    fn findings(&self) -> Findings {
        check(&self.history)
    }

    /// The rules that are violated, each once.
    fn rules(&self) -> Vec<Rule> {
        let mut rules: Vec<Rule> = self.findings().violations.iter().map(|violation| violation.rule).collect();
        rules.sort();
        rules.dedup();
        rules
    }
}

const ONE: [(&str, &str); 1] = [("n1", "m1")];
const TWO: [(&str, &str); 2] = [("n1", "m1"), ("n2", "m2")];

/// Two appends, read after each, and a branch made, read, deleted and made again.
fn sound() -> Tale {
    let mut tale = Tale::new();
    tale.append(1, 0);
    tale.read_main(1, &ONE);
    tale.append(2, 1);
    tale.read_main(2, &TWO);
    tale.create(11, 1);
    tale.read(At::Branch(side()), 0, &[]);
    tale.delete(12);
    tale.create(13, 2);
    tale.read(At::Commit(commit(1)), 1, &ONE);
    tale
}

#[test]
fn sound_history_is_accepted_and_everything_in_it_was_looked_at() {
    let findings = sound().findings();
    assert_eq!(findings.violations, []);
    assert_eq!((findings.reads_compared, findings.sights_ambiguous), (4, 0));
    assert!(findings.sights_ordered >= 8, "{findings:?}");
}

#[test]
fn row_missing_from_a_read_is_found() {
    let mut tale = sound();
    tale.read_main(2, &ONE);
    assert_eq!(tale.rules(), [Rule::LostWrite]);
}

#[test]
fn row_read_twice_is_found() {
    let mut tale = sound();
    tale.read_main(2, &[TWO[0], TWO[1], TWO[1]]);
    assert_eq!(tale.rules(), [Rule::DoubledWrite]);
}

#[test]
fn row_of_another_state_is_found_as_a_torn_read() {
    let mut tale = sound();
    // Commit 1 does not have note 2 yet.
    tale.read(At::Commit(commit(1)), 1, &TWO);
    assert_eq!(tale.rules(), [Rule::TornRead]);
}

#[test]
fn row_that_no_client_wrote_is_found() {
    let mut tale = sound();
    tale.read_main(2, &[TWO[0], ("n2", "other")]);
    assert_eq!(tale.rules(), [Rule::ForeignWrite]);
}

#[test]
fn row_of_a_refused_load_is_found() {
    let mut tale = sound();
    tale.load(&note(3, BranchName::Main), refused(Reason::Contention, Effect::None));
    assert_eq!(tale.rules(), []);
    tale.read_main(2, &[TWO[0], TWO[1], ("n3", "m3")]);
    assert_eq!(tale.rules(), [Rule::VisibleFailure]);
}

#[test]
fn commit_of_a_refused_load_is_found() {
    let mut tale = sound();
    let load = note(3, BranchName::Main);
    tale.publish(3, Some(2), &load, &[]);
    tale.load(&load, refused(Reason::Contention, Effect::None));
    assert_eq!(tale.rules(), [Rule::VisibleFailure]);
}

#[test]
fn commit_of_a_load_that_only_checks_is_found() {
    let mut tale = sound();
    let load = Load { purpose: Purpose::Validate, ..note(3, BranchName::Main) };
    tale.publish(3, Some(2), &load, &[]);
    tale.load(&load, Answered::Checked);
    assert_eq!(tale.rules(), [Rule::VisibleFailure]);
}

#[test]
fn own_keys_that_exist_without_a_commit_are_found() {
    let mut tale = sound();
    tale.load(&note(3, BranchName::Main), refused(Reason::KeyConflict, Effect::None));
    assert_eq!(tale.rules(), [Rule::VisibleFailure]);
    tale.history.events.pop();
    let shared = Load { keys: Keys::Shared, ..note(3, BranchName::Main) };
    tale.load(&shared, refused(Reason::KeyConflict, Effect::None));
    assert_eq!(tale.rules(), []);
}

#[test]
fn operation_that_is_two_commits_is_found() {
    let mut tale = sound();
    let load = note(3, BranchName::Main);
    tale.publish(3, Some(2), &load, &[]);
    tale.publish(4, Some(3), &load, &[]);
    tale.load(&load, Answered::Committed(commit(3)));
    assert_eq!(tale.rules(), [Rule::DoubledWrite]);
}

#[test]
fn acknowledged_commit_beside_a_later_head_is_found() {
    let mut tale = sound();
    tale.append(3, 2);
    // Commit 4 follows commit 2, as if commit 3 had never been.
    let load = note(4, BranchName::Main);
    tale.publish(4, Some(2), &load, &[]);
    tale.load(&load, Answered::Committed(commit(4)));
    assert_eq!(tale.rules(), [Rule::LostWrite]);
    tale.history.events.pop();
    assert_eq!(tale.rules(), [Rule::ForeignWrite], "the commit stays, and no client requested it");
}

#[test]
fn acknowledged_commit_that_no_lineage_holds_is_found() {
    let mut tale = sound();
    tale.load(&note(3, BranchName::Main), Answered::Committed(commit(3)));
    assert_eq!(tale.rules(), [Rule::LostWrite]);
}

#[test]
fn head_that_moves_back_is_found() {
    let mut tale = sound();
    tale.read_main(1, &ONE);
    assert_eq!(tale.rules(), [Rule::LostWrite], "commit 2 was acknowledged");
    // Without the acknowledgement the earlier read shows it.
    tale.history.events.retain(|event| !matches!(&event.asked, Asked::Load(load) if load.operation == operation(2)));
    let load = note(2, BranchName::Main);
    let unknown = refused(Reason::Broken, Effect::Unknown);
    let asked = Asked::Load(Arc::new(load));
    tale.history.events.push(Event {
        client: 0,
        server: 0,
        call: 20,
        reply: 29,
        limit: LIMIT,
        asked,
        answered: unknown,
    });
    tale.history.resolutions.insert(operation(2), Resolution::Committed(commit(2)));
    assert_eq!(tale.rules(), [Rule::HeadMovedBack]);
}

#[test]
fn calls_that_overlap_are_not_ordered() {
    let mut tale = sound();
    tale.read_main(1, &ONE);
    let last = tale.history.events.len() - 1;
    // The read began before commit 2 was acknowledged, and before anyone had seen it.
    tale.history.events[last].call = 25;
    assert_eq!(tale.rules(), []);
}

#[test]
fn head_of_one_identity_that_moves_back_is_found_across_its_name() {
    let mut tale = sound();
    let fact = |head| BranchFact { name: side(), id: identity(2), head: commit(head), source: Some(commit(0)) };
    let load = note(3, side());
    tale.publish(3, Some(0), &load, &[]);
    tale.load(&load, Answered::Committed(commit(3)));
    tale.call(Asked::Get { name: side() }, Answered::Branch(fact(3)));
    assert_eq!(tale.rules(), []);
    tale.call(Asked::Get { name: side() }, Answered::Branch(fact(0)));
    let rules = tale.rules();
    assert!(rules.contains(&Rule::HeadMovedBack) && rules.contains(&Rule::LostWrite), "{rules:?}");
}

#[test]
fn wrong_number_of_rows_in_a_commit_is_found() {
    let mut tale = sound();
    let load = note(3, BranchName::Main);
    tale.publish(3, Some(2), &load, &[(Kind::Note, 4)]);
    tale.load(&load, Answered::Committed(commit(3)));
    assert_eq!(tale.rules(), [Rule::UnfitCommit]);
}

#[test]
fn commit_that_follows_another_head_than_asked_for_is_found() {
    let mut tale = sound();
    let load = Load { expected_head: Some(commit(1)), ..note(3, BranchName::Main) };
    tale.publish(3, Some(2), &load, &[]);
    tale.load(&load, Answered::Committed(commit(3)));
    assert_eq!(tale.rules(), [Rule::UnfitCommit]);
}

#[test]
fn append_of_a_key_that_exists_and_an_edge_without_an_end_are_found() {
    let mut tale = sound();
    let again = Load { rows: BTreeMap::from([(Kind::Note, vec![row("n1", "m3")])]), ..note(3, BranchName::Main) };
    tale.publish(3, Some(2), &again, &[]);
    tale.load(&again, Answered::Committed(commit(3)));
    assert_eq!(tale.rules(), [Rule::UnfitCommit]);

    let mut tale = sound();
    let link = Load { rows: BTreeMap::from([(Kind::Link, vec![row("a>b", "m3")])]), ..note(3, BranchName::Main) };
    tale.publish(3, Some(2), &link, &[]);
    tale.load(&link, Answered::Committed(commit(3)));
    assert_eq!(tale.rules(), [Rule::UnfitCommit]);
}

#[test]
fn overwrite_replaces_the_types_it_holds_and_no_other() {
    let mut tale = Tale::new();
    tale.append(1, 0);
    let items = BTreeMap::from([(Kind::Item, vec![row("a", "m2")])]);
    let overwrite = Load { mode: Mode::Overwrite, rows: items, ..note(2, BranchName::Main) };
    tale.publish(2, Some(1), &overwrite, &[(Kind::Item, 1)]);
    tale.load(&overwrite, Answered::Committed(commit(2)));
    tale.read_main(2, &ONE);
    let overwrite = Load { mode: Mode::Overwrite, ..note(3, BranchName::Main) };
    tale.publish(3, Some(2), &overwrite, &[(Kind::Note, 1)]);
    tale.load(&overwrite, Answered::Committed(commit(3)));
    tale.read_main(3, &[("n3", "m3")]);
    assert_eq!(tale.rules(), []);
}

#[test]
fn unknown_outcome_must_be_resolved_and_fit_the_commits() {
    let mut tale = sound();
    let load = note(3, BranchName::Main);
    tale.load(&load, refused(Reason::Broken, Effect::Unknown));
    assert_eq!(tale.rules(), [Rule::Unsettled]);
    tale.history.resolutions.insert(operation(3), Resolution::Open);
    assert_eq!(tale.rules(), [Rule::Unsettled]);
    tale.history.resolutions.insert(operation(3), Resolution::Committed(commit(3)));
    assert_eq!(tale.rules(), [Rule::LostWrite]);
    tale.history.resolutions.insert(operation(3), Resolution::Nothing);
    assert_eq!(tale.rules(), []);
    tale.publish(3, Some(2), &load, &[]);
    assert_eq!(tale.rules(), [Rule::VisibleFailure]);
}

#[test]
fn branch_made_twice_without_a_deletion_is_found() {
    let mut tale = sound();
    tale.create(14, 3);
    assert_eq!(tale.rules(), [Rule::BranchTwice]);
    // Side by side they are two as well.
    let last = tale.history.events.len() - 1;
    tale.history.events[last].call = 75;
    assert_eq!(tale.rules(), [Rule::BranchTwice]);
    // A deletion whose outcome is not known may explain it.
    tale.delete(15);
    let last = tale.history.events.len() - 1;
    tale.history.events[last].call = 72;
    tale.history.events[last].answered = refused(Reason::Broken, Effect::Unknown);
    tale.history.resolutions.insert(operation(15), Resolution::Done);
    assert_eq!(tale.rules(), []);
}

#[test]
fn branch_listed_twice_is_found() {
    let mut tale = sound();
    let fact = BranchFact { name: side(), id: identity(2), head: commit(0), source: Some(commit(0)) };
    let main = BranchFact { name: BranchName::Main, id: identity(0), head: commit(2), source: None };
    tale.call(Asked::List, Answered::Branches(vec![main.clone(), fact.clone()]));
    assert_eq!(tale.rules(), []);
    tale.call(Asked::List, Answered::Branches(vec![main, fact.clone(), fact]));
    assert_eq!(tale.rules(), [Rule::BranchTwice]);
}

#[test]
fn branch_that_vanishes_or_comes_back_is_found() {
    let mut tale = sound();
    tale.call(Asked::Get { name: side() }, refused(Reason::NoBranch, Effect::None));
    assert_eq!(tale.rules(), [Rule::LostBranch]);
    let mut tale = sound();
    tale.delete(14);
    tale.call(Asked::Get { name: side() }, refused(Reason::NoBranch, Effect::None));
    assert_eq!(tale.rules(), []);
    tale.read(At::Branch(side()), 0, &[]);
    assert_eq!(tale.rules(), [Rule::GhostBranch]);
}

#[test]
fn branch_that_begins_elsewhere_than_it_was_to_is_found() {
    let mut tale = sound();
    let last = tale.history.events.len() - 2;
    let Answered::Branch(fact) = &mut tale.history.events[last].answered else { panic!("the second creation") };
    fact.source = Some(commit(1));
    assert_eq!(tale.rules(), [Rule::UnfitCommit]);
}

#[test]
fn commit_without_ancestors_and_one_that_is_not_found_are_found() {
    let mut tale = sound();
    let load = note(3, BranchName::Main);
    tale.publish(3, Some(99), &load, &[]);
    tale.load(&load, Answered::Committed(commit(3)));
    assert!(tale.rules().contains(&Rule::BrokenLineage));
    let mut tale = sound();
    let fact = tale.history.commits[&commit(2)].clone();
    let other = CommitFact { parent: Some(commit(0)), ..fact.clone() };
    tale.history.contradictions.push((fact, other));
    assert_eq!(tale.rules(), [Rule::BrokenLineage]);
    let mut tale = sound();
    let asked = Asked::Read { at: At::Commit(commit(1)), kind: Kind::Note };
    tale.call(asked, refused(Reason::NoCommit, Effect::None));
    assert_eq!(tale.rules(), [Rule::LostWrite]);
}

#[test]
fn late_answer_and_defect_are_found() {
    let mut tale = sound();
    tale.read_main(2, &TWO);
    let last = tale.history.events.len() - 1;
    let call = tale.history.events[last].call;
    tale.history.events[last].reply = call + LIMIT + LIMIT_SLACK;
    assert_eq!(tale.rules(), []);
    tale.history.events[last].reply += 1;
    assert_eq!(tale.rules(), [Rule::Blocked]);
    let mut tale = sound();
    tale.load(&note(3, BranchName::Main), refused(Reason::Defect, Effect::None));
    assert_eq!(tale.rules(), [Rule::Defect]);
}
