//! The store: one root, one object store with its hooks, one Lance session.
//!
//! A local root is opened through Lance's `file-object-store` scheme: with plain paths Lance reads and writes files past any wrapper.

use std::path::PathBuf;
use std::sync::Arc;

use lance::dataset::ReadParams;
use lance::dataset::builder::DatasetBuilder;
use lance::session::Session;
use lance_io::object_store::ObjectStoreParams;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path;

use crate::error::Source;
use crate::exact::ExactCommits;
use crate::hooked::{HookedStore, OurStore};
use crate::{ObjectPath, StorageError, StoreHook, TreeRef};

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

/// One root of graphs. Cheap to clone; clones share connections and caches.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug, Clone)]
struct Inner {
    root: String,
    root_path: Path,
    root_uri: String,
    objects: Arc<dyn ObjectStore>,
    session: Arc<Session>,
    params: ObjectStoreParams,
    exact: Arc<ExactCommits>,
}

impl Store {
    /// Opens a local root (a path or `file://`) and makes its folder.
    pub async fn open(root: &str, options: StoreOptions) -> Result<Store, StorageError> {
        let folder = local_folder(root)?;
        let invalid = |source: Source| StorageError::InvalidRoot { root: root.to_owned(), source };
        let durability = options.durability;
        let absolute = tokio::task::spawn_blocking(move || make_folder(&folder, durability))
            .await
            .map_err(|error| invalid(error.into()))?
            .map_err(|error| invalid(error.into()))?;
        let text = absolute.to_str().ok_or_else(|| invalid("the path is no UTF-8 text".into()))?.to_owned();
        let root_path = Path::from_absolute_path(&absolute).map_err(|error| invalid(error.into()))?;
        let files = LocalFileSystem::new().with_fsync(durability == Durability::Full);
        let objects = HookedStore::around(Arc::new(files), options.hooks, root_path.clone());
        let cache_half = usize::try_from(options.cache_bytes / 2).unwrap_or(usize::MAX);
        let inner = Inner {
            root_uri: format!("file-object-store://{}", percent_encoded(&text)),
            root: text,
            root_path,
            session: Arc::new(Session::new(cache_half, cache_half, Default::default())),
            params: ObjectStoreParams {
                object_store_wrapper: Some(Arc::new(OurStore(Arc::clone(&objects)))),
                ..Default::default()
            },
            objects,
            exact: Arc::new(ExactCommits::default()),
        };
        Ok(Store { inner: Arc::new(inner) })
    }

    /// The same store with caches of its own, which are empty: what is read through it is what the store holds.
    pub fn with_empty_caches(&self, cache_bytes: u64) -> Store {
        let cache_half = usize::try_from(cache_bytes / 2).unwrap_or(usize::MAX);
        let session = Session::new(cache_half, cache_half, self.inner.session.store_registry());
        let inner = Inner {
            session: Arc::new(session),
            exact: Arc::new(ExactCommits::default()),
            ..self.inner.as_ref().clone()
        };
        Store { inner: Arc::new(inner) }
    }

    /// The root, absolute.
    pub fn root(&self) -> &str {
        &self.inner.root
    }

    pub(crate) fn objects(&self) -> &dyn ObjectStore {
        self.inner.objects.as_ref()
    }

    pub(crate) fn session(&self) -> Arc<Session> {
        Arc::clone(&self.inner.session)
    }

    pub(crate) fn params(&self) -> ObjectStoreParams {
        self.inner.params.clone()
    }

    pub(crate) fn exact(&self) -> Arc<ExactCommits> {
        Arc::clone(&self.inner.exact)
    }

    /// Where an object lies in the object store.
    pub(crate) fn location(&self, path: &ObjectPath) -> Path {
        // Both halves are checked: a path has no segment that the object store refuses. Joining parts instead would encode some
        // characters, which Lance does not do for the same folder.
        Path::parse(format!("{}/{path}", self.inner.root_path)).expect("a checked path parses")
    }

    /// The object at a location of the object store; none outside the root.
    pub(crate) fn object_path(&self, location: &Path) -> Option<ObjectPath> {
        let parts: Vec<String> =
            location.prefix_match(&self.inner.root_path)?.map(|part| part.as_ref().to_owned()).collect();
        ObjectPath::parse_text(parts.join("/")).ok()
    }

    /// How the URI of everything in this root begins.
    pub(crate) fn uri_prefix(&self) -> String {
        format!("{}/", self.inner.root_uri)
    }

    /// The URI by which Lance opens or writes a folder.
    pub(crate) fn uri(&self, path: &ObjectPath) -> String {
        format!("{}/{}", self.inner.root_uri, percent_encoded(path.as_str()))
    }

    /// A builder that opens a tree with our store, session and commit handler.
    pub(crate) fn dataset_builder(&self, tree: &TreeRef) -> DatasetBuilder {
        let params = ReadParams { store_options: Some(self.params()), ..Default::default() };
        DatasetBuilder::from_uri(self.uri(&tree.folder()))
            .with_read_params(params)
            .with_session(self.session())
            .with_commit_handler(self.exact())
    }
}

/// The folder that a root names.
fn local_folder(root: &str) -> Result<PathBuf, StorageError> {
    match root.split_once("://") {
        None if root.is_empty() => {
            Err(StorageError::InvalidRoot { root: root.to_owned(), source: "the path is empty".into() })
        }
        None => Ok(PathBuf::from(root)),
        Some(("file", path)) if path.starts_with('/') => Ok(PathBuf::from(path)),
        Some(("file", _)) => Err(StorageError::InvalidRoot {
            root: root.to_owned(),
            source: "file:// takes an absolute path: file:///folder".into(),
        }),
        Some((scheme, _)) => Err(StorageError::UnsupportedScheme { scheme: scheme.to_owned() }),
    }
}

/// Makes a folder and resolves links, so that every process names it alike.
fn make_folder(folder: &PathBuf, durability: Durability) -> std::io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let absolute = folder.canonicalize()?;
    if durability == Durability::Full
        && let Some(parent) = absolute.parent()
    {
        std::fs::File::open(parent)?.sync_all()?;
    }
    Ok(absolute)
}

/// A path as part of a URI: all but unreserved characters and `/` as `%XX`.
fn percent_encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => text.push(char::from(byte)),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}
