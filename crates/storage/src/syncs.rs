//! Syncs of files and folders of a local root, and which of them failed.
//!
//! Why: a failed sync leaves an object in place that a loss of power may take away. A sync that failed is remembered by its folder, and repeated
//! before anything else is written and before any own object is believed. A second failure is final for this process: the system may report a
//! later sync as done although it dropped the pages. Syncs of one folder run at once, so each is judged by what was recorded when it began: one that
//! began after a failure and fails is the second, whatever has succeeded meanwhile, and one that began before a failure proves nothing about it.
//! Invariants: every sync of the root goes through `Syncs`; nothing is written once a sync has failed again.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omnigraph_types::mutant;

use crate::hook::{StoreHook, SyncOf, SyncVerdict};
use crate::marker::RootFault;

/// Most folders that are known to be durable; beyond it all are forgotten and synced again.
const KNOWN_MAX: usize = 16_384;

/// Whether syncs are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syncing {
    /// They are.
    On,
    /// The operating system writes in its own time.
    Off,
}

/// The syncs of one local root.
#[derive(Debug)]
pub(crate) struct Syncs {
    root: PathBuf,
    syncing: Syncing,
    hooks: Vec<Arc<dyn StoreHook>>,
    /// Folders of which a sync has failed and none has succeeded that began later, with the number of the failure.
    failed: Mutex<BTreeMap<PathBuf, u64>>,
    /// Failures so far.
    failures: AtomicU64,
    /// Folders whose entries, up to the root, are durable.
    known: Mutex<HashSet<PathBuf>>,
    stopped: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Syncs {
    pub(crate) fn new(root: PathBuf, syncing: Syncing, hooks: Vec<Arc<dyn StoreHook>>) -> Self {
        Self {
            root,
            syncing,
            hooks,
            failed: Mutex::default(),
            failures: AtomicU64::new(0),
            known: Mutex::default(),
            stopped: AtomicBool::new(false),
        }
    }

    /// The root's folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Syncs a file that has not got its place yet.
    pub(crate) fn file(&self, path: &Path, file: &File) -> io::Result<()> {
        self.sync(SyncOf::File, path, || file.sync_all())
    }

    /// Syncs the entries of a folder. A failure is remembered; a second one of the same folder is final.
    pub(crate) fn folder(&self, path: &Path) -> io::Result<()> {
        let failed_before = lock(&self.failed).get(path).copied();
        match self.sync(SyncOf::Folder, path, || File::open(path)?.sync_all()) {
            Ok(()) => {
                self.mended(path, failed_before);
                Ok(())
            }
            // What was in it is not there to be believed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.mended(path, failed_before);
                Err(error)
            }
            Err(error) => {
                tracing::error!(folder = %path.display(), %error, "sync a folder");
                let number = self.failures.fetch_add(1, Ordering::AcqRel);
                let failed_meanwhile = lock(&self.failed).insert(path.to_owned(), number);
                let is_second = failed_before.or(failed_meanwhile).is_some();
                if is_second && mutant!(126, !self.stopped.swap(true, Ordering::AcqRel), false) {
                    tracing::error!(folder = %path.display(), "a sync failed again: this process writes nothing more to the root");
                }
                Err(error)
            }
        }
    }

    /// Forgets the failure that was recorded when a sync began which has succeeded; a later one stays.
    fn mended(&self, path: &Path, failed_before: Option<u64>) {
        let mut failed = lock(&self.failed);
        if failed_before.is_some() && failed.get(path).copied() == failed_before {
            failed.remove(path);
        }
    }

    fn sync(&self, of: SyncOf, path: &Path, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        if mutant!(125, self.syncing == Syncing::Off, true) {
            return Ok(());
        }
        let relative = path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy();
        for hook in &self.hooks {
            match hook.sync(of, &relative) {
                SyncVerdict::Proceed => {}
                SyncVerdict::Fail => return Err(io::Error::from_raw_os_error(EIO)),
            }
        }
        sync()
    }

    /// Repeats the syncs that failed.
    ///
    /// # Errors
    /// `Unsynced` if one fails again, and from then on for ever.
    pub(crate) fn settle(&self) -> Result<(), RootFault> {
        let failed: Vec<_> = mutant!(127, lock(&self.failed).keys().cloned().collect(), Vec::new());
        for folder in failed {
            // `folder` keeps account of the outcome.
            let _accounted = self.folder(&folder);
        }
        if self.has_stopped() { Err(RootFault::Unsynced) } else { Ok(()) }
    }

    /// Whether a sync has failed again.
    pub(crate) fn has_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Whether every sync that was made is done.
    pub(crate) fn is_settled(&self) -> bool {
        !self.has_stopped() && lock(&self.failed).is_empty()
    }

    /// Whether a folder's entry is durable.
    pub(crate) fn knows(&self, folder: &Path) -> bool {
        lock(&self.known).contains(folder)
    }

    /// Syncs the entries of folders, each of which is below the root with all its parents.
    pub(crate) fn learn(&self, folders: &[&Path]) -> io::Result<()> {
        for folder in folders {
            if let Some(parent) = folder.parent().filter(|_| !self.knows(folder)) {
                self.folder(parent)?;
            }
        }
        let mut known = lock(&self.known);
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.extend(folders.iter().map(|folder| folder.to_path_buf()));
        Ok(())
    }

    /// Forgets which folders are durable: one of them is gone.
    pub(crate) fn forget(&self) {
        lock(&self.known).clear();
    }
}

/// The code of an input or output error on every Unix.
const EIO: i32 = 5;

#[cfg(test)]
#[path = "syncs/tests.rs"]
mod tests;
