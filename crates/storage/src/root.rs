//! Where a root lies: a folder, or a place in a bucket of S3 or in a container of Azure.
//!
//! Invariant: a root is one place under one name, so that every process derives the same paths from it.

use std::path::PathBuf;

use object_store::path::Path;

use crate::{ObjectPath, StorageError};

/// The kinds of store that are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreKind {
    /// A folder of this machine.
    Local,
    /// S3 and what speaks its protocol.
    S3,
    /// Azure's blob storage.
    Azure,
}

/// The kinds of store that are reached by requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RemoteKind {
    S3,
    Azure,
}

impl From<RemoteKind> for StoreKind {
    fn from(kind: RemoteKind) -> Self {
        match kind {
            RemoteKind::S3 => Self::S3,
            RemoteKind::Azure => Self::Azure,
        }
    }
}

/// A root as it was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Root {
    /// A folder.
    Folder(PathBuf),
    /// A place in a store that is reached by requests.
    Remote(RemoteRoot),
}

/// A prefix in a bucket or container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RemoteRoot {
    pub(crate) kind: RemoteKind,
    /// The bucket, or the container.
    pub(crate) bucket: String,
    /// Empty where the root is the bucket itself.
    pub(crate) prefix: Path,
}

/// Refuses a root that is named by a folder which does not exist. Asked before a store is opened where no folder is to be made.
///
/// # Errors
/// `NoRoot`, and what `Store::open` says of a name that is none.
pub fn require_folder(root: &str) -> Result<(), StorageError> {
    match Root::parse(root)? {
        Root::Folder(folder) if !folder.exists() => Err(StorageError::NoRoot { root: root.to_owned() }),
        Root::Folder(_) | Root::Remote(_) => Ok(()),
    }
}

impl Root {
    /// Reads a root: a path, `file:///folder`, `s3://bucket/prefix` or `az://container/prefix`.
    pub(crate) fn parse(root: &str) -> Result<Self, StorageError> {
        let invalid = |reason: &str| StorageError::InvalidRoot { root: root.to_owned(), source: reason.into() };
        match root.split_once("://") {
            None if root.is_empty() => Err(invalid("the path is empty")),
            None => Ok(Self::Folder(PathBuf::from(root))),
            Some(("file", path)) if path.starts_with('/') => Ok(Self::Folder(PathBuf::from(path))),
            Some(("file", _)) => Err(invalid("file:// takes an absolute path: file:///folder")),
            Some(("s3", place)) => Ok(Self::Remote(remote(RemoteKind::S3, place).map_err(invalid)?)),
            Some(("az", place)) => Ok(Self::Remote(remote(RemoteKind::Azure, place).map_err(invalid)?)),
            Some((scheme, _)) => Err(StorageError::UnsupportedScheme { scheme: scheme.to_owned() }),
        }
    }
}

fn remote(kind: RemoteKind, place: &str) -> Result<RemoteRoot, &'static str> {
    let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if bucket.is_empty() || !bucket.chars().all(legal) {
        return Err(
            "name a bucket or container of letters, digits, '-', '.' and '_' after the scheme, and nothing else before the next '/'",
        );
    }
    let prefix = prefix.trim_end_matches('/');
    if prefix.contains(['?', '#', '%']) {
        return Err("a prefix may not have '?', '#' or '%'");
    }
    if !prefix.is_empty() {
        ObjectPath::parse_text(prefix).map_err(
            |_| "join the segments of a prefix by single '/', none of them '.' or '..' or with control characters",
        )?;
    }
    let prefix = Path::parse(prefix).map_err(|_| "the prefix is no path")?;
    Ok(RemoteRoot { kind, bucket: bucket.to_owned(), prefix })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(root: &str) -> (RemoteKind, String, String) {
        match Root::parse(root) {
            Ok(Root::Remote(remote)) => (remote.kind, remote.bucket, remote.prefix.to_string()),
            other => panic!("{root}: {other:?}"),
        }
    }

    #[test]
    fn bucket_and_prefix_are_read_and_a_last_slash_is_nothing() {
        for (root, kind, bucket, prefix) in [
            ("s3://graphs", RemoteKind::S3, "graphs", ""),
            ("s3://graphs/", RemoteKind::S3, "graphs", ""),
            ("s3://my.graphs-1/a/b c/", RemoteKind::S3, "my.graphs-1", "a/b c"),
            ("az://graphs/x", RemoteKind::Azure, "graphs", "x"),
        ] {
            assert_eq!(place(root), (kind, bucket.to_owned(), prefix.to_owned()), "{root}");
        }
    }

    #[test]
    fn root_that_is_no_one_place_is_refused() {
        for root in [
            "",
            "file://x",
            "s3://",
            "s3:///a",
            "s3://user:secret@b/a",
            "s3://b:9/a",
            "s3://b//a",
            "s3://b/../a",
            "az://c/a?x",
            "s3://b/%41",
        ] {
            assert!(matches!(Root::parse(root), Err(StorageError::InvalidRoot { .. })), "{root:?}");
        }
        for (root, scheme) in [("gs://b/a", "gs"), ("S3://b", "S3"), ("https://b/a", "https")] {
            let refused = Root::parse(root).unwrap_err();
            assert!(matches!(&refused, StorageError::UnsupportedScheme { scheme: found } if found == scheme), "{root}");
        }
    }
}
