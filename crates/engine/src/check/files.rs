//! Which files nothing names: counted by kind and age, never listed.
//!
//! Data files, table versions, files of branches' versions, intents, and whole trees are accounted for; transactions, indexes and contracts are
//! not. One table at a time; a set of 64-bit hashes represents its files, so that two files of one hash would hide each other, once in some
//! billions of files.

use std::collections::{BTreeMap, HashMap};

use futures::{StreamExt, TryStreamExt, stream};
use omnigraph_storage::{ObjectMeta, Pin, StorageError, TableFile, TreeFile, TreeRef};
use omnigraph_types::{CheckFinding, CheckKind, FileAge, TableVersion, UnnamedFiles, UnnamedKind};

use crate::check::accounts::{Accounts, Named, hash};
use crate::check::checker::{CONCURRENCY, Checker, Stopped};
use crate::check::deletions::Deletions;

/// Most versions of one table that are opened to learn the files they name.
const VERSIONS_OPENED_MAX: usize = 5_000;
/// Most files of one table that are accounted for.
const FILES_MAX: usize = 4_000_000;
/// Bounds of the ages, in milliseconds.
const HOUR_MS: i64 = 60 * 60 * 1_000;
const DAY_MS: i64 = 24 * HOUR_MS;
const WEEK_MS: i64 = 7 * DAY_MS;

/// Counts by kind and age.
#[derive(Default)]
struct Counts(BTreeMap<(UnnamedKind, FileAge), (u64, u64)>);

impl Counts {
    fn add(&mut self, kind: UnnamedKind, meta: &ObjectMeta, now_ms: i64) {
        let age = match now_ms.saturating_sub(meta.last_modified_ms) {
            ..HOUR_MS => FileAge::Hour,
            HOUR_MS..DAY_MS => FileAge::Day,
            DAY_MS..WEEK_MS => FileAge::Week,
            WEEK_MS.. => FileAge::Older,
        };
        let (files, bytes) = self.0.entry((kind, age)).or_default();
        *files += 1;
        *bytes += meta.size;
    }

    fn listed(self) -> Vec<UnnamedFiles> {
        let entry = |((kind, age), (files, bytes))| UnnamedFiles { kind, age, files, bytes };
        self.0.into_iter().map(entry).collect()
    }
}

/// A file that a version names.
struct NamedFile {
    /// Its bytes, where the version records them.
    bytes: Option<u64>,
    seen: bool,
    is_unreadable: bool,
}

impl Checker {
    /// Walks the graph's folder and counts what nothing names.
    pub(super) async fn files(&mut self, accounts: &mut Accounts) -> Result<(), Stopped> {
        let mut counts = Counts::default();
        let now_ms = i64::try_from(self.catalog.clock().wall_ms()).unwrap_or(i64::MAX);
        let (mut done, total) = (0, accounts.tables.len() as u64);
        for named in std::mem::take(&mut accounts.tables).into_values() {
            self.progress(format!("files of {}", named.type_name), done, total).await?;
            self.table_files(&named, &mut counts, now_ms).await?;
            done += 1;
        }
        self.state_files(accounts, &mut counts, now_ms).await?;
        self.intents(accounts, &mut counts, now_ms).await?;
        self.summary.unnamed = counts.listed();
        Ok(())
    }

    async fn table_files(&mut self, named: &Named, counts: &mut Counts, now_ms: i64) -> Result<(), Stopped> {
        let mut files = self.named_files(named).await?;
        let store = self.catalog.store().clone();
        let mut objects = store.walk(&named.path);
        let (mut resized, mut unreadable) = (0, 0);
        while let Some(meta) = objects.try_next().await? {
            let Some(place) = TreeFile::of(&named.path, &meta.path) else { continue };
            if !named.trees.contains_key(&place.tree) {
                counts.add(UnnamedKind::Tree, &meta, now_ms);
                continue;
            }
            match place.file {
                TableFile::Version(version) if !named.names(place.tree, version) => {
                    counts.add(UnnamedKind::TableVersion, &meta, now_ms);
                }
                TableFile::Data => match files.as_mut().map(|files| files.get_mut(&hash(&meta.path))) {
                    Some(Some(file)) => {
                        file.seen = true;
                        resized += u64::from(file.bytes.is_some_and(|bytes| bytes != meta.size));
                        unreadable += u64::from(file.is_unreadable);
                    }
                    Some(None) => counts.add(UnnamedKind::Data, &meta, now_ms),
                    None => {}
                },
                TableFile::Version(_) | TableFile::Other => {}
            }
        }
        drop(objects);
        for meta in store.unfinished(&named.path).await? {
            counts.add(UnnamedKind::Data, &meta, now_ms);
        }
        let missing = files.map_or(0, |files| files.values().filter(|file| !file.seen).count() as u64);
        let found = [
            ("missing", missing),
            ("of another size than they were written with", resized),
            ("with marks of deleted rows that cannot be read", unreadable),
        ];
        let found: Vec<String> =
            found.iter().filter(|(_, files)| *files > 0).map(|(what, files)| format!("{what}: {files}")).collect();
        if found.is_empty() {
            return Ok(());
        }
        let message = format!("files that commits name, below {}, are {}", named.path, found.join(", "));
        self.report(CheckFinding {
            kind: CheckKind::MissingFiles,
            branch: None,
            type_name: Some(named.type_name.clone()),
            message,
            next: "restore the files of the table from a backup; reads that need none of them go on".to_owned(),
        })
        .await
    }

