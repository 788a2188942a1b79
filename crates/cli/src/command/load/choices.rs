//! What a load does with ids that exist, and if another writer comes first.

use clap::ValueEnum;
use omnigraph_client::{LoadMode, OnConflict};

/// What a load does with ids that exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// The load fails
    Append,
    /// The whole row is replaced
    Merge,
    /// All rows of the type are replaced
    Overwrite,
}

impl Mode {
    /// The mode of the vocabulary.
    pub(crate) fn load_mode(self) -> LoadMode {
        match self {
            Self::Append => LoadMode::Append,
            Self::Merge => LoadMode::Merge,
            Self::Overwrite => LoadMode::Overwrite,
        }
    }
}

/// What a load does if another writer comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Conflict {
    /// The load fails
    Fail,
    /// The load is validated again on the new state
    Retry,
}

impl Conflict {
    /// The choice of the vocabulary.
    pub(crate) fn on_conflict(self) -> OnConflict {
        match self {
            Self::Fail => OnConflict::Fail,
            Self::Retry => OnConflict::Retry,
        }
    }
}
