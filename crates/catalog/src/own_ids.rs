//! Which ids a chain itself has published, as ranges: they say on which ended chains an operation or a commit can be, without any clock.
//!
//! Invariant: what a chain inherits from its source is not counted, and neither is its own end: main records the removal of a branch.

use omnigraph_types::mutant;
use omnigraph_types::{CommitId, OperationId};

use crate::operations::Operations;

/// The smallest and the largest of some ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdRange<Id> {
    /// The smallest.
    pub min: Id,
    /// The largest.
    pub max: Id,
}

impl<Id: Copy + Ord> IdRange<Id> {
    /// Whether an id lies between the smallest and the largest.
    pub fn covers(&self, id: Id) -> bool {
        mutant!(113, (self.min..=self.max).contains(&id), (self.min..self.max).contains(&id))
    }

    fn with(range: Option<Self>, id: Id) -> Option<Self> {
        Some(match range {
            Some(Self { min, max }) => Self { min: min.min(id), max: max.max(id) },
            None => Self { min: id, max: id },
        })
    }
}

/// The ranges of the ids that a chain itself has published.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OwnIds {
    /// Of its operations, aborted ones too.
    pub operations: Option<IdRange<OperationId>>,
    /// Of its commits.
    pub commits: Option<IdRange<CommitId>>,
}

impl OwnIds {
    /// Extends the ranges by those of another publication of the chain.
    pub(crate) fn with(self, operations: &Operations, commit: Option<CommitId>) -> Self {
        let ids = operations.iter().map(|entry| entry.operation_id);
        Self {
            operations: ids.fold(self.operations, IdRange::with),
            commits: commit.into_iter().fold(self.commits, IdRange::with),
        }
    }

    /// Whether the chain itself may have published an operation.
    pub fn may_hold(&self, operation: OperationId) -> bool {
        self.operations.is_some_and(|range| range.covers(operation))
    }

    /// Whether the chain itself may have published a commit.
    pub fn may_hold_commit(&self, commit: CommitId) -> bool {
        self.commits.is_some_and(|range| range.covers(commit))
    }
}
