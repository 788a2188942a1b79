//! The state of the modelled world: chains of graph versions with their intents, trees of tables, and what each process is about to do.
//!
//! Everything is a small number or a short list, because every state is hashed. Content is a mask of requests: bit k of a table's content says
//! that request k's rows are in it. Names of things are made of their maker, so that the order in which they were made leaves no trace.

use std::sync::Arc;

/// Requests whose rows a table holds.
pub(crate) type Mask = u16;
/// Main's chain.
pub(crate) const MAIN: u8 = 0;
/// The branch that is there from the beginning, in scenarios that have one.
pub(crate) const FIRST_BRANCH: u8 = 1;
/// The owner of trees that a fast-forward points to: a branch outside the model.
pub(crate) const ELSEWHERE: u8 = 99;
/// Tables of a graph.
pub(crate) const TABLES: usize = 2;

/// The chain or tree that an actor makes.
pub(crate) fn made_by(actor: usize) -> u8 {
    number(actor) + 2
}

/// A small number.
pub(crate) fn number(value: usize) -> u8 {
    u8::try_from(value).unwrap_or(u8::MAX)
}

/// One try of one request: who, on which chain, with which ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Attempt {
    pub(crate) actor: u8,
    pub(crate) chain: u8,
    pub(crate) version: u8,
}

/// What kind of publication a version is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Birth,
    Commit,
    Schema,
    Abort,
    Settle,
    Register,
    Remove,
    Retire,
    Retention,
}

/// The tree, named by its maker (0: born with the graph), and the exact version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Pin {
    pub(crate) maker: u8,
    pub(crate) version: u8,
}

/// A row of main's registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Branch {
    pub(crate) chain: u8,
    pub(crate) name: u8,
    pub(crate) live: bool,
}

/// A planned effect: `steps` transactions at exactly `expected + 1`, and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Effect {
    pub(crate) table: u8,
    pub(crate) pin: Pin,
    pub(crate) steps: u8,
}

/// An effect of an aborted attempt that is still to be fenced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Unsettled {
    pub(crate) attempt: Attempt,
    pub(crate) effect: Effect,
}

/// What an attempt was validated against (I-5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Basis {
    /// Content of the tables that it read or wrote.
    pub(crate) read: [Option<Mask>; TABLES],
    pub(crate) schema: u8,
    /// The head, where it must be exactly this one.
    pub(crate) head: Option<u8>,
    /// Whether it rests on there being no other branch.
    pub(crate) alone: bool,
}

/// One version of a chain: who published it, and the whole state after it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Version {
    pub(crate) kind: Kind,
    pub(crate) attempt: Attempt,
    pub(crate) pins: [Pin; TABLES],
    pub(crate) unsettled: Vec<Unsettled>,
    pub(crate) schema: u8,
    pub(crate) head: u8,
    pub(crate) branches: Vec<Branch>,
    /// Versions of main below it are not retained.
    pub(crate) floor: u8,
    pub(crate) basis: Option<Basis>,
    /// When it was published.
    pub(crate) time: u8,
}

/// The ticket for a version, with everything that a roll forward needs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Intent {
    pub(crate) attempt: Attempt,
    pub(crate) effects: Vec<Effect>,
    pub(crate) publication: Version,
    /// When its files were staged.
    pub(crate) staged: u8,
    /// The branches that a cleanup goes by.
    pub(crate) listed: Vec<Branch>,
}

/// One chain of graph versions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Chain {
    pub(crate) id: u8,
    pub(crate) versions: Vec<Arc<Version>>,
    pub(crate) intents: Vec<Arc<Intent>>,
    /// Whether an explicit commit was named when it was cloned.
    pub(crate) of_commit: bool,
    /// The chain and version it was cloned from.
    pub(crate) source: (u8, u8),
}

impl Chain {
    pub(crate) fn latest(&self) -> u8 {
        number(self.versions.len() - 1)
    }

    pub(crate) fn newest(&self) -> &Version {
        self.at(self.latest())
    }

