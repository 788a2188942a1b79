//! Bounded rounds: everything that looks again after it lost a version to somebody else does so at most so many times.

use omnigraph_types::{CommitId, Limits};

use crate::error::CommitError;

/// Times that a rescuer, or a repair, looks again after losing a race.
const RESCUE_ROUNDS_MAX: u32 = 64;

/// A budget of rounds.
#[derive(Debug)]
pub(crate) struct Rounds {
    begun: u32,
    max: u32,
    winner: Option<CommitId>,
}

impl Rounds {
    /// The rounds of a client's request.
    pub(crate) fn of_request(limits: &Limits) -> Self {
        Self::at_most(u32::try_from(limits.commit_rounds_max).unwrap_or(u32::MAX))
    }

    /// The rounds of a rescuer.
    pub(crate) fn of_rescue() -> Self {
        Self::at_most(RESCUE_ROUNDS_MAX)
    }

    pub(crate) fn at_most(max: u32) -> Self {
        Self { begun: 0, max, winner: None }
    }

    /// Begins another round. `Contention` once the budget is spent.
    pub(crate) fn begin(&mut self) -> Result<(), CommitError> {
        if self.begun >= self.max {
            return Err(CommitError::Contention { attempts: self.max, winner: self.winner });
        }
        self.begun += 1;
        Ok(())
    }

    /// The head of the version to which the last round was lost.
    pub(crate) fn lost_to(&mut self, winner: CommitId) {
        self.winner = Some(winner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_beyond_the_budget_is_contention_with_the_winner() {
        let mut rounds = Rounds::at_most(2);
        let winner: CommitId = "01JZ8Q6Y3V5B7N9D1F3H5K7M9P".parse().unwrap();
        assert!(rounds.begin().is_ok());
        rounds.lost_to(winner);
        assert!(rounds.begin().is_ok());
        let refused = rounds.begin();
        assert!(matches!(refused, Err(CommitError::Contention { attempts: 2, winner: Some(w) }) if w == winner));
    }
}
