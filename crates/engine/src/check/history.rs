//! Every version of a branch: whether it can be read, and what it names.

use futures::{StreamExt, stream};
use omnigraph_catalog::{CatalogError, Chain, Snapshot};
use omnigraph_storage::{StorageError, TreeRef};
use omnigraph_types::{CheckFinding, CheckKind, Failure, GraphVersion, TableVersion};

use crate::check::accounts::Accounts;
use crate::check::checker::{CONCURRENCY, Checker, Stopped};
use crate::error::is_damaged;

/// Versions between two reports of progress.
const PROGRESS_VERSIONS: u64 = 100;

impl Checker {
    /// Reads every version of a chain, newest first, and enters what it names into the accounts.
    pub(super) async fn history(&mut self, chain: &Chain, accounts: &mut Accounts) -> Result<(), Stopped> {
        let tree = TreeRef { path: self.catalog.paths().manifest(), tree: chain.tree };
        let versions = self.catalog.store().versions(&tree).await?;
        self.gaps(chain, &versions).await?;
        accounts.published(chain.branch_id, versions.first().copied());
        let total = versions.len() as u64;
        let (catalog, base) = (self.catalog.clone(), chain.clone());
        let read = stream::iter(versions).map(move |version| {
            let (catalog, chain, pin) = (catalog.clone(), base.clone(), tree.at(version));
            async move {
                let snapshot = catalog.at_version(&chain, GraphVersion(version.0)).await;
                let named = match &snapshot {
                    Ok(_) => catalog.store().open_table(&pin).await.map_err(CatalogError::from),
                    Err(_) => Err(CatalogError::Storage(StorageError::TableNotFound { pin })),
                };
                (version, snapshot, named)
            }
        });
        let mut read = read.buffered(CONCURRENCY).boxed();
        let mut done = 0;
        while let Some((version, snapshot, named)) = read.next().await {
            done += 1;
            if done % PROGRESS_VERSIONS == 0 {
                self.progress(format!("versions of branch {}", chain.name), done, total).await?;
            }
            match snapshot.and_then(|snapshot| Ok((snapshot, named?))) {
                Ok((snapshot, manifest)) => {
                    self.summary.graph_versions += 1;
                    accounts.enter(&snapshot, &manifest);
                    self.contract(chain, &snapshot, accounts).await?;
                }
                // The check of the branch reports it once; here every version would report it.
                Err(CatalogError::Storage(StorageError::OtherRoot { .. })) => return Ok(()),
                Err(error) => self.damaged_version(chain, version, error.failure()).await?,
            }
        }
        Ok(())
    }

    async fn damaged_version(&mut self, chain: &Chain, version: TableVersion, failure: Failure) -> Result<(), Stopped> {
        match is_damaged(&failure) {
            true => self.unreadable(chain, &format!("version {version}"), &failure).await,
            false => Err(failure.into()),
        }
    }

    /// A chain is without gaps, from the version that it began with.
    async fn gaps(&mut self, chain: &Chain, versions: &[TableVersion]) -> Result<(), Stopped> {
        for pair in versions.windows(2) {
            if pair[1].next() != pair[0] {
                let missing = TableVersion(pair[0].0 - 1);
                let absent = CatalogError::Corrupt {
                    object: format!("version {missing} of branch {}", chain.name),
                    expected: "to be there".to_owned(),
                };
                self.unreadable(chain, &format!("version {missing}"), &absent.failure()).await?;
            }
        }
        Ok(())
    }

    async fn contract(&mut self, chain: &Chain, snapshot: &Snapshot, accounts: &mut Accounts) -> Result<(), Stopped> {
        if !accounts.is_first_use(snapshot.schema_hash()) {
            return Ok(());
        }
        match self.catalog.schema_contract(snapshot.schema_hash()).await.map_err(CatalogError::failure) {
            Ok(_) => Ok(()),
            Err(failure) if is_damaged(&failure) => {
                self.report(CheckFinding {
                    kind: CheckKind::UnreadableContract,
                    branch: Some(chain.name.clone()),
                    type_name: None,
                    message: format!("the schema contract {} is missing or cannot be read", snapshot.schema_hash()),
                    next: "restore the files of the graph's __schema folder from a backup".to_owned(),
                })
                .await
            }
            Err(failure) => Err(failure.into()),
        }
    }
}
