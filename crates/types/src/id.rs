//! Identities and versions as newtypes, so that one cannot stand for another.
//!
//! Identities made by a process are ULIDs: 26 upper-case Crockford characters, sortable by the millisecond in which they were made.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use ulid::Ulid;

macro_rules! ulid_id {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Ulid);

        impl $name {
            /// The moment in the id: milliseconds since 1970-01-01T00:00:00Z.
            pub fn timestamp_ms(self) -> u64 {
                self.0.timestamp_ms()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = ulid::DecodeError;
            /// Parses 26 Crockford characters of 128 bits; fails on any other text.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                // 26 characters hold 130 bits: a first one beyond 7 would be cut off in silence, and name another id.
                match text.as_bytes().first() {
                    Some(b'0'..=b'7') | None => Ulid::from_string(text).map(Self),
                    Some(_) => Err(ulid::DecodeError::InvalidChar),
                }
            }
        }
    )*};
}

ulid_id! {
    /// One root: minted when the root is made, and kept in its marker.
    RootId,
    /// One graph; never reused, also when a graph of the same name is created again.
    GraphId,
    /// One branch; its name is only a name.
    BranchId,
    /// One commit: a publication that changed rows or schema.
    CommitId,
    /// What a client asked for once: the idempotency key of a write.
    OperationId,
    /// One try of an operation; names everything that this try stages.
    AttemptId,
    /// One open load in parts.
    LoadId,
    /// One read while it runs: a query or a scan.
    QueryId,
    /// One private tree (a Lance branch) of a table.
    TreeId,
}

macro_rules! number_id {
    ($($(#[$doc:meta])* $name:ident($(#[$reading:meta])* $inner:ty)),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name($(#[$reading])* pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    )*};
}

number_id! {
    /// One node or edge type, and so one table: allocated once, kept across renames, never reused.
    TableId(u32),
    /// One property of a type: allocated once, kept across renames, never reused.
    PropertyId(u32),
}

/// The last version that is read from a store. No chain gets there, and behind it there is room for the versions that are reckoned from it.
const VERSION_MAX: u64 = u64::MAX / 2;

/// A version as it is stored, refused if no version can follow it.
fn read_version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let version = u64::deserialize(deserializer)?;
    if version > VERSION_MAX {
        return Err(D::Error::custom(format_args!("version {version} lies beyond {VERSION_MAX}")));
    }
    Ok(version)
}

number_id! {
    /// One publication of a branch's `__manifest` chain.
    GraphVersion(#[serde(deserialize_with = "read_version")] u64),
    /// One Lance version of one tree of a table.
    TableVersion(#[serde(deserialize_with = "read_version")] u64),
}

impl GraphVersion {
    /// The version that the next publication writes.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl TableVersion {
    /// The version that the next exact commit writes.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

#[cfg(test)]
mod tests {
    use serde::de::IntoDeserializer;

    use super::*;

    #[test]
    fn text_of_more_than_128_bits_is_no_id() {
        assert!("7ZZZZZZZZZZZZZZZZZZZZZZZZZ".parse::<CommitId>().is_ok());
        for text in ["8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "81ARZ3NDEKTSV4RRFFQ69G5FAV", "", "01ARZ3NDEKTSV4RRFFQ69G5FA"] {
            assert!(text.parse::<CommitId>().is_err(), "{text}");
        }
    }

    #[test]
    fn version_that_none_can_follow_is_not_read() {
        let read = |version: u64| {
            let stored = IntoDeserializer::<serde::de::value::Error>::into_deserializer(version);
            GraphVersion::deserialize(stored).ok()
        };
        for version in [0, 1, VERSION_MAX] {
            assert_eq!(read(version), Some(GraphVersion(version)));
        }
        for version in [VERSION_MAX + 1, u64::MAX] {
            assert_eq!(read(version), None);
        }
    }

    #[test]
    fn ulid_id_round_trips_through_text_and_json() {
        let id = CommitId(Ulid::from_parts(1_700_000_000_000, 7));
        assert_eq!(id.to_string().parse::<CommitId>().unwrap(), id);
        assert_eq!(id.timestamp_ms(), 1_700_000_000_000);
        assert!("not an id".parse::<CommitId>().is_err());
    }
}
