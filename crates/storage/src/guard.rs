//! Keeps writes away from a root that is not the one that was opened.
//!
//! Before a write the root's marker is read again, unless that was done a moment ago. A root that is lost is looked for again at each write, so
//! one that comes back is served again. The reads of the marker go past the hooks: they are no part of any request.
//! Invariants: a root that was not claimed has nothing to prove; a fault found anywhere is entered into the state before it is returned.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::Path as FsPath;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
};
use omnigraph_types::mutant;
use omnigraph_types::{Clock, Moment};
use tokio::sync::{Mutex, watch};

use crate::marker::{MARKER, RootFault, RootState};
use crate::syncs::Syncs;

/// How old the proof of a root may be before a write.
#[derive(Debug, Clone)]
pub struct RootProofs {
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The largest age.
    pub age_max: Duration,
}

/// The marker of the root that was opened.
#[derive(Debug)]
struct Claim {
    place: Path,
    bytes: Bytes,
    proofs: RootProofs,
    /// The last proof; one task reads the marker, the others wait for it.
    proven: Mutex<Moment>,
}

impl Claim {
    /// The state of a root with this content of its marker.
    fn compare(&self, found: Option<&[u8]>) -> RootState {
        match found {
            Some(bytes) if mutant!(129, bytes == self.bytes, true) => RootState::Proven,
            Some(_) => RootState::Lost(RootFault::Replaced),
            None => RootState::Lost(RootFault::Missing),
        }
    }
}

/// What is known of the root.
#[derive(Debug)]
pub(crate) struct RootGuard {
    /// Of a local root.
    syncs: Option<Arc<Syncs>>,
    claim: OnceLock<Claim>,
    state: watch::Sender<RootState>,
}

impl RootGuard {
    pub(crate) fn new(syncs: Option<Arc<Syncs>>) -> Self {
        Self { syncs, claim: OnceLock::new(), state: watch::Sender::new(RootState::Proven) }
    }

    /// From now on the root is the one with this marker, which was read at `proven`.
    pub(crate) fn claim(&self, place: Path, bytes: Bytes, proofs: RootProofs, proven: Moment) {
        // A second claim of the same root changes nothing.
        let _first = self.claim.set(Claim { place, bytes, proofs, proven: Mutex::new(proven) });
    }

    /// Changes of the state.
    pub(crate) fn state(&self) -> watch::Receiver<RootState> {
        self.state.subscribe()
    }

    /// Repeats the syncs that failed: before a write, and before an own object is believed.
    pub(crate) async fn settle(&self) -> Result<()> {
        let Some(syncs) = self.syncs.as_ref().filter(|syncs| !syncs.is_settled()) else { return Ok(()) };
        let syncs = Arc::clone(syncs);
        let settled = tokio::task::spawn_blocking(move || syncs.settle()).await;
        settled.map_err(|source| Error::Generic { store: "root", source: source.into() })?.map_err(RootFault::error)
    }

    /// Admits a write: after the syncs that failed, and by a proof that is young enough.
    pub(crate) async fn admit(&self, store: &dyn ObjectStore) -> Result<()> {
        mutant!(137, self.settle().await, Ok(()))?;
        let Some(claim) = self.claim.get() else { return Ok(()) };
        let mut proven = claim.proven.lock().await;
        let is_young = mutant!(128, proven.age(claim.proofs.clock.as_ref()) <= claim.proofs.age_max, true);
        match *self.state.borrow() {
            RootState::Proven if is_young => return Ok(()),
            RootState::Proven | RootState::Lost(_) => {}
        }
        *proven = self.read(claim, store).await?;
        Ok(())
    }

    /// Proves the root now, however young the last proof is.
    pub(crate) async fn prove(&self, store: &dyn ObjectStore) -> Result<()> {
        let Some(claim) = self.claim.get() else { return Ok(()) };
        let mut proven = claim.proven.lock().await;
        *proven = self.read(claim, store).await?;
        Ok(())
    }

    /// Proves a local root from a thread that blocks, before a folder is made in it.
    pub(crate) fn prove_folder(&self, root: &FsPath) -> Result<()> {
        let found = match self.claim.get() {
            None if root.is_dir() => return Ok(()),
            None => RootState::Lost(RootFault::Missing),
            Some(claim) => match std::fs::read(root.join(MARKER)) {
                Ok(bytes) => claim.compare(Some(&bytes)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => claim.compare(None),
                Err(error) => return Err(Error::Generic { store: "root", source: error.into() }),
            },
        };
        self.enter(found)
    }

    async fn read(&self, claim: &Claim, store: &dyn ObjectStore) -> Result<Moment> {
        let started = Moment::now(claim.proofs.clock.as_ref());
        let found = match store.get(&claim.place).await {
            Ok(found) => Some(found.bytes().await?),
            Err(Error::NotFound { .. }) => None,
            Err(error) => return Err(error),
        };
        self.enter(claim.compare(found.as_deref()))?;
        Ok(started)
    }

    fn enter(&self, state: RootState) -> Result<()> {
        let is_news = self.state.send_if_modified(|known| {
            let is_news = *known != state;
            *known = state;
            is_news
        });
        match state {
            RootState::Lost(fault) => {
                if is_news {
                    tracing::error!(%fault, "the root takes no writes");
                }
                Err(fault.error())
            }
            RootState::Proven => {
                if is_news {
                    tracing::info!("the root is back and takes writes");
                }
                Ok(())
            }
        }
    }
}

/// An object store that admits writes to the root that was opened, and to no other.
#[derive(Debug)]
pub(crate) struct GuardedStore {
    inner: Arc<dyn ObjectStore>,
    guard: Arc<RootGuard>,
}

impl GuardedStore {
    pub(crate) fn around(inner: Arc<dyn ObjectStore>, guard: Arc<RootGuard>) -> Arc<dyn ObjectStore> {
        Arc::new(Self { inner, guard })
    }

    async fn admit(&self) -> Result<()> {
        self.guard.admit(self.inner.as_ref()).await
    }
}

impl fmt::Display for GuardedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for GuardedStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.admit().await?;
        self.inner.put_opts(location, payload, opts).await
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.admit().await?;
        self.inner.put_multipart_opts(location, opts).await
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
        self.admit().await?;
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.admit().await?;
        self.inner.rename_opts(from, to, options).await
    }
}