    pub(crate) fn at(&self, version: u8) -> &Version {
        &self.versions[usize::from(version)]
    }

    pub(crate) fn intent(&self, version: u8) -> Option<&Arc<Intent>> {
        self.intents.iter().find(|intent| intent.attempt.version == version)
    }

    pub(crate) fn pending(&self) -> Option<&Arc<Intent>> {
        self.intent(self.latest() + 1)
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.versions.iter().any(|version| version.kind == Kind::Retire)
    }

    pub(crate) fn put_intent(&mut self, intent: Arc<Intent>) {
        self.intents.retain(|other| other.attempt.version != intent.attempt.version);
        self.intents.push(intent);
        self.intents.sort_by_key(|intent| intent.attempt.version);
    }
}

/// What made one version of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Entry {
    /// Step `step` of an attempt's `of` steps.
    Commit { attempt: Attempt, step: u8, of: u8 },
    /// A restore of this version.
    Restore(u8),
}

/// One tree of a table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Tree {
    pub(crate) table: u8,
    pub(crate) maker: u8,
    pub(crate) owner: u8,
    /// Content of version 0.
    pub(crate) base: Mask,
    pub(crate) entries: Vec<Entry>,
    /// Versions that cleanup deleted.
    pub(crate) gone: u16,
    /// When each version was made, version 0 first.
    pub(crate) times: Vec<u8>,
}

impl Tree {
    pub(crate) fn head(&self) -> u8 {
        number(self.entries.len())
    }

    pub(crate) fn entry(&self, version: u8) -> Option<Entry> {
        self.entries.get(usize::from(version) - 1).copied()
    }

    pub(crate) fn push(&mut self, entry: Entry, now: u8) {
        self.entries.push(entry);
        self.times.push(now);
    }

    /// The requests whose rows a version holds.
    pub(crate) fn content(&self, version: u8) -> Mask {
        let mut at = version;
        let mut mask = 0;
        while at > 0 {
            match self.entry(at) {
                Some(Entry::Commit { attempt, step, of }) => {
                    mask |= if step == of { 1 << attempt.actor } else { 0 };
                    at -= 1;
                }
                Some(Entry::Restore(of)) => at = of,
                None => return mask,
            }
        }
        mask | self.base
    }

    /// How many transactions of an attempt follow a version.
    pub(crate) fn tail(&self, expected: u8, attempt: Attempt) -> u8 {
        let own = |entry: &&Entry| matches!(entry, Entry::Commit { attempt: by, .. } if *by == attempt);
        number(self.entries.iter().skip(usize::from(expected)).take_while(own).count())
    }
}

/// A put whose reply was lost: it may land later, or never.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Put {
    Intent(Arc<Intent>),
    Entry { table: u8, maker: u8, version: u8, by: Option<(Attempt, u8, u8)>, restores: u8 },
    Version { chain: u8, version: u8, record: Arc<Version> },
}

/// The step that a job under a ticket has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    Arm,
    /// The put of the intent has no known outcome.
    ArmUnknown,
    /// This many transactions are made.
    Apply(u8),
    Publish,
    /// Held up, or interrupted: the ticket's version decides.
    Wait,
}

/// What a rescuer saw at the intent's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Slot {
    Free,
    Another,
}

/// What a rescuer saw of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Seen {
    Absent,
    Ours,
    Partial,
    Fenced,
    Foreign,
    Behind,
}

/// What a request was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Outcome {
    /// It is done, by this attempt, at this version of this chain.
    Done { chain: u8, version: u8 },
    /// An earlier request of the same operation did it.
    Receipt,
    /// Nothing of this request was or will be done.
    Failed,
    /// Refused because something changed; whether the operation had been done where it looked.
    Refused { done_already: bool },
    /// Nothing to answer: a read, a cleanup.
    Over,
}

