//! The door to the graphs of a root: created, opened, listed, and their names removed.
//!
//! A graph is built whole under its own fresh id before its name is put if absent, so a crash leaves either a graph or a name that can be
//! created, and of two creators one wins.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use omnigraph_storage::{Certainty, PutOutcome, Store};
use omnigraph_types::mutant;
use omnigraph_types::{BranchId, Clock, Deciding, GraphId, GraphName, Limits, OperationId, RequestEffect, Share};

use crate::birth::{Identities, NewGraph, build, discard};
use crate::catalog::Catalog;
use crate::context::Context;
use crate::error::CatalogError;
use crate::name_entry::{NameCreated, NameDeleted, NameEntry};
use crate::names::{self, Entries, NewestEntry};

/// Names read at once.
const CONCURRENCY: usize = 8;

/// A request to remove a graph's name.
#[derive(Debug, Clone)]
pub struct NameRemoval {
    /// The graph.
    pub graph_id: GraphId,
    /// The operation that deletes it.
    pub operation_id: OperationId,
    /// Digest of its request, in hexadecimal.
    pub digest: String,
    /// Who asked for it.
    pub actor: String,
}

/// One graph of a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphEntry {
    /// Its name.
    pub name: GraphName,
    /// Its identity.
    pub graph_id: GraphId,
    /// When it was created, in milliseconds since 1970-01-01T00:00:00Z.
    pub created_ms: u64,
    /// The operation that created it.
    pub operation_id: OperationId,
}

/// What a request to delete a graph is about.
#[derive(Debug, Clone)]
pub enum ToDelete {
    /// The same operation has deleted a graph of this name.
    Deleted,
    /// The graph that the name means.
    Graph(GraphEntry, Box<Catalog>),
}

/// When a request's graph was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// Now, by this call.
    Now,
    /// By an earlier call for the same request.
    Before,
}

/// The graphs of a root.
#[derive(Debug, Clone)]
pub struct Graphs {
    store: Store,
    clock: Arc<dyn Clock>,
    limits: Arc<Limits>,
}

impl Graphs {
    /// The graphs of the store's root.
    pub fn new(store: Store, clock: Arc<dyn Clock>, limits: Arc<Limits>) -> Self {
        Self { store, clock, limits }
    }

    /// The store that holds the graphs.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Creates a graph with its first commit, for the request with this effect. `GraphExists` where the name is taken, also by a creator that
    /// was quicker.
    pub async fn create(&self, new: NewGraph, effect: &RequestEffect) -> Result<(Catalog, Made), CatalogError> {
        let entries = Entries::list(&self.store, &new.name).await?;
        let sequence = match entries.newest().await? {
            Some(NewestEntry { entry: NameEntry::Created(created), .. }) => {
                return Ok((self.answer_existing(&new, created, effect)?, Made::Before));
            }
            Some(NewestEntry { sequence, entry: NameEntry::Deleted(_) }) => {
                // I-8: the operation made a graph that was deleted since; it makes no second one.
                if mutant!(109, entries.made_by(new.operation_id, &new.digest).await?, None).is_some() {
                    return Err(CatalogError::GraphDeleted(new.name.clone()));
                }
                sequence + 1
            }
            None => 1,
        };
        let ids = Identities::mint(self.clock.as_ref());
        if let Err(error) = build(&self.store, self.clock.as_ref(), &new, ids).await {
            discard(&self.store, ids).await;
            return Err(error);
        }
        let entry = NameEntry::Created(NameCreated {
            graph_id: ids.graph_id,
            main_branch_id: ids.main_branch_id,
            operation_id: new.operation_id,
            digest: new.digest.clone(),
            actor: new.actor.clone(),
            created_ms: ids.created_ms,
        });
        let deciding = effect.begin(Share::Whole).map_err(|_| CatalogError::Answered)?;
        match names::put(&self.store, &new.name, sequence, &entry).await {
            Ok(PutOutcome::Created) => {
                deciding.landed();
                Ok((self.catalog(&new.name, (ids.graph_id, ids.main_branch_id)), Made::Now))
            }
            Ok(PutOutcome::AlreadyExists) => self.answer_taken(&new, (sequence, &entry), deciding, effect).await,
            Err(error) => {
                match error.certainty() {
                    Certainty::NotApplied => {
                        deciding.refuted();
                        discard(&self.store, ids).await;
                    }
                    Certainty::Unknown => drop(deciding),
                }
                Err(error)
            }
        }
    }

    /// The store reports that the name's next entry exists: whose it is decides. A store may also report so while the request's own put is under
    /// way; then nothing is decided yet.
    async fn answer_taken(
        &self,
        new: &NewGraph,
        (sequence, own): (u64, &NameEntry),
        deciding: Deciding,
        effect: &RequestEffect,
    ) -> Result<(Catalog, Made), CatalogError> {
        let entries = Entries::list(&self.store, &new.name).await?;
        let taken = entries.at(sequence).await?.ok_or_else(|| names::undecided(&new.name))?;
        let made = if taken == *own {
            deciding.landed();
            Made::Now
        } else {
            deciding.refuted();
            Made::Before
        };
        match entries.newest().await? {
            Some(NewestEntry { entry: NameEntry::Created(created), .. }) => {
                Ok((self.answer_existing(new, created, effect)?, made))
            }
            Some(NewestEntry { entry: NameEntry::Deleted(_), .. }) => {
                let made = entries.made_by(new.operation_id, &new.digest).await?;
                Err(match made {
                    Some(_) => CatalogError::GraphDeleted(new.name.clone()),
                    None => CatalogError::GraphExists(new.name.clone()),
                })
            }
            None => Err(names::corrupt(&new.name)),
        }
    }

