//! What a server is.

use crate::LimitEntry;

/// One feature of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    /// Its name, such as `flight_sql`. The set is open.
    pub name: String,
    /// Whether the server offers it.
    pub enabled: bool,
    /// What it is.
    pub description: String,
}

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
}
