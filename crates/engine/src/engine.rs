//! One root, opened: the entry to everything a server does.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use futures::{StreamExt, TryStreamExt, stream};
use omnigraph_catalog::{CatalogError, Graphs, NewGraph, NewTable, TableKind};
use omnigraph_commit::{CommitOptions, Committer, FailPoint, FailPoints};
use omnigraph_lang::schema::{ParsedSchema, Schema, parse_schema};
use omnigraph_storage::{Certainty, Durability, Store, StoreHook, StoreOptions};
use omnigraph_types::{Clock, CommitId, Diagnostic, Effect, Failure, GraphId, GraphName, Limits, OperationId, Problem};
use sha2::{Digest, Sha256};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::deletion::is_graph_gone;
use crate::error::{EngineError, Result};
use crate::graph::Graph;
use crate::load::{Intake, SpillPool, hex};
use crate::schema::{GraphSchema, SchemaCache};

/// Graphs looked at, at once.
const CONCURRENCY: usize = 8;

/// How a root is opened.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// The limits in force.
    pub limits: Limits,
    /// Where time and ids come from.
    pub clock: Arc<dyn Clock>,
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// Where loads spill what does not fit their memory; the system's temporary folder if none.
    pub spill_directory: Option<PathBuf>,
    /// Told of every call to the store, in this order.
    pub store_hooks: Vec<Arc<dyn StoreHook>>,
}

/// A request for a new graph.
#[derive(Debug, Clone)]
pub struct CreateGraph {
    /// Its name.
    pub name: GraphName,
    /// Its schema, as `.pg` text.
    pub schema_source: String,
    /// The idempotency key; minted if none.
    pub operation_id: Option<OperationId>,
    /// Who asks.
    pub actor: String,
}

/// One graph, as it is shown.
#[derive(Debug, Clone)]
pub struct GraphInfo {
    /// Its name.
    pub name: GraphName,
    /// Its identity.
    pub id: GraphId,
    /// When it was created, in milliseconds since 1970.
    pub created_ms: u64,
    /// Head of the branch `main`.
    pub head: CommitId,
    /// Hash of the schema of the branch `main`.
    pub schema_hash: String,
    /// The operation that created it.
    pub operation_id: OperationId,
    /// What is odd about its schema's text, without being wrong; told when the graph is created.
    pub warnings: Vec<Diagnostic>,
}

/// What all graphs of an engine share.
#[derive(Debug)]
pub(crate) struct EngineShared {
    pub(crate) limits: Arc<Limits>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) schemas: SchemaCache,
    pub(crate) spill_directory: Option<PathBuf>,
    store: Store,
    pub(crate) graphs: Graphs,
    failpoints: FailPoints,
    open: Mutex<HashMap<GraphName, Graph>>,
    loads: Arc<Semaphore>,
}

impl EngineShared {
    /// A permit for one load; `ResourceLimit` if all are taken.
    pub(crate) fn load_permit(&self) -> Result<OwnedSemaphorePermit> {
        self.loads.clone().try_acquire_owned().map_err(|_| EngineError::Limit {
            limit: "loads_concurrent_max",
            value: self.limits.loads_concurrent_max,
            asked: self.limits.loads_concurrent_max.saturating_add(1),
            advice: "other loads are in progress: wait for one to finish, then resend",
        })
    }

    /// An empty intake with its own memory budget.
    pub(crate) fn intake(&self) -> Intake {
        let pool = SpillPool::new(self.spill_directory.clone(), self.limits.load_memory_bytes_max);
        Intake::new(self.clock.clone(), self.limits.clone(), pool)
    }
}

/// All graphs of one root. Cheap to clone; one per process.
#[derive(Debug, Clone)]
pub struct Engine {
    shared: Arc<EngineShared>,
}

impl Engine {
    /// Opens a root, makes it if it is not there, and proves that its store honours put-if-absent.
    pub async fn open(root: &str, options: EngineOptions) -> Result<Engine, Failure> {
        Ok(Self::open_store(root, options).await?)
    }

