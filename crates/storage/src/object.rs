//! Small objects: intents, contracts, records. They go through the same store as Lance's files.

use bytes::Bytes;
use futures::TryStreamExt;
use object_store::{Error, ObjectStoreExt, PutMode};
use ulid::Ulid;

use omnigraph_types::mutant;

use crate::blame::{may_land, object_error};
use crate::bounded::{OBJECT_BYTES_MAX, TooLarge};
use crate::hooked::HookFault;
use crate::marker::{PROBES, RootFault};
use crate::remote::unusable;
use crate::root::StoreKind;
use crate::{Certainty, Misplaced, ObjectPath, StorageError, Store};

/// What a put-if-absent found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum PutOutcome {
    /// The object is ours.
    Created,
    /// A foreign object has this path, or had it a moment ago.
    AlreadyExists,
}

/// An object's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// The content.
    pub bytes: Bytes,
    /// Changes whenever the object is written, where the store reports it.
    pub etag: Option<String>,
}

/// An object's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectMeta {
    /// Its path.
    pub path: ObjectPath,
    /// Bytes.
    pub size: u64,
    /// Changes whenever the object is written, where the store reports it.
    pub etag: Option<String>,
    /// Last modification by the store's clock, in milliseconds since 1970-01-01T00:00:00Z.
    pub last_modified_ms: i64,
}

impl Store {
    /// Puts one fresh key twice; the second put must be refused and must not change the object.
    ///
    /// # Errors
    /// `PutIfAbsentIgnored` if it is accepted; `StoreUnusable` with the way out if the store cannot be used at all; any failure of the store.
    pub async fn prove_put_if_absent(&self) -> Result<(), StorageError> {
        let probe = ObjectPath::new(PROBES).child(Ulid::new());
        let first = Bytes::from_static(b"first");
        let ignored = || StorageError::PutIfAbsentIgnored { object: probe.to_string() };
        let created = self.put_if_absent(&probe, first.clone()).await;
        let PutOutcome::Created = created.map_err(|error| unusable(self.kind(), error))? else { return Err(ignored()) };
        let second = self.put_if_absent(&probe, Bytes::from_static(b"second")).await?;
        let kept = self.get(&probe).await?.is_some_and(|object| object.bytes == first);
        self.delete(&probe).await?;
        match second {
            PutOutcome::AlreadyExists if kept => Ok(()),
            PutOutcome::AlreadyExists | PutOutcome::Created => Err(ignored()),
        }
    }

    /// Writes an object that must not exist. The bytes must be unique to the caller's attempt: reading them back means that this very put
    /// was applied although its reply was lost, and counts as `Created`.
    ///
    /// # Errors
    /// `Store`, with whether the object may have been written; `Misplaced` if the bytes are more than `get` would read.
    pub async fn put_if_absent(&self, path: &ObjectPath, bytes: Bytes) -> Result<PutOutcome, StorageError> {
        check_size(path, bytes.len() as u64, None)?;
        let location = self.location(path);
        let result = self.objects().put_opts(&location, bytes.clone().into(), PutMode::Create.into()).await;
        let Err(error) = result else { return Ok(PutOutcome::Created) };
        let fault = HookFault::of(&error);
        if fault == Some(HookFault::Refused) || RootFault::of(&error).is_some() {
            return Err(object_error("put an object if absent", path, error));
        }
        // The store client's own retry may have met its first success, and any other reply may have been lost: read the object before believing the error.
        let occupied = matches!(error, Error::AlreadyExists { .. } | Error::Precondition { .. });
        let failed = |certainty, error| StorageError::Store {
            action: "put an object if absent",
            object: path.to_string(),
            certainty,
            source: Box::new(error),
        };
        match self.get(path).await {
            Ok(Some(found)) if mutant!(122, found.bytes == bytes, false) => {
                // The put, or an earlier one of the same bytes, may have failed at its sync.
                match mutant!(121, self.guard().settle().await, Ok(())) {
                    Ok(()) => Ok(PutOutcome::Created),
                    Err(unsynced) => Err(failed(Certainty::Unknown, unsynced)),
                }
            }
            Ok(Some(_)) | Err(StorageError::Misplaced { .. }) => Ok(PutOutcome::AlreadyExists),
            Ok(None) if occupied => Ok(PutOutcome::AlreadyExists),
            Ok(None) if may_land(&error, self.kind()) => Err(failed(Certainty::Unknown, error)),
            Ok(None) => Err(failed(Certainty::NotApplied, error)),
            Err(_) => Err(failed(Certainty::Unknown, error)),
        }
    }

