//! The store: one root, one object store with its hooks, one Lance session.
//!
//! A local root is opened through Lance's `file-object-store` scheme: with plain paths Lance reads and writes files past any wrapper. For
//! any other root Lance is given our client.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use lance::dataset::ReadParams;
use lance::dataset::builder::DatasetBuilder;
use lance::session::Session;
use lance_io::object_store::{ObjectStoreParams, ObjectStoreRegistry};
use object_store::ObjectStore;
use object_store::path::Path;

use crate::bounded::BoundedStore;
use crate::error::Source;
use crate::exact::ExactCommits;
use crate::folder::FolderStore;
use crate::guard::{GuardedStore, RootGuard};
use crate::hooked::{HookedStore, OurStore};
use crate::remote::{OneClient, client, reason};
use crate::root::{RemoteRoot, Root, StoreKind};
use crate::syncs::{Syncing, Syncs};
use crate::{ObjectPath, StorageError, StoreHook, TreeRef};

/// What an acknowledged write survives in a folder. Stores that are reached by requests keep what they have acknowledged.
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
    /// Called around every call, in this order.
    pub hooks: Vec<Arc<dyn StoreHook>>,
    /// Bytes of Lance's shared metadata and index caches together.
    pub cache_bytes: u64,
    /// Settings of a store's client by the names of their environment variables (`AWS_*`, `AZURE_*`); they go before the environment's.
    pub variables: HashMap<String, String>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Full,
            hooks: Vec::new(),
            cache_bytes: 256 * 1024 * 1024,
            variables: HashMap::new(),
        }
    }
}

/// One root of graphs. Cheap to clone; clones share connections and caches.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug, Clone)]
struct Inner {
    kind: StoreKind,
    root: String,
    root_path: Path,
    root_uri: String,
    objects: Arc<dyn ObjectStore>,
    objects_past_hooks: Arc<dyn ObjectStore>,
    guard: Arc<RootGuard>,
    session: Arc<Session>,
    params: ObjectStoreParams,
    exact: Arc<ExactCommits>,
}

/// A root that was opened.
struct Opened {
    kind: StoreKind,
    root: String,
    root_path: Path,
    root_uri: String,
    objects: Arc<dyn ObjectStore>,
    guard: Arc<RootGuard>,
}

impl Opened {
    async fn folder(root: &str, folder: PathBuf, options: &StoreOptions) -> Result<Self, StorageError> {
        let durability = options.durability;
        let invalid = |source: Source| StorageError::InvalidRoot { root: root.to_owned(), source };
        let absolute = tokio::task::spawn_blocking(move || make_folder(&folder, durability))
            .await
            .map_err(|error| invalid(error.into()))?
            .map_err(|error| invalid(error.into()))?;
        let text = absolute.to_str().ok_or_else(|| invalid("the path is no UTF-8 text".into()))?.to_owned();
        let syncing = match durability {
            Durability::Full => Syncing::On,
            Durability::Os => Syncing::Off,
        };
        let syncs = Arc::new(Syncs::new(absolute.clone(), syncing, options.hooks.clone()));
        let guard = Arc::new(RootGuard::new(Some(Arc::clone(&syncs))));
        Ok(Self {
            kind: StoreKind::Local,
            root_path: Path::from_absolute_path(&absolute).map_err(|error| invalid(error.into()))?,
            root_uri: format!("file-object-store://{}", percent_encoded(&text)),
            root: text,
            objects: FolderStore::open(Arc::clone(&guard), syncs),
            guard,
        })
    }

    fn remote(root: &str, place: RemoteRoot, variables: &HashMap<String, String>) -> Result<Self, StorageError> {
        let kind = StoreKind::from(place.kind);
        let objects = client(&place, variables).map_err(|error| match reason(kind, &error) {
            Some(reason) => StorageError::StoreUnusable { reason, source: error.into() },
            None => StorageError::InvalidRoot { root: root.to_owned(), source: error.into() },
        })?;
        let mut text = format!("{}://{}", scheme(kind), place.bucket);
        if !place.prefix.as_ref().is_empty() {
            text.push('/');
            text.push_str(place.prefix.as_ref());
        }
        let root_uri = match text.split_once("://") {
            Some((scheme, rest)) => format!("{scheme}://{}", percent_encoded(rest)),
            None => text.clone(),
        };
        Ok(Self { kind, root: text, root_path: place.prefix, root_uri, objects, guard: Arc::new(RootGuard::new(None)) })
    }
}

