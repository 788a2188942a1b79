//! Progress of calls that stream it.

/// How far a call has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// What is being worked on.
    pub item: String,
    /// Items done.
    pub done: u64,
    /// Items in all, or 0 where that is not known.
    pub total: u64,
}
