//! The operations that one publication answers.
//!
//! Invariant: there is at least one and there are at most `OPERATIONS_MAX`, and no two have the same id.

use std::collections::BTreeSet;

use omnigraph_types::OperationId;

/// Operations of one publication, at most.
pub const OPERATIONS_MAX: usize = 256;

/// One operation of a publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationEntry {
    /// The operation; of an abort, one that was aborted.
    pub operation_id: OperationId,
    /// Digest of its request, in hexadecimal.
    pub digest: String,
}

/// The operations of one publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operations(Vec<OperationEntry>);

impl Operations {
    /// One operation alone.
    pub fn one(operation_id: OperationId, digest: String) -> Self {
        Self(vec![OperationEntry { operation_id, digest }])
    }

    /// The operation that names the publication where only one can be named, such as in a Lance transaction's properties.
    pub fn first(&self) -> &OperationEntry {
        &self.0[0]
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, OperationEntry> {
        self.0.iter()
    }

    /// How many there are: at least one.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether this is one of them.
    pub fn contains(&self, operation_id: OperationId) -> bool {
        self.0.iter().any(|entry| entry.operation_id == operation_id)
    }
}

impl TryFrom<Vec<OperationEntry>> for Operations {
    type Error = &'static str;

    fn try_from(entries: Vec<OperationEntry>) -> Result<Self, Self::Error> {
        let ids: BTreeSet<OperationId> = entries.iter().map(|entry| entry.operation_id).collect();
        if ids.len() != entries.len() || !(1..=OPERATIONS_MAX).contains(&entries.len()) {
            return Err("from 1 to 256 operations with different ids");
        }
        Ok(Self(entries))
    }
}

impl From<Operations> for Vec<OperationEntry> {
    fn from(operations: Operations) -> Self {
        operations.0
    }
}
