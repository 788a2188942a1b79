//! The scenarios: which processes there are, what may go wrong how often, and what must be reachable so that nothing is shown vacuously.
//!
//! Then the table of ablations: which rules are left out of which scenario.

use crate::properties::Reach;
use crate::rules::Rule;

/// What a branch is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// The newest version of a name.
    Name(u8),
    /// A version of main, named on purpose.
    MainAt(u8),
}

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Writes rows of these tables, in so many transactions each.
    Writer {
        name: u8,
        tables: &'static [u8],
        steps: u8,
        strict: bool,
    },
    /// Points a table's pin at a tree of another branch.
    FastForward {
        table: u8,
    },
    Rescuer,
    Creator {
        name: u8,
        from: From,
    },
    Deleter {
        name: u8,
    },
    /// Changes main's schema.
    Schema {
        alone: bool,
    },
    Cleanup,
    /// Reads main's newest version for a while.
    Reader,
}

/// A process and the operation that it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Actor {
    pub(crate) role: Role,
    pub(crate) operation: u8,
}

/// When a scenario is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// With every test run.
    Ci,
    /// On demand.
    Large,
}

/// Processes, and a budget of faults.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) size: Size,
    pub(crate) actors: Vec<Actor>,
    /// Whether a branch, named 1, is there from the beginning.
    pub(crate) branch: bool,
    pub(crate) crashes: u8,
    /// Puts whose reply is lost, and which land later or never.
    pub(crate) unknowns: u8,
    /// Times that more than the longest age passes.
    pub(crate) ticks: u8,
    pub(crate) reaches: &'static [Reach],
}

const NONE: u8 = 0;

fn actor(role: Role, operation: u8) -> Actor {
    Actor { role, operation }
}

fn rows(operation: u8, tables: &'static [u8]) -> Actor {
    actor(Role::Writer { name: 0, tables, steps: 1, strict: false }, operation)
}

fn strict(operation: u8, tables: &'static [u8]) -> Actor {
    actor(Role::Writer { name: 0, tables, steps: 1, strict: true }, operation)
}

fn on_branch(operation: u8, tables: &'static [u8]) -> Actor {
    actor(Role::Writer { name: 1, tables, steps: 1, strict: false }, operation)
}

fn long(operation: u8) -> Actor {
    actor(Role::Writer { name: 0, tables: &[0], steps: 2, strict: false }, operation)
}

fn fast_forward(operation: u8, table: u8) -> Actor {
    actor(Role::FastForward { table }, operation)
}

fn cleanup() -> Actor {
    actor(Role::Cleanup, NONE)
}

fn rescuer() -> Actor {
    actor(Role::Rescuer, NONE)
}

fn create(operation: u8, name: u8, from: From) -> Actor {
    actor(Role::Creator { name, from }, operation)
}

fn delete(operation: u8) -> Actor {
    actor(Role::Deleter { name: 1 }, operation)
}

fn schema(operation: u8, alone: bool) -> Actor {
    actor(Role::Schema { alone }, operation)
}

fn small(name: &'static str, actors: Vec<Actor>, reaches: &'static [Reach]) -> Scenario {
    Scenario { name, size: Size::Ci, actors, branch: false, crashes: 1, unknowns: 0, ticks: 0, reaches }
}

/// Every scenario.
pub(crate) fn all() -> Vec<Scenario> {
    let mut all = ci();
    all.extend(large());
    all
}

