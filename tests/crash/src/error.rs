//! The violations that a cell may show.

use std::time::Duration;

use omnigraph_client::ClientError;
use omnigraph_commit::FailPoint;
use omnigraph_types::Failure;
use thiserror::Error;

use crate::model::Rows;

/// A violation that a cell shows.
#[derive(Debug, Error)]
pub enum Violation {
    /// The writer did not reach the point.
    #[error("{point} was never hit; the request ended with {reply}")]
    NeverHit {
        /// The point.
        point: FailPoint,
        /// How the request ended.
        reply: String,
    },
    /// A request that must succeed was refused.
    #[error("{what} was refused: {failure:?}")]
    Refused {
        /// What was asked.
        what: &'static str,
        /// The answer.
        failure: Box<Failure>,
    },
    /// A request was not answered in time.
    #[error("{what} was not answered within {bound:?}")]
    Unanswered {
        /// What was asked.
        what: &'static str,
        /// The bound.
        bound: Duration,
    },
    /// The next writer had to wait too long.
    #[error("the next writer was blocked for {blocked:?}")]
    Blocked {
        /// How long.
        blocked: Duration,
    },
    /// The rows are those of no order of whole writes.
    #[error("{when}: the rows are explained by no order of whole writes: {seen}")]
    Torn {
        /// When the rows were read.
        when: &'static str,
        /// The rows.
        seen: Rows,
    },
    /// A row exists more than once.
    #[error("a row exists twice: {row}")]
    Doubled {
        /// The row.
        row: String,
    },
    /// An acknowledged operation is not applied.
    #[error("{what} was acknowledged, and is not applied")]
    Lost {
        /// What.
        what: &'static str,
    },
    /// An operation is applied whose answer states that it had no effect.
    #[error("{what} is applied, and its answer states that it had no effect: {failure:?}")]
    Ghost {
        /// What.
        what: &'static str,
        /// The answer.
        failure: Box<Failure>,
    },
    /// Two answers for one operation differ.
    #[error("{what} was answered with {first} and then with {then}")]
    Answers {
        /// What.
        what: &'static str,
        /// The first answer.
        first: String,
        /// The later one.
        then: String,
    },
    /// An operation that was sent again is not one commit.
    #[error("{what} is {commits} commits")]
    AppliedTimes {
        /// What.
        what: &'static str,
        /// How many.
        commits: usize,
    },
    /// A resent write changed rows although it was applied before.
    #[error("a write that was applied already was applied again: the rows were {before}, and are {after}")]
    AppliedAgain {
        /// The rows at first.
        before: Rows,
        /// The rows at last.
        after: Rows,
    },
    /// I-6 does not hold.
    #[error("not quiesced: {what}")]
    Unquiet {
        /// What is left.
        what: String,
    },
    /// The files of the graph cannot be read.
    #[error("read the graph's files: {what}")]
    Files {
        /// What went wrong.
        what: String,
    },
    /// The cell could not be completed.
    #[error("the cell could not be completed: {what}")]
    Broken {
        /// Why.
        what: String,
    },
}

impl Violation {
    /// A refused request.
    pub(crate) fn refused(what: &'static str) -> impl FnOnce(ClientError) -> Self {
        move |error| Self::Refused { what, failure: Box::new(error.failure()) }
    }
}
