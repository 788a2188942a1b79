//! Violations collected up to a bound, and the client's numbers of its rows.

use omnigraph_types::{ConstraintKind, Violation};

use crate::error::{EngineError, Result};

/// Source rows of a batch.
#[derive(Debug, Clone)]
pub(crate) enum RowNumbers {
    /// Consecutive, beginning with this one.
    From(u64),
    /// One per row.
    Listed(Vec<u64>),
}

impl RowNumbers {
    /// The number of the batch's row at this place.
    pub(crate) fn of(&self, row: usize) -> u64 {
        match self {
            Self::From(first) => first + row as u64,
            Self::Listed(rows) => rows.get(row).copied().unwrap_or_default(),
        }
    }
}

/// The first violations and their total.
#[derive(Debug)]
pub(crate) struct Findings {
    most: usize,
    first: Vec<Violation>,
    total: u64,
}

/// One violation without its place.
pub(crate) struct Rule<'a> {
    pub(crate) type_name: &'a str,
    pub(crate) properties: &'a [String],
    pub(crate) kind: ConstraintKind,
}

impl Findings {
    /// Empty findings that keep at most `most` violations, and at least one.
    pub(crate) fn new(most: u64) -> Self {
        Self { most: usize::try_from(most).unwrap_or(usize::MAX).max(1), first: Vec::new(), total: 0 }
    }

    /// Counts a violation; `describe` is called only if it is kept.
    pub(crate) fn add(&mut self, rule: &Rule<'_>, describe: impl FnOnce() -> (Option<String>, Option<u64>, String)) {
        self.total += 1;
        if self.first.len() < self.most {
            let (entity, source_row, message) = describe();
            self.first.push(Violation {
                type_name: rule.type_name.to_owned(),
                entity,
                properties: rule.properties.to_vec(),
                kind: rule.kind,
                message,
                source_row,
            });
        }
    }

    /// Sets the total, which includes violations that were not described.
    pub(crate) fn set_total(&mut self, total: u64) {
        self.total = total.max(self.total);
    }

    /// Whether nothing was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The error with the violations in the order of source rows, if there are any.
    pub(crate) fn into_result(mut self) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        self.first.sort_by_key(|violation| violation.source_row.unwrap_or(u64::MAX));
        Err(EngineError::Violations { violations: self.first, total: self.total })
    }
}
