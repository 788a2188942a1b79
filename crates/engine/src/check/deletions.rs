//! Marks of deleted rows: whether each file that holds them can be read.
//!
//! A version records no size of such a file, so one that was cut is found by reading it. Versions name the same file again and again; it is read
//! once.

use std::collections::HashSet;

use futures::{StreamExt, stream};
use omnigraph_storage::{StorageError, Table};

use crate::check::accounts::hash;
use crate::check::checker::CONCURRENCY;

/// The files of one table that hold marks of deleted rows.
#[derive(Default)]
pub(super) struct Deletions {
    read: HashSet<u64>,
    unreadable: HashSet<u64>,
}

impl Deletions {
    /// Reads those of a version that were not read before.
    pub(super) async fn read(&mut self, table: &Table) -> Result<(), StorageError> {
        let files = table.deletion_files().into_iter().map(|(fragment, path)| (fragment, hash(&path)));
        let new: Vec<(u64, u64)> = files.filter(|(_, file)| self.read.insert(*file)).collect();
        let table = table.clone();
        let reads = stream::iter(new).map(move |(fragment, file)| {
            let table = table.clone();
            async move { (file, table.read_deletions(fragment).await) }
        });
        let mut reads = reads.buffer_unordered(CONCURRENCY).boxed();
        while let Some((file, read)) = reads.next().await {
            match read {
                Ok(()) => {}
                Err(error @ StorageError::Corrupt { .. }) => {
                    tracing::warn!(%error, "check: marks of deleted rows cannot be read");
                    self.unreadable.insert(file);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether a file was read and holds no marks.
    pub(super) fn is_unreadable(&self, file: u64) -> bool {
        self.unreadable.contains(&file)
    }
}
