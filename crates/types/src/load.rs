//! Bulk loads: requests and answers.

use crate::named::named_enum;
use crate::{BranchName, Commit, WriteOptions, WriteReceipt};

named_enum! {
    /// What a load does with rows whose ids exist already. There is no default.
    pub enum LoadMode {
        /// Every row must be new; an id that exists fails the load with `KeyConflict`.
        Append = "append",
        /// A row whose id exists replaces that row as a whole; other rows are inserted.
        Merge = "merge",
        /// Each type of which the load holds at least one row is replaced by exactly the load's rows.
        Overwrite = "overwrite",
    }
}

/// A request for a load into one branch, which ends in one commit or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadRequest {
    /// The branch.
    pub branch: BranchName,
    /// What to do with rows whose ids exist.
    pub mode: LoadMode,
    /// What every write may ask for.
    pub options: WriteOptions,
}

/// Whether a load of one type reports the commit that an overwrite replaces, before it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Capture {
    /// It does not.
    #[default]
    NotWanted,
    /// It does, in its first answer.
    Wanted,
}

/// A load of rows of one type: one stream, one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeLoad {
    /// The node or edge type.
    pub type_name: String,
    /// The load.
    pub load: LoadRequest,
    /// Whether the commit that an overwrite replaces is reported.
    pub capture: Capture,
}

/// One answer of a load of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeLoadAnswer {
    /// The commit that an overwrite replaces, taken at the start of the stream.
    Capture(Commit),
    /// What the load did: the last answer.
    Receipt(WriteReceipt),
}

/// What a load of NDJSON text returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedRows {
    /// What the load did.
    pub receipt: WriteReceipt,
    /// Bytes read from the client.
    pub bytes_read: u64,
}
