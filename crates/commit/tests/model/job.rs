//! Publications under a ticket: arm, apply, publish, and what follows when the ticket or the version is another's.
//!
//! Row writes, branch registrations, removals, settling and retention all go through here, as they do in the product.

use std::sync::Arc;

use crate::rules::Rule;
use crate::scenario::Role;
use crate::state::{Attempt, Chain, Effect, Entry, Intent, Kind, Local, Outcome, Phase, Put, State, Version, number};
use crate::world::{Steps, World};

/// What an attempt is about to be the ticket for.
pub(crate) fn attempt(actor: usize, chain: &Chain) -> Attempt {
    Attempt { actor: number(actor), chain: chain.id, version: chain.latest() + 1 }
}

/// A publication on the newest version of `chain` that keeps everything; the caller changes what it is for.
pub(crate) fn publication(actor: usize, chain: &Chain, kind: Kind) -> Version {
    Version { kind, attempt: attempt(actor, chain), basis: None, ..chain.newest().clone() }
}

/// An intent that is about to be armed on the newest version of its chain.
pub(crate) fn armed(state: &State, effects: Vec<Effect>, publication: Version, staged: u8) -> Local {
    let listed = match publication.kind {
        Kind::Retention => publication.branches.clone(),
        _ => Vec::new(),
    };
    let intent = Intent { attempt: publication.attempt, effects, publication, staged, listed };
    Local::Job { intent: Arc::new(intent), proven: state.now, phase: Phase::Arm }
}

impl World {
    pub(crate) fn job(&self, steps: &mut Steps<'_>, actor: usize, intent: &Arc<Intent>, proven: u8, phase: Phase) {
        let late = self.holds(Rule::FreshProof) && steps.state.now > proven;
        match phase {
            Phase::Arm if late => steps.turn(actor, "is held up, and looks again", self.lost(actor, intent)),
            Phase::Arm => self.arm(steps, actor, intent),
            Phase::ArmUnknown => self.arm_again(steps, actor, intent),
            Phase::Apply(_) | Phase::Publish if late => {
                steps.turn(actor, "is held up, and lets its intent be settled", waiting(steps.state, actor));
            }
            Phase::Apply(made) => self.apply(steps, actor, intent, made),
            Phase::Publish => self.publish(steps, actor, intent, proven),
            Phase::Wait => self.wait(steps, actor, intent, proven),
        }
    }

    fn arm(&self, steps: &mut Steps<'_>, actor: usize, intent: &Arc<Intent>) {
        let state = steps.state;
        let ticket = intent.attempt.version;
        let chain = state.chain(intent.attempt.chain);
        let published = chain.latest() >= ticket;
        let overwrites = !self.holds(Rule::TicketIfAbsent) && !published;
        if chain.intent(ticket).is_none() || overwrites {
            steps.act(actor, "arms", |to| to_armed(to, actor, intent));
        } else if published || self.role(actor) == Role::Rescuer {
            steps.turn(actor, "finds its ticket taken", self.lost(actor, intent));
        }
        if state.unknowns > 0 {
            let fails_at_once = !self.holds(Rule::UnknownArmRepeated);
            steps.act(actor, "puts its intent, and hears nothing", |to| {
                to.fly(Put::Intent(intent.clone()));
                if fails_at_once {
                    to.actors[actor] = Local::Answered(Outcome::Failed);
                } else {
                    to_phase(to, actor, Phase::ArmUnknown);
                }
            });
        }
    }

    fn arm_again(&self, steps: &mut Steps<'_>, actor: usize, intent: &Arc<Intent>) {
        let state = steps.state;
        let chain = state.chain(intent.attempt.chain);
        // A store may refuse a put beside one that is under way, as it refuses one of an object that exists.
        let is_own = |put: &Put| matches!(put, Put::Intent(flying) if flying.attempt == intent.attempt);
        let is_refused = chain.intent(intent.attempt.version).is_none() && state.flying.iter().any(is_own);
        if is_refused && !self.holds(Rule::AbsentArmRepeated) {
            let lost = Local::Answered(Outcome::Failed);
            steps.turn(actor, "is answered that its intent exists, and takes its ticket for lost", lost);
        }
        match chain.intent(intent.attempt.version) {
            None => steps.act(actor, "puts the same intent again", |to| to_armed(to, actor, intent)),
            Some(found) if found.attempt == intent.attempt => {
                steps.act(actor, "finds its intent stored", |to| to_phase(to, actor, first(intent)));
            }
            Some(_) if chain.latest() >= intent.attempt.version => {
                steps.turn(actor, "finds its ticket taken", self.lost(actor, intent));
            }
            Some(_) if self.role(actor) == Role::Rescuer => {
                steps.turn(actor, "finds its ticket taken", self.lost(actor, intent));
            }
            Some(_) => {}
        }
    }

