//! One read query over one commit.

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use futures::StreamExt;
use omnigraph_lang::LangError;
use omnigraph_lang::params::bind;
use omnigraph_lang::query::check_query;
use omnigraph_lang::query::ir::{OutputType, Projection};
use omnigraph_query::{QueryOptions, ReadControl, SpillPlace};
use omnigraph_types::{ColumnInfo, ColumnType, Commit, QueryName, QueryRequest};

use crate::caller::Caller;
use crate::context::Context;
use crate::describe::column_type;
use crate::error::{EngineError, Result};
use crate::execute::{Access, Execute};
use crate::open_graphs::GraphHandle;
use crate::operations::pin_commit::pin;
use crate::reads::Asked;
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

    async fn execute(&self, on: &GraphHandle, caller: &Caller) -> Result<QueryStream> {
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
        let columns = read.projections.iter().map(|projection| column(&pinned.prepared, projection));
        let columns = columns.collect::<Result<_>>()?;
        let commit = pinned.commit().clone();
        let asked = Asked { commit: &commit, text: &self.text, memory_bytes: limits.query_memory_bytes_max };
        let admitted = pinned.context.reads().admit(caller, asked).await?;
        let bytes_max = limits.query_memory_bytes_max;
        let checked = move |batch: RecordBatch| {
            let smaller = "return fewer or smaller columns, or raise the limit";
            within("query_memory_bytes_max", bytes_max, content_bytes(&batch), smaller).map(|()| batch)
        };
        let work = move |control: ReadControl| async move {
            let options = options(&pinned.context, control);
            let output = omnigraph_query::run(&pinned.snapshot, &pinned.prepared.schema, &read, &options).await?;
            let batches = output.batches.map(move |batch| batch.map_err(EngineError::from).and_then(&checked));
            Ok::<_, EngineError>((output.schema, batches.boxed()))
        };
        let (schema, batches) = admitted.run(work).await?;
        Ok(QueryStream { commit, schema, columns, batches })
    }
}

fn within(limit: &'static str, value: u64, asked: u64, advice: &'static str) -> Result<()> {
    match asked <= value {
        true => Ok(()),
        false => Err(EngineError::Limit { limit, value, asked, advice }),
    }
}

fn options(context: &Context, control: ReadControl) -> QueryOptions {
    let spill = context.spill_directory();
    let spill = spill.map_or(SpillPlace::System, |folder| SpillPlace::Directory(folder.to_owned()));
    QueryOptions { memory_bytes_max: context.limits().query_memory_bytes_max, spill, control }
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
