//! One commit, pinned for reading.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::stream::BoxStream;
use omnigraph_catalog::Snapshot;
use omnigraph_lang::schema::Schema;
use omnigraph_storage::Store;
use omnigraph_types::{Commit, Failure, GraphName, TypeInfo, TypeKind};

use crate::caller::Caller;
use crate::context::Context;
use crate::error::Result;
use crate::execute::{Execute, Target, run};
use crate::schema::{GraphSchema, TypePlan};

/// Rows, batch by batch.
pub type BatchStream = BoxStream<'static, Result<RecordBatch, Failure>>;

/// One commit, pinned: everything read through it is of that commit. Cheap to clone.
#[derive(Debug, Clone)]
pub struct GraphSnapshot {
    /// The version.
    pub(crate) snapshot: Snapshot,
    /// The prepared schema.
    pub(crate) prepared: Arc<GraphSchema>,
    commit: Arc<Commit>,
    pub(crate) context: Arc<Context>,
}

impl GraphSnapshot {
    pub(crate) fn new(snapshot: Snapshot, prepared: Arc<GraphSchema>, commit: Commit, context: Arc<Context>) -> Self {
        Self { snapshot, prepared, commit: Arc::new(commit), context }
    }

    /// The commit.
    pub fn commit(&self) -> &Commit {
        &self.commit
    }

    /// The schema in force.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.prepared.schema
    }

    /// Its types, nodes first, each kind by name.
    pub fn types(&self) -> Vec<TypeInfo> {
        let info = |plan: &Arc<TypePlan>| TypeInfo {
            name: plan.name().to_owned(),
            kind: if plan.def.is_edge() { TypeKind::Edge } else { TypeKind::Node },
            row_count: self.snapshot.table(plan.def.id).map_or(0, |row| row.row_count),
        };
        let mut types: Vec<TypeInfo> = self.prepared.types().map(info).collect();
        types.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
        types
    }

    /// Columns of a type: `id`, for edges `src` and `dst`, then its properties. `NotFound` if there is no such type.
    pub fn arrow_schema(&self, type_name: &str) -> Result<SchemaRef, Failure> {
        self.prepared.by_name(type_name).map(|plan| plan.arrow.clone()).map_err(crate::error::EngineError::failure)
    }

    /// Runs an operation on the commit.
    pub async fn run<O: Execute<Target = Self>>(&self, caller: &Caller, operation: O) -> Result<O::Answer, Failure> {
        run(self, caller, &operation).await
    }
}

impl Target for GraphSnapshot {
    fn store(&self) -> &Store {
        self.context.store()
    }

    fn graph_name(&self) -> Option<&GraphName> {
        Some(&self.commit.graph)
    }

    async fn reopened(&self, failure: Failure) -> Result<Self, Failure> {
        Err(failure)
    }
}
