//! One commit, pinned for reading.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema as ArrowSchema, SchemaRef};
use futures::StreamExt;
use futures::stream::BoxStream;
use omnigraph_catalog::Snapshot;
use omnigraph_lang::LangError;
use omnigraph_lang::params::bind;
use omnigraph_lang::query::check_query;
use omnigraph_lang::query::ir::{OutputType, Projection};
use omnigraph_lang::schema::{PropertyType, Schema};
use omnigraph_query::{QueryOptions, SpillPlace};
use omnigraph_storage::ScanRequest;
use omnigraph_types::Failure;

use crate::engine::EngineShared;
use crate::error::{EngineError, Result, list, quote};
use crate::graph::CommitInfo;
use crate::schema::GraphSchema;

/// Rows, batch by batch.
pub type BatchStream = BoxStream<'static, Result<RecordBatch, Failure>>;

/// Whether a type holds nodes or edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// Nodes.
    Node,
    /// Edges.
    Edge,
}

/// One type of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeInfo {
    /// Its name.
    pub name: String,
    /// Nodes or edges.
    pub kind: TypeKind,
    /// Its rows.
    pub row_count: u64,
}

/// A query to run.
#[derive(Debug, Clone)]
pub struct QueryRequest {
    /// Text of one or more queries.
    pub text: String,
    /// Which of them; may be left out where there is one.
    pub name: Option<String>,
    /// The parameters, as one JSON object; empty means none.
    pub params_json: String,
}

/// The type of one column of a query's result.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnType {
    /// A value of this type.
    Value(PropertyType),
    /// A whole node of this type: `id` and its properties without Blobs.
    Entity(String),
}

/// One column of a query's result.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnInfo {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: ColumnType,
    /// Whether it may hold nulls.
    pub nullable: bool,
}

/// A running query.
pub struct QueryStream {
    /// The Arrow schema of the batches.
    pub schema: SchemaRef,
    /// The columns in the words of the schema language.
    pub columns: Vec<ColumnInfo>,
    /// The rows.
    pub batches: BatchStream,
}

/// Bytes that a batch's values take when they are sent: a column that stands in it twice counts twice, although its memory is shared.
fn content_bytes(batch: &RecordBatch) -> u64 {
    let bytes = |column: &ArrayRef| column.to_data().get_slice_memory_size().unwrap_or(usize::MAX) as u64;
    batch.columns().iter().map(bytes).fold(0, u64::saturating_add)
}

/// One commit, pinned: everything read through it is of that commit. Cheap to clone.
#[derive(Debug, Clone)]
pub struct GraphSnapshot {
    snapshot: Snapshot,
    schema: Arc<GraphSchema>,
    commit: Arc<CommitInfo>,
    engine: Arc<EngineShared>,
}

impl GraphSnapshot {
    pub(crate) fn new(
        snapshot: Snapshot,
        schema: Arc<GraphSchema>,
        commit: CommitInfo,
        engine: Arc<EngineShared>,
    ) -> Self {
        Self { snapshot, schema, commit: Arc::new(commit), engine }
    }

    /// The commit.
    pub fn commit(&self) -> &CommitInfo {
        &self.commit
    }

