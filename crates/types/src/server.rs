//! What a server is.

use crate::{Feature, LimitEntry, RootId};

/// What a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    /// Its version, such as `0.1.0`.
    pub version: String,
    /// The storage format that it reads and writes.
    pub storage_format: u32,
    /// Every limit in force.
    pub limits: Vec<LimitEntry<String>>,
    /// Every feature, offered or not.
    pub features: Vec<Feature>,
    /// The id of the root that it serves.
    pub root_id: RootId,
    /// The root, as the server names it.
    pub root: String,
}
