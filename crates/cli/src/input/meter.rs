//! Counts what was read, and remembers which file a row of the stream came from.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Rows and bytes read so far; shared by the reading thread and the display.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    rows: AtomicU64,
    bytes: AtomicU64,
    files: Mutex<Vec<Entered>>,
}

#[derive(Debug, Clone)]
struct Entered {
    file: PathBuf,
    rows_before: u64,
}

/// Where a row of the stream came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The file.
    pub(crate) file: PathBuf,
    /// 1-based row of the file, not counting a header.
    pub(crate) row: u64,
    /// The line where it begins, where that is known and is another number.
    pub(crate) line: Option<u64>,
}

impl Meter {
    /// Starts a file: later rows belong to it.
    pub(crate) fn enter(&self, file: &Path) {
        let rows_before = self.rows();
        self.files().push(Entered { file: file.to_owned(), rows_before });
    }

    /// Counts rows that were read.
    pub(crate) fn add_rows(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// Counts bytes that were read.
    pub(crate) fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Rows read.
    pub(crate) fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Bytes read.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Which file and row the stream's 1-based row `row` came from.
    pub(crate) fn place(&self, row: u64) -> Option<Place> {
        let files = self.files();
        let entered = files.iter().rev().find(|entered| entered.rows_before < row)?;
        Some(Place { file: entered.file.clone(), row: row - entered.rows_before, line: None })
    }

    fn files(&self) -> MutexGuard<'_, Vec<Entered>> {
        self.files.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A reader that counts.
#[derive(Debug)]
pub(crate) struct Counted<R> {
    inner: R,
    meter: Arc<Meter>,
}

impl<R> Counted<R> {
    /// Counts the bytes of `inner` in `meter`.
    pub(crate) fn new(inner: R, meter: &Arc<Meter>) -> Self {
        Self { inner, meter: Arc::clone(meter) }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.meter.add_bytes(read as u64);
        Ok(read)
    }
}

impl<R: Seek> Seek for Counted<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}