    fn apply(&self, steps: &mut Steps<'_>, actor: usize, intent: &Arc<Intent>, made: u8) {
        let state = steps.state;
        let mut before = 0;
        let Some((effect, step)) = intent.effects.iter().find_map(|effect| {
            let here = made - before;
            before += effect.steps;
            (made < before).then_some((*effect, here + 1))
        }) else {
            return;
        };
        let (table, maker) = (effect.table, effect.pin.maker);
        let version = effect.pin.version + step;
        let total: u8 = intent.effects.iter().map(|effect| effect.steps).sum();
        let next = if made + 1 == total { Phase::Publish } else { Phase::Apply(made + 1) };
        let free = state.tree(table, maker).head() + 1 == version;
        if free || !self.holds(Rule::ExactCommits) {
            let entry = Entry::Commit { attempt: intent.attempt, step, of: effect.steps };
            steps.add(crate::world::Who::Actor(actor), "makes an effect on table", Some(table), |to| {
                let now = to.now;
                to.tree_mut(table, maker).push(entry, now);
                to_phase(to, actor, next);
            });
        } else {
            steps.turn(actor, "finds the place of an effect occupied", waiting(state, actor));
        }
        if state.unknowns > 0 {
            let by = Some((intent.attempt, step, effect.steps));
            steps.act(actor, "makes an effect, and hears nothing", |to| {
                to.fly(Put::Entry { table, maker, version, by, restores: 0 });
                to_phase(to, actor, Phase::Wait);
            });
        }
    }

    fn publish(&self, steps: &mut Steps<'_>, actor: usize, intent: &Arc<Intent>, proven: u8) {
        let state = steps.state;
        let Attempt { chain, version, .. } = intent.attempt;
        if state.chain(chain).latest() + 1 == version {
            let stays = self.holds(Rule::IntentsStay);
            let done = self.done(actor, intent, proven);
            steps.add(crate::world::Who::Actor(actor), "publishes version", Some(version), |to| {
                to.publish(chain, version, &intent.publication);
                if !stays {
                    to.chain_mut(chain).intents.retain(|other| other.attempt != intent.attempt);
                }
                to.actors[actor] = done;
            });
        } else {
            steps.turn(actor, "finds its version taken", waiting(state, actor));
        }
        if state.unknowns > 0 {
            let fails_at_once = !self.holds(Rule::UnknownPublishReadBack);
            steps.act(actor, "publishes, and hears nothing", |to| {
                to.fly(Put::Version { chain, version, record: Arc::new(intent.publication.clone()) });
                if fails_at_once {
                    to.actors[actor] = Local::Answered(Outcome::Failed);
                } else {
                    to_phase(to, actor, Phase::Wait);
                }
            });
        }
    }

    /// What is at the ticket's version is the truth.
    fn wait(&self, steps: &mut Steps<'_>, actor: usize, intent: &Arc<Intent>, proven: u8) {
        let chain = steps.state.chain(intent.attempt.chain);
        if chain.latest() < intent.attempt.version {
            // Whoever settles main settles its own intent there too.
            if self.role(actor) == Role::Rescuer {
                steps.turn(actor, "settles its own intent", Local::Start);
            }
            return;
        }
        let found = chain.at(intent.attempt.version);
        if found.attempt == intent.attempt && found.kind != Kind::Abort {
            return steps.turn(actor, "finds itself published", self.done(actor, intent, proven));
        }
        let answer = match self.role(actor) {
            Role::Rescuer | Role::Deleter { .. } => Local::Start,
            Role::Cleanup => Local::Answered(Outcome::Over),
            _ if self.committed(chain, self.operation(intent.attempt.actor)) => Local::Answered(Outcome::Receipt),
            Role::Writer { .. }
            | Role::FastForward { .. }
            | Role::Schema { .. }
            | Role::Creator { .. }
            | Role::Reader => Local::Answered(Outcome::Failed),
        };
        steps.turn(actor, "finds another publication in its place", answer);
    }

    /// After its own publication.
    fn done(&self, actor: usize, intent: &Arc<Intent>, proven: u8) -> Local {
        let Attempt { chain, version, .. } = intent.attempt;
        match self.role(actor) {
            Role::Rescuer => Local::Start,
            Role::Cleanup => {
                Local::Plan { floor: intent.publication.floor, branches: intent.listed.clone(), since: proven }
            }
            Role::Writer { .. }
            | Role::FastForward { .. }
            | Role::Schema { .. }
            | Role::Creator { .. }
            | Role::Deleter { .. }
            | Role::Reader => Local::Answered(Outcome::Done { chain, version }),
        }
    }

    /// After its ticket went to somebody else before anything happened.
    fn lost(&self, actor: usize, intent: &Arc<Intent>) -> Local {
        match self.role(actor) {
            Role::Rescuer | Role::Deleter { .. } => Local::Start,
            Role::Writer { .. }
            | Role::FastForward { .. }
            | Role::Schema { .. }
            | Role::Creator { .. }
            | Role::Cleanup
            | Role::Reader => Local::Again(intent.clone()),
        }
    }
}

fn first(intent: &Intent) -> Phase {
    if intent.effects.is_empty() { Phase::Publish } else { Phase::Apply(0) }
}

fn to_armed(to: &mut State, actor: usize, intent: &Arc<Intent>) {
    to.chain_mut(intent.attempt.chain).put_intent(intent.clone());
    to_phase(to, actor, first(intent));
}

fn to_phase(to: &mut State, actor: usize, next: Phase) {
    if let Local::Job { phase, .. } = &mut to.actors[actor] {
        *phase = next;
    }
}

fn waiting(state: &State, actor: usize) -> Local {
    match &state.actors[actor] {
        Local::Job { intent, proven, .. } => Local::Job { intent: intent.clone(), proven: *proven, phase: Phase::Wait },
        other => other.clone(),
    }
}
