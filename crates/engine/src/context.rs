//! What every operation of this process is handed: the store, the names of graphs, limits, clock, schemas, permits.
//!
//! Why a type of its own: loads, queries and snapshots need these and must not know the graphs that are open, nor the door that callers use.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use omnigraph_catalog::Graphs;
use omnigraph_commit::FailPoints;
use omnigraph_storage::{Durability, NewRoot, RootClaim, RootProofs, Store, StoreHook, StoreOptions, require_folder};
use omnigraph_types::{Clock, Limits, OperationId};

use crate::error::Result;
use crate::failpoints::fail_points;
use crate::load::Turns;
use crate::reads::Reads;
use crate::schema::SchemaCache;

/// How a root is opened.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// The limits in force.
    pub limits: Limits,
    /// The source of time and of ids.
    pub clock: Arc<dyn Clock>,
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// Where loads spill what does not fit their memory; the system's temporary folder if none.
    pub spill_directory: Option<PathBuf>,
    /// Where a root may be made if there is none.
    pub new_root: NewRoot,
    /// Called around every call to the store, in this order.
    pub store_hooks: Vec<Arc<dyn StoreHook>>,
}

/// What all graphs of one root share in this process.
#[derive(Debug)]
pub(crate) struct Context {
    limits: Arc<Limits>,
    clock: Arc<dyn Clock>,
    schemas: SchemaCache,
    spill_directory: Option<PathBuf>,
    store: Store,
    root: RootClaim,
    names: Graphs,
    failpoints: FailPoints,
    turns: Turns,
    reads: Reads,
}

impl Context {
    /// Opens the root, makes it where the options permit that, and proves that its store honours put-if-absent.
    pub(crate) async fn open(root: &str, options: EngineOptions) -> Result<Self> {
        let failpoints = FailPoints::from_environment(&fail_points())?;
        let store_options = StoreOptions {
            durability: options.durability,
            cache_bytes: options.limits.cache_bytes_max,
            hooks: options.store_hooks.into_iter().chain(failpoints.hooks()).collect(),
            variables: HashMap::new(),
        };
        if options.new_root != NewRoot::WhereNothingIs {
            require_folder(root)?;
        }
        let store = Store::open(root, store_options).await?;
        let age_max = Duration::from_millis(options.limits.root_proof_age_max_ms);
        let proofs = RootProofs { clock: options.clock.clone(), age_max };
        let root = store.claim_root(options.new_root, proofs).await?;
        store.prove_put_if_absent().await?;
        let limits = Arc::new(options.limits);
        let turns = Turns::new(&limits);
        let reads = Reads::start(&limits, options.clock.clone())?;
        Ok(Self {
            reads,
            names: Graphs::new(store.clone(), options.clock.clone(), limits.clone()),
            store,
            root,
            failpoints,
            schemas: SchemaCache::at_most(limits.schemas_cached_max),
            limits,
            clock: options.clock,
            spill_directory: options.spill_directory,
            turns,
        })
    }

    /// The limits in force.
    pub(crate) fn limits(&self) -> &Arc<Limits> {
        &self.limits
    }

    /// The clock.
    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Prepared schemas.
    pub(crate) fn schemas(&self) -> &SchemaCache {
        &self.schemas
    }

    /// Where data that does not fit into memory is written; the system's temporary folder if none.
    pub(crate) fn spill_directory(&self) -> Option<&Path> {
        self.spill_directory.as_deref()
    }

    /// The store of the root.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The root's id, and whether it was made when it was opened.
    pub(crate) fn root(&self) -> RootClaim {
        self.root
    }

    /// The names of graphs.
    pub(crate) fn names(&self) -> &Graphs {
        &self.names
    }

    /// Fail points; none in optimized builds.
    pub(crate) fn failpoints(&self) -> &FailPoints {
        &self.failpoints
    }

    /// The operation id of a request: its own, or a fresh one.
    pub(crate) fn operation_id(&self, requested: Option<OperationId>) -> OperationId {
        requested.unwrap_or_else(|| OperationId(self.clock.mint()))
    }

    /// The reads of this process.
    pub(crate) fn reads(&self) -> &Reads {
        &self.reads
    }

    /// The turns of loads.
    pub(crate) fn turns(&self) -> &Turns {
        &self.turns
    }
}
