//! The marker of a root: one small object with the root's id, put when the root is made and never changed.
//!
//! Why: a root that was removed, unmounted or replaced under a running server still takes writes, and they are lost. The marker is the proof
//! that a root is the one that was opened.
//! Invariant: a marker is written once, put if absent; equal bytes are the same root.

use std::error::Error as StdError;

use bytes::Bytes;
use object_store::Error;
use omnigraph_types::RootId;
use serde::Deserialize;
use thiserror::Error as ThisError;

use crate::causes::causes;

/// Where the marker lies, below the root.
pub(crate) const MARKER: &str = "__root.json";
/// The format of roots that is served.
const ROOT_FORMAT: u32 = 2;
/// Children of a place where nothing is stored: made by file systems, or left by a proof that a store can be used.
pub(crate) const NOTHING_STORED: [&str; 2] = ["lost+found", PROBES];
/// Where objects of such proofs lie, below the root.
pub(crate) const PROBES: &str = "__probe";

/// Where a new root may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewRoot {
    /// Nowhere: the root must have been made before.
    Never,
    /// Only in a folder that exists and is empty; never in a bucket or container, where every prefix looks empty.
    InEmptyFolder,
    /// Wherever nothing is stored; a missing folder is made.
    WhereNothingIs,
}

/// Where a root came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootOrigin {
    /// It was made by this call.
    Made,
    /// It had been made before.
    Found,
}

/// A root with its marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RootClaim {
    /// The root's id.
    pub id: RootId,
    /// Whether it was made now.
    pub origin: RootOrigin,
}

/// Why a root takes no writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ThisError)]
pub enum RootFault {
    /// Its marker is missing.
    #[error("the marker of the root is missing")]
    Missing,
    /// Its place has the marker of another root.
    #[error("the place of the root has the marker of another root")]
    Replaced,
    /// A sync failed, and failed again when it was repeated.
    #[error("a sync failed twice")]
    Unsynced,
}

impl RootFault {
    /// As an error of the object store.
    pub(crate) fn error(self) -> Error {
        Error::Generic { store: "root", source: Box::new(self) }
    }

    /// The fault at the root of an error, if there is one.
    pub(crate) fn of(error: &(dyn StdError + 'static)) -> Option<Self> {
        causes(error).find_map(|cause| cause.downcast_ref()).copied()
    }

    /// For people: the fault and the way out.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Self::Missing => {
                "the root was removed or unmounted while it was served, so nothing is written: bring it back, or restart the server on \
                 another root"
            }
            Self::Replaced => {
                "the place of the root holds another root than the one that was opened, so nothing is written: bring the root back, or restart \
                 the server"
            }
            Self::Unsynced => {
                "the system twice failed to write to the disk of the root, so this server writes nothing more and vouches for no write that it \
                 has not acknowledged: check the disk and the file system, then restart the server and ask for the operation"
            }
        }
    }
}

/// Whether a root is the one that was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootState {
    /// It was, when it was last proven.
    Proven,
    /// It was not.
    Lost(RootFault),
}

#[derive(Debug, Deserialize)]
struct Stored {
    format: u32,
    root_id: RootId,
}

/// Bytes that are no marker of a root that is served.
#[derive(Debug, ThisError)]
pub(crate) enum NoMarker {
    #[error("the marker cannot be read")]
    Unreadable(#[from] serde_json::Error),
    #[error("the root has format {found}, and format {ROOT_FORMAT} is served")]
    Format { found: u32 },
}

/// The content of a new marker.
pub(crate) fn encode(root_id: RootId) -> Bytes {
    let text = format!("{{\"format\":{ROOT_FORMAT},\"root_id\":\"{root_id}\"}}\n");
    Bytes::from(text)
}

/// The root's id in a marker.
pub(crate) fn decode(bytes: &[u8]) -> Result<RootId, NoMarker> {
    let Stored { format, root_id } = serde_json::from_slice(bytes)?;
    if format == ROOT_FORMAT { Ok(root_id) } else { Err(NoMarker::Format { found: format }) }
}

#[cfg(test)]
mod tests {
    use ulid::Ulid;

    use super::*;

    #[test]
    fn marker_is_read_as_it_was_written_and_another_format_is_refused() {
        let id = RootId(Ulid::new());
        assert_eq!(decode(&encode(id)).unwrap(), id);
        let newer = String::from_utf8(encode(id).to_vec()).unwrap().replace("\"format\":2", "\"format\":3");
        assert!(matches!(decode(newer.as_bytes()), Err(NoMarker::Format { found: 3 })));
        assert!(matches!(decode(b"{}"), Err(NoMarker::Unreadable(_))));
    }
}
