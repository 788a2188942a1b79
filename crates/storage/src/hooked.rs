//! The object store under everything, with the hooks around it.
//!
//! Lance gets this very store through its wrapper seam, and so do our own small objects: one place sees every call.
//! Invariants: without hooks nothing is added; a refused call never reaches the store; a lost reply belongs to a call that was applied; a late
//! put reaches the store after its caller has got an error.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use lance_io::object_store::WrappingObjectStore;
use object_store::list::PaginatedListStore;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMode,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result, UploadPart,
};
use thiserror::Error as ThisError;

use crate::causes::causes;
use crate::{AfterVerdict, HookVerdict, StoreCall, StoreHook, StoreReply};

/// Deletions of one stream that run at once.
const DELETES_AT_ONCE: usize = 8;

/// An error that a hook made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ThisError)]
pub(crate) enum HookFault {
    /// The call was not applied.
    #[error("a hook refused the call")]
    Refused,
    /// The call was applied.
    #[error("a hook lost the reply")]
    ReplyLost,
    /// The call will be applied.
    #[error("a hook holds the call back")]
    Late,
    /// The call was applied in part.
    #[error("a hook tore the object")]
    Torn,
}

impl HookFault {
    fn error(self) -> Error {
        Error::Generic { store: "hook", source: Box::new(self) }
    }

    /// The fault at the root of an error, if a hook made it.
    pub(crate) fn of(error: &(dyn StdError + 'static)) -> Option<Self> {
        causes(error).find_map(|cause| cause.downcast_ref()).copied()
    }
}

#[derive(Debug)]
struct Shared {
    inner: Arc<dyn ObjectStore>,
    hooks: Vec<Arc<dyn StoreHook>>,
    root: Path,
}

/// An object store with hooks around it.
#[derive(Debug, Clone)]
pub(crate) struct HookedStore(Arc<Shared>);

impl HookedStore {
    /// `inner` itself if there are no hooks.
    pub(crate) fn around(
        inner: Arc<dyn ObjectStore>,
        hooks: Vec<Arc<dyn StoreHook>>,
        root: Path,
    ) -> Arc<dyn ObjectStore> {
        if hooks.is_empty() { inner } else { Arc::new(Self(Arc::new(Shared { inner, hooks, root }))) }
    }

    fn relative(&self, location: &Path) -> String {
        match location.prefix_match(&self.0.root) {
            Some(parts) => parts.map(|part| part.as_ref().to_owned()).collect::<Vec<_>>().join("/"),
            None => format!("/{location}"),
        }
    }

    /// The first verdict that is not `Proceed`, and its hook.
    async fn verdict(&self, call: StoreCall, path: &str) -> Option<(HookVerdict, &Arc<dyn StoreHook>)> {
        for hook in &self.0.hooks {
            match hook.before(call, path).await {
                HookVerdict::Proceed => {}
                verdict => return Some((verdict, hook)),
            }
        }
        None
    }

    async fn before(&self, call: StoreCall, path: &str) -> Result<()> {
        match self.verdict(call, path).await {
            None => Ok(()),
            Some(_) => Err(HookFault::Refused.error()),
        }
    }

    /// Hands a put to the store when the hook lets it land; its caller has got an error already.
    fn put_late(&self, hook: &Arc<dyn StoreHook>, call: StoreCall, path: String, put: WholePut) {
        let (store, hook) = (self.clone(), Arc::clone(hook));
        tokio::spawn(async move {
            hook.landing(call, &path).await;
            let result = store.0.inner.put_opts(&put.location, put.payload, put.options).await;
            let _no_caller = store.after(call, &path, reply_of(&result)).await;
        });
    }

    async fn after(&self, call: StoreCall, path: &str, reply: StoreReply) -> Result<()> {
        let mut result = Ok(());
        for hook in &self.0.hooks {
            match hook.after(call, path, reply).await {
                AfterVerdict::Pass => {}
                AfterVerdict::LoseReply => result = Err(HookFault::ReplyLost.error()),
            }
        }
        result
    }

    async fn around_call<T>(
        &self,
        call: StoreCall,
        location: &Path,
        request: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let path = self.relative(location);
        self.before(call, &path).await?;
        self.answered(call, &path, request).await
    }

    /// Waits for the store's reply, and reports it to the hooks.
    async fn answered<T>(&self, call: StoreCall, path: &str, request: impl Future<Output = Result<T>>) -> Result<T> {
        let result = request.await;
        let kept = self.after(call, path, reply_of(&result)).await;
        match (result, kept) {
            (Ok(value), Ok(())) => Ok(value),
            (Ok(_), Err(lost)) => Err(lost),
            (Err(error), _) => Err(error),
        }
    }

