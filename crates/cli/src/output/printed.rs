//! The count of a printed result.

/// How many rows a result had, and how many of them were printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Printed {
    /// Rows of the result.
    pub(crate) rows: u64,
    /// Rows left out, because a table holds only so many.
    pub(crate) left_out: u64,
}
