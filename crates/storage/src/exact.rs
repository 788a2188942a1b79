//! Lance's commit handler as exact commits need it.
//!
//! Lance rebases over newer compatible transactions before its first attempt, even with zero retries. It finds them by listing, so a
//! handler that lists none leaves exactly one outcome: the version after the base, put if absent, or a conflict.
//! Invariants: nothing here lists; a version is written once and never again, so a remembered size stays true; no hint of the newest version is
//! written, which Lance's own handler would put beside the manifest.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt};
use lance_core::{Error, Result};
use lance_io::object_store::ObjectStore;
use lance_table::format::{IndexMetadata, Manifest, Transaction};
use lance_table::io::commit::{CommitError, CommitHandler, ManifestLocation, ManifestNamingScheme, ManifestWriter};
use object_store::path::Path;
use object_store::{Error as ObjectStoreError, ObjectStore as OsObjectStore, ObjectStoreExt, PutMode};
use omnigraph_types::Recent;
use omnigraph_types::mutant;

use crate::blame::may_land;
use crate::manifest::manifest_path;
use crate::root::StoreKind;

/// The name under which a manifest is put together in memory.
const SCRATCH: &str = "manifest";

/// Most manifests whose size is remembered; those used least recently are asked for again.
const SIZES_MAX: usize = 16_384;

/// Commits exactly, or conflicts.
#[derive(Debug)]
pub(crate) struct ExactCommits {
    kind: StoreKind,
    /// Sizes of manifests that were seen: with it Lance opens a version from its cache without a request.
    sizes: Mutex<Recent<Path, u64>>,
}

impl ExactCommits {
    /// For a kind of store: where a failed put may still land, the outcome of a commit is unknown.
    pub(crate) fn of(kind: StoreKind) -> Self {
        Self { kind, sizes: Mutex::new(Recent::at_most(SIZES_MAX)) }
    }

    /// Forgets what is remembered of a version's manifest.
    pub(crate) fn forget(&self, folder: &Path, version: u64) {
        let mut sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        sizes.remove(&manifest_path(folder, version));
    }

    /// Bytes of a version's manifest: remembered, or asked for.
    pub(crate) async fn size(
        &self,
        folder: &Path,
        version: u64,
        store: &dyn OsObjectStore,
    ) -> std::result::Result<u64, ObjectStoreError> {
        let path = manifest_path(folder, version);
        if let Some(size) = self.size_of(&path) {
            return Ok(size);
        }
        let size = store.head(&path).await?.size;
        self.remember(&path, size);
        Ok(size)
    }

    fn size_of(&self, path: &Path) -> Option<u64> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner).get(path).map(|size| *size)
    }

    fn remember(&self, path: &Path, size: u64) {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone(), size);
    }
}

/// A version's manifest. Caches are keyed by the version alone, so it carries no etag.
fn location_of(version: u64, path: Path, size: u64, naming_scheme: ManifestNamingScheme) -> ManifestLocation {
    ManifestLocation { version, path, size: Some(size), naming_scheme, e_tag: None, identity: None }
}

#[async_trait]
impl CommitHandler for ExactCommits {
    fn is_version_not_found_definitive(&self) -> bool {
        true
    }

    fn propagate_commit_error_after_success(&self) -> bool {
        false
    }

    async fn resolve_latest_location(&self, base_path: &Path, _store: &ObjectStore) -> Result<ManifestLocation> {
        // Only exact versions are opened. "No dataset" also sends a creation straight to its put-if-absent.
        Err(Error::not_found(base_path.to_string()))
    }

    async fn resolve_version_location(
        &self,
        base_path: &Path,
        version: u64,
        store: &dyn OsObjectStore,
    ) -> Result<ManifestLocation> {
        let size = self.size(base_path, version, store).await?;
        Ok(location_of(version, manifest_path(base_path, version), size, ManifestNamingScheme::V2))
    }

    fn list_manifest_locations_since<'a>(
        &self,
        _base_path: &Path,
        _store: &'a ObjectStore,
        _since_version: u64,
    ) -> BoxStream<'a, Result<ManifestLocation>> {
        stream::empty().boxed()
    }

    async fn commit(
        &self,
        manifest: &mut Manifest,
        indices: Option<Vec<IndexMetadata>>,
        base_path: &Path,
        object_store: &ObjectStore,
        manifest_writer: ManifestWriter,
        naming_scheme: ManifestNamingScheme,
        transaction: Option<Transaction>,
    ) -> std::result::Result<ManifestLocation, CommitError> {
        let memory = ObjectStore::memory();
        let scratch = Path::from(SCRATCH);
        manifest_writer(&memory, manifest, indices, &scratch, transaction).await?;
        let bytes = memory.read_one_all(&scratch).await?;
        let size = bytes.len() as u64;
        let version = manifest.version;
        let path = naming_scheme.manifest_path(base_path, version);
        let mode = mutant!(115, PutMode::Create, PutMode::Overwrite);
        match object_store.inner.put_opts(&path, bytes.into(), mode.into()).await {
            Ok(_) => {
                self.remember(&path, size);
                Ok(location_of(version, path, size, naming_scheme))
            }
            Err(taken @ (ObjectStoreError::AlreadyExists { .. } | ObjectStoreError::Precondition { .. })) => {
                // A store may answer so while a put of this very manifest is under way, also one of its client's own retries.
                match object_store.inner.head(&path).await {
                    Err(ObjectStoreError::NotFound { .. }) if mutant!(116, true, false) => {
                        Err(CommitError::OtherError(Error::commit_status_unknown_source(version, Box::new(taken))))
                    }
                    Ok(_) | Err(_) => Err(CommitError::CommitConflict),
                }
            }
            Err(error) if mutant!(117, may_land(&error, self.kind), false) => {
                Err(CommitError::OtherError(Error::commit_status_unknown_source(version, Box::new(error))))
            }
            Err(error) => Err(CommitError::OtherError(error.into())),
        }
    }
}

/// The handler as Lance takes it.
pub(crate) fn handler(exact: Arc<ExactCommits>) -> Arc<dyn CommitHandler> {
    exact
}
