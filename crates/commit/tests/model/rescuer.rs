//! Rescuers: every decision about an intent is the shipped `decide`'s; then tables of aborted attempts are fenced and settled.
//!
//! A rescuer may take any pending intent at any moment, for settling a live owner is safe. It also finishes the removal of ended branches.

use std::sync::Arc;

use omnigraph_commit::{Decision, Found, Observation, Owner, PublishedBy, SlotState, decide};

use crate::job::{armed, publication};
use crate::rules::Rule;
use crate::state::{Chain, Effect, Entry, Intent, Kind, Local, MAIN, Pin, Put, Seen, Slot, State, Unsettled, Version};
use crate::world::{Steps, Who, World};

/// Who published an intent's version, as the product distinguishes it.
fn slot_state(world: &World, chain: &Chain, intent: &Intent) -> SlotState {
    if chain.latest() < intent.attempt.version {
        return SlotState::Free;
    }
    let found = chain.at(intent.attempt.version);
    let by = if found.kind == Kind::Retire && world.holds(Rule::RetirementOrphans) {
        PublishedBy::Retirement
    } else if found.attempt != intent.attempt || found.kind == Kind::Retire {
        PublishedBy::Another
    } else if found.kind != Kind::Abort {
        PublishedBy::ThisAttempt
    } else if chain.newest().unsettled.iter().any(|row| row.attempt == intent.attempt) {
        PublishedBy::AbortUnsettled
    } else {
        PublishedBy::AbortSettled
    };
    SlotState::Published(by)
}

fn observe(state: &State, intent: &Intent, effect: &Effect) -> Seen {
    let tree = state.tree(effect.table, effect.pin.maker);
    let expected = effect.pin.version;
    if tree.head() < expected {
        return Seen::Behind;
    }
    let ours = tree.tail(expected, intent.attempt).min(effect.steps);
    match tree.entry(expected + ours + 1) {
        Some(Entry::Restore(of)) if of == expected => Seen::Fenced,
        Some(_) => Seen::Foreign,
        None if ours == effect.steps => Seen::Ours,
        None if ours > 0 => Seen::Partial,
        None => Seen::Absent,
    }
}

fn observation(seen: Seen) -> Observation {
    match seen {
        Seen::Absent => Observation::Absent,
        Seen::Ours => Observation::Ours,
        Seen::Partial => Observation::Partial,
        Seen::Fenced => Observation::Fenced,
        Seen::Foreign => Observation::Foreign { found: Found::Unreadable },
        Seen::Behind => Observation::Behind,
    }
}

impl World {
    /// Looks for something to settle, on main and on every registered branch.
    pub(crate) fn take(&self, steps: &mut Steps<'_>, actor: usize) {
        let state = steps.state;
        for chain in self.registered(state) {
            let newest = chain.newest();
            if chain.is_retired() {
                if self.holds(Rule::RemovalFinished) && chain.id != MAIN {
                    self.finish(steps, actor, chain.id);
                }
            } else if !newest.unsettled.is_empty() {
                let slots = Vec::new();
                let local = Local::Fence { chain: chain.id, base: chain.latest(), slots, aim: None };
                steps.turn(actor, "begins to settle tables", local);
            } else if let Some(intent) = chain.pending() {
                let local = Local::Rescue { intent: intent.clone(), slot: Slot::Free, seen: Vec::new() };
                steps.add(Who::Actor(actor), "takes up the intent of version", Some(intent.attempt.version), |to| {
                    to.actors[actor] = local;
                });
            }
        }
    }

    pub(crate) fn rescue(&self, steps: &mut Steps<'_>, actor: usize, intent: &Arc<Intent>, slot: Slot, seen: &[Seen]) {
        let state = steps.state;
        if let Some(effect) = intent.effects.get(seen.len()) {
            let mut seen = seen.to_vec();
            seen.push(observe(state, intent, effect));
            let local = Local::Rescue { intent: intent.clone(), slot, seen };
            return steps.add(Who::Actor(actor), "observes table", Some(effect.table), |to| to.actors[actor] = local);
        }
        let mut observations: Vec<Observation> = seen.iter().map(|seen| observation(*seen)).collect();
        if !self.holds(Rule::AllOrAbort) && seen.contains(&Seen::Ours) {
            observations.fill(Observation::Ours);
        }
        let slot = match slot {
            Slot::Free => SlotState::Free,
            Slot::Another => SlotState::Published(PublishedBy::Another),
        };
        match decide(slot, &observations, Owner::Gone) {
            Decision::RollForward => self.decided(steps, actor, intent, "rolls forward", intent.publication.clone()),
            Decision::Abort => {
                let base = state.chain(intent.attempt.chain).at(intent.attempt.version - 1);
                self.decided(steps, actor, intent, "aborts", self.abort(base, intent));
            }
            Decision::Violation => steps.act(actor, "finds the protocol broken", |to| to.violated = true),
            Decision::Finished
            | Decision::RolledBack
            | Decision::SettleTables
            | Decision::NeverUsed
            | Decision::Orphaned
            | Decision::Wait => steps.turn(actor, "has nothing to publish", Local::Start),
        }
    }

    fn abort(&self, base: &Version, intent: &Intent) -> Version {
        let mut next = Version { kind: Kind::Abort, attempt: intent.attempt, basis: None, ..base.clone() };
        if self.holds(Rule::AbortNamesEffects) {
            let row = |effect: &Effect| Unsettled { attempt: intent.attempt, effect: *effect };
            next.unsettled.extend(intent.effects.iter().map(row));
            next.unsettled.sort();
        }
        next
    }

