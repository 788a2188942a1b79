//! Small objects: intents, contracts, records.

use bytes::Bytes;

use crate::{ObjectPath, StorageError, Store};

/// What a put-if-absent found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum PutOutcome {
    /// The object is ours.
    Created,
    /// Somebody else's object is there.
    AlreadyExists,
}

/// An object's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// The content.
    pub bytes: Bytes,
    /// Changes whenever the object is written, where the store tells.
    pub etag: Option<String>,
}

/// An object's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectMeta {
    /// Where it lies.
    pub path: ObjectPath,
    /// Bytes.
    pub size: u64,
    /// Changes whenever the object is written, where the store tells.
    pub etag: Option<String>,
    /// Last modification by the store's clock, in milliseconds since 1970.
    pub last_modified_ms: i64,
}

impl Store {
    /// Puts one key twice; the second put must be refused.
    pub async fn prove_put_if_absent(&self) -> Result<(), StorageError> {
        todo!()
    }

    /// Writes an object that must not exist. The bytes must be unique to the caller's attempt: finding them there means that the put was
    /// applied although its reply was lost.
    pub async fn put_if_absent(&self, _path: &ObjectPath, _bytes: Bytes) -> Result<PutOutcome, StorageError> {
        todo!()
    }

    /// Writes an object, replacing what is there.
    pub async fn put(&self, _path: &ObjectPath, _bytes: Bytes) -> Result<(), StorageError> {
        todo!()
    }

    /// Reads an object; none if it does not exist.
    pub async fn get(&self, _path: &ObjectPath) -> Result<Option<Object>, StorageError> {
        todo!()
    }

    /// All objects below `prefix`, sorted by path.
    pub async fn list(&self, _prefix: &ObjectPath) -> Result<Vec<ObjectMeta>, StorageError> {
        todo!()
    }

    /// Names of objects and folders directly below `prefix`, sorted.
    pub async fn list_children(&self, _prefix: &ObjectPath) -> Result<Vec<String>, StorageError> {
        todo!()
    }

    /// Removes an object; an absent one is removed already.
    pub async fn delete(&self, _path: &ObjectPath) -> Result<(), StorageError> {
        todo!()
    }
}
