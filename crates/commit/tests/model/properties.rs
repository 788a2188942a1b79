//! The invariants of the protocol, each under its id, and what must be reachable so that none of them holds for want of trying.
//!
//! Versions and entries are never changed once they are there, and every step adds at most one of each: so only the newest of each chain is looked
//! at in each state.

use stateright::Property;

use crate::cleanup::has_retention;
use crate::state::{Chain, Entry, Kind, Local, MAIN, Mask, Outcome, State, TABLES, Version, number};
use crate::world::{World, bit};

/// Something that must happen somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Committed,
    TwoCommitted,
    Aborted,
    Settled,
    RolledForward,
    Answered,
    Refused,
    NotFound,
    Private,
    Registered,
    Removed,
    Retired,
    SchemaApplied,
    Retained,
    Deleted,
    Swept,
    ReadEnded,
}

pub(crate) fn of(world: &World) -> Vec<Property<World>> {
    let mut all = vec![
        Property::always("I-1 a published version shows a commit in all of its tables or in none", whole),
        Property::always("I-2 nothing is visible before its publication", nothing_early),
        Property::always("I-3 at most one attempt makes effects for a version", one_attempt),
        Property::always("I-3 a tree is written by its owner alone", own_trees),
        Property::always("I-3 nobody has cause to refuse loudly", not_violated),
        Property::always("I-4 an acknowledged commit stays", acknowledged_stays),
        Property::always("I-5 what was validated held on the version published onto", validated),
        Property::always("I-6 everything settles, and pin = head then", not_stuck),
        Property::always("I-6 no pin is beyond its tree, no table is unsettled twice", pins_exist),
        Property::always("I-7 an aborted attempt never becomes visible", aborted_stays_hidden),
        Property::always("I-8 an operation is applied at most once", applied_once),
        Property::always("I-8 no effect is reported only when it is true", answered_truthfully),
        Property::always("I-9 a name has at most one live branch", one_branch),
        Property::always("I-9 a branch goes only by the end of its chain, and nothing follows it", removed_has_ended),
        Property::always("I-10 a registered branch carries its source's schema", branch_schema),
        Property::always("I-11 what is retained or being read is readable", readable),
    ];
    all.extend(world.scenario.reaches.iter().map(|reach| reachable(*reach)));
    all
}

fn reachable(reach: Reach) -> Property<World> {
    match reach {
        Reach::Committed => Property::sometimes("a commit", |_, state: &State| commits(state) >= 1),
        Reach::TwoCommitted => Property::sometimes("two commits", |_, state: &State| commits(state) >= 2),
        Reach::Aborted => Property::sometimes("an abort", |_, state: &State| any(state, Kind::Abort)),
        Reach::Settled => Property::sometimes("a settled table", |_, state: &State| any(state, Kind::Settle)),
        Reach::RolledForward => Property::sometimes("a roll forward", rolled_forward),
        Reach::Answered => {
            Property::sometimes("a receipt", |_, state: &State| answered(state, &|it| it == Outcome::Receipt))
        }
        Reach::Refused => Property::sometimes("a refusal", |_, state: &State| {
            answered(state, &|it| matches!(it, Outcome::Refused { .. }))
        }),
        Reach::NotFound => {
            Property::sometimes("a failure", |_, state: &State| answered(state, &|it| it == Outcome::Failed))
        }
        Reach::Private => Property::sometimes("a private tree", private),
        Reach::Registered => Property::sometimes("a branch", |_, state: &State| any(state, Kind::Register)),
        Reach::Removed => Property::sometimes("a branch's removal", |_, state: &State| any(state, Kind::Remove)),
        Reach::Retired => Property::sometimes("the end of a chain", |_, state: &State| any(state, Kind::Retire)),
        Reach::SchemaApplied => Property::sometimes("a schema apply", |_, state: &State| any(state, Kind::Schema)),
        Reach::Retained => Property::sometimes("a retention", |_, state: &State| has_retention(state)),
        Reach::Deleted => {
            Property::sometimes("a deleted version", |_, state: &State| state.trees.iter().any(|tree| tree.gone != 0))
        }
        Reach::Swept => Property::sometimes("a swept intent", swept),
        Reach::ReadEnded => Property::sometimes("a read that ends after deletions", |_, state: &State| {
            state.trees.iter().any(|tree| tree.gone != 0) && answered(state, &|it| it == Outcome::Over)
        }),
    }
}

fn private(_: &World, state: &State) -> bool {
    state.chains.iter().any(|chain| chain.newest().pins.iter().any(|pin| pin.maker != 0))
}

fn any(state: &State, kind: Kind) -> bool {
    state.chains.iter().any(|chain| chain.versions.iter().any(|version| version.kind == kind))
}