    /// The files that versions named by commits name, none of them seen yet; none if there are too many.
    async fn named_files(&mut self, named: &Named) -> Result<Option<HashMap<u64, NamedFile>>, Stopped> {
        let pins: Vec<_> =
            named.trees.iter().flat_map(|(tree, versions)| versions.iter().map(|version| (*tree, *version))).collect();
        if pins.len() > VERSIONS_OPENED_MAX {
            self.summary.not_accounted.push(named.type_name.clone());
            return Ok(None);
        }
        let (store, path) = (self.catalog.store().clone(), named.path.clone());
        let opened = stream::iter(pins).map(move |(tree, version)| {
            let (store, pin) = (store.clone(), TreeRef { path: path.clone(), tree }.at(version));
            async move {
                let table = store.open_table(&pin).await;
                (pin, table)
            }
        });
        let mut opened = opened.buffer_unordered(CONCURRENCY).boxed();
        let (mut files, mut deletions) = (HashMap::new(), Deletions::default());
        while let Some((pin, table)) = opened.next().await {
            match table {
                Ok(table) => {
                    self.summary.table_versions += 1;
                    deletions.read(&table).await?;
                    files.extend(table.named_files().map(|(path, bytes)| {
                        let file = hash(&path);
                        (file, NamedFile { bytes, seen: false, is_unreadable: deletions.is_unreadable(file) })
                    }));
                }
                Err(error @ (StorageError::TableNotFound { .. } | StorageError::Corrupt { .. })) => {
                    tracing::warn!(table = %named.type_name, %pin, %error, "check: a table version cannot be read");
                    self.lost_version(named, pin).await?;
                }
                // The check of its branch reports that it was made in another root.
                Err(StorageError::OtherRoot { .. }) => {
                    self.summary.not_accounted.push(named.type_name.clone());
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            }
            if files.len() > FILES_MAX {
                self.summary.not_accounted.push(named.type_name.clone());
                return Ok(None);
            }
        }
        Ok(Some(files))
    }

    async fn lost_version(&mut self, named: &Named, pin: Pin) -> Result<(), Stopped> {
        let version = pin.version;
        if !self.reported.insert(pin) {
            return Ok(());
        }
        self.report(CheckFinding {
            kind: CheckKind::DamagedTable,
            branch: None,
            type_name: Some(named.type_name.clone()),
            message: format!("version {version}, which commits name, is missing or cannot be read"),
            next: "restore the files of the table from a backup; other commits go on".to_owned(),
        })
        .await
    }

    async fn state_files(&mut self, accounts: &Accounts, counts: &mut Counts, now_ms: i64) -> Result<(), Stopped> {
        let manifest = self.catalog.paths().manifest();
        let store = self.catalog.store().clone();
        let mut objects = store.walk(&manifest);
        while let Some(meta) = objects.try_next().await? {
            let Some(place) = TreeFile::of(&manifest, &meta.path) else { continue };
            if place.tree.is_some_and(|chain| !accounts.chains.contains(&chain)) {
                counts.add(UnnamedKind::Tree, &meta, now_ms);
            } else if is_state(&place.file) && !accounts.states.contains(&hash(&meta.path)) {
                counts.add(UnnamedKind::State, &meta, now_ms);
            }
        }
        drop(objects);
        for meta in store.unfinished(&manifest).await? {
            counts.add(UnnamedKind::State, &meta, now_ms);
        }
        Ok(())
    }

    /// Intents of versions that are published: no program reads them any more.
    async fn intents(&mut self, accounts: &Accounts, counts: &mut Counts, now_ms: i64) -> Result<(), Stopped> {
        let store = self.catalog.store().clone();
        for (branch, newest) in &accounts.newest {
            let mut objects = store.walk(&self.catalog.paths().intents(*branch));
            while let Some(meta) = objects.try_next().await? {
                let name = meta.path.as_str().rsplit('/').next().and_then(|name| name.strip_suffix(".json"));
                let version = name.and_then(|name| name.parse().ok()).map(TableVersion);
                if version.is_some_and(|version| version <= *newest) {
                    counts.add(UnnamedKind::Intent, &meta, now_ms);
                }
            }
            drop(objects);
            for meta in store.unfinished(&self.catalog.paths().intents(*branch)).await? {
                counts.add(UnnamedKind::Intent, &meta, now_ms);
            }
        }
        Ok(())
    }
}

/// Whether a file holds rows of a branch's version.
fn is_state(file: &TableFile) -> bool {
    *file == TableFile::Data
}