/// What a process is about to do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Local {
    Start,
    /// It lost the ticket, and looks again with what it staged.
    Again(Arc<Intent>),
    /// A publication under a ticket. `proven` is when its base was proven newest.
    Job {
        intent: Arc<Intent>,
        proven: u8,
        phase: Phase,
    },
    /// Ends a chain, without a ticket.
    Retire {
        chain: u8,
        base: u8,
    },
    /// Gives the name of an ended chain back.
    Finish {
        chain: u8,
    },
    Rescue {
        intent: Arc<Intent>,
        slot: Slot,
        seen: Vec<Seen>,
    },
    /// Fences every unsettled row; a slot for each that is done.
    Fence {
        chain: u8,
        base: u8,
        slots: Vec<Option<u8>>,
        aim: Option<u8>,
    },
    /// Retention is published: decide what goes.
    Plan {
        floor: u8,
        branches: Vec<Branch>,
        since: u8,
    },
    Delete {
        versions: Vec<(u8, u8, u8, u16)>,
        intents: Vec<(u8, u8)>,
    },
    Read {
        chain: u8,
        version: u8,
    },
    Answered(Outcome),
    Dead,
}

/// One state of the world.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) chains: Vec<Chain>,
    pub(crate) trees: Vec<Tree>,
    pub(crate) actors: Vec<Local>,
    pub(crate) flying: Vec<Put>,
    pub(crate) crashes: u8,
    pub(crate) unknowns: u8,
    pub(crate) ticks: u8,
    pub(crate) now: u8,
    /// Somebody refused loudly: the decision was a violation, or a table needs repair.
    pub(crate) violated: bool,
    /// Nobody can go on, and something is pending.
    pub(crate) stuck: bool,
}

impl State {
    pub(crate) fn main(&self) -> &Chain {
        &self.chains[0]
    }

    pub(crate) fn chain(&self, id: u8) -> &Chain {
        self.chains.iter().find(|chain| chain.id == id).unwrap_or(&self.chains[0])
    }

    pub(crate) fn chain_mut(&mut self, id: u8) -> &mut Chain {
        let at = self.chains.iter().position(|chain| chain.id == id).unwrap_or(0);
        &mut self.chains[at]
    }

    pub(crate) fn put_chain(&mut self, chain: Chain) {
        self.chains.retain(|other| other.id != chain.id);
        self.chains.push(chain);
        self.chains.sort_by_key(|chain| chain.id);
    }

    pub(crate) fn tree(&self, table: u8, maker: u8) -> &Tree {
        let found = self.trees.iter().find(|tree| tree.table == table && tree.maker == maker);
        found.unwrap_or(&self.trees[0])
    }

    pub(crate) fn tree_mut(&mut self, table: u8, maker: u8) -> &mut Tree {
        let at = self.trees.iter().position(|tree| tree.table == table && tree.maker == maker).unwrap_or(0);
        &mut self.trees[at]
    }

    pub(crate) fn put_tree(&mut self, tree: Tree) {
        self.trees.retain(|other| (other.table, other.maker) != (tree.table, tree.maker));
        self.trees.push(tree);
        self.trees.sort_by_key(|tree| (tree.table, tree.maker));
    }

    pub(crate) fn content(&self, table: u8, pin: Pin) -> Mask {
        self.tree(table, pin.maker).content(pin.version)
    }

    /// The live row of a name on main's newest version.
    pub(crate) fn live(&self, name: u8) -> Option<Branch> {
        self.main().newest().branches.iter().copied().find(|row| row.live && row.name == name)
    }

    /// Publishes, if the version is free.
    pub(crate) fn publish(&mut self, chain: u8, version: u8, record: &Version) -> bool {
        let now = self.now;
        let chain = self.chain_mut(chain);
        let free = chain.latest() + 1 == version;
        if free {
            chain.versions.push(Arc::new(Version { time: now, ..record.clone() }));
        }
        free
    }

    pub(crate) fn fly(&mut self, put: Put) {
        self.unknowns -= 1;
        self.flying.push(put);
        self.flying.sort();
    }
}
