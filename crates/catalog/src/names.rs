//! The entries of graph names: `__graphs/<name>/<sequence>.json`, of which the newest is the truth.

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use omnigraph_storage::{Certainty, PutOutcome, StorageError, Store};
use omnigraph_types::mutant;
use omnigraph_types::{GraphName, OperationId};

use crate::error::CatalogError;
use crate::format::raw::check_stamp;
use crate::format::v2;
use crate::name_entry::NameEntry;
use crate::newer::Reading;
use crate::paths;
use crate::stamp::STORAGE_FORMAT;

/// Entries read at once.
const CONCURRENCY: usize = 8;

/// The newest entry of a name, with its sequence number.
#[derive(Debug)]
pub(crate) struct NewestEntry {
    pub(crate) sequence: u64,
    pub(crate) entry: NameEntry,
}

/// The entries of one name, as one listing shows them. What is concluded from it together must not come from two.
#[derive(Debug)]
pub(crate) struct Entries<'a> {
    store: &'a Store,
    name: &'a GraphName,
    sequences: Vec<u64>,
}

impl<'a> Entries<'a> {
    /// Lists them.
    pub(crate) async fn list(store: &'a Store, name: &'a GraphName) -> Result<Self, CatalogError> {
        let children = store.list_children(&paths::name_entries(name)).await?;
        let sequences = children.iter().filter_map(|child| child.strip_suffix(".json")?.parse::<u64>().ok()).collect();
        Ok(Self { store, name, sequences })
    }

    /// The newest entry; none if the name was never used.
    pub(crate) async fn newest(&self) -> Result<Option<NewestEntry>, CatalogError> {
        match mutant!(112, self.sequences.iter().max(), self.sequences.iter().min()) {
            Some(&sequence) => Ok(Some(NewestEntry { sequence, entry: read(self.store, self.name, sequence).await? })),
            None => Ok(None),
        }
    }

    /// The entry of a sequence number, if there is one.
    pub(crate) async fn at(&self, sequence: u64) -> Result<Option<NameEntry>, CatalogError> {
        match self.sequences.contains(&sequence) {
            true => read(self.store, self.name, sequence).await.map(Some),
            false => Ok(None),
        }
    }

    /// The entry that an operation made, however long ago. `OperationIdReused` if it was another request.
    pub(crate) async fn made_by(
        &self,
        operation_id: OperationId,
        digest: &str,
    ) -> Result<Option<NameEntry>, CatalogError> {
        let entries = stream::iter(self.sequences.clone()).map(|sequence| read(self.store, self.name, sequence));
        let mut entries = entries.buffered(CONCURRENCY);
        while let Some(entry) = entries.try_next().await? {
            let (found, first_digest) = entry.operation();
            if found != operation_id {
                continue;
            }
            if first_digest != digest {
                let first_digest = first_digest.to_owned();
                return Err(CatalogError::OperationIdReused { operation_id, first_digest, commit: None });
            }
            return Ok(Some(entry));
        }
        Ok(None)
    }
}

/// The newest entry of a name; none if the name was never used.
pub(crate) async fn newest(store: &Store, name: &GraphName) -> Result<Option<NewestEntry>, CatalogError> {
    Entries::list(store, name).await?.newest().await
}

/// Every name that ever had an entry.
pub(crate) async fn all(store: &Store) -> Result<Vec<GraphName>, CatalogError> {
    let children = store.list_children(&paths::names()).await?;
    Ok(children.iter().filter_map(|name| name.parse().ok()).collect())
}

/// Puts an entry if there is none of this sequence number.
pub(crate) async fn put(
    store: &Store,
    name: &GraphName,
    sequence: u64,
    entry: &NameEntry,
) -> Result<PutOutcome, CatalogError> {
    let bytes = v2::encode_name_entry(entry).map_err(|_| corrupt(name))?;
    Ok(store.put_if_absent(&paths::name_entry(name, sequence), Bytes::from(bytes)).await?)
}

async fn read(store: &Store, name: &GraphName, sequence: u64) -> Result<NameEntry, CatalogError> {
    let object = match store.get(&paths::name_entry(name, sequence)).await {
        Ok(Some(object)) => object,
        Ok(None) | Err(StorageError::Misplaced { .. }) => return Err(corrupt(name)),
        Err(error) => return Err(error.into()),
    };
    read_entry(name, &object.bytes)
}

/// Reads an entry's bytes. Fails with `Format` before it reads anything else of another format.
pub(crate) fn read_entry(name: &GraphName, bytes: &[u8]) -> Result<NameEntry, CatalogError> {
    check_stamp(serde_json::from_slice(bytes).map_err(|_| corrupt(name))?)?;
    match v2::decode_name_entry(bytes).map_err(|_| corrupt(name))? {
        Reading::Known(entry) => Ok(entry),
        Reading::Newer(newer) => Err(CatalogError::Newer(newer)),
    }
}

/// The store refused a put because the entry exists, and shows no such entry.
pub(crate) fn undecided(name: &GraphName) -> CatalogError {
    let source = "the entry is reported to exist, and is not there".into();
    let (action, object) = ("record the name of a graph", name.to_string());
    StorageError::Store { action, object, certainty: Certainty::Unknown, source }.into()
}

pub(crate) fn corrupt(name: &GraphName) -> CatalogError {
    CatalogError::Corrupt {
        object: format!("the entry of graph {name}"),
        expected: format!("an entry of format {STORAGE_FORMAT}"),
    }
}
