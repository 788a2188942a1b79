//! The store: one root, one object store with its hooks, one Lance session.

use std::sync::Arc;

use crate::{StorageError, StoreHook};

/// What an acknowledged write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Loss of power: files and their folders are synced before a write returns.
    #[default]
    Full,
    /// A killed process: the operating system writes in its own time.
    Os,
}

/// How to open a store.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// What an acknowledged write survives.
    pub durability: Durability,
    /// Told of every call, in this order.
    pub hooks: Vec<Arc<dyn StoreHook>>,
    /// Bytes of Lance's shared metadata and index caches together.
    pub cache_bytes: u64,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { durability: Durability::Full, hooks: Vec::new(), cache_bytes: 256 * 1024 * 1024 }
    }
}

/// One root of graphs.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: String,
}

impl Store {
    /// Opens a local root (a path or `file://`) and makes its folder.
    pub async fn open(_root: &str, _options: StoreOptions) -> Result<Store, StorageError> {
        todo!()
    }

    /// The root, absolute.
    pub fn root(&self) -> &str {
        &self.inner.root
    }
}
