//! Branches: registration is a publication on main without effects; removal is the last version of the branch's own chain, then a tombstone.

use std::sync::Arc;

use crate::job::{armed, publication};
use crate::rules::Rule;
use crate::scenario::{From, Role};
use crate::state::{Branch, Chain, Intent, Kind, Local, MAIN, Outcome, Put, State, Version, made_by, number};
use crate::world::{Steps, World};

impl World {
    /// Whether an operation registered a branch.
    fn registered_by(&self, state: &State, operation: u8) -> bool {
        let is = |version: &Arc<Version>| {
            version.kind == Kind::Register && self.operation(version.attempt.actor) == operation
        };
        state.main().versions.iter().any(is)
    }

    pub(crate) fn create(&self, steps: &mut Steps<'_>, actor: usize, old: Option<&Arc<Intent>>) {
        let state = steps.state;
        let Role::Creator { name, from } = self.role(actor) else { return };
        let main = state.main();
        if self.registered_by(state, self.operation(number(actor))) && self.holds(Rule::ReceiptFirst) {
            return steps.turn(actor, "gets its receipt", Local::Answered(Outcome::Receipt));
        }
        if let Some(row) = state.live(name).filter(|_| self.holds(Rule::NameFree)) {
            if !state.chain(row.chain).is_retired() {
                let refused = Local::Answered(Outcome::Refused { done_already: false });
                steps.turn(actor, "is refused: the name is taken", refused);
            }
            return;
        }
        let source = match from {
            From::Name(0) => Some((main, main.latest())),
            From::Name(name) => state.live(name).map(|row| state.chain(row.chain)).map(|chain| (chain, chain.latest())),
            From::MainAt(version) => {
                let retained = version >= main.newest().floor || !self.holds(Rule::CommitRetained);
                Some((main, version)).filter(|_| retained)
            }
        };
        let Some((source, version)) = source.filter(|(chain, _)| !chain.is_retired()) else {
            return steps.turn(actor, "finds its source gone", Local::Answered(Outcome::Failed));
        };
        let row = Branch { chain: made_by(actor), name, live: true };
        let mut next = publication(actor, main, Kind::Register);
        next.branches.push(row);
        next.branches.sort();
        if let Some(old) = old.filter(|old| self.clone_stands(state, from, old)) {
            let local = armed(state, Vec::new(), next, old.staged);
            return steps.turn(actor, "looks again, and keeps its clone", local);
        }
        let birth = Version {
            kind: Kind::Birth,
            attempt: crate::state::Attempt { actor: number(actor), chain: row.chain, version: 0 },
            unsettled: Vec::new(),
            branches: Vec::new(),
            floor: 0,
            basis: None,
            time: state.now,
            ..source.at(version).clone()
        };
        let clone = Chain {
            id: row.chain,
            versions: vec![Arc::new(birth)],
            intents: Vec::new(),
            of_commit: matches!(from, From::MainAt(_)),
            source: (source.id, version),
        };
        let local = armed(state, Vec::new(), next, state.now);
        steps.act(actor, "clones its source", |to| {
            to.put_chain(clone);
            to.actors[actor] = local;
        });
    }

    /// Whether a clone of an earlier round may still be registered.
    fn clone_stands(&self, state: &State, from: From, old: &Intent) -> bool {
        let clone = state.chain(old.publication.attempt.actor + 2);
        let of_main = from == From::Name(0);
        let schema = !of_main || clone.at(0).schema == state.main().newest().schema || !self.holds(Rule::SchemaIs);
        let young = old.staged == state.now || !self.holds(Rule::FreshStaging);
        schema && young
    }

    pub(crate) fn delete(&self, steps: &mut Steps<'_>, actor: usize) {
        let state = steps.state;
        let Role::Deleter { name } = self.role(actor) else { return };
        let operation = self.operation(number(actor));
        let ended_by_it = |row: &&Branch| {
            let newest = state.chain(row.chain).newest();
            newest.kind == Kind::Retire && self.operation(newest.attempt.actor) == operation
        };
        let mine = state.main().newest().branches.iter().find(ended_by_it);
        match mine.copied().or_else(|| state.live(name)) {
            Some(row) if mine.is_some() && !row.live => {
                steps.turn(actor, "gets its receipt", Local::Answered(Outcome::Receipt));
            }
            Some(Branch { chain, .. }) if state.chain(chain).is_retired() || !self.holds(Rule::RetirementCompetes) => {
                steps.turn(actor, "is about to give the name back", Local::Finish { chain });
            }
            Some(Branch { chain, .. }) => {
                let base = state.chain(chain).latest();
                steps.turn(actor, "is about to end the chain", Local::Retire { chain, base });
            }
            None => steps.turn(actor, "finds no such branch", Local::Answered(Outcome::Failed)),
        }
    }

    /// The last version of a chain competes for its number with whoever holds the ticket.
    pub(crate) fn retire(&self, steps: &mut Steps<'_>, actor: usize, id: u8, base: u8) {
        let chain = steps.state.chain(id);
        let version = base + 1;
        let attempt = crate::state::Attempt { actor: number(actor), chain: id, version };
        let record = Version { kind: Kind::Retire, attempt, basis: None, ..chain.at(base).clone() };
        if chain.latest() == base {
            steps.act(actor, "ends the chain", |to| {
                to.publish(id, version, &record);
                to.actors[actor] = Local::Finish { chain: id };
            });
        } else {
            steps.turn(actor, "finds the version taken", Local::Start);
        }
        if steps.state.unknowns > 0 {
            steps.act(actor, "ends the chain, and hears nothing", |to| {
                to.fly(Put::Version { chain: id, version, record: Arc::new(record) });
                to.actors[actor] = Local::Start;
            });
        }
    }

    /// Turns the row of an ended branch into a tombstone, unless somebody else has.
    pub(crate) fn finish(&self, steps: &mut Steps<'_>, actor: usize, id: u8) {
        let state = steps.state;
        let main = state.main();
        let named = main.newest().branches.iter().find(|row| row.chain == id).map(|row| row.name);
        let row = match named {
            Some(name) if !self.holds(Rule::RemovalByIdentity) => state.live(name),
            _ => main.newest().branches.iter().copied().find(|row| row.chain == id && row.live),
        };
        let Some(row) = row else {
            let ended_by_it = state.chain(id).newest().attempt.actor == number(actor);
            let outcome = if ended_by_it { Outcome::Receipt } else { Outcome::Failed };
            return steps.turn(actor, "finds the name given back", Local::Answered(outcome));
        };
        let mut next = publication(actor, main, Kind::Remove);
        for other in &mut next.branches {
            other.live &= other.chain != row.chain;
        }
        debug_assert_eq!(next.attempt.chain, MAIN, "the registry is main's");
        let local = armed(state, Vec::new(), next, state.now);
        steps.turn(actor, "is about to take the ticket for the removal", local);
    }
}
