//! The transition system: every step that any process, the store or time could make next.
//!
//! A step carries the state that it leads to. Steps of processes come first; crashes, lost replies, late puts and the passing of time are
//! faults, each with a budget. Where no process can go on and something is pending, the world steps into a state that says `stuck`.

use std::fmt;

use stateright::{Model, Property};

use crate::properties;
use crate::rules::{Rule, Without};
use crate::scenario::{Role, Scenario};
use crate::state::{
    Attempt, Branch, Chain, Entry, FIRST_BRANCH, Kind, Local, MAIN, Mask, Pin, Put, State, TABLES, Tree, Version,
    number,
};
use std::sync::Arc;

/// Who makes a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Actor(usize),
    Store,
    Time,
    Nobody,
}

/// One step and where it leads.
#[derive(Clone, PartialEq)]
pub(crate) struct Step {
    pub(crate) who: Who,
    pub(crate) what: &'static str,
    /// The graph version or table it is about.
    pub(crate) about: Option<u8>,
    pub(crate) to: State,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.who, self.what)
    }
}

/// A scenario under the protocol, or under the protocol without some rules.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) scenario: Scenario,
    pub(crate) without: Without,
}

/// Steps found so far from one state.
pub(crate) struct Steps<'a> {
    pub(crate) state: &'a State,
    pub(crate) found: &'a mut Vec<Step>,
}

impl Steps<'_> {
    pub(crate) fn add(&mut self, who: Who, what: &'static str, about: Option<u8>, change: impl FnOnce(&mut State)) {
        let mut to = self.state.clone();
        change(&mut to);
        self.found.push(Step { who, what, about, to });
    }

    /// A step of an actor.
    pub(crate) fn act(&mut self, actor: usize, what: &'static str, change: impl FnOnce(&mut State)) {
        self.add(Who::Actor(actor), what, None, change);
    }

    /// A step of an actor that only changes what it is about to do.
    pub(crate) fn turn(&mut self, actor: usize, what: &'static str, local: Local) {
        self.act(actor, what, |to| to.actors[actor] = local);
    }
}

impl World {
    pub(crate) fn holds(&self, rule: Rule) -> bool {
        self.without.holds(rule)
    }

    pub(crate) fn role(&self, actor: usize) -> Role {
        self.scenario.actors[actor].role
    }

    pub(crate) fn operation(&self, actor: u8) -> u8 {
        self.scenario.actors.get(usize::from(actor)).map_or(0, |actor| actor.operation)
    }

    /// The tables whose rows a request changes.
    pub(crate) fn tables(&self, actor: usize) -> Vec<u8> {
        match self.role(actor) {
            Role::Writer { tables, .. } => tables.to_vec(),
            Role::FastForward { table } => vec![table],
            Role::Rescuer
            | Role::Creator { .. }
            | Role::Deleter { .. }
            | Role::Schema { .. }
            | Role::Cleanup
            | Role::Reader => Vec::new(),
        }
    }

    /// The version of `chain` at which an operation changed rows or schema.
    pub(crate) fn committed(&self, chain: &Chain, operation: u8) -> bool {
        let is = |version: &Arc<Version>| {
            matches!(version.kind, Kind::Commit | Kind::Schema) && self.operation(version.attempt.actor) == operation
        };
        chain.versions.iter().any(is)
    }

