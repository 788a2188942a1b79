//! A folder as an object store whose writes are durable when they return.
//!
//! Why not the object store's own syncs: a failed one must be remembered, folders must not be made in a root that is gone, and tests must see
//! the order of syncs. Reads, lists, parts and deletions are the object store's.
//! Invariants: a file gets its place after its content is synced, and the call returns after its folder is; the root's own folder is never made
//! here, and a folder below it only after the root was proven.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path as FsPath, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMode,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result, UploadPart,
};
use thiserror::Error as ThisError;

use omnigraph_types::mutant;

use crate::guard::RootGuard;
use crate::syncs::Syncs;

/// Names that are tried for a file before it has its place.
const STAGING_NAMES_MAX: u32 = 10_000;
/// The name of this store in errors.
const STORE: &str = "folder";

/// What could not be done, and where.
#[derive(Debug, ThisError)]
#[error("{action} {path}")]
struct FolderError {
    action: &'static str,
    path: String,
    source: io::Error,
}

fn failed(action: &'static str, path: &FsPath, source: io::Error) -> Error {
    let source = FolderError { action, path: path.display().to_string(), source };
    Error::Generic { store: STORE, source: Box::new(source) }
}

/// The folder of a root.
#[derive(Debug)]
pub(crate) struct FolderStore {
    inner: LocalFileSystem,
    guard: Arc<RootGuard>,
    syncs: Arc<Syncs>,
}

impl FolderStore {
    pub(crate) fn open(guard: Arc<RootGuard>, syncs: Arc<Syncs>) -> Arc<dyn ObjectStore> {
        Arc::new(Self { inner: LocalFileSystem::new(), guard, syncs })
    }

    async fn place(&self, location: &Path) -> Result<Place> {
        let path = self.inner.path_to_filesystem(location)?;
        Ok(Place { path, guard: Arc::clone(&self.guard), syncs: Arc::clone(&self.syncs) })
    }
}

/// Where an object goes.
#[derive(Debug, Clone)]
struct Place {
    path: PathBuf,
    guard: Arc<RootGuard>,
    syncs: Arc<Syncs>,
}

/// Runs work that blocks, to its end even if the caller goes.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|source| Error::Generic { store: STORE, source: source.into() })?
}

impl Place {
    fn folder(&self) -> &FsPath {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Makes the folder with its missing parents, and syncs the entries of those that are not known to be durable.
    fn make_folder(&self) -> Result<()> {
        let folder = self.folder();
        if self.syncs.knows(folder) {
            return Ok(());
        }
        let root = self.syncs.root();
        let chain: Vec<&FsPath> = folder.ancestors().take_while(|above| *above != root).collect();
        if mutant!(130, chain.iter().any(|folder| !folder.is_dir()), false) {
            self.guard.prove_folder(root)?;
        }
        for folder in chain.iter().rev() {
            match std::fs::create_dir(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(failed("make the folder", folder, error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        self.syncs.learn(&chain).map_err(|error| failed("sync the folders above", folder, error))
    }

    /// A new file beside the object's place.
    fn stage(&self) -> Result<(File, PathBuf)> {
        self.make_folder()?;
        let mut is_made = false;
        for number in 1..=STAGING_NAMES_MAX {
            let mut staging = self.path.clone().into_os_string();
            staging.push(format!("#{number}"));
            let staging = PathBuf::from(staging);
            let open = || OpenOptions::new().write(true).create_new(true).open(&staging);
            let opened = match open() {
                Err(error) if error.kind() == io::ErrorKind::NotFound && !is_made => {
                    // A folder that was there is gone.
                    self.syncs.forget();
                    self.make_folder()?;
                    is_made = true;
                    open()
                }
                opened => opened,
            };
            match opened {
                Ok(file) => return Ok((file, staging)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed("open a new file for", &self.path, error)),
            }
        }
        Err(failed("find a name for a new file of", &self.path, io::ErrorKind::AlreadyExists.into()))
    }

    /// Writes an object whole.
    fn put(&self, payload: &PutPayload, mode: &PutMode) -> Result<()> {
        let (mut file, staging) = self.stage()?;
        let written = payload.iter().try_for_each(|bytes| file.write_all(bytes));
        let written = written.map_err(|error| failed("write", &self.path, error));
        let synced = written.and_then(|()| {
            let synced = mutant!(124, self.syncs.file(&self.path, &file), Ok(()));
            synced.map_err(|error| failed("sync the new file of", &self.path, error))
        });
        drop(file);
        let placed = synced.and_then(|()| match mutant!(131, mode, &PutMode::Overwrite) {
            PutMode::Create => std::fs::hard_link(&staging, &self.path).map_err(|source| match source.kind() {
                io::ErrorKind::AlreadyExists => {
                    Error::AlreadyExists { path: self.path.display().to_string(), source: Box::new(source) }
                }
                _ => failed("place", &self.path, source),
            }),
            PutMode::Overwrite | PutMode::Update(_) => {
                std::fs::rename(&staging, &self.path).map_err(|source| failed("place", &self.path, source))
            }
        });
        match (&placed, mode) {
            (Ok(()), PutMode::Overwrite | PutMode::Update(_)) => {}
            // A file that stays is never read.
            (Ok(()), PutMode::Create) | (Err(_), _) => drop(std::fs::remove_file(&staging)),
        }
        placed?;
        mutant!(123, self.sync_folder(), Ok(()))
    }

    fn sync_folder(&self) -> Result<()> {
        self.syncs.folder(self.folder()).map_err(|error| failed("sync the folder of", &self.path, error))
    }

    /// Syncs an object that was written in parts and has its place.
    fn sync_placed(&self) -> Result<()> {
        let file = File::open(&self.path).map_err(|error| failed("open", &self.path, error))?;
        self.syncs.file(&self.path, &file).map_err(|error| failed("sync", &self.path, error))?;
        self.sync_folder()
    }
}

impl fmt::Display for FolderStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for FolderStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        if matches!(opts.mode, PutMode::Update(_)) || !opts.attributes.is_empty() {
            return self.inner.put_opts(location, payload, opts).await;
        }
        let place = self.place(location).await?;
        blocking(move || place.put(&payload, &opts.mode)).await?;
        Ok(PutResult { e_tag: None, version: None, extensions: Default::default() })
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        let place = self.place(location).await?;
        let ready = place.clone();
        blocking(move || ready.make_folder()).await?;
        let inner = self.inner.put_multipart_opts(location, opts).await?;
        Ok(Box::new(FolderUpload { place, inner }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.inner.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.inner.get_ranges(location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let place = self.place(to).await?;
        let ready = place.clone();
        blocking(move || ready.make_folder()).await?;
        self.inner.copy_opts(from, to, options).await?;
        blocking(move || place.sync_folder()).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        let (left, place) = (self.place(from).await?, self.place(to).await?);
        let ready = place.clone();
        blocking(move || ready.make_folder()).await?;
        self.inner.rename_opts(from, to, options).await?;
        blocking(move || {
            place.sync_folder()?;
            left.sync_folder()
        })
        .await
    }
}

/// A file that is written in parts, and synced when it is complete: nothing names it before.
#[derive(Debug)]
struct FolderUpload {
    place: Place,
    inner: Box<dyn MultipartUpload>,
}

#[async_trait]
impl MultipartUpload for FolderUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        self.inner.put_part(data)
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let done = self.inner.complete().await?;
        let place = self.place.clone();
        blocking(move || place.sync_placed()).await?;
        Ok(done)
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await
    }
}
