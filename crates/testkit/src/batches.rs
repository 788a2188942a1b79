//! Small batches of nodes and edges.

use std::sync::Arc;

use arrow::array::{Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use futures::TryStreamExt;
use omnigraph_storage::{ScanOrder, ScanRequest, StorageError, Table};

/// Columns of a node: `id`, and a number `value`.
pub fn node_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("id", DataType::Utf8, false), Field::new("value", DataType::Int64, true)]))
}

/// Nodes with these ids and values.
///
/// # Panics
/// Never for this schema.
pub fn node_batch<'a>(rows: impl IntoIterator<Item = (&'a str, i64)>) -> RecordBatch {
    let (ids, values): (Vec<&str>, Vec<i64>) = rows.into_iter().unzip();
    let columns: Vec<Arc<dyn Array>> = vec![Arc::new(StringArray::from(ids)), Arc::new(Int64Array::from(values))];
    RecordBatch::try_new(node_schema(), columns).expect("columns fit the schema")
}

/// Columns of an edge: `id`, `src`, `dst`.
pub fn edge_schema() -> SchemaRef {
    let text = |name| Field::new(name, DataType::Utf8, false);
    Arc::new(Schema::new(vec![text("id"), text("src"), text("dst")]))
}

/// Edges with these ids, sources and destinations.
///
/// # Panics
/// Never for this schema.
pub fn edge_batch<'a>(rows: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>) -> RecordBatch {
    let rows: Vec<_> = rows.into_iter().collect();
    let column = |pick: fn(&(&'a str, &'a str, &'a str)) -> &'a str| -> Arc<dyn Array> {
        Arc::new(rows.iter().map(pick).map(Some).collect::<StringArray>())
    };
    let columns = vec![column(|row| row.0), column(|row| row.1), column(|row| row.2)];
    RecordBatch::try_new(edge_schema(), columns).expect("columns fit the schema")
}

/// All ids of a table, sorted.
///
/// # Panics
/// If the table has no text column `id`.
pub async fn ids_in(table: &Table) -> Result<Vec<String>, StorageError> {
    let request =
        ScanRequest { columns: Some(vec!["id".to_owned()]), ordered: ScanOrder::Physical, ..ScanRequest::default() };
    let batches: Vec<RecordBatch> = table.scan(request).await?.try_collect().await?;
    let mut ids = Vec::new();
    for batch in &batches {
        let column = batch.column(0).as_any().downcast_ref::<StringArray>().expect("id is a text column");
        ids.extend(column.iter().map(|id| id.expect("id is not null").to_owned()));
    }
    ids.sort();
    Ok(ids)
}
