//! Cleanup: it publishes what is retained, decides what goes, deletes. And readers, which it must not disturb.
//!
//! What it deletes here: versions of tables, private trees that nothing named, and old intents.

use std::sync::Arc;

use crate::job::{armed, publication};
use crate::rules::Rule;
use crate::state::{Branch, Chain, Effect, Intent, Kind, Local, MAIN, Outcome, Pin, State, Tree, number};
use crate::world::{Steps, World};

impl World {
    /// Only the newest version of main is to be retained.
    pub(crate) fn retain(&self, steps: &mut Steps<'_>, actor: usize, old: Option<&Arc<Intent>>) {
        let state = steps.state;
        let main = state.main();
        if !self.holds(Rule::RetentionFirst) {
            let branches = main.newest().branches.clone();
            let plan = Local::Plan { floor: main.latest(), branches, since: state.now };
            return steps.turn(actor, "skips its retention", plan);
        }
        let mut next = publication(actor, main, Kind::Retention);
        next.floor = main.latest();
        let mut local = armed(state, Vec::new(), next, state.now);
        if let (Some(old), Local::Job { intent, .. }, false) = (old, &mut local, self.holds(Rule::BranchesAtRetention))
        {
            // What it read before it lost its ticket.
            Arc::make_mut(intent).listed.clone_from(&old.listed);
        }
        steps.turn(actor, "is about to take the ticket for its retention", local);
    }

    pub(crate) fn plan(&self, steps: &mut Steps<'_>, actor: usize, floor: u8, branches: &[Branch]) {
        let state = steps.state;
        let chains: Vec<&Chain> = state.chains.iter().filter(|chain| is_listed(chain, branches)).collect();
        let mut versions = Vec::new();
        for tree in &state.trees {
            let doomed = (0..=tree.head()).filter(|version| {
                let pin = Pin { maker: tree.maker, version: *version };
                tree.gone & (1 << version) == 0
                    && !chains.iter().any(|chain| self.names(chain, floor, tree.table, pin))
                    && (!self.holds(Rule::OrphanAge) || since(state, tree, pin) < state.now)
            });
            let mask = doomed.fold(0, |mask, version| mask | (1 << version));
            if mask != 0 {
                versions.push((tree.table, tree.maker, tree.times[0], mask));
            }
        }
        let mut intents = Vec::new();
        for chain in &chains {
            let swept = chain.intents.iter().filter(|intent| self.is_swept(state, chain, intent));
            intents.extend(swept.map(|intent| (chain.id, intent.attempt.version)));
        }
        steps.turn(actor, "decides what goes", Local::Delete { versions, intents });
    }

    fn is_swept(&self, state: &State, chain: &Chain, intent: &Intent) -> bool {
        let version = intent.attempt.version;
        if version > chain.latest() {
            return !self.holds(Rule::PublishedIntentsOnly) && state.now > 0;
        }
        !self.holds(Rule::OldIntentsOnly) || chain.at(version).time < state.now
    }

    /// Whether a chain, as far as it is retained, names a version of a table, or something pending on it does.
    fn names(&self, chain: &Chain, floor: u8, table: u8, pin: Pin) -> bool {
        let floor = if chain.id == MAIN { floor } else { 0 };
        let pinned =
            chain.versions.iter().skip(usize::from(floor)).any(|version| version.pins[usize::from(table)] == pin);
        let plans = |effect: &Effect| {
            let from = effect.pin.version;
            effect.table == table
                && effect.pin.maker == pin.maker
                && (from..=from + effect.steps).contains(&pin.version)
        };
        // Everything behind the pin, the fence too: only the publication that settles it will name it.
        let behind = |effect: &Effect| {
            effect.table == table && effect.pin.maker == pin.maker && effect.pin.version <= pin.version
        };
        let kept = self.holds(Rule::UnsettledKept);
        let unsettled = kept && chain.newest().unsettled.iter().any(|row| behind(&row.effect));
        let pending = chain.pending().filter(|_| self.holds(Rule::PendingIntentsKept)).is_some_and(|intent| {
            intent.publication.pins[usize::from(table)] == pin || intent.effects.iter().any(plans)
        });
        pinned || unsettled || pending
    }

    pub(crate) fn sweep(
        &self,
        steps: &mut Steps<'_>,
        actor: usize,
        versions: &[(u8, u8, u8, u16)],
        intents: &[(u8, u8)],
    ) {
        steps.act(actor, "deletes", |to| {
            for (table, maker, made, mask) in versions {
                let tree = to.tree_mut(*table, *maker);
                // A tree staged again is another one, though it bears the same name here.
                if tree.times[0] == *made {
                    tree.gone |= mask;
                }
            }
            for (chain, version) in intents {
                to.chain_mut(*chain).intents.retain(|intent| intent.attempt.version != *version);
            }
            to.actors[actor] = Local::Answered(Outcome::Over);
        });
    }

    pub(crate) fn read(&self, steps: &mut Steps<'_>, actor: usize) {
        let version = steps.state.main().latest();
        steps.turn(actor, "begins a read", Local::Read { chain: MAIN, version });
    }
}

/// Whether cleanup knows of a chain: main, and the branches that it listed.
fn is_listed(chain: &Chain, branches: &[Branch]) -> bool {
    chain.id == MAIN || branches.iter().any(|row| row.live && row.chain == chain.id)
}

/// Since when nothing names a version of a table: the latest publication that stopped naming it, or when it was made.
fn since(state: &State, tree: &Tree, pin: Pin) -> u8 {
    let made = tree.times[usize::from(pin.version)];
    let stopped = state.chains.iter().flat_map(|chain| {
        let names = |at: &usize| chain.versions[*at].pins[usize::from(tree.table)] == pin;
        (0..chain.versions.len()).filter(names).map(|at| {
            let next = (at + 1).min(chain.versions.len() - 1);
            chain.at(number(next)).time
        })
    });
    stopped.fold(made, u8::max)
}

/// Whether a retention is among main's versions.
pub(crate) fn has_retention(state: &State) -> bool {
    state.main().versions.iter().any(|version| version.kind == Kind::Retention)
}
