//! What a cell may show to be wrong, and what may be wrong with a cell's name.

use std::time::Duration;

use omnigraph_client::ClientError;
use omnigraph_types::Failure;
use thiserror::Error;

use crate::model::Rows;

/// Why a text names no cell.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CellName {
    /// There is none of this name.
    #[error("there is no cell {name:?}: a name is <writer>/<point>/<fault>/<tables>/<next>, as {example}")]
    Unknown {
        /// The text.
        name: String,
        /// A cell there is.
        example: String,
    },
    /// It is one of those that cannot be.
    #[error("the cell {name:?} is left out: {reason}")]
    Impossible {
        /// The text.
        name: String,
        /// Why.
        reason: &'static str,
    },
}

/// What a cell shows to be wrong.
#[derive(Debug, Error)]
pub enum Violation {
    /// The writer never came to the point.
    #[error("{point} was never hit; the request ended with {reply}")]
    NeverHit {
        /// The point.
        point: &'static str,
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
        /// When it was looked.
        when: &'static str,
        /// The rows.
        seen: Rows,
    },
    /// A row is there more than once.
    #[error("a row is there twice: {row}")]
    Doubled {
        /// The row.
        row: String,
    },
    /// What was acknowledged is not there.
    #[error("{what} was acknowledged, and is not there")]
    Lost {
        /// What.
        what: &'static str,
    },
    /// What was answered to have had no effect is there.
    #[error("{what} was answered to have had no effect, and is there; the answer was {failure:?}")]
    Ghost {
        /// What.
        what: &'static str,
        /// The answer.
        failure: Box<Failure>,
    },
    /// One operation was answered in two ways.
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
    /// Something changed after the write was wholly there.
    #[error("a write that was there already was applied once more: the rows were {before}, and are {after}")]
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
    /// The cell broke off.
    #[error("the cell broke off: {what}")]
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