    fn answer_existing(
        &self,
        new: &NewGraph,
        created: NameCreated,
        effect: &RequestEffect,
    ) -> Result<Catalog, CatalogError> {
        let NameCreated { graph_id, main_branch_id, operation_id, digest, .. } = created;
        if operation_id != new.operation_id {
            return Err(CatalogError::GraphExists(new.name.clone()));
        }
        if mutant!(110, digest != new.digest, false) {
            return Err(CatalogError::OperationIdReused { operation_id, first_digest: digest, commit: None });
        }
        effect.found_committed();
        Ok(self.catalog(&new.name, (graph_id, main_branch_id)))
    }

    fn catalog(&self, name: &GraphName, ids: (GraphId, BranchId)) -> Catalog {
        Catalog::new(Context::new(self.store.clone(), name.clone(), ids, self.clock.clone(), self.limits.clone()))
    }

    /// What a request to delete the graph of a name is about. `GraphNotFound` if the name means no graph, `OperationIdReused` if the operation
    /// was another request.
    pub async fn to_delete(
        &self,
        name: &GraphName,
        operation_id: OperationId,
        digest: &str,
    ) -> Result<ToDelete, CatalogError> {
        // By one listing: between two, this very operation may end the graph, and another one may get its name.
        let entries = Entries::list(&self.store, name).await?;
        match entries.made_by(operation_id, digest).await? {
            Some(NameEntry::Deleted(_)) => return Ok(ToDelete::Deleted),
            Some(NameEntry::Created(_)) | None => {}
        }
        match entries.newest().await?.map(|newest| newest.entry) {
            Some(NameEntry::Created(created)) => {
                let ids = (created.graph_id, created.main_branch_id);
                Ok(ToDelete::Graph(entry(name, &created), Box::new(self.catalog(name, ids))))
            }
            Some(NameEntry::Deleted(_)) | None => Err(CatalogError::GraphNotFound(name.clone())),
        }
    }

    /// Records that a name does not mean its graph any more, unless it means another graph or none already.
    pub async fn remove_name(&self, name: &GraphName, removal: &NameRemoval) -> Result<(), CatalogError> {
        let newest = names::newest(&self.store, name).await?;
        let Some(NewestEntry { sequence, entry: NameEntry::Created(created) }) = newest else {
            return Ok(());
        };
        if mutant!(111, created.graph_id != removal.graph_id, false) {
            return Ok(());
        }
        let NameRemoval { graph_id, operation_id, digest, actor } = removal.clone();
        let deleted_ms = self.clock.wall_ms();
        let entry = NameEntry::Deleted(NameDeleted { graph_id, operation_id, digest, actor, deleted_ms });
        // An entry that is there already says the same: a graph is deleted once.
        match names::put(&self.store, name, sequence + 1, &entry).await? {
            PutOutcome::Created | PutOutcome::AlreadyExists => Ok(()),
        }
    }

    /// Opens a graph by name. Its format is checked by whatever is read of it.
    pub async fn open(&self, name: &GraphName) -> Result<(GraphEntry, Catalog), CatalogError> {
        let created = self.created(name).await?;
        let ids = (created.graph_id, created.main_branch_id);
        Ok((entry(name, &created), self.catalog(name, ids)))
    }

    /// What a name means now, without opening the graph.
    pub async fn entry(&self, name: &GraphName) -> Result<GraphEntry, CatalogError> {
        Ok(entry(name, &self.created(name).await?))
    }

    async fn created(&self, name: &GraphName) -> Result<NameCreated, CatalogError> {
        match names::newest(&self.store, name).await?.map(|newest| newest.entry) {
            Some(NameEntry::Created(created)) => Ok(created),
            Some(NameEntry::Deleted(_)) | None => Err(CatalogError::GraphNotFound(name.clone())),
        }
    }

    /// The graphs of the root, by name. One whose entry cannot be read is left out, and logged.
    pub async fn list(&self) -> Result<Vec<GraphEntry>, CatalogError> {
        let entries = stream::iter(names::all(&self.store).await?).map(|name| async move {
            match self.entry(&name).await {
                Ok(entry) => Ok(Some(entry)),
                Err(CatalogError::GraphNotFound(_)) => Ok(None),
                Err(error @ (CatalogError::Corrupt { .. } | CatalogError::Format { .. } | CatalogError::Newer(_))) => {
                    tracing::error!(graph = %name, %error, "the list of graphs leaves out a graph whose entry cannot be read");
                    Ok(None)
                }
                Err(error) => Err(error),
            }
        });
        let mut found: Vec<GraphEntry> =
            entries.buffered(CONCURRENCY).try_filter_map(|entry| async move { Ok(entry) }).try_collect().await?;
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }
}

fn entry(name: &GraphName, created: &NameCreated) -> GraphEntry {
    GraphEntry {
        name: name.clone(),
        graph_id: created.graph_id,
        created_ms: created.created_ms,
        operation_id: created.operation_id,
    }
}
