//! The next request of a client: drawn from a seeded generator and from the answers that the client received.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use omnigraph_client::Client;
use omnigraph_types::{BranchName, CommitId};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::history::{Answered, Asked, At, CommitFact, Event, Form, Keys, Kind, LINK_ARROW, Load, Mode, Purpose, Row};

/// Names of the branches beside `main`: few, so that clients create and delete each other's branches.
const NAMES: [&str; 3] = ["b1", "b2", "feature/3"];
/// Keys that all clients write.
const SHARED_KEYS: u32 = 16;
/// Rows of one type above which a client replaces the table instead of adding to it.
const TABLE_ROWS_MAX: u64 = 60;
/// Rows of one type in a load.
const LOAD_ROWS_MAX: usize = 4;
/// Commits that a client remembers.
const COMMITS_KEPT: usize = 24;

/// How often a request is sent although it was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// Once.
    Once,
    /// To two servers at the same time.
    Twice,
    /// Again after its answer.
    Again,
}

/// Which requests are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// Everything, conflicts wanted.
    Race,
    /// The daily work of a server: most requests should succeed.
    Steady,
}

/// The generator of one client.
#[derive(Debug)]
pub struct Workload {
    random: StdRng,
    mix: Mix,
    client: usize,
    number: u64,
    commits: VecDeque<CommitId>,
    heads: BTreeMap<BranchName, CommitId>,
    sizes: BTreeMap<BranchName, BTreeMap<Kind, u64>>,
}

impl Workload {
    /// The generator of client `client` in the run of this seed.
    pub fn new(seed: u64, client: usize, mix: Mix) -> Self {
        let random = StdRng::seed_from_u64(seed.wrapping_mul(1_000_003).wrapping_add(client as u64));
        let (commits, heads, sizes) = (VecDeque::new(), BTreeMap::new(), BTreeMap::new());
        Self { random, mix, client, number: 0, commits, heads, sizes }
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.random.random_range(0..end.max(1))
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.random.random_range(0..100) < percent
    }

    /// The next request, and how it is delivered.
    pub fn draw(&mut self) -> (Asked, Delivery) {
        self.number += 1;
        let (loads, reads, creates, deletes) = match self.mix {
            Mix::Race => (62, 88, 92, 95),
            Mix::Steady => (60, 94, 96, 98),
        };
        let asked = match self.random.random_range(0..100) {
            drawn if drawn < loads => Asked::Load(Arc::new(self.load())),
            drawn if drawn < reads => self.read(),
            drawn if drawn < creates => self.create(),
            drawn if drawn < deletes => Asked::Delete { operation: Client::mint_operation_id(), name: self.name() },
            drawn if drawn % 2 == 0 => Asked::Get { name: self.branch() },
            _ => Asked::List,
        };
        let delivery = match self.random.random_range(0..100) {
            0..4 => Delivery::Twice,
            4..12 => Delivery::Again,
            _ => Delivery::Once,
        };
        let changes = asked.operation().is_some();
        (asked, if changes { delivery } else { Delivery::Once })
    }

    /// Remembers the commits and the sizes of tables that an answer states.
    pub fn learn(&mut self, event: &Event, fact: Option<&CommitFact>) {
        let commit = match &event.answered {
            Answered::Committed(commit) | Answered::Rows { commit, .. } => *commit,
            Answered::Branch(branch) => branch.head,
            Answered::Checked | Answered::Branches(_) | Answered::Deleted | Answered::Refused { .. } => return,
        };
        self.commits.push_back(commit);
        if self.commits.len() > COMMITS_KEPT {
            self.commits.pop_front();
        }
        let branch = match &event.asked {
            Asked::Load(load) => &load.branch,
            Asked::Read { at: At::Branch(name), .. } | Asked::Get { name } => name,
            _ => return,
        };
        self.heads.insert(branch.clone(), commit);
        if let Some(fact) = fact {
            self.sizes.entry(branch.clone()).or_default().extend(fact.totals.iter().map(|(kind, rows)| (*kind, *rows)));
        }
    }

