//! An object store that refuses to read an object whole if it is too large for memory.
//!
//! Lance reads a file whole where the table's version says that the file is small, and reads manifests and deletions whole whatever their size. The
//! object may have been replaced since. A read of a range is bounded by its caller; one past the end of the object is reported as `TooShort`.

use std::error::Error as StdError;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetRange, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
};
use thiserror::Error as ThisError;

use crate::causes::causes;

/// Bytes of the largest object that is read whole. A manifest takes a few hundred bytes for each fragment, a deletion four for each row.
const WHOLE_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// Bytes of the largest small object that is read into memory, and so of the largest that is written. The product writes far smaller ones: an
/// intent takes a few hundred bytes for each table that it changes.
pub(crate) const OBJECT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The name of this store in errors.
const STORE: &str = "bounded";

/// An object that was to be read whole and is too large.
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

/// An object that ends before the range that was to be read: the file was cut, or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ThisError)]
#[error("the object has {bytes} bytes, and was to be read up to {end}")]
pub(crate) struct TooShort {
    bytes: u64,
    end: u64,
}

impl TooShort {
    /// Whether an error is one at its root.
    pub(crate) fn is_root_of(error: &(dyn StdError + 'static)) -> bool {
        causes(error).any(|cause| cause.is::<Self>())
    }

    fn error(bytes: u64, end: u64) -> Error {
        Error::Generic { store: STORE, source: Box::new(Self { bytes, end }) }
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

    /// The outcome of a read, or `TooShort` if the object ends before `end`: stores report that in different ways.
    async fn unless_short<T>(&self, location: &Path, end: u64, read: Result<T>) -> Result<T> {
        match self.0.head(location).await {
            Ok(found) if found.size < end => Err(TooShort::error(found.size, end)),
            _ => read,
        }
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
        let end = match &options.range {
            Some(GetRange::Bounded(range)) if !options.head => Some(range.end),
            _ => None,
        };
        let found = match (self.0.get_opts(location, options).await, end) {
            (Ok(found), _) => found,
            (failed, Some(end)) => return self.unless_short(location, end, failed).await,
            (Err(error), None) => return Err(error),
        };
        if is_whole && found.meta.size > WHOLE_BYTES_MAX {
            let source = Box::new(TooLarge { bytes: found.meta.size, etag: found.meta.e_tag.clone() });
            return Err(Error::Generic { store: STORE, source });
        }
        match end {
            // A store answers with the part of a range that exists.
            Some(end) if found.range.end < end => Err(TooShort::error(found.meta.size, end)),
            _ => Ok(found),
        }
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let read = self.0.get_ranges(location, ranges).await;
        let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
        match read {
            Ok(parts) if parts.iter().zip(ranges).all(|(part, range)| part.len() as u64 == range.end - range.start) => {
                Ok(parts)
            }
            read => self.unless_short(location, end, read).await,
        }
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
