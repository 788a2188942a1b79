//! One read query over one commit.

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use futures::StreamExt;
use omnigraph_lang::LangError;
use omnigraph_lang::params::bind;
use omnigraph_lang::query::check_query;
use omnigraph_lang::query::ir::{OutputType, Projection};
use omnigraph_query::{QueryOptions, SpillPlace};
use omnigraph_types::{ColumnInfo, ColumnType, Commit, QueryName, QueryRequest};

use crate::caller::Caller;
use crate::context::Context;
use crate::describe::column_type;
use crate::error::{EngineError, Result};
use crate::execute::{Access, Execute};
use crate::open_graphs::GraphHandle;
use crate::operations::pin_commit::pin;
use crate::schema::GraphSchema;
use crate::snapshot::BatchStream;

/// A running query.
pub struct QueryStream {
    /// The commit that it sees.
    pub commit: Commit,
    /// The Arrow schema of the batches.
    pub schema: SchemaRef,
    /// The columns in the words of the schema language.
    pub columns: Vec<ColumnInfo>,
    /// The rows.
    pub batches: BatchStream,
}

/// The first rows are computed before the answer returns, so most failures come with it.
impl Execute for QueryRequest {
    type Target = GraphHandle;
    type Answer = QueryStream;
    const NAME: &'static str = "query";
    const ACCESS: Access = Access::Read;

    async fn execute(&self, on: &GraphHandle, _: &Caller) -> Result<QueryStream> {
        let pinned = pin(&on.graph, &self.at).await?;
        let (limits, schema) = (pinned.context.limits(), &pinned.prepared.schema);
        let shorten = "shorten the query, or raise the limit";
        within("query_text_bytes_max", limits.query_text_bytes_max, self.text.len() as u64, shorten)?;
        let name = match &self.name {
            QueryName::Only => None,
            QueryName::Named(name) => Some(name.as_str()),
        };
        let checked = check_query(&self.text, name, schema)?;
        let projections = checked.read.projections.len() as u64;
        let fewer = "return fewer columns, or raise the limit";
        within("query_columns_max", limits.query_columns_max, projections, fewer)?;
        let values = bind(&checked.params, &self.params_json).map_err(LangError::from)?;
        let now_ms = i64::try_from(pinned.context.clock().wall_ms()).unwrap_or(i64::MAX);
        let read = checked.read.with_values(&values, now_ms).map_err(LangError::from)?;
        let output = omnigraph_query::run(&pinned.snapshot, schema, &read, &options(&pinned.context)).await?;
        let columns = read.projections.iter().map(|projection| column(&pinned.prepared, projection));
        let columns = columns.collect::<Result<_>>()?;
        let bytes_max = limits.query_memory_bytes_max;
        let checked = move |batch: RecordBatch| {
            let smaller = "return fewer or smaller columns, or raise the limit";
            within("query_memory_bytes_max", bytes_max, content_bytes(&batch), smaller).map(|()| batch)
        };
        let batches = output.batches;
        let batches =
            batches.map(move |batch| batch.map_err(EngineError::from).and_then(checked).map_err(EngineError::failure));
        Ok(QueryStream { commit: pinned.commit().clone(), schema: output.schema, columns, batches: batches.boxed() })
    }
}

fn within(limit: &'static str, value: u64, asked: u64, advice: &'static str) -> Result<()> {
    match asked <= value {
        true => Ok(()),
        false => Err(EngineError::Limit { limit, value, asked, advice }),
    }
}

fn options(context: &Context) -> QueryOptions {
    let spill = context.spill_directory();
    let spill = spill.map_or(SpillPlace::System, |folder| SpillPlace::Directory(folder.to_owned()));
    QueryOptions { memory_bytes_max: context.limits().query_memory_bytes_max, spill }
}

fn column(schema: &GraphSchema, projection: &Projection) -> Result<ColumnInfo> {
    let ty = match &projection.ty {
        OutputType::Value(ty) => column_type(ty),
        OutputType::Entity(table) => ColumnType::Node(schema.by_id(*table)?.name().to_owned()),
    };
    Ok(ColumnInfo { name: projection.name.clone(), ty, nullable: projection.nullability.is_nullable() })
}

/// Bytes that a batch's values take when they are sent: a column that is in it twice counts twice, although its memory is shared.
fn content_bytes(batch: &RecordBatch) -> u64 {
    let bytes = |column: &ArrayRef| column.to_data().get_slice_memory_size().unwrap_or(usize::MAX) as u64;
    batch.columns().iter().map(bytes).fold(0, u64::saturating_add)
}