fn ci() -> Vec<Scenario> {
    use Reach::{
        Aborted, Answered, Committed, Deleted, NotFound, Private, ReadEnded, Refused, Registered, Removed, Retained,
        Retired, RolledForward, SchemaApplied, Settled, Swept, TwoCommitted,
    };
    let main = From::Name(0);
    vec![
        small(
            "writers",
            vec![rows(1, &[0, 1]), rows(2, &[1]), rescuer()],
            &[TwoCommitted, Aborted, Settled, RolledForward],
        ),
        Scenario {
            unknowns: 1,
            ..small(
                "writers-lost-replies",
                vec![rows(1, &[0, 1]), rows(2, &[1]), rescuer()],
                &[TwoCommitted, Aborted, Settled],
            )
        },
        Scenario {
            unknowns: 1,
            ..small("lost-replies", vec![rows(1, &[0]), rescuer()], &[Committed, Aborted, Settled])
        },
        Scenario {
            unknowns: 1,
            crashes: 0,
            ..small("no-effects", vec![rows(1, &[]), rows(2, &[1]), rescuer()], &[TwoCommitted, Aborted])
        },
        small("strict", vec![strict(1, &[1]), rows(2, &[1]), rescuer()], &[Refused, TwoCommitted]),
        small("sent-twice", vec![rows(1, &[1]), rows(1, &[1]), rescuer()], &[Answered, Aborted]),
        small("strict-sent-twice", vec![strict(1, &[1]), strict(1, &[1]), rescuer()], &[Answered, Aborted]),
        small("long-effect", vec![long(1), rows(2, &[0]), rescuer()], &[TwoCommitted, Aborted, Settled]),
        small("fast-forward", vec![rows(1, &[1]), fast_forward(2, 1), rescuer()], &[TwoCommitted, Aborted, Private]),
        Scenario {
            branch: true,
            ..small(
                "branch-removed",
                vec![on_branch(1, &[0, 1]), delete(2), rescuer()],
                &[Committed, Retired, Removed, NotFound, RolledForward],
            )
        },
        Scenario {
            branch: true,
            crashes: 0,
            ..small(
                "name-again",
                vec![on_branch(1, &[]), on_branch(1, &[]), delete(2), create(3, 1, main), rescuer()],
                &[Answered, Registered, Removed],
            )
        },
        Scenario {
            branch: true,
            crashes: 0,
            ..small("removed-twice", vec![delete(2), create(3, 1, main), rescuer()], &[Registered, Removed])
        },
        small("one-name", vec![create(1, 1, main), create(2, 1, main), rescuer()], &[Registered, Refused]),
        small(
            "schema",
            vec![schema(1, false), create(2, 1, main), rows(3, &[0]), rescuer()],
            &[SchemaApplied, Registered, Refused],
        ),
        small(
            "schema-alone",
            vec![schema(1, true), create(2, 1, main), rescuer()],
            &[SchemaApplied, Registered, Refused],
        ),
        Scenario {
            crashes: 0,
            ticks: 1,
            ..small(
                "retention",
                vec![fast_forward(1, 0), create(2, 1, From::MainAt(0)), cleanup(), rescuer()],
                &[Registered, Retained, Deleted, Swept],
            )
        },
        Scenario {
            ticks: 1,
            ..small("age", vec![fast_forward(1, 0), cleanup(), rescuer()], &[Committed, Retained, Deleted, Swept])
        },
        Scenario {
            branch: true,
            ticks: 1,
            crashes: 0,
            ..small(
                "pending-on-branch",
                vec![on_branch(1, &[0, 1]), cleanup(), rescuer()],
                &[Committed, Aborted, Settled, Retained, Deleted, Swept],
            )
        },
        Scenario {
            ticks: 1,
            crashes: 0,
            ..small("sweep", vec![rows(1, &[0]), cleanup(), rescuer()], &[Committed, Retained, Swept])
        },
        Scenario {
            ticks: 1,
            crashes: 0,
            ..small(
                "reader",
                vec![rows(1, &[0]), actor(Role::Reader, NONE), cleanup(), rescuer()],
                &[Committed, Deleted, ReadEnded],
            )
        },
        Scenario {
            ticks: 1,
            crashes: 0,
            ..small(
                "clone-held-up",
                vec![fast_forward(1, 0), create(2, 1, main), cleanup(), rescuer()],
                &[Registered, Deleted],
            )
        },
    ]
}

