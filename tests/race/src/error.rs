//! Reasons why a run could not be made; what a run finds is a violation.

use std::path::PathBuf;

use omnigraph_client::ClientError;
use thiserror::Error;

/// Why a run could not be made.
#[derive(Debug, Error)]
pub enum RaceError {
    /// There are too few servers or clients.
    #[error("a race needs 2 servers and 1 client at least: give --servers and --clients")]
    TooFew,
    /// A request before or after the race itself failed.
    #[error("{action}: {source}")]
    Client {
        /// What was to be done.
        action: &'static str,
        /// Why it was not.
        source: Box<ClientError>,
    },
    /// A file cannot be written or read.
    #[error("{action} {}: {source}", path.display())]
    File {
        /// What was to be done.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it was not.
        source: std::io::Error,
    },
}

impl RaceError {
    /// The failure of a request that is not part of the race.
    pub fn client(action: &'static str) -> impl FnOnce(ClientError) -> Self {
        move |source| Self::Client { action, source: Box::new(source) }
    }
}
