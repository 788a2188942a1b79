//! The object store, which reads no object whole that is too large to be held.
//!
//! Lance reads a file whole where the table's version says that it is small, and its manifests and deletions however large they are. What lies there
//! may have become anything since; a read of a range is bounded by whoever asks.

use std::error::Error as StdError;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
};
use thiserror::Error as ThisError;

use crate::error::causes;

/// Bytes of the largest object that is read whole. A manifest takes a few hundred bytes for each fragment, a deletion four for each row.
const WHOLE_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// An object that was to be read whole.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[error("the object has {bytes} bytes, and at most {WHOLE_BYTES_MAX} are read at once")]
pub(crate) struct TooLarge {
    pub(crate) bytes: u64,
    pub(crate) etag: Option<String>,
}

impl TooLarge {
    /// The object at the root of an error, if it was refused for its size.
    pub(crate) fn of<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Self> {
        causes(error).find_map(|cause| cause.downcast_ref())
    }
}

/// An object store with that bound.
#[derive(Debug)]
pub(crate) struct BoundedStore(Arc<dyn ObjectStore>);

impl BoundedStore {
    /// The bound around `inner`.
    pub(crate) fn around(inner: Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore> {
        Arc::new(Self(inner))
    }
}

impl fmt::Display for BoundedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for BoundedStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.0.put_opts(location, payload, opts).await
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.0.put_multipart_opts(location, opts).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let is_whole = options.range.is_none() && !options.head;
        let found = self.0.get_opts(location, options).await?;
        if is_whole && found.meta.size > WHOLE_BYTES_MAX {
            let source = Box::new(TooLarge { bytes: found.meta.size, etag: found.meta.e_tag.clone() });
            return Err(Error::Generic { store: "bounded", source });
        }
        Ok(found)
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.0.get_ranges(location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.0.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list(prefix)
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.0.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.0.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.0.rename_opts(from, to, options).await
    }
}
