//! Hooks: called before and after every call that reaches the store, Lance's included.
//!
//! Why: fault injection, request counts and proofs of order need one seam, and nobody outside this crate names object_store.
//! Invariants: hooks run in the order given; the first that does not say `Proceed` decides; a lost reply is decided only after the store has
//! answered, so the call has been applied.

use std::fmt::Debug;

use async_trait::async_trait;

/// The kinds of call. A part of a multipart upload, and its completion, count as `Put`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StoreCall {
    /// Unconditional write.
    Put,
    /// Write that fails if the object exists.
    PutIfAbsent,
    /// Read of an object or of ranges of it.
    Get,
    /// Read of an object's metadata.
    Head,
    /// Listing below a prefix.
    List,
    /// Removal.
    Delete,
    /// Copy inside the store.
    Copy,
    /// Rename inside the store.
    Rename,
}

/// What the store answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreReply {
    /// Done.
    Ok,
    /// There is no such object.
    NotFound,
    /// The object exists already.
    AlreadyExists,
    /// Any other failure.
    Failed,
}

/// A hook's decision before a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum HookVerdict {
    /// Call the store.
    Proceed,
    /// Do not apply the call; its caller gets an error.
    Fail,
    /// Apply the call after `StoreHook::landing`; its caller gets an error at once. Only whole puts can be late, any other call
    /// fails instead.
    ApplyLate,
    /// Do not apply the call; its caller gets the answer of a store that has the object, or that a put of it is under way. Only whole puts can
    /// be answered so, any other call fails instead.
    Conflict,
    /// Apply a put of the first half of the bytes; its caller gets an error. Only whole puts can be torn, any other call fails instead.
    Tear,
}

/// A hook's decision after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum AfterVerdict {
    /// Return the reply to the caller.
    Pass,
    /// The call is applied, but its caller gets an error.
    LoseReply,
}

/// What is synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyncOf {
    /// The content of a file.
    File,
    /// The entries of a folder.
    Folder,
}

/// A hook's decision before a sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum SyncVerdict {
    /// Sync.
    Proceed,
    /// Do not sync; the system reports an input or output error.
    Fail,
}

/// Sees every call to the store. `path` is relative to the root, or absolute for an object outside of it.
#[async_trait]
pub trait StoreHook: Debug + Send + Sync {
    /// Called before the store is; may wait.
    async fn before(&self, call: StoreCall, path: &str) -> HookVerdict;

    /// Called for a call that is to be late; the store gets it when this returns, and then `after` is called.
    async fn landing(&self, _call: StoreCall, _path: &str) {}

    /// Called with the store's reply; may wait.
    async fn after(&self, call: StoreCall, path: &str, reply: StoreReply) -> AfterVerdict;

    /// Called before a file or a folder of a local root is synced, on a thread that may block. A file's path is the one that it gets.
    fn sync(&self, _of: SyncOf, _path: &str) -> SyncVerdict {
        SyncVerdict::Proceed
    }
}