    /// Chains that main's registry leads to: main itself, and the live branches.
    pub(crate) fn registered<'a>(&self, state: &'a State) -> Vec<&'a Chain> {
        let branches = state.main().newest().branches.iter().filter(|row| row.live);
        std::iter::once(state.main()).chain(branches.map(|row| state.chain(row.chain))).collect()
    }

    fn birth(&self) -> State {
        let nobody = Attempt { actor: u8::MAX, chain: MAIN, version: 0 };
        let row = Branch { chain: FIRST_BRANCH, name: 1, live: true };
        let version = Version {
            kind: Kind::Birth,
            attempt: nobody,
            pins: [Pin { maker: 0, version: 0 }; TABLES],
            unsettled: Vec::new(),
            schema: 0,
            head: 0,
            branches: if self.scenario.branch { vec![row] } else { Vec::new() },
            floor: 0,
            basis: None,
            time: 0,
        };
        let chain = |id, branches: Vec<Branch>| Chain {
            id,
            versions: vec![Arc::new(Version { branches, ..version.clone() })],
            intents: Vec::new(),
            of_commit: false,
            source: (MAIN, 0),
        };
        let mut chains = vec![chain(MAIN, version.branches.clone())];
        if self.scenario.branch {
            chains.push(chain(FIRST_BRANCH, Vec::new()));
        }
        let tree =
            |table, maker, owner| Tree { table, maker, owner, base: 0, entries: Vec::new(), gone: 0, times: vec![0] };
        let mut trees = vec![tree(0, 0, MAIN), tree(1, 0, MAIN)];
        if self.scenario.branch {
            // The first branch has written to table 0 before.
            trees.insert(1, tree(0, FIRST_BRANCH, FIRST_BRANCH));
            let birth = Arc::make_mut(&mut chains[1].versions[0]);
            birth.pins[0].maker = FIRST_BRANCH;
        }
        State {
            chains,
            trees,
            actors: vec![Local::Start; self.scenario.actors.len()],
            flying: Vec::new(),
            crashes: self.scenario.crashes,
            unknowns: self.scenario.unknowns,
            ticks: self.scenario.ticks,
            now: 0,
            violated: false,
            stuck: false,
        }
    }

    fn actor(&self, steps: &mut Steps<'_>, actor: usize) {
        match &steps.state.actors[actor] {
            Local::Answered(_) | Local::Dead => {}
            Local::Job { intent, proven, phase } => self.job(steps, actor, intent, *proven, *phase),
            Local::Start => match self.role(actor) {
                Role::Writer { .. } | Role::FastForward { .. } | Role::Schema { .. } => self.write(steps, actor, None),
                Role::Creator { .. } => self.create(steps, actor, None),
                Role::Deleter { .. } => self.delete(steps, actor),
                Role::Rescuer => self.take(steps, actor),
                Role::Cleanup => self.retain(steps, actor, None),
                Role::Reader => self.read(steps, actor),
            },
            Local::Again(old) => match self.role(actor) {
                Role::Creator { .. } => self.create(steps, actor, Some(old)),
                Role::Cleanup => self.retain(steps, actor, Some(old)),
                Role::Writer { .. }
                | Role::FastForward { .. }
                | Role::Schema { .. }
                | Role::Deleter { .. }
                | Role::Rescuer
                | Role::Reader => self.write(steps, actor, Some(old)),
            },
            Local::Retire { chain, base } => self.retire(steps, actor, *chain, *base),
            Local::Finish { chain } => self.finish(steps, actor, *chain),
            Local::Rescue { intent, slot, seen } => self.rescue(steps, actor, intent, *slot, seen),
            Local::Fence { chain, base, slots, aim } => self.fence(steps, actor, (*chain, *base), slots, *aim),
            Local::Plan { since, .. } if self.holds(Rule::FreshRetention) && *since < steps.state.now => {
                steps.turn(actor, "is held up, and begins again", Local::Start);
            }
            Local::Plan { floor, branches, .. } => self.plan(steps, actor, *floor, branches),
            Local::Delete { versions, intents } => self.sweep(steps, actor, versions, intents),
            Local::Read { .. } => steps.turn(actor, "ends its read", Local::Answered(crate::state::Outcome::Over)),
        }
    }

    /// Crashes: a process that serves forgets what it was about to do; a request is never heard of again.
    fn crashes(&self, steps: &mut Steps<'_>) {
        if steps.state.crashes == 0 {
            return;
        }
        for actor in 0..steps.state.actors.len() {
            if matches!(steps.state.actors[actor], Local::Start | Local::Answered(_) | Local::Dead | Local::Read { .. })
            {
                continue;
            }
            let after = if self.role(actor) == Role::Rescuer { Local::Start } else { Local::Dead };
            steps.act(actor, "crashes", |to| {
                to.crashes -= 1;
                to.actors[actor] = after;
            });
        }
    }

    /// Puts whose reply was lost land.
    fn late(&self, steps: &mut Steps<'_>) {
        for (at, put) in steps.state.flying.iter().enumerate() {
            let land = |to: &mut State| {
                to.flying.remove(at);
                let now = to.now;
                match put {
                    Put::Intent(intent) => {
                        let chain = to.chain_mut(intent.attempt.chain);
                        if chain.intent(intent.attempt.version).is_none() {
                            chain.put_intent(intent.clone());
                        }
                    }
                    Put::Entry { table, maker, version, by, restores } => {
                        let tree = to.tree_mut(*table, *maker);
                        if tree.head() + 1 == *version {
                            let entry = match by {
                                Some((attempt, step, of)) => Entry::Commit { attempt: *attempt, step: *step, of: *of },
                                None => Entry::Restore(*restores),
                            };
                            tree.push(entry, now);
                        }
                    }
                    Put::Version { chain, version, record } => {
                        to.publish(*chain, *version, record);
                    }
                }
            };
            let (what, about) = match put {
                Put::Intent(intent) => ("the intent put reaches its place late, for version", intent.attempt.version),
                Put::Entry { table, .. } => ("the table put reaches its place late, of table", *table),
                Put::Version { version, .. } => ("the publication reaches its place late, as version", *version),
            };
            steps.add(Who::Store, what, Some(about), land);
        }
    }

    fn time(&self, steps: &mut Steps<'_>) {
        let state = steps.state;
        let reading = state.actors.iter().any(|local| matches!(local, Local::Read { .. }));
        if state.ticks > 0 && state.flying.is_empty() && !reading {
            steps.add(Who::Time, "a week passes", None, |to| {
                to.ticks -= 1;
                to.now += 1;
            });
        }
    }

    /// Whether nothing is left to do: everybody was answered, and I-6 holds.
    pub(crate) fn at_rest(&self, state: &State) -> bool {
        let over = |(actor, local): (usize, &Local)| match local {
            Local::Answered(_) | Local::Dead => true,
            Local::Start => self.role(actor) == Role::Rescuer,
            _ => false,
        };
        state.actors.iter().enumerate().all(over)
            && self.registered(state).into_iter().all(|chain| quiesced(state, chain))
    }
}