    fn name(&mut self) -> BranchName {
        BranchName::Named((*NAMES.choose(&mut self.random).unwrap_or(&NAMES[0])).to_owned())
    }

    fn branch(&mut self) -> BranchName {
        if self.chance(55) { BranchName::Main } else { self.name() }
    }

    fn known_commit(&mut self) -> Option<CommitId> {
        let at = self.random.random_range(0..COMMITS_KEPT);
        self.commits.get(at % self.commits.len().max(1)).copied()
    }

    fn read(&mut self) -> Asked {
        let known = if self.chance(35) { self.known_commit() } else { None };
        let at = known.map_or_else(|| At::Branch(self.branch()), At::Commit);
        let kind = *Kind::ALL.choose(&mut self.random).unwrap_or(&Kind::Item);
        Asked::Read { at, kind }
    }

    fn create(&mut self) -> Asked {
        let source = match self.random.random_range(0..4) {
            0 => self.known_commit().map_or(At::Branch(BranchName::Main), At::Commit),
            1 => At::Branch(self.name()),
            _ => At::Branch(BranchName::Main),
        };
        Asked::Create { operation: Client::mint_operation_id(), name: self.name(), source }
    }

    fn load(&mut self) -> Load {
        let branch = self.branch();
        let full = self.sizes.get(&branch).and_then(|sizes| {
            sizes.iter().find(|(kind, rows)| **rows > TABLE_ROWS_MAX && **kind != Kind::Link).map(|(kind, _)| *kind)
        });
        let mode = match (full, self.random.random_range(0..100)) {
            (Some(_), 0..50) | (None, 90..) => Mode::Overwrite,
            (_, 50..75) => Mode::Merge,
            _ => Mode::Append,
        };
        let shared = match (mode, self.mix) {
            (Mode::Append, Mix::Steady) => 0,
            (Mode::Append, Mix::Race) => 15,
            (Mode::Merge | Mode::Overwrite, _) => 80,
        };
        let keys = if self.chance(shared) { Keys::Shared } else { Keys::Own };
        let rows = match (mode, full) {
            (Mode::Overwrite, Some(kind)) => self.replacement(kind, keys),
            (Mode::Overwrite, None) => {
                let kind = *[Kind::Item, Kind::Note].choose(&mut self.random).unwrap_or(&Kind::Note);
                self.replacement(kind, keys)
            }
            (Mode::Append | Mode::Merge, _) => self.rows(keys),
        };
        let form = if rows.len() == 1 && self.chance(60) { Form::Arrow } else { Form::Ndjson };
        let conditional = self.mix == Mix::Race && self.chance(12);
        let expected_head = if conditional { self.heads.get(&branch).copied() } else { None };
        let purpose = if self.chance(5) { Purpose::Validate } else { Purpose::Commit };
        // A load of links alone names items that others wrote.
        let keys = if rows.keys().eq([&Kind::Link]) { Keys::Shared } else { keys };
        Load { operation: Client::mint_operation_id(), branch, mode, form, purpose, keys, expected_head, rows }
    }

    /// Rows of one, two or three types.
    fn rows(&mut self, keys: Keys) -> BTreeMap<Kind, Vec<Row>> {
        let mut rows = BTreeMap::new();
        match self.random.random_range(0..10) {
            0..3 => self.nodes(&mut rows, Kind::Note, keys),
            3..6 => self.nodes(&mut rows, Kind::Item, keys),
            6 => self.links(&mut rows, &shared_keys()),
            7 => {
                self.nodes(&mut rows, Kind::Item, keys);
                self.nodes(&mut rows, Kind::Note, keys);
            }
            _ => {
                self.nodes(&mut rows, Kind::Item, keys);
                let ends: Vec<String> = rows[&Kind::Item].iter().map(|row| row.key.clone()).collect();
                self.links(&mut rows, &ends);
                if self.chance(40) {
                    self.nodes(&mut rows, Kind::Note, keys);
                }
            }
        }
        rows
    }