    fn around_listing(
        &self,
        prefix: Option<&Path>,
        open: impl FnOnce(&dyn ObjectStore) -> BoxStream<'static, Result<ObjectMeta>> + Send + 'static,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let store = self.clone();
        let path = prefix.map(|prefix| self.relative(prefix)).unwrap_or_default();
        stream::once(async move {
            store.before(StoreCall::List, &path).await?;
            let failed = Arc::new(AtomicBool::new(false));
            let seen = Arc::clone(&failed);
            let items = open(store.0.inner.as_ref()).inspect_err(move |_| seen.store(true, Ordering::Relaxed));
            let end = stream::once(async move {
                let reply = if failed.load(Ordering::Relaxed) { StoreReply::Failed } else { StoreReply::Ok };
                store.after(StoreCall::List, &path, reply).await
            })
            .filter_map(async |kept| kept.err().map(Err));
            Ok::<_, Error>(items.chain(end))
        })
        .try_flatten()
        .boxed()
    }
}

/// A put with all its bytes.
#[derive(Debug)]
struct WholePut {
    location: Path,
    payload: PutPayload,
    options: PutOptions,
}

fn reply_of<T>(result: &Result<T>) -> StoreReply {
    match result {
        Ok(_) => StoreReply::Ok,
        Err(Error::NotFound { .. }) => StoreReply::NotFound,
        Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => StoreReply::AlreadyExists,
        Err(_) => StoreReply::Failed,
    }
}

impl fmt::Display for HookedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hooked {}", self.0.inner)
    }
}

#[async_trait]
impl ObjectStore for HookedStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        let call = match opts.mode {
            PutMode::Create => StoreCall::PutIfAbsent,
            PutMode::Overwrite | PutMode::Update(_) => StoreCall::Put,
        };
        let path = self.relative(location);
        let Some((verdict, hook)) = self.verdict(call, &path).await else {
            return self.answered(call, &path, self.0.inner.put_opts(location, payload, opts)).await;
        };
        match verdict {
            HookVerdict::Proceed | HookVerdict::Fail => Err(HookFault::Refused.error()),
            HookVerdict::ApplyLate => {
                self.put_late(hook, call, path, WholePut { location: location.clone(), payload, options: opts });
                Err(HookFault::Late.error())
            }
            HookVerdict::Conflict => Err(Error::AlreadyExists {
                path: location.to_string(),
                source: "a hook answers that another put of the object is under way".into(),
            }),
            HookVerdict::Tear => {
                let bytes = Bytes::from(payload);
                let half = bytes.slice(..bytes.len() / 2);
                self.answered(call, &path, self.0.inner.put_opts(location, half.into(), opts)).await?;
                Err(HookFault::Torn.error())
            }
        }
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        let inner = self.0.inner.put_multipart_opts(location, opts).await?;
        Ok(Box::new(HookedUpload { store: self.clone(), location: location.clone(), inner }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let call = if options.head { StoreCall::Head } else { StoreCall::Get };
        self.around_call(call, location, self.0.inner.get_opts(location, options)).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.around_call(StoreCall::Get, location, self.0.inner.get_ranges(location, ranges)).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let store = self.clone();
        locations
            .map(move |location| {
                let store = store.clone();
                async move {
                    let location = location?;
                    let one = stream::iter([Ok(location.clone())]).boxed();
                    let removal = async { store.0.inner.delete_stream(one).try_collect::<Vec<_>>().await };
                    store.around_call(StoreCall::Delete, &location, removal).await?;
                    Ok(location)
                }
            })
            .buffered(DELETES_AT_ONCE)
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let below = prefix.cloned();
        self.around_listing(prefix, move |store| store.list(below.as_ref()))
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        let (below, offset) = (prefix.cloned(), offset.clone());
        self.around_listing(prefix, move |store| store.list_with_offset(below.as_ref(), &offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let below = prefix.cloned().unwrap_or_default();
        self.around_call(StoreCall::List, &below, self.0.inner.list_with_delimiter(prefix)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.around_call(StoreCall::Copy, to, self.0.inner.copy_opts(from, to, options)).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.around_call(StoreCall::Rename, to, self.0.inner.rename_opts(from, to, options)).await
    }
}

/// A multipart upload whose parts and completion are seen as puts.
#[derive(Debug)]
struct HookedUpload {
    store: HookedStore,
    location: Path,
    inner: Box<dyn MultipartUpload>,
}

#[async_trait]
impl MultipartUpload for HookedUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let part = self.inner.put_part(data);
        let (store, location) = (self.store.clone(), self.location.clone());
        Box::pin(async move { store.around_call(StoreCall::Put, &location, part).await })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let Self { store, location, inner } = self;
        store.around_call(StoreCall::Put, location, inner.complete()).await
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await
    }
}

/// Hands Lance our store in place of the one that it would build.
#[derive(Debug)]
pub(crate) struct OurStore(pub(crate) Arc<dyn ObjectStore>);

impl WrappingObjectStore for OurStore {
    fn wrap(&self, _store_prefix: &str, _original: Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.0)
    }

    fn wrap_paginated(
        &self,
        _store_prefix: &str,
        _original: Arc<dyn PaginatedListStore>,
    ) -> Option<Arc<dyn PaginatedListStore>> {
        None
    }
}
