//! Errors of a cell's name.

use thiserror::Error;

/// Why a text names no cell.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CellName {
    /// No cell has this name.
    #[error("no cell is called {name:?}: a name is <writer>/<point>/<fault>/<tables>/<next>, as {example}")]
    Unknown {
        /// The text.
        name: String,
        /// The name of a cell.
        example: String,
    },
    /// A rule leaves the cell out.
    #[error("the cell {name:?} is left out: {reason}")]
    Impossible {
        /// The text.
        name: String,
        /// Why.
        reason: &'static str,
    },
}
