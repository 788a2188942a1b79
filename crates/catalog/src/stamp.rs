//! The storage format of this program, and the stamp that says which one something is stored in.

use serde::{Deserialize, Serialize};

/// The storage format that this program reads and writes.
pub const STORAGE_FORMAT: u32 = 2;

/// The one field that every format has.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct FormatStamp {
    pub(crate) format: u32,
}