fn commits(state: &State) -> usize {
    let of = |chain: &Chain| chain.versions.iter().filter(|version| version.kind == Kind::Commit).count();
    state.chains.iter().map(of).sum()
}

fn answered(state: &State, is: &dyn Fn(Outcome) -> bool) -> bool {
    state.actors.iter().any(|local| matches!(local, Local::Answered(outcome) if is(*outcome)))
}

/// The requests that became commits of a chain, inherited ones apart.
fn committed(chain: &Chain) -> Mask {
    let commits = chain.versions.iter().filter(|version| matches!(version.kind, Kind::Commit | Kind::Schema));
    commits.fold(0, |mask, version| mask | bit(usize::from(version.attempt.actor)))
}

fn all_commits(state: &State) -> Mask {
    state.chains.iter().fold(0, |mask, chain| mask | committed(chain))
}

fn aborted(state: &State) -> Mask {
    let aborts =
        state.chains.iter().flat_map(|chain| chain.versions.iter()).filter(|version| version.kind == Kind::Abort);
    aborts.fold(0, |mask, version| mask | bit(usize::from(version.attempt.actor) % 16))
}

fn rolled_forward(world: &World, state: &State) -> bool {
    let done = all_commits(state);
    (0..state.actors.len())
        .any(|actor| state.actors[actor] == Local::Dead && done & bit(actor) != 0 && world.scenario.unknowns == 0)
}

fn swept(_: &World, state: &State) -> bool {
    state.chains.iter().any(|chain| {
        let taken = chain.versions.iter().skip(1).filter(|version| version.kind != Kind::Retire).count();
        chain.intents.iter().filter(|intent| intent.attempt.version <= chain.latest()).count() < taken
    })
}

fn contents(state: &State, version: &Version) -> [Mask; TABLES] {
    std::array::from_fn(|table| state.content(number(table), version.pins[table]))
}

fn whole(world: &World, state: &State) -> bool {
    state.chains.iter().all(|chain| {
        let contents = contents(state, chain.newest());
        (0..state.actors.len()).all(|actor| {
            let tables = world.tables(actor);
            let shown = tables.iter().filter(|table| contents[usize::from(**table)] & bit(actor) != 0).count();
            shown == 0 || shown == tables.len()
        })
    })
}

/// Requests that a chain's newest version shows without having committed them or inherited them from its source.
fn shown_without_commit(state: &State, chain: &Chain) -> Mask {
    let inherited = contents(state, chain.at(0)).iter().fold(0, |mask, content| mask | content);
    let shown = contents(state, chain.newest()).iter().fold(0, |mask, content| mask | content);
    shown & !inherited & !committed(chain)
}

fn nothing_early(_: &World, state: &State) -> bool {
    let hidden = aborted(state);
    state.chains.iter().all(|chain| shown_without_commit(state, chain) & !hidden == 0)
}

fn aborted_stays_hidden(_: &World, state: &State) -> bool {
    let hidden = aborted(state);
    hidden & all_commits(state) == 0
        && state.chains.iter().all(|chain| shown_without_commit(state, chain) & hidden == 0)
}

fn one_attempt(_: &World, state: &State) -> bool {
    let mut makers: Vec<crate::state::Attempt> = Vec::new();
    for entry in state.trees.iter().flat_map(|tree| tree.entries.iter()) {
        let Entry::Commit { attempt, .. } = *entry else { continue };
        let chain = state.chain(attempt.chain);
        let lost = chain
            .versions
            .get(usize::from(attempt.version))
            .is_some_and(|version| version.attempt != attempt && version.kind != Kind::Retire);
        let rival = makers
            .iter()
            .any(|other| (other.chain, other.version) == (attempt.chain, attempt.version) && *other != attempt);
        if lost || rival {
            return false;
        }
        makers.push(attempt);
    }
    true
}

fn own_trees(_: &World, state: &State) -> bool {
    state.trees.iter().all(|tree| {
        tree.entries.iter().all(|entry| match entry {
            Entry::Commit { attempt, .. } => attempt.chain == tree.owner,
            Entry::Restore(_) => true,
        })
    })
}

fn not_violated(_: &World, state: &State) -> bool {
    !state.violated
}

fn not_stuck(_: &World, state: &State) -> bool {
    !state.stuck
}