    /// Rows that replace a type; items now and then without the links that may still name them.
    fn replacement(&mut self, kind: Kind, keys: Keys) -> BTreeMap<Kind, Vec<Row>> {
        let mut rows = BTreeMap::new();
        self.nodes(&mut rows, kind, keys);
        if kind == Kind::Item && self.chance(85) {
            let ends: Vec<String> = rows[&Kind::Item].iter().map(|row| row.key.clone()).collect();
            self.links(&mut rows, &ends);
        }
        rows
    }

    fn nodes(&mut self, rows: &mut BTreeMap<Kind, Vec<Row>>, kind: Kind, keys: Keys) {
        let count = 1 + self.below(LOAD_ROWS_MAX);
        let mut chosen = BTreeSet::new();
        for row in 0..count {
            chosen.insert(match keys {
                Keys::Own => format!("c{}n{}r{row}", self.client, self.number),
                Keys::Shared => format!("h{}", self.random.random_range(0..SHARED_KEYS)),
            });
        }
        rows.insert(kind, self.marked(kind, chosen));
    }

    fn links(&mut self, rows: &mut BTreeMap<Kind, Vec<Row>>, ends: &[String]) {
        let count = 1 + self.below(2);
        let mut chosen = BTreeSet::new();
        for _ in 0..count {
            let (source, destination) = (self.below(ends.len()), self.below(ends.len()));
            chosen.insert(format!("{}{LINK_ARROW}{}", ends[source], ends[destination]));
        }
        rows.insert(Kind::Link, self.marked(Kind::Link, chosen));
    }

    /// Marks that name client, operation, type and row.
    fn marked(&self, kind: Kind, keys: BTreeSet<String>) -> Vec<Row> {
        let mark = |(row, key)| Row { key, mark: format!("c{}.o{}.{}{row}", self.client, self.number, kind.name()) };
        keys.into_iter().enumerate().map(mark).collect()
    }
}

fn shared_keys() -> Vec<String> {
    (0..SHARED_KEYS).map(|key| format!("h{key}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request without its operation id, which no seed decides.
    fn outline(asked: &Asked) -> String {
        match asked {
            Asked::Load(load) => format!("{} {:?} {:?} {:?}", load.branch, load.mode, load.form, load.rows),
            Asked::Create { name, source, .. } => format!("create {name} {source:?}"),
            Asked::Delete { name, .. } => format!("delete {name}"),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn same_seed_asks_the_same_and_another_seed_does_not() {
        let drawn = |seed, client| {
            let mut workload = Workload::new(seed, client, Mix::Race);
            (0..50).map(|_| outline(&workload.draw().0)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(7, 1), drawn(7, 1));
        assert_ne!(drawn(7, 1), drawn(8, 1));
        assert_ne!(drawn(7, 1), drawn(7, 2));
    }

    #[test]
    fn every_kind_of_request_is_drawn_and_no_load_has_a_key_twice() {
        let mut workload = Workload::new(1, 0, Mix::Race);
        let mut kinds = BTreeSet::new();
        for _ in 0..2_000 {
            let (asked, delivery) = workload.draw();
            kinds.insert(format!("{delivery:?}"));
            let kind = match &asked {
                Asked::Load(load) => {
                    for rows in load.rows.values() {
                        let keys: BTreeSet<&str> = rows.iter().map(|row| row.key.as_str()).collect();
                        assert!(keys.len() == rows.len() && !rows.is_empty(), "{load:?}");
                    }
                    kinds.insert(format!("{} types", load.rows.len()));
                    kinds.insert(format!("{:?} {:?}", load.form, load.purpose));
                    format!("{:?}", load.mode)
                }
                Asked::Read { .. } => "read".to_owned(),
                Asked::Create { .. } => "create".to_owned(),
                Asked::Delete { .. } => "delete".to_owned(),
                Asked::Get { .. } => "get".to_owned(),
                Asked::List => "list".to_owned(),
            };
            kinds.insert(kind);
        }
        // Three modes, three numbers of types, four forms and purposes, three deliveries, five other requests.
        assert_eq!(kinds.len(), 3 + 3 + 4 + 3 + 5, "{kinds:?}");
    }
}