/// The scheme by which Lance names a store.
fn scheme(kind: StoreKind) -> &'static str {
    match kind {
        StoreKind::Local => "file-object-store",
        StoreKind::S3 => "s3",
        StoreKind::Azure => "az",
    }
}

impl Store {
    /// Opens a root: a path or `file://`, whose folder is made, or `s3://bucket/prefix` or `az://container/prefix`, whose bucket or container must exist.
    /// Nothing is asked of a store that is not local; `claim_root` and `prove_put_if_absent` do that.
    ///
    /// # Errors
    /// `UnsupportedScheme` and `InvalidRoot`.
    pub async fn open(root: &str, options: StoreOptions) -> Result<Store, StorageError> {
        let opened = match Root::parse(root)? {
            Root::Folder(folder) => Opened::folder(root, folder, &options).await?,
            Root::Remote(place) => Opened::remote(root, place, &options.variables)?,
        };
        let Opened { kind, root, root_path, root_uri, objects, guard } = opened;
        let objects_past_hooks = GuardedStore::around(BoundedStore::around(objects), Arc::clone(&guard));
        let objects = HookedStore::around(Arc::clone(&objects_past_hooks), options.hooks, root_path.clone());
        let registry = ObjectStoreRegistry::default();
        if kind != StoreKind::Local {
            registry.insert(scheme(kind), Arc::new(OneClient(Arc::clone(&objects))));
        }
        let cache_half = usize::try_from(options.cache_bytes / 2).unwrap_or(usize::MAX);
        let inner = Inner {
            kind,
            root,
            root_path,
            root_uri,
            session: Arc::new(Session::new(cache_half, cache_half, Arc::new(registry))),
            params: ObjectStoreParams {
                object_store_wrapper: Some(Arc::new(OurStore(Arc::clone(&objects)))),
                ..Default::default()
            },
            objects,
            objects_past_hooks,
            guard,
            exact: Arc::new(ExactCommits::of(kind)),
        };
        Ok(Store { inner: Arc::new(inner) })
    }

    /// What kind of store it is.
    pub fn kind(&self) -> StoreKind {
        self.inner.kind
    }

    /// The same store with caches of its own, which are empty: what is read through it is what the store holds.
    pub fn with_empty_caches(&self, cache_bytes: u64) -> Store {
        let cache_half = usize::try_from(cache_bytes / 2).unwrap_or(usize::MAX);
        let session = Session::new(cache_half, cache_half, self.inner.session.store_registry());
        let inner = Inner {
            session: Arc::new(session),
            exact: Arc::new(ExactCommits::of(self.inner.kind)),
            ..self.inner.as_ref().clone()
        };
        Store { inner: Arc::new(inner) }
    }

    /// The root: an absolute path, or a URL.
    pub fn root(&self) -> &str {
        &self.inner.root
    }

    pub(crate) fn objects(&self) -> &dyn ObjectStore {
        self.inner.objects.as_ref()
    }

    /// The same store, whose calls no hook sees: for calls that are no part of a request.
    pub(crate) fn objects_past_hooks(&self) -> &dyn ObjectStore {
        self.inner.objects_past_hooks.as_ref()
    }

    pub(crate) fn guard(&self) -> &RootGuard {
        &self.inner.guard
    }

    pub(crate) fn root_path(&self) -> &Path {
        &self.inner.root_path
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
        let root = self.inner.root_path.as_ref();
        let text = if root.is_empty() { path.to_string() } else { format!("{root}/{path}") };
        Path::parse(text).expect("a checked path parses")
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

    /// The name by which any reader of Lance opens the dataset in a folder of the root: an absolute path, or the URL of a store.
    pub fn dataset_uri(&self, path: &ObjectPath) -> String {
        match self.kind() {
            StoreKind::Local => format!("{}/{path}", self.root()),
            StoreKind::S3 | StoreKind::Azure => self.uri(path),
        }
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

/// Makes a folder and resolves links, so that every process names it alike. The entries of all folders that it makes are synced.
fn make_folder(folder: &std::path::Path, durability: Durability) -> std::io::Result<PathBuf> {
    let made = folder.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.exists()).count();
    std::fs::create_dir_all(folder)?;
    let absolute = folder.canonicalize()?;
    if durability == Durability::Full {
        // The entry of the folder itself is synced in any case: it may have been made a moment ago, by a process that was killed.
        for parent in absolute.ancestors().skip(1).take(made.max(1)) {
            std::fs::File::open(parent)?.sync_all()?;
        }
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
