//! Exact commits: the only way that a version of a tree comes into being.
//!
//! Invariants: a commit lands at its base + 1 or nowhere; a taken slot is a value that names its owner; an error says whether anything was
//! applied, and an outcome that cannot be read back is `CommitUnknown`. Lance's automatic cleanup never runs.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::time::{SystemTime, UNIX_EPOCH};

use futures::TryStreamExt;
use lance::dataset::CommitBuilder;
use lance::dataset::refs::{BranchContents, BranchIdentifier, branch_contents_path};
use lance::dataset::transaction::{Operation, Transaction};
use lance_core::Error as LanceError;
use object_store::{Error as ObjectStoreError, ObjectStoreExt, PutMode};
use omnigraph_types::mutant;
use omnigraph_types::{TableVersion, TreeId, contain_async};

use crate::blame::{is_status_unknown, lance_error};
use crate::change::{Base, RowIds};
use crate::exact::handler;
use crate::files::FILE_VERSION;
use crate::manifest::{manifest_path, version_in};
use crate::unfit::Unfit;
use crate::{
    Certainty, Existence, ObjectPath, Pin, StagedChange, StorageError, Store, Table, TransactionInfo, TransactionMark,
    TreeRef,
};

/// Versions that are probed one by one before the rest is listed.
const PROBES_MAX: u64 = 1_000;
/// The version that a creation makes.
const FIRST_VERSION: TableVersion = TableVersion(1);
/// What a commit does, for errors.
const ACTION: &str = "commit to a table";

/// The outcome of an exact commit.
#[derive(Debug, Clone)]
#[must_use]
pub enum CommitOutcome {
    /// The change is at its version; the table is opened there.
    Committed(Table),
    /// Another transaction has that version.
    Occupied {
        /// That transaction.
        by: TransactionInfo,
    },
}

impl Store {
    /// Opens one exact version, without listing.
    ///
    /// # Errors
    /// `TableNotFound` if there is no such version, `Corrupt` if its manifest is not one of this version.
    pub async fn open_table(&self, pin: &Pin) -> Result<Table, StorageError> {
        let opened = self.open_version(pin).await;
        let Err(error) = &opened else { return opened };
        // The remembered size is true unless the manifest was replaced: ask the store again.
        let folder = self.location(&pin.tree.folder());
        self.exact().forget(&folder, pin.version.0);
        match self.exact().size(&folder, pin.version.0, self.objects()).await {
            Err(ObjectStoreError::NotFound { .. }) => {
                // A root that is gone has no versions either.
                self.prove_root().await?;
                Err(StorageError::TableNotFound { pin: pin.clone() })
            }
            Ok(0) => Err(corrupt(pin, "a manifest", "the manifest is empty")),
            Ok(_) if matches!(error, StorageError::TableNotFound { .. }) => {
                Err(corrupt(pin, "the manifest of this version", "Lance finds no such version in it"))
            }
            Ok(_) | Err(_) => opened,
        }
    }

    async fn open_version(&self, pin: &Pin) -> Result<Table, StorageError> {
        // Lance panics on some damaged manifests.
        let opened = contain_async(self.dataset_builder(&pin.tree).with_version(pin.version.0).load()).await;
        let opened = opened.map_err(|contained| {
            let reason = format!("Lance panicked while it read the manifest: {contained}");
            corrupt(pin, "a version that can be opened", reason)
        })?;
        match opened {
            Ok(dataset) if mutant!(136, dataset.manifest().version != pin.version.0, false) => {
                Err(corrupt(pin, "the manifest of this version", "it is the manifest of another"))
            }
            Ok(dataset) => self.own(Table::new(dataset, pin.clone())),
            Err(
                LanceError::DatasetNotFound { .. } | LanceError::NotFound { .. } | LanceError::VersionNotFound { .. },
            ) => Err(StorageError::TableNotFound { pin: pin.clone() }),
            Err(error) => Err(lance_error("open a table", pin, error)),
        }
    }

    /// The table, if all trees that it was made from lie in this root: Lance names them by absolute paths.
    fn own(&self, table: Table) -> Result<Table, StorageError> {
        let inside = self.uri_prefix();
        let outside = table.dataset().manifest().base_paths.values().find(|base| !base.path.starts_with(&inside));
        match mutant!(135, outside, None) {
            None => Ok(table),
            Some(base) => Err(StorageError::OtherRoot { object: table.pin().to_string(), made_in: base.path.clone() }),
        }
    }

    /// Whether a version exists.
    pub async fn version_exists(&self, tree: &TreeRef, version: TableVersion) -> Result<Existence, StorageError> {
        let manifest = manifest_path(&self.location(&tree.folder()), version.0);
        match self.objects().head(&manifest).await {
            Ok(_) => Ok(Existence::Exists),
            Err(ObjectStoreError::NotFound { .. }) => Ok(Existence::Absent),
            Err(error) => Err(read_error("check that a version exists", tree, error)),
        }
    }

