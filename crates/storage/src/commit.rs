//! Exact commits: the only way that a version of a tree comes into being.

use omnigraph_types::{TableVersion, TreeId};

use crate::{
    Existence, ObjectPath, Pin, StagedChange, StorageError, Store, Table, TransactionInfo, TransactionMark, TreeRef,
};

/// What an exact commit met.
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
    pub async fn open_table(&self, _pin: &Pin) -> Result<Table, StorageError> {
        todo!()
    }

    /// Whether a version exists.
    pub async fn version_exists(&self, _tree: &TreeRef, _version: TableVersion) -> Result<Existence, StorageError> {
        todo!()
    }

    /// The newest version, probing forward from one that exists. Right while the versions from there on are contiguous.
    pub async fn head_from(&self, _tree: &TreeRef, _known: TableVersion) -> Result<TableVersion, StorageError> {
        todo!()
    }

    /// The newest version, by listing; none if there is no such tree.
    pub async fn head(&self, _tree: &TreeRef) -> Result<Option<TableVersion>, StorageError> {
        todo!()
    }

    /// The transaction that made a version; none if the version does not exist.
    pub async fn transaction_at(
        &self,
        _tree: &TreeRef,
        _version: TableVersion,
    ) -> Result<Option<TransactionInfo>, StorageError> {
        todo!()
    }

    /// Creates a dataset with `staged` as version 1.
    pub async fn create_dataset(
        &self,
        _path: &ObjectPath,
        _staged: StagedChange,
    ) -> Result<CommitOutcome, StorageError> {
        todo!()
    }

    /// Makes the private tree `tree` of `from`; its newest version is `from.version`.
    pub async fn create_tree(&self, _from: &Pin, _tree: TreeId) -> Result<TreeRef, StorageError> {
        todo!()
    }

    /// Commits at exactly `base.version() + 1`. A change that landed before is `Committed` again, at the same version.
    pub async fn commit_exact(&self, _base: &Table, _change: &StagedChange) -> Result<CommitOutcome, StorageError> {
        todo!()
    }

    /// Restores the content of `restored` at exactly version `at`.
    pub async fn restore_exact(
        &self,
        _tree: &TreeRef,
        _restored: TableVersion,
        _at: TableVersion,
        _mark: &TransactionMark,
    ) -> Result<CommitOutcome, StorageError> {
        todo!()
    }
}