    /// Writes an object; an existing one is replaced.
    pub async fn put(&self, path: &ObjectPath, bytes: Bytes) -> Result<(), StorageError> {
        let put = self.objects().put(&self.location(path), bytes.into()).await;
        put.map(drop).map_err(|error| object_error("put an object", path, error))
    }

    /// Reads an object; none if it does not exist.
    ///
    /// # Errors
    /// `Misplaced` for an object that is too large to be read, and for a folder in its place; `Store`.
    pub async fn get(&self, path: &ObjectPath) -> Result<Option<Object>, StorageError> {
        let failed = |error| read_error("read an object", path, error);
        let found = match self.objects().get(&self.location(path)).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return self.absent(path).await.map(|()| None),
            Err(error) => {
                return Err(match TooLarge::of(&error) {
                    Some(found) => misplaced(path, found.bytes, found.etag.as_deref()),
                    None => failed(error),
                });
            }
        };
        let etag = found.meta.e_tag.clone();
        check_size(path, found.meta.size, etag.as_deref())?;
        let bytes = found.bytes().await.map_err(failed)?;
        Ok(Some(Object { bytes, etag }))
    }

    /// Checks that a path where no object was found is free. A folder of a local root is no object, and prevents a put.
    async fn absent(&self, path: &ObjectPath) -> Result<(), StorageError> {
        if self.kind() != StoreKind::Local {
            return Ok(());
        }
        let place = std::path::Path::new(self.root()).join(path.as_str());
        match tokio::fs::metadata(place).await {
            Ok(found) if found.is_dir() => {
                Err(StorageError::Misplaced { object: path.to_string(), found: Misplaced::Folder })
            }
            // An object that was put since is found by the next read.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// All objects below `prefix`, sorted by path.
    pub async fn list(&self, prefix: &ObjectPath) -> Result<Vec<ObjectMeta>, StorageError> {
        let mut objects: Vec<ObjectMeta> = self.walk(prefix).try_collect().await?;
        objects.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(objects)
    }

    /// Names of objects and folders directly below `prefix`, sorted.
    pub async fn list_children(&self, prefix: &ObjectPath) -> Result<Vec<String>, StorageError> {
        let listed = self
            .objects()
            .list_with_delimiter(Some(&self.location(prefix)))
            .await
            .map_err(|error| read_error("list a folder", prefix, error))?;
        let files = listed.objects.iter().map(|meta| &meta.location);
        let mut names: Vec<String> =
            files.chain(&listed.common_prefixes).filter_map(|place| place.filename().map(str::to_owned)).collect();
        if names.is_empty() {
            // A root that is gone has no children either.
            self.prove_root().await?;
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Removes an object; removing an absent one succeeds.
    pub async fn delete(&self, path: &ObjectPath) -> Result<(), StorageError> {
        match self.objects().delete(&self.location(path)).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(object_error("delete an object", path, error)),
        }
    }
}

fn check_size(path: &ObjectPath, bytes: u64, etag: Option<&str>) -> Result<(), StorageError> {
    if bytes <= OBJECT_BYTES_MAX { Ok(()) } else { Err(misplaced(path, bytes, etag)) }
}

fn misplaced(path: &ObjectPath, bytes: u64, etag: Option<&str>) -> StorageError {
    let found = Misplaced::TooLarge { bytes, etag: etag.map(str::to_owned) };
    StorageError::Misplaced { object: path.to_string(), found }
}

fn read_error(action: &'static str, path: &ObjectPath, error: Error) -> StorageError {
    StorageError::Store { action, object: path.to_string(), certainty: Certainty::NotApplied, source: Box::new(error) }
}