    /// The newest version, probing forward from one that exists. Right while the versions from there on are contiguous.
    pub async fn head_from(&self, tree: &TreeRef, known: TableVersion) -> Result<TableVersion, StorageError> {
        let mut newest = known;
        for _ in 0..PROBES_MAX {
            match self.version_exists(tree, newest.next()).await? {
                Existence::Exists => newest = newest.next(),
                Existence::Absent => return Ok(newest),
            }
        }
        Ok(self.head(tree).await?.map_or(newest, |listed| listed.max(newest)))
    }

    /// The newest version, by listing; none if there is no such tree.
    pub async fn head(&self, tree: &TreeRef) -> Result<Option<TableVersion>, StorageError> {
        let versions = self.location(&tree.folder().child("_versions"));
        let listed = self.objects().list(Some(&versions)).try_fold(None, async |newest: Option<u64>, meta| {
            Ok(newest.max(meta.location.filename().and_then(version_in)))
        });
        let newest = listed.await.map_err(|error| read_error("list versions", tree, error))?;
        Ok(newest.map(TableVersion))
    }

    /// The transaction that made a version; none if the version does not exist.
    pub async fn transaction_at(
        &self,
        tree: &TreeRef,
        version: TableVersion,
    ) -> Result<Option<TransactionInfo>, StorageError> {
        let pin = tree.at(version);
        let table = match self.open_table(&pin).await {
            Ok(table) => table,
            Err(StorageError::TableNotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let read = table.dataset().read_transaction().await;
        let transaction = read.map_err(|error| lance_error("read a transaction", &pin, error))?;
        let transaction = transaction.ok_or_else(|| StorageError::Corrupt {
            object: pin.to_string(),
            expected: "a version with its transaction",
            source: "the manifest names no transaction".into(),
        })?;
        Ok(Some(TransactionInfo::of(&transaction)))
    }

    /// Creates a dataset with `staged` as version 1.
    ///
    /// # Errors
    /// As `commit_exact`.
    pub async fn create_dataset(&self, path: &ObjectPath, staged: StagedChange) -> Result<CommitOutcome, StorageError> {
        let tree = TreeRef::main(path.clone());
        let Base::Creation(row_ids) = *staged.base() else { return Err(unfit(&tree, Unfit::CreationMismatch)) };
        let transaction = staged.transaction().map_err(|error| unfit(&tree, error))?;
        let uri = self.uri(path);
        let builder = CommitBuilder::new(uri.as_str())
            .with_store_params(self.params())
            .with_session(self.session())
            .with_commit_handler(handler(self.exact()))
            .with_storage_format(FILE_VERSION)
            .use_stable_row_ids(row_ids == RowIds::Stable);
        self.commit(builder, transaction, tree.at(FIRST_VERSION)).await
    }

    /// Makes the private tree `tree` of `from`; its newest version is `from.version`. A tree's name is never used again: after an error the
    /// tree may be there in part, and is abandoned.
    pub async fn create_tree(&self, from: &Pin, tree: TreeId) -> Result<TreeRef, StorageError> {
        let source = self.open_table(from).await?;
        let (name, parent) = (tree.to_string(), from.tree.tree.map(|parent| parent.to_string()));
        let made = TreeRef { path: from.tree.path.clone(), tree: Some(tree) };
        let clone = Operation::Clone {
            is_shallow: true,
            ref_name: parent.clone(),
            ref_version: from.version.0,
            ref_path: self.uri(&from.tree.folder()),
            branch_name: Some(name.clone()),
        };
        // The same as `Dataset::create_branch`, but in our session: a session of Lance's own knows only stores that Lance has clients for.
        let uri = self.uri(&made.folder());
        let builder = CommitBuilder::new(uri.as_str())
            .with_store_params(self.params())
            .with_session(self.session())
            .with_commit_handler(handler(self.exact()))
            .with_storage_format(FILE_VERSION)
            .with_max_retries(0)
            .with_skip_auto_cleanup(true);
        let failed = |source: Box<dyn StdError + Send + Sync>| StorageError::Store {
            action: "make a private tree",
            object: from.to_string(),
            certainty: Certainty::Unknown,
            source,
        };
        let cloned = builder.execute(Transaction::new(from.version.0, clone, None)).await;
        cloned.map_err(|error| failed(error.into()))?;
        let identifier = source.dataset().branches().get_identifier(parent.as_deref()).await;
        let folder = self.location(&from.tree.folder());
        let size = self.exact().size(&folder, from.version.0, self.objects()).await;
        let contents = BranchContents {
            parent_branch: parent,
            identifier: BranchIdentifier::new(&identifier.map_err(|error| failed(error.into()))?, from.version.0),
            parent_version: from.version.0,
            create_at: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            manifest_size: usize::try_from(size.map_err(|error| failed(error.into()))?).unwrap_or(usize::MAX),
            metadata: HashMap::new(),
        };
        let contents = serde_json::to_vec_pretty(&contents).map_err(|error| failed(error.into()))?;
        let reference = branch_contents_path(&self.location(&from.tree.path), &name);
        let put = self.objects().put_opts(&reference, contents.into(), PutMode::Create.into()).await;
        put.map_err(|error| failed(error.into()))?;
        Ok(made)
    }

    /// Commits at exactly `base.version() + 1`. A change that landed before is `Committed` again, at the same version.
    ///
    /// # Errors
    /// `CommitUnknown` if the outcome cannot be read back; `Store` if the commit is proven not to be there; `Mismatch`, before anything is
    /// written, if the change does not fit the table.
    pub async fn commit_exact(&self, base: &Table, change: &StagedChange) -> Result<CommitOutcome, StorageError> {
        let pin = base.pin();
        match change.base() {
            Base::At(staged_on) if mutant!(133, *staged_on == pin, true) => {}
            Base::After { staged_on, made } if *made == pin => self.check_fragments(base, staged_on, change).await?,
            Base::At(_) | Base::After { .. } => return Err(unfit(&pin.tree, Unfit::OtherBase)),
            Base::Creation(_) => return Err(unfit(&pin.tree, Unfit::CreationMismatch)),
        }
        let transaction = change.transaction().map_err(|error| unfit(&pin.tree, error))?;
        let builder = CommitBuilder::new(std::sync::Arc::clone(base.dataset()));
        self.commit(builder, transaction, pin.tree.at(pin.version.next())).await
    }

    /// Checks that the fragments which a later transaction of an effect touches are those that it was staged on: Lance finds no newer
    /// transactions, so it would not detect a second change of one.
    async fn check_fragments(&self, base: &Table, staged_on: &Pin, change: &StagedChange) -> Result<(), StorageError> {
        let touched = change.fragments_touched();
        if touched.is_empty() {
            return Ok(());
        }
        let staged_on = self.open_table(staged_on).await?;
        for id in touched {
            let fragments =
                |table: &Table| table.fragments_by_id(&[id]).map_err(|error| unfit(&base.pin().tree, error));
            if mutant!(134, fragments(&staged_on)? != fragments(base)?, false) {
                return Err(unfit(&base.pin().tree, Unfit::FragmentChanged { id }));
            }
        }
        Ok(())
    }

    /// Restores the content of `restored` at exactly version `at`.
    ///
    /// # Errors
    /// As `commit_exact`; `TableNotFound` if the version before `at` does not exist.
    pub async fn restore_exact(
        &self,
        tree: &TreeRef,
        restored: TableVersion,
        at: TableVersion,
        mark: &TransactionMark,
    ) -> Result<CommitOutcome, StorageError> {
        let base = self.open_table(&tree.at(TableVersion(at.0.saturating_sub(1)))).await?;
        let operation = Operation::Restore { version: restored.0 };
        let change = StagedChange::on(base.pin(), Ok(operation), mark.clone());
        self.commit_exact(&base, &change).await
    }

    /// An own version that has its place, once every sync is done. Lance too reads it back after an error, and calls it a success.
    async fn believed(&self, table: Table) -> Result<CommitOutcome, StorageError> {
        match mutant!(120, self.guard().settle().await, Ok(())) {
            Ok(()) => Ok(CommitOutcome::Committed(table)),
            Err(unsynced) => {
                let Pin { tree, version } = table.pin();
                Err(StorageError::CommitUnknown { tree, version, source: Box::new(unsynced) })
            }
        }
    }

    async fn commit(
        &self,
        builder: CommitBuilder<'_>,
        transaction: Transaction,
        at: Pin,
    ) -> Result<CommitOutcome, StorageError> {
        let uuid = transaction.uuid.clone();
        let commit = builder.with_max_retries(0).with_skip_auto_cleanup(true).execute(transaction);
        let error = match commit.await {
            Ok(dataset) => {
                let landed = TableVersion(dataset.manifest().version);
                if landed == at.version {
                    return self.believed(Table::new(dataset, at)).await;
                }
                return Err(StorageError::InexactCommit { tree: at.tree, expected: at.version, landed });
            }
            Err(error) => error,
        };
        // The slot decides, whatever the error says.
        match self.transaction_at(&at.tree, at.version).await {
            Ok(Some(found)) if mutant!(118, found.uuid == uuid, false) => {
                self.believed(self.open_table(&at).await?).await
            }
            Ok(Some(by)) => Ok(CommitOutcome::Occupied { by }),
            Ok(None) if mutant!(119, !is_status_unknown(&error), true) => Err(lance_error(ACTION, &at, error)),
            Ok(None) | Err(_) => {
                Err(StorageError::CommitUnknown { tree: at.tree, version: at.version, source: Box::new(error) })
            }
        }
    }
}

fn corrupt(pin: &Pin, expected: &'static str, found: impl Into<String>) -> StorageError {
    StorageError::Corrupt { object: pin.to_string(), expected, source: found.into().into() }
}

fn unfit(tree: &TreeRef, unfit: Unfit) -> StorageError {
    StorageError::Mismatch { action: ACTION, object: tree.to_string(), source: Box::new(unfit) }
}

fn read_error(action: &'static str, tree: &TreeRef, error: ObjectStoreError) -> StorageError {
    StorageError::Store { action, object: tree.to_string(), certainty: Certainty::NotApplied, source: Box::new(error) }
}