/// I-6: no pending intent, no unsettled row, and pin = head for every tree that the branch owns and pins.
fn quiesced(state: &State, chain: &Chain) -> bool {
    let newest = chain.newest();
    let at_head = |(table, pin): (usize, &Pin)| {
        let tree = state.tree(number(table), pin.maker);
        tree.owner != chain.id || tree.head() == pin.version
    };
    !chain.is_retired()
        && chain.pending().is_none()
        && newest.unsettled.is_empty()
        && newest.pins.iter().enumerate().all(at_head)
}

impl Model for World {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![self.birth()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        if state.stuck || state.violated {
            return;
        }
        let mut steps = Steps { state, found: actions };
        for actor in 0..state.actors.len() {
            self.actor(&mut steps, actor);
        }
        // A lost reply is a choice of the store's beside a step that goes well, so it never comes alone.
        if steps.found.is_empty() && !self.at_rest(state) {
            steps.add(Who::Nobody, "nobody can go on, and something is pending", None, |to| to.stuck = true);
        }
        self.crashes(&mut steps);
        self.late(&mut steps);
        self.time(&mut steps);
    }

    fn next_state(&self, _: &State, step: Step) -> Option<State> {
        Some(step.to)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::of(self)
    }
}

/// The bit of a request in a table's content.
pub(crate) fn bit(actor: usize) -> Mask {
    1 << actor
}