    async fn open_store(root: &str, options: EngineOptions) -> Result<Engine> {
        let failpoints = FailPoints::from_environment().map_err(|error| EngineError::InvalidRequest {
            field: "OMNIGRAPH_FAILPOINTS",
            reason: error.to_string(),
        })?;
        let store_options = StoreOptions {
            durability: options.durability,
            cache_bytes: options.limits.cache_bytes_max,
            hooks: options.store_hooks.into_iter().chain(failpoints.hooks()).collect(),
            variables: HashMap::new(),
        };
        let store = Store::open(root, store_options).await?;
        store.prove_put_if_absent().await?;
        let limits = Arc::new(options.limits);
        let permits = usize::try_from(limits.loads_concurrent_max).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        let shared = EngineShared {
            graphs: Graphs::new(store.clone(), options.clock.clone(), limits.clone()),
            store,
            failpoints,
            limits,
            clock: options.clock,
            schemas: SchemaCache::default(),
            spill_directory: options.spill_directory,
            open: Mutex::default(),
            loads: Arc::new(Semaphore::new(permits)),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// The root.
    pub fn root(&self) -> &str {
        self.shared.store.root()
    }

    /// Creates a graph. The same operation id again returns the graph it made.
    pub async fn create_graph(&self, request: CreateGraph) -> Result<GraphInfo, Failure> {
        Ok(self.create(request).await?)
    }

    async fn create(&self, request: CreateGraph) -> Result<GraphInfo> {
        let (asked, value) = (request.schema_source.len() as u64, self.shared.limits.schema_text_bytes_max);
        if asked > value {
            let advice = "shorten the schema, or raise the limit";
            return Err(EngineError::Limit { limit: "schema_text_bytes_max", value, asked, advice });
        }
        let parsed: ParsedSchema = parse_schema(&request.schema_source)?;
        let schema = GraphSchema::new(Schema::accept_first(&parsed))?;
        let table = |plan: &Arc<crate::schema::TypePlan>| NewTable {
            id: plan.def.id,
            kind: if plan.def.is_edge() { TableKind::Edge } else { TableKind::Node },
            type_name: plan.name().to_owned(),
            schema: plan.arrow.clone(),
        };
        let new = NewGraph {
            name: request.name.clone(),
            contract: schema.schema.to_canonical_json().into(),
            contract_hash: schema.hash.clone(),
            tables: schema.types().map(table).collect(),
            operation_id: request.operation_id.unwrap_or_else(|| OperationId(self.shared.clock.mint())),
            digest: create_digest(&request.name, &schema.hash),
            actor: request.actor,
        };
        let failpoints = &self.shared.failpoints;
        failpoints.pass(&request.name, FailPoint::GraphCreatePublishBefore).await?;
        match self.shared.graphs.create(new.clone()).await {
            // The graph that bears the name may have been deleted, and its name not been taken away yet.
            // Reading it tells, and takes the name away, even where this process has it open.
            Err(CatalogError::GraphExists(name)) => match async { self.graph(&name).await?.info().await }.await {
                Err(failure) if is_graph_gone(&failure) => {
                    self.shared.graphs.create(new).await.map_err(in_doubt)?;
                }
                _ => return Err(CatalogError::GraphExists(name).into()),
            },
            made => {
                made.map_err(in_doubt)?;
            }
        }
        // The graph is there, whatever this request meets now.
        let told = async {
            failpoints.pass(&request.name, FailPoint::GraphCreatePublishAfter).await?;
            self.graph(&request.name).await?.info().await
        };
        let mut info = told.await.map_err(|failure| failure.with_effect(Effect::Unknown))?;
        info.warnings = parsed.warnings;
        Ok(info)
    }

    /// All graphs that can be read, sorted by name.
    pub async fn list_graphs(&self) -> Result<Vec<GraphInfo>, Failure> {
        let entries = self.shared.graphs.list().await.map_err(EngineError::from)?;
        let infos = stream::iter(entries).map(|entry| async move {
            match async { self.graph(&entry.name).await?.info().await }.await {
                Ok(info) => Ok(Some(info)),
                // Deleted since it was listed.
                Err(failure) if is_graph_gone(&failure) => Ok(None),
                // One graph that cannot be read hides no other; its own calls say what is wrong with it.
                Err(failure) if is_damaged(&failure) => {
                    tracing::error!(graph = %entry.name, message = %failure.message, "a graph cannot be listed");
                    Ok(None)
                }
                Err(failure) => Err(failure),
            }
        });
        infos.buffered(CONCURRENCY).try_filter_map(|info| async move { Ok(info) }).try_collect().await
    }

    /// One graph by name: `NotFound` if there is none.
    pub async fn graph(&self, name: &GraphName) -> Result<Graph, Failure> {
        Ok(self.open_graph(name).await?)
    }

    pub(crate) fn of(shared: Arc<EngineShared>) -> Self {
        Self { shared }
    }

    pub(crate) fn shared(&self) -> &EngineShared {
        &self.shared
    }

    fn opened(&self) -> MutexGuard<'_, HashMap<GraphName, Graph>> {
        self.shared.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Forgets a graph that is no more; another one may bear its name.
    pub(crate) fn forget(&self, graph: &Graph) {
        let mut opened = self.opened();
        if opened.get(graph.name()).is_some_and(|known| known.id() == graph.id()) {
            opened.remove(graph.name());
        }
    }

    pub(crate) async fn open_graph(&self, name: &GraphName) -> Result<Graph> {
        if let Some(graph) = self.opened().get(name) {
            return Ok(graph.clone());
        }
        let (entry, catalog) = self.shared.graphs.open(name).await?;
        let options = CommitOptions {
            graph_name: name.clone(),
            limits: self.shared.limits.clone(),
            clock: self.shared.clock.clone(),
            failpoints: self.shared.failpoints.clone(),
        };
        let committer = Committer::new(catalog.clone(), options);
        let graph = Graph::new(self.shared.clone(), entry, catalog, committer);
        let newest = graph.catalog().newest_of(&graph.catalog().main_chain()).await?;
        if let Some(retired) = &newest.state().retired {
            self.finish_deletion(&graph, retired).await?;
            return Err(CatalogError::GraphDeleted(name.clone()).into());
        }
        // One committer per graph and process: the first one in wins.
        Ok(self.opened().entry(name.clone()).or_insert(graph).clone())
    }

    /// The names of all graphs.
    pub(crate) async fn list_names(&self) -> Result<Vec<GraphName>> {
        Ok(self.shared.graphs.list().await?.into_iter().map(|entry| entry.name).collect())
    }
}

/// Why a graph was not made; or that it may have been, where the store did not tell.
fn in_doubt(error: CatalogError) -> EngineError {
    match &error {
        CatalogError::Storage(cause) if cause.certainty() == Certainty::Unknown => {
            error.failure().with_effect(Effect::Unknown).into()
        }
        _ => error.into(),
    }
}

/// Whether no other try will read it.
pub(crate) fn is_damaged(failure: &Failure) -> bool {
    matches!(
        failure.problem,
        Problem::Corrupt { .. } | Problem::InvariantViolation { .. } | Problem::StorageFormat { .. }
    )
}

/// What makes a request for a graph the same request.
fn create_digest(name: &GraphName, contract_hash: &str) -> String {
    let mut out = Sha256::new();
    out.update(b"omnigraph create_graph 1\0");
    out.update(name.as_str().as_bytes());
    out.update([0]);
    out.update(contract_hash.as_bytes());
    hex(&out.finalize())
}
