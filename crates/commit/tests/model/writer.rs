//! Row writers, fast-forwards and schema applies: from the news at the newest version to an attempt that can be armed there, or to an answer.
//!
//! In this order: the operation's receipt, unsettled rows, the token; then arm again with what is staged, or stage again.

use std::sync::Arc;

use crate::job::{armed, publication};
use crate::rules::Rule;
use crate::scenario::Role;
use crate::state::{
    Basis, Chain, ELSEWHERE, Effect, Intent, Kind, Local, MAIN, Outcome, Pin, State, TABLES, Tree, made_by, number,
};
use crate::world::{Steps, World, bit};

/// What a token finds in a newer state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Equal,
    PinsMoved,
    Changed,
}

impl World {
    /// One look at the newest version; `old` is what was staged for an earlier one.
    pub(crate) fn write(&self, steps: &mut Steps<'_>, actor: usize, old: Option<&Arc<Intent>>) {
        let state = steps.state;
        let operation = self.operation(number(actor));
        let name = match self.role(actor) {
            Role::Writer { name, .. } => name,
            _ => 0,
        };
        let id = if name == 0 { Some(MAIN) } else { state.live(name).map(|row| row.chain) };
        let ended = state.main().newest().branches.iter().filter(|row| row.name == name && name != 0);
        let ended = ended.filter(|row| !row.live || state.chain(row.chain).is_retired());
        let on_ended = ended.clone().any(|row| self.committed(state.chain(row.chain), operation));
        if on_ended && self.holds(Rule::ReceiptOnRemoved) {
            return steps.turn(actor, "gets its receipt from a removed branch", Local::Answered(Outcome::Receipt));
        }
        let Some(chain) = id.map(|id| state.chain(id)).filter(|chain| !chain.is_retired()) else {
            return steps.turn(actor, "finds no such branch", Local::Answered(Outcome::Failed));
        };
        let strict = matches!(self.role(actor), Role::Writer { strict: true, .. } | Role::Schema { .. });
        let rule = if strict && old.is_some() { Rule::ReceiptBeforeRefusal } else { Rule::ReceiptFirst };
        let done_already = self.committed(chain, operation);
        if done_already && self.holds(rule) {
            return steps.turn(actor, "gets its receipt", Local::Answered(Outcome::Receipt));
        }
        let tables = self.tables(actor);
        let waits = chain.newest().unsettled.iter().any(|row| tables.contains(&row.effect.table));
        if waits && self.holds(Rule::SettledBeforeChanged) {
            return;
        }
        let found = old.map(|old| (self.compare(state, chain, old), old));
        match found {
            Some((Token::Equal, old)) => {
                let again = self.rearm(state, actor, chain, old);
                steps.turn(actor, "looks again, and keeps what it staged", again);
            }
            Some((Token::Changed, _)) if strict => {
                let refused = Local::Answered(Outcome::Refused { done_already });
                steps.turn(actor, "is refused: what it rests on has changed", refused);
            }
            Some((Token::PinsMoved | Token::Changed, _)) | None => self.prepare(steps, actor, chain),
        }
    }

    fn compare(&self, state: &State, chain: &Chain, old: &Intent) -> Token {
        let base = chain.newest();
        let Some(basis) = old.publication.basis else { return Token::PinsMoved };
        let alone = !basis.alone || base.branches.iter().all(|row| !row.live);
        let head = basis.head.is_none_or(|head| head == base.head);
        if (!alone && self.holds(Rule::NoOtherBranches)) || (!head && self.holds(Rule::ExactHead)) {
            return Token::Changed;
        }
        if self.holds(Rule::TokenAtRearm) && (chain.id != old.attempt.chain || basis.schema != base.schema) {
            return Token::Changed;
        }
        if self.holds(Rule::TokenAtRearm) {
            for table in 0..TABLES {
                let content = state.content(number(table), base.pins[table]);
                if basis.read[table].is_some_and(|read| read != content) {
                    return Token::Changed;
                }
            }
        }
        let aged = self.holds(Rule::FreshStaging) && old.staged < state.now;
        let holds_pin = |effect: &Effect| base.pins[usize::from(effect.table)] == effect.pin;
        let pins_stand = old.effects.iter().all(holds_pin) || !self.holds(Rule::TokenAtRearm);
        if aged || !pins_stand { Token::PinsMoved } else { Token::Equal }
    }

    /// The same staged files onto a newer version.
    fn rearm(&self, state: &State, actor: usize, chain: &Chain, old: &Intent) -> Local {
        let mut next = publication(actor, chain, old.publication.kind);
        for table in self.tables(actor) {
            next.pins[usize::from(table)] = old.publication.pins[usize::from(table)];
        }
        if old.publication.kind == Kind::Schema {
            next.schema = old.publication.schema;
        }
        next.head = next.attempt.version;
        next.basis = old.publication.basis;
        armed(state, old.effects.clone(), next, old.staged)
    }

    fn prepare(&self, steps: &mut Steps<'_>, actor: usize, chain: &Chain) {
        let state = steps.state;
        let base = chain.newest();
        let mut next = publication(actor, chain, Kind::Commit);
        next.head = next.attempt.version;
        let mut basis = Basis { read: [None; TABLES], schema: base.schema, head: None, alone: false };
        if let Role::Schema { alone } = self.role(actor) {
            if alone && base.branches.iter().any(|row| row.live) {
                let refused = Local::Answered(Outcome::Refused {
                    done_already: self.committed(chain, self.operation(number(actor))),
                });
                return steps.turn(actor, "is refused: there are other branches", refused);
            }
            next.kind = Kind::Schema;
            next.schema = made_by(actor);
            basis.alone = alone;
            basis.head = Some(base.head);
        }
        let mut effects = Vec::new();
        let mut trees = Vec::new();
        for table in self.tables(actor) {
            let at = usize::from(table);
            let pin = base.pins[at];
            let tree = state.tree(table, pin.maker);
            let content = tree.content(pin.version);
            basis.read[at] = Some(content);
            let owned = tree.owner == chain.id || (!self.holds(Rule::OwnTrees) && tree.owner != ELSEWHERE);
            if let (Role::Writer { steps, .. }, true) = (self.role(actor), owned) {
                effects.push(Effect { table, pin, steps });
                next.pins[at] = Pin { version: pin.version + steps, ..pin };
                continue;
            }
            let owner = if matches!(self.role(actor), Role::FastForward { .. }) { ELSEWHERE } else { chain.id };
            trees.push(Tree {
                table,
                maker: made_by(actor),
                owner,
                base: content | bit(actor),
                entries: Vec::new(),
                gone: 0,
                times: vec![state.now],
            });
            next.pins[at] = Pin { maker: made_by(actor), version: 0 };
        }
        next.basis = Some(basis);
        let local = armed(state, effects, next, state.now);
        steps.act(actor, "validates and stages", |to| {
            for tree in trees {
                to.put_tree(tree);
            }
            to.actors[actor] = local;
        });
    }
}
