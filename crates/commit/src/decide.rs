//! The pure decision about an intent: who published its version, what its effects look like, whether its owner may be alive.
//!
//! Invariants: a decision that publishes exists only while the intent's own version is free (I-3); effects of an attempt that lost its
//! version are a violation, never repaired silently.

use std::fmt;

use omnigraph_types::mutant;

/// What occupies a version of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A transaction, by its UUID.
    Transaction(String),
    /// A version that cannot be read.
    Unreadable,
    /// Nothing, where there must be a version.
    Nothing,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transaction(uuid) => f.write_str(uuid),
            Self::Unreadable => f.write_str("a version that cannot be read"),
            Self::Nothing => f.write_str("nothing"),
        }
    }
}

/// What one planned effect looks like on its tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    /// Nothing follows the expected version.
    Absent,
    /// All its transactions follow, and nothing else.
    Ours,
    /// Some of its transactions follow, and nothing else.
    Partial,
    /// A restore of exactly the expected version follows it.
    Fenced,
    /// Something else follows it.
    Foreign {
        /// What was found.
        found: Found,
    },
    /// The expected version itself is missing.
    Behind,
}

/// Who published the intent's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublishedBy {
    /// This attempt, as it planned.
    ThisAttempt,
    /// This attempt's abort, or a repair that could not read its intent; some of its tables are still to be fenced.
    AbortUnsettled,
    /// The same; every table is fenced.
    AbortSettled,
    /// Another attempt.
    Another,
    /// The removal of the branch.
    Retirement,
}

/// Whether the intent's version is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotState {
    /// It is not: the newest version is the one before.
    Free,
    /// It is, by this.
    Published(PublishedBy),
}

/// What is known of the intent's owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// It may be alive: its grace is not over.
    MayBeAlive,
    /// It is known dead, or its grace is over.
    Gone,
}

/// What to do.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The attempt is published; nothing is left.
    Finished,
    /// The attempt is aborted and fenced; nothing is left.
    RolledBack,
    /// The attempt is aborted; fence its tables.
    SettleTables,
    /// The attempt lost its version before it made an effect.
    NeverUsed,
    /// The branch is removed, and with it whatever the attempt made.
    Orphaned,
    /// Let the owner go on.
    Wait,
    /// Publish the intent's own publication.
    RollForward,
    /// Publish its abort.
    Abort,
    /// The protocol was broken: refuse loudly.
    Violation,
}

/// Decides, from values alone.
pub fn decide(slot: SlotState, observations: &[Observation], owner: Owner) -> Decision {
    match slot {
        SlotState::Published(PublishedBy::ThisAttempt) => Decision::Finished,
        SlotState::Published(PublishedBy::AbortSettled) => Decision::RolledBack,
        SlotState::Published(PublishedBy::AbortUnsettled) => Decision::SettleTables,
        SlotState::Published(PublishedBy::Retirement) => Decision::Orphaned,
        SlotState::Published(PublishedBy::Another) => {
            let made = |seen: &Observation| matches!(seen, Observation::Ours | Observation::Partial);
            if mutant!(44, observations.iter().any(made), false) { Decision::Violation } else { Decision::NeverUsed }
        }
        SlotState::Free if mutant!(45, owner == Owner::MayBeAlive, false) => Decision::Wait,
        SlotState::Free => {
            let all_ours = mutant!(20, observations.iter().all(|seen| *seen == Observation::Ours), true);
            if all_ours { Decision::RollForward } else { Decision::Abort }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: [fn() -> Observation; 6] = [
        || Observation::Absent,
        || Observation::Ours,
        || Observation::Partial,
        || Observation::Fenced,
        || Observation::Foreign { found: Found::Transaction("x".to_owned()) },
        || Observation::Behind,
    ];

    /// Every pair of observations of two effects, and the lists of none and one.
    fn all_observations() -> Vec<Vec<Observation>> {
        let mut all = vec![Vec::new()];
        for first in EVERY {
            all.push(vec![first()]);
            all.extend(EVERY.map(|second| vec![first(), second()]));
        }
        all
    }

    #[test]
    fn published_slot_is_final_whatever_the_effects_and_the_owner() {
        for seen in all_observations() {
            for owner in [Owner::MayBeAlive, Owner::Gone] {
                let at = |by| decide(SlotState::Published(by), &seen, owner);
                assert_eq!(at(PublishedBy::ThisAttempt), Decision::Finished);
                assert_eq!(at(PublishedBy::AbortSettled), Decision::RolledBack);
                assert_eq!(at(PublishedBy::AbortUnsettled), Decision::SettleTables);
                assert_eq!(at(PublishedBy::Retirement), Decision::Orphaned);
            }
        }
    }

    #[test]
    fn effects_of_an_attempt_that_lost_its_version_are_a_violation() {
        for seen in all_observations() {
            let made = seen.contains(&Observation::Ours) || seen.contains(&Observation::Partial);
            let expected = if made { Decision::Violation } else { Decision::NeverUsed };
            assert_eq!(decide(SlotState::Published(PublishedBy::Another), &seen, Owner::Gone), expected, "{seen:?}");
        }
    }

    #[test]
    fn free_slot_of_a_gone_owner_rolls_forward_only_when_every_effect_is_ours() {
        for seen in all_observations() {
            let expected =
                if seen.iter().all(|one| *one == Observation::Ours) { Decision::RollForward } else { Decision::Abort };
            assert_eq!(decide(SlotState::Free, &seen, Owner::Gone), expected, "{seen:?}");
            assert_eq!(decide(SlotState::Free, &seen, Owner::MayBeAlive), Decision::Wait, "{seen:?}");
        }
    }
}
