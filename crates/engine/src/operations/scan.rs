//! All rows of one type at a pinned commit.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema as ArrowSchema, SchemaRef};
use futures::StreamExt;
use omnigraph_query::ReadControl;
use omnigraph_storage::ScanRequest;
use omnigraph_types::Columns;

use crate::caller::Caller;
use crate::error::{EngineError, Result};
use crate::execute::{Access, Execute};
use crate::reads::Asked;
use crate::schema::TypePlan;
use crate::snapshot::{BatchStream, GraphSnapshot};

/// Bytes that a scan counts with: the batches that it reads ahead.
const SCAN_MEMORY_BYTES: u64 = 64 * 1024 * 1024;

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

    async fn execute(&self, on: &GraphSnapshot, caller: &Caller) -> Result<BatchStream> {
        let plan = on.prepared.by_name(&self.type_name)?;
        let columns = match &self.columns {
            Columns::All => all_columns(plan),
            Columns::Named(columns) => columns.clone(),
        };
        let schema = schema_of(plan, &columns)?;
        let id = plan.def.id;
        let asked = Asked { commit: on.commit(), text: &self.type_name, memory_bytes: SCAN_MEMORY_BYTES };
        let admitted = on.context.reads().admit(caller, asked).await?;
        let (snapshot, labels) = (on.snapshot.clone(), schema.clone());
        let relabel = move |batch: RecordBatch| {
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            RecordBatch::try_new_with_options(labels.clone(), batch.columns().to_vec(), &options)
                .map_err(|source| EngineError::Arrow { action: "read stored rows", source })
        };
        let work = move |control: ReadControl| async move {
            let table = snapshot.open_table(id).await?;
            let batches = table.scan(ScanRequest { columns: Some(columns), ..ScanRequest::default() }).await?;
            let batches = batches.map(move |batch| {
                control.check()?;
                relabel(batch?)
            });
            Ok::<_, EngineError>((schema, batches.boxed()))
        };
        Ok(admitted.run(work).await?.1)
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