fn acknowledged_stays(world: &World, state: &State) -> bool {
    let kept = state.chains.iter().all(|chain| {
        let contents = contents(state, chain.newest());
        let inherited = self::contents(state, chain.at(0));
        let done = committed(chain);
        (0..state.actors.len()).all(|actor| {
            world.tables(actor).iter().all(|table| {
                let at = usize::from(*table);
                let had = done & bit(actor) != 0 || inherited[at] & bit(actor) != 0;
                !had || contents[at] & bit(actor) != 0
            })
        })
    });
    let true_to_word = |(actor, local): (usize, &Local)| match local {
        Local::Answered(Outcome::Done { chain, version }) => {
            let found = state.chain(*chain).versions.get(usize::from(*version));
            found.is_some_and(|found| found.attempt.actor == number(actor) && found.kind != Kind::Abort)
        }
        _ => true,
    };
    kept && state.actors.iter().enumerate().all(true_to_word)
}

fn validated(_: &World, state: &State) -> bool {
    state.chains.iter().all(|chain| {
        let Some(basis) = chain.newest().basis else { return true };
        if chain.latest() == 0 {
            return true;
        }
        let base = chain.at(chain.latest() - 1);
        let contents = contents(state, base);
        let read = (0..TABLES).all(|table| basis.read[table].is_none_or(|read| read == contents[table]));
        let alone = !basis.alone || base.branches.iter().all(|row| !row.live);
        read && alone && basis.schema == base.schema && basis.head.is_none_or(|head| head == base.head)
    })
}

fn pins_exist(_: &World, state: &State) -> bool {
    state.chains.iter().all(|chain| {
        let newest = chain.newest();
        let exists = |table: usize| {
            let pin = newest.pins[table];
            let tree = state.tree(number(table), pin.maker);
            tree.maker == pin.maker && pin.version <= tree.head()
        };
        let mut tables: Vec<u8> = newest.unsettled.iter().map(|row| row.effect.table).collect();
        tables.sort_unstable();
        (0..TABLES).all(exists) && tables.windows(2).all(|pair| pair[0] != pair[1])
    })
}

fn applied_once(world: &World, state: &State) -> bool {
    let mut operations = Vec::new();
    for version in state.chains.iter().flat_map(|chain| chain.versions.iter()) {
        if matches!(version.kind, Kind::Commit | Kind::Schema | Kind::Register) {
            operations.push(world.operation(version.attempt.actor));
        }
    }
    operations.sort_unstable();
    operations.windows(2).all(|pair| pair[0] != pair[1])
}

fn answered_truthfully(_: &World, state: &State) -> bool {
    let published = |actor: usize| {
        let by = |version: &std::sync::Arc<Version>| {
            version.attempt.actor == number(actor)
                && matches!(version.kind, Kind::Commit | Kind::Schema | Kind::Register | Kind::Retire)
        };
        state.chains.iter().any(|chain| chain.versions.iter().any(by))
    };
    state.actors.iter().enumerate().all(|(actor, local)| match local {
        Local::Answered(Outcome::Failed) => !published(actor),
        Local::Answered(Outcome::Refused { done_already }) => !done_already && !published(actor),
        _ => true,
    })
}

fn one_branch(_: &World, state: &State) -> bool {
    let mut names: Vec<u8> = state.main().newest().branches.iter().filter(|row| row.live).map(|row| row.name).collect();
    names.sort_unstable();
    names.windows(2).all(|pair| pair[0] != pair[1])
}

fn removed_has_ended(_: &World, state: &State) -> bool {
    let ended = |chain: &Chain| chain.newest().kind == Kind::Retire;
    let removed =
        state.main().newest().branches.iter().filter(|row| !row.live).all(|row| ended(state.chain(row.chain)));
    removed && state.chains.iter().all(|chain| !chain.is_retired() || ended(chain))
}

fn branch_schema(_: &World, state: &State) -> bool {
    let newest = state.main().newest();
    let Some(base) = state.main().latest().checked_sub(1).filter(|_| newest.kind == Kind::Register) else {
        return true;
    };
    let known = &state.main().at(base).branches;
    newest.branches.iter().filter(|row| !known.contains(row)).all(|row| {
        let chain = state.chain(row.chain);
        let expected = match chain.source {
            (MAIN, version) if chain.of_commit => state.main().at(version).schema,
            (MAIN, _) => state.main().at(base).schema,
            (source, version) => state.chain(source).at(version).schema,
        };
        chain.at(0).schema == expected
    })
}

fn readable(world: &World, state: &State) -> bool {
    let there = |version: &Version| {
        (0..TABLES).all(|table| {
            let pin = version.pins[table];
            state.tree(number(table), pin.maker).gone & (1 << pin.version) == 0
        })
    };
    let retained = world.registered(state).into_iter().filter(|chain| !chain.is_retired()).all(|chain| {
        let floor = if chain.id == MAIN { chain.newest().floor } else { 0 };
        chain.versions.iter().skip(usize::from(floor)).all(|version| there(version))
    });
    let read = state.actors.iter().all(|local| match local {
        Local::Read { chain, version } => there(state.chain(*chain).at(*version)),
        _ => true,
    });
    retained && read
}
