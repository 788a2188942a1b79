//! Where the graphs of a run are, and what servers need to reach it.

use std::path::PathBuf;

/// A root for the servers of a run.
#[derive(Debug, Clone)]
pub struct RaceStore {
    /// What the result calls it: `local`, `s3`, `azure`.
    pub name: String,
    /// What `serve --root` is given: a folder, or the URL of a bucket or container with a prefix.
    pub root: String,
    /// Variables of the servers' environment, such as credentials.
    pub environment: Vec<(String, String)>,
    /// How a server that holds a ticket is found.
    pub tickets: Tickets,
}

/// How a server that holds a ticket is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tickets {
    /// The root is this folder: intents are seen as they are put.
    Folder(PathBuf),
    /// The folder cannot be read: fail points hold a writer between its intent and its publication, and the log says so.
    FailPoints,
}

impl RaceStore {
    /// A folder of this machine.
    pub fn local(folder: PathBuf) -> Self {
        let root = folder.to_string_lossy().into_owned();
        Self { name: "local".to_owned(), root, environment: Vec::new(), tickets: Tickets::Folder(folder) }
    }

    /// A store elsewhere, with the variables that servers need to reach it.
    pub fn remote(name: impl Into<String>, root: impl Into<String>, environment: Vec<(String, String)>) -> Self {
        Self { name: name.into(), root: root.into(), environment, tickets: Tickets::FailPoints }
    }
}
