//! Reasons why a change or its files do not fit a table; they are the sources of `Mismatch`.

use thiserror::Error;

/// Why a change cannot be committed to its table.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Unfit {
    /// A data file has a column that the table lacks.
    #[error("the table has no column {path:?}")]
    NoColumn {
        /// The column, struct by struct.
        path: Vec<String>,
    },
    /// A schema that Lance cannot store.
    #[error("the schema cannot be stored: {reason}")]
    Schema {
        /// Lance's message.
        reason: String,
    },
    /// A column name that Lance reads as a path: it could be written and not read.
    #[error("a column may not be named {name:?}: Lance reads '`' and '.' as parts of a path")]
    ColumnName {
        /// The name.
        name: String,
    },
    /// A fragment to remove that the version lacks.
    #[error("the version has no fragment {id}")]
    NoFragment {
        /// Its id.
        id: u64,
    },
    /// A fragment that an earlier transaction of the effect changed.
    #[error("fragment {id} was changed since the version that the change was staged on")]
    FragmentChanged {
        /// Its id.
        id: u64,
    },
    /// Files written for a tree that the table was not made from.
    #[error("the files were written for {tree}, which the table was not made from")]
    OtherTree {
        /// That tree.
        tree: String,
    },
    /// A change staged on another version than the one given.
    #[error("the change was staged on another version")]
    OtherBase,
    /// A change that is no creation, or one where none belongs.
    #[error("a creation makes a new table, every other change needs a version that it was staged on")]
    CreationMismatch,
}
