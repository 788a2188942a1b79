//! All rows of one type at a pinned commit.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema as ArrowSchema, SchemaRef};
use futures::StreamExt;
use omnigraph_storage::ScanRequest;
use omnigraph_types::{Columns, Failure};

use crate::caller::Caller;
use crate::error::{EngineError, Result};
use crate::execute::{Access, Execute};
use crate::schema::TypePlan;
use crate::snapshot::{BatchStream, GraphSnapshot};

/// Reads all rows of a type, in no particular order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// The type.
    pub type_name: String,
    /// Which columns.
    pub columns: Columns,
}

impl Execute for Scan {
    type Target = GraphSnapshot;
    type Answer = BatchStream;
    const NAME: &'static str = "scan";
    const ACCESS: Access = Access::Read;

    async fn execute(&self, on: &GraphSnapshot, _: &Caller) -> Result<BatchStream> {
        let plan = on.prepared.by_name(&self.type_name)?;
        let columns = match &self.columns {
            Columns::All => all_columns(plan),
            Columns::Named(columns) => columns.clone(),
        };
        let schema = schema_of(plan, &columns)?;
        let table = on.snapshot.open_table(plan.def.id).await?;
        let batches = table.scan(ScanRequest { columns: Some(columns), ..ScanRequest::default() }).await?;
        let relabel = move |batch: RecordBatch| {
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            RecordBatch::try_new_with_options(schema.clone(), batch.columns().to_vec(), &options)
                .map_err(|source| EngineError::Arrow { action: "read stored rows", source })
        };
        Ok(batches.map(move |batch| batch.map_err(EngineError::from).and_then(&relabel).map_err(Failure::from)).boxed())
    }
}

fn all_columns(plan: &TypePlan) -> Vec<String> {
    plan.arrow.fields().iter().map(|field| field.name().clone()).collect()
}

fn schema_of(plan: &TypePlan, columns: &[String]) -> Result<SchemaRef> {
    let mut fields = Vec::with_capacity(columns.len());
    for column in columns {
        let field = plan.arrow.field_with_name(column).map_err(|_| EngineError::ColumnNotFound {
            type_name: plan.name().to_owned(),
            column: column.clone(),
            defined: all_columns(plan),
        })?;
        fields.push(field.clone());
    }
    Ok(Arc::new(ArrowSchema::new(fields)))
}
