//! The one error of xtask: what failed, and the way out of it.

use std::fmt;
use std::io;
use std::path::Path;

/// Result of every step.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// What failed, and the way out where one is known.
#[derive(Debug)]
pub(crate) struct Error {
    what: String,
    way_out: Option<String>,
}

impl Error {
    /// An error whose text says all there is to say.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), way_out: None }
    }

    /// An error about a file or folder.
    pub(crate) fn io(verb: &str, path: &Path, source: &io::Error) -> Self {
        Self::new(format!("{verb} {}: {source}", path.display()))
    }

    /// Adds what the reader can do about it.
    pub(crate) fn way_out(mut self, way_out: impl Into<String>) -> Self {
        self.way_out = Some(way_out.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.way_out {
            Some(way_out) => write!(f, "\n  {way_out}"),
            None => Ok(()),
        }
    }
}
