//! One exact version as a DataFusion table.
//!
//! Lance has a provider of its own, without a bound on the bytes that a scan reads ahead. This one has it, and reads in physical order, so
//! that the same query of the same version gives the same rows in the same order.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;

use crate::Table;
use crate::scan::READ_AHEAD_BYTES_MAX;

impl Table {
    /// This version for DataFusion, with projection, filter and limit pushdown.
    pub fn provider(&self) -> Arc<dyn TableProvider> {
        Arc::new(VersionProvider { schema: self.schema(), table: self.clone() })
    }
}

#[derive(Debug)]
struct VersionProvider {
    table: Table,
    schema: SchemaRef,
}

#[async_trait]
impl TableProvider for VersionProvider {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut scanner = self.table.dataset().scan();
        if let Some(projection) = projection {
            let names: Vec<&str> = projection.iter().map(|index| self.schema.field(*index).name().as_str()).collect();
            let columns = self.table.columns(&names).map_err(|unfit| DataFusionError::External(Box::new(unfit)))?;
            scanner.project_with_schema(&columns)?;
        }
        if let Some(filter) = filters.iter().cloned().reduce(Expr::and) {
            scanner.filter_expr(filter);
        }
        let limit = limit.map(|rows| i64::try_from(rows).unwrap_or(i64::MAX));
        scanner.limit(limit, None)?;
        scanner.scan_in_order(true);
        scanner.io_buffer_size(READ_AHEAD_BYTES_MAX);
        scanner.create_plan().await.map_err(DataFusionError::from)
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        // Lance evaluates every expression with DataFusion itself.
        Ok(vec![TableProviderFilterPushDown::Exact; filters.len()])
    }
}
