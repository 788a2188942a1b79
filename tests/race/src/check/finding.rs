//! Violations of promises, and the counts of what was compared.

use std::fmt;

use omnigraph_types::OperationId;

/// What was violated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// I-4: an acknowledged write is lost.
    LostWrite,
    /// I-8: an operation was applied twice.
    DoubledWrite,
    /// I-7, I-8: an operation is applied whose answer states that it had no effect.
    VisibleFailure,
    /// A write exists that no client requested.
    ForeignWrite,
    /// I-1, I-2: a read is not one published state.
    TornRead,
    /// I-4: a head is not a descendant of what it was.
    HeadMovedBack,
    /// I-5: a commit does not fit what it was published onto.
    UnfitCommit,
    /// I-9: a name had two branches at once.
    BranchTwice,
    /// A branch is not found, and no client deleted it.
    LostBranch,
    /// A branch that was deleted is found.
    GhostBranch,
    /// A commit's ancestors do not lead to the graph's first commit.
    BrokenLineage,
    /// I-6: an operation is still open at the end.
    Unsettled,
    /// A call took longer than its deadline.
    Blocked,
    /// A server failed, and no fault of the run explains it.
    Defect,
}

/// A violation of a promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// What was violated.
    pub rule: Rule,
    /// How.
    pub text: String,
    /// The operations that it concerns.
    pub operations: Vec<OperationId>,
}

impl Violation {
    /// A violation that concerns these operations.
    pub fn new(rule: Rule, text: impl Into<String>, operations: impl IntoIterator<Item = OperationId>) -> Self {
        Self { rule, text: text.into(), operations: operations.into_iter().collect() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.text)
    }
}

/// What the checker found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// The violations.
    pub violations: Vec<Violation>,
    /// Reads compared with the state of their commit.
    pub reads_compared: usize,
    /// Sights of branches that were compared with earlier ones.
    pub sights_ordered: usize,
    /// Sights of branches that overlap a deletion of the name, so that their time does not identify the branch that was seen.
    pub sights_ambiguous: usize,
}