    /// The schema in force.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema.schema
    }

    /// Its types, nodes first, each kind by name.
    pub fn types(&self) -> Vec<TypeInfo> {
        let info = |plan: &Arc<crate::schema::TypePlan>| TypeInfo {
            name: plan.name().to_owned(),
            kind: if plan.def.is_edge() { TypeKind::Edge } else { TypeKind::Node },
            row_count: self.snapshot.table(plan.def.id).map_or(0, |row| row.row_count),
        };
        let mut types: Vec<TypeInfo> = self.schema.types().map(info).collect();
        types.sort_by(|a, b| (a.kind == TypeKind::Edge, &a.name).cmp(&(b.kind == TypeKind::Edge, &b.name)));
        types
    }

    /// Columns of a type: `id`, for edges `src` and `dst`, then its properties. `NotFound` if there is no such type.
    pub fn arrow_schema(&self, type_name: &str) -> Result<SchemaRef, Failure> {
        Ok(self.schema.by_name(type_name)?.arrow.clone())
    }

    /// All rows of a type, in no particular order; no columns given means all.
    pub async fn scan_type(&self, type_name: &str, columns: Option<Vec<String>>) -> Result<BatchStream, Failure> {
        Ok(self.scan(type_name, columns).await?)
    }

    /// Runs a read query. Its first rows are computed before this returns, so most failures come from here.
    pub async fn query(&self, request: QueryRequest) -> Result<QueryStream, Failure> {
        Ok(self.run_query(request).await?)
    }

    async fn run_query(&self, request: QueryRequest) -> Result<QueryStream> {
        let (asked, value) = (request.text.len() as u64, self.engine.limits.query_text_bytes_max);
        if asked > value {
            let advice = "shorten the query, or raise the limit";
            return Err(EngineError::Limit { limit: "query_text_bytes_max", value, asked, advice });
        }
        let schema = &self.schema.schema;
        let checked = check_query(&request.text, request.name.as_deref(), schema)?;
        let (asked, value) = (checked.read.projections.len() as u64, self.engine.limits.query_columns_max);
        if asked > value {
            let advice = "return fewer columns, or raise the limit";
            return Err(EngineError::Limit { limit: "query_columns_max", value, asked, advice });
        }
        let values = bind(&checked.params, &request.params_json).map_err(LangError::from)?;
        let now_ms = i64::try_from(self.engine.clock.wall_ms()).unwrap_or(i64::MAX);
        let read = checked.read.with_values(&values, now_ms).map_err(LangError::from)?;
        let spill = self.engine.spill_directory.clone().map_or(SpillPlace::System, SpillPlace::Directory);
        let options = QueryOptions { memory_bytes_max: self.engine.limits.query_memory_bytes_max, spill };
        let output = omnigraph_query::run(&self.snapshot, schema, &read, &options).await?;
        let column = |projection: &Projection| {
            let ty = match &projection.ty {
                OutputType::Value(ty) => ColumnType::Value(ty.clone()),
                OutputType::Entity(table) => ColumnType::Entity(self.schema.by_id(*table)?.name().to_owned()),
            };
            Ok(ColumnInfo { name: projection.name.clone(), ty, nullable: projection.nullability.is_nullable() })
        };
        let columns = read.projections.iter().map(column).collect::<Result<_>>()?;
        let value = self.engine.limits.query_memory_bytes_max;
        let within = move |batch: RecordBatch| match content_bytes(&batch) {
            asked if asked <= value => Ok(batch),
            asked => {
                let advice = "return fewer or smaller columns, or raise the limit";
                Err(EngineError::Limit { limit: "query_memory_bytes_max", value, asked, advice })
            }
        };
        let batches = output
            .batches
            .map(move |batch| batch.map_err(EngineError::from).and_then(within).map_err(EngineError::failure));
        let batches = batches.boxed();
        Ok(QueryStream { schema: output.schema, columns, batches })
    }

    async fn scan(&self, type_name: &str, columns: Option<Vec<String>>) -> Result<BatchStream> {
        let plan = self.schema.by_name(type_name)?;
        let all = || plan.arrow.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
        let columns = columns.unwrap_or_else(all);
        let mut fields = Vec::with_capacity(columns.len());
        for column in &columns {
            let field = plan.arrow.field_with_name(column).map_err(|_| EngineError::InvalidRequest {
                field: "columns",
                reason: format!("{} has no column {}; it has: {}", plan.name(), quote(column), list(&all())),
            })?;
            fields.push(field.clone());
        }
        let schema: SchemaRef = Arc::new(ArrowSchema::new(fields));
        let table = self.snapshot.open_table(plan.def.id).await?;
        let request = ScanRequest { columns: Some(columns), ..ScanRequest::default() };
        let batches = table.scan(request).await?;
        let relabel = move |batch: RecordBatch| {
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            RecordBatch::try_new_with_options(schema.clone(), batch.columns().to_vec(), &options)
                .map_err(|source| EngineError::Arrow { action: "read stored rows", source })
        };
        Ok(batches.map(move |batch| batch.map_err(EngineError::from).and_then(&relabel).map_err(Failure::from)).boxed())
    }
}