fn large() -> Vec<Scenario> {
    use Reach::{
        Aborted, Committed, Deleted, Private, Registered, Removed, Retained, Retired, RolledForward, SchemaApplied,
        Settled, TwoCommitted,
    };
    let large = |name, actors, reaches| Scenario { size: Size::Large, ..small(name, actors, reaches) };
    let main = From::Name(0);
    let ab = || vec![rows(1, &[0, 1]), rows(2, &[1])];
    let with = |mut actors: Vec<Actor>, more: &[Actor]| {
        actors.extend(more);
        actors
    };
    vec![
        large(
            "writers-two-rescuers",
            with(ab(), &[rescuer(), rescuer()]),
            &[TwoCommitted, Aborted, Settled, RolledForward],
        ),
        Scenario {
            unknowns: 1,
            ..large(
                "long-effect-lost-replies",
                vec![long(1), rows(2, &[0]), rescuer()],
                &[TwoCommitted, Aborted, Settled],
            )
        },
        Scenario {
            crashes: 2,
            ..large("writers-two-crashes", with(ab(), &[rescuer()]), &[TwoCommitted, Aborted, Settled])
        },
        Scenario {
            branch: true,
            unknowns: 1,
            ..large(
                "branch-removed-lost-replies",
                vec![on_branch(1, &[0]), delete(2), rescuer(), rescuer()],
                &[Committed, Retired, Removed],
            )
        },
        Scenario {
            branch: true,
            ..large(
                "branch-life",
                vec![on_branch(1, &[0]), delete(2), create(3, 1, main), rescuer()],
                &[Committed, Registered, Retired, Removed],
            )
        },
        Scenario {
            unknowns: 1,
            ..large(
                "schema-lost-replies",
                vec![schema(1, true), create(2, 1, main), rows(3, &[0]), rescuer()],
                &[SchemaApplied, Registered],
            )
        },
        Scenario {
            ticks: 1,
            branch: true,
            crashes: 0,
            ..large(
                "cleanup-and-branches",
                vec![rows(1, &[0]), on_branch(2, &[0]), cleanup(), rescuer()],
                &[TwoCommitted, Retained, Private],
            )
        },
        Scenario {
            ticks: 2,
            crashes: 0,
            ..large(
                "cleanup-twice",
                vec![fast_forward(1, 0), cleanup(), cleanup(), rescuer()],
                &[Committed, Retained, Deleted],
            )
        },
    ]
}

/// Rules left out together, and the scenario in which that must find a violation.
///
/// Nearly every rule is left out alone. A pair is two lines of defence against the same thing, neither of which is needed while the other holds.
pub(crate) const ABLATIONS: &[(&[Rule], &str)] = &[
    (&[Rule::TicketIfAbsent], "writers"),
    (&[Rule::IntentsStay], "writers"),
    (&[Rule::UnknownArmRepeated], "no-effects"),
    (&[Rule::AbsentArmRepeated], "no-effects"),
    (&[Rule::UnknownPublishReadBack], "lost-replies"),
    (&[Rule::ExactCommits], "writers"),
    (&[Rule::AllOrAbort], "writers"),
    (&[Rule::AbortNamesEffects], "writers"),
    (&[Rule::DecidedAtOwnVersion], "writers"),
    (&[Rule::FencedBeforeSettled], "writers"),
    (&[Rule::SettledBeforeChanged, Rule::SettleLeavesMovedPins], "fast-forward"),
    (&[Rule::ReceiptFirst], "sent-twice"),
    (&[Rule::ReceiptBeforeRefusal], "strict-sent-twice"),
    (&[Rule::ReceiptOnRemoved], "name-again"),
    (&[Rule::TokenAtRearm], "fast-forward"),
    (&[Rule::OwnTrees], "branch-removed"),
    (&[Rule::RetirementOrphans], "branch-removed"),
    (&[Rule::RetirementCompetes], "branch-removed"),
    (&[Rule::RemovalByIdentity], "removed-twice"),
    (&[Rule::RemovalFinished], "branch-removed"),
    (&[Rule::NameFree], "one-name"),
    (&[Rule::SchemaIs], "schema"),
    (&[Rule::ExactHead], "schema"),
    (&[Rule::NoOtherBranches], "schema-alone"),
    (&[Rule::CommitRetained], "retention"),
    (&[Rule::RetentionFirst], "retention"),
    (&[Rule::BranchesAtRetention], "retention"),
    (&[Rule::FreshRetention], "clone-held-up"),
    (&[Rule::PendingIntentsKept], "pending-on-branch"),
    (&[Rule::UnsettledKept], "reader"),
    (&[Rule::PublishedIntentsOnly], "pending-on-branch"),
    (&[Rule::OldIntentsOnly], "sweep"),
    (&[Rule::OrphanAge], "reader"),
    (&[Rule::FreshProof], "sweep"),
    (&[Rule::FreshStaging], "age"),
    (&[Rule::FreshStaging], "clone-held-up"),
];