    /// Publishes a decision at the intent's own version; won or lost, looks again.
    fn decided(&self, steps: &mut Steps<'_>, actor: usize, intent: &Arc<Intent>, what: &'static str, record: Version) {
        let state = steps.state;
        let (id, version) = (intent.attempt.chain, intent.attempt.version);
        let chain = state.chain(id);
        let free = chain.latest() + 1 == version;
        let rebased = !free && !self.holds(Rule::DecidedAtOwnVersion);
        steps.add(Who::Actor(actor), what, Some(version), |to| {
            if rebased {
                let later = chain.latest() + 1;
                let mut moved = record.clone();
                if moved.kind == Kind::Abort {
                    moved = self.abort(chain.newest(), intent);
                }
                to.publish(id, later, &moved);
            } else {
                to.publish(id, version, &record);
            }
            to.actors[actor] = self.look_again(to, intent);
        });
        if state.unknowns > 0 {
            steps.act(actor, "publishes its decision, and hears nothing", |to| {
                to.fly(Put::Version { chain: id, version, record: Arc::new(record) });
                to.actors[actor] = self.look_again(to, intent);
            });
        }
    }

    /// The next round of a rescue: what is newest, and whether that already answers it.
    fn look_again(&self, state: &mut State, intent: &Arc<Intent>) -> Local {
        let slot = slot_state(self, state.chain(intent.attempt.chain), intent);
        let slot = match slot {
            SlotState::Free => Slot::Free,
            SlotState::Published(PublishedBy::Another) => Slot::Another,
            SlotState::Published(_) => {
                state.violated |= decide(slot, &[], Owner::Gone) == Decision::Violation;
                return Local::Start;
            }
        };
        Local::Rescue { intent: intent.clone(), slot, seen: Vec::new() }
    }

    pub(crate) fn fence(
        &self,
        steps: &mut Steps<'_>,
        actor: usize,
        (id, base): (u8, u8),
        slots: &[Option<u8>],
        aim: Option<u8>,
    ) {
        let state = steps.state;
        let rows = &state.chain(id).at(base).unsettled;
        let Some(row) = rows.get(slots.len()) else {
            return self.settle(steps, actor, (id, base), slots);
        };
        let turned = |slot: Option<u8>| {
            let mut slots = slots.to_vec();
            slots.push(slot);
            Local::Fence { chain: id, base, slots, aim: None }
        };
        let Effect { table, pin, .. } = row.effect;
        let pinned = state.chain(id).at(base).pins[usize::from(table)] == pin;
        if (!pinned && self.holds(Rule::SettleLeavesMovedPins)) || !self.holds(Rule::FencedBeforeSettled) {
            return steps.turn(actor, "leaves a table whose pin has moved", turned(None));
        }
        if let Some(aim) = aim {
            return self.restore(steps, actor, row, aim, (turned(Some(aim)), turned(None)));
        }
        let tree = state.tree(table, pin.maker);
        let slot = pin.version + tree.tail(pin.version, row.attempt) + 1;
        match tree.entry(slot) {
            Some(Entry::Restore(of)) if of == pin.version => {
                steps.turn(actor, "finds a table fenced", turned(Some(slot)));
            }
            Some(_) if state.chain(id).latest() > base => steps.turn(actor, "looks again", Local::Start),
            Some(_) => steps.act(actor, "finds a table that needs repair", |to| to.violated = true),
            None => {
                let local = Local::Fence { chain: id, base, slots: slots.to_vec(), aim: Some(slot) };
                steps.add(Who::Actor(actor), "finds the place for a fence on table", Some(table), |to| {
                    to.actors[actor] = local;
                });
            }
        }
    }

    /// Writes a restore at exactly `slot`; an occupied slot is looked at again.
    fn restore(&self, steps: &mut Steps<'_>, actor: usize, row: &Unsettled, slot: u8, (won, lost): (Local, Local)) {
        let Effect { table, pin, .. } = row.effect;
        let lost = match lost {
            Local::Fence { chain, base, mut slots, .. } => {
                slots.pop();
                Local::Fence { chain, base, slots, aim: None }
            }
            other => other,
        };
        let free = steps.state.tree(table, pin.maker).head() + 1 == slot;
        if free {
            steps.add(Who::Actor(actor), "fences table", Some(table), |to| {
                let now = to.now;
                to.tree_mut(table, pin.maker).push(Entry::Restore(pin.version), now);
                to.actors[actor] = won;
            });
        } else {
            steps.turn(actor, "finds the place of its fence occupied", lost.clone());
        }
        if steps.state.unknowns > 0 {
            steps.act(actor, "fences a table, and hears nothing", |to| {
                let restores = pin.version;
                to.fly(Put::Entry { table, maker: pin.maker, version: slot, by: None, restores });
                to.actors[actor] = lost;
            });
        }
    }

    /// The publication that removes the rows, and moves the pins onto the fences.
    fn settle(&self, steps: &mut Steps<'_>, actor: usize, (id, base): (u8, u8), slots: &[Option<u8>]) {
        let chain = steps.state.chain(id);
        if chain.latest() > base {
            return steps.turn(actor, "looks again", Local::Start);
        }
        let mut next = publication(actor, chain, Kind::Settle);
        for (row, slot) in chain.newest().unsettled.iter().zip(slots) {
            if let Some(version) = *slot {
                next.pins[usize::from(row.effect.table)] = Pin { version, ..row.effect.pin };
            }
        }
        next.unsettled.clear();
        let local = armed(steps.state, Vec::new(), next, steps.state.now);
        steps.turn(actor, "has fenced every table", local);
    }
}
