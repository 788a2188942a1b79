//! The tables that a query reads, as DataFusion sees them.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::TableSource;
use omnigraph_catalog::Snapshot;
use omnigraph_lang::query::ir::ReadQuery;
use omnigraph_types::TableId;

use crate::QueryError;

/// One table with its number of rows.
pub(crate) struct TableData {
    pub(crate) source: Arc<dyn TableSource>,
    pub(crate) rows: u64,
}

/// Tables by id.
#[derive(Default)]
pub(crate) struct Tables {
    by_id: BTreeMap<TableId, TableData>,
}

impl Tables {
    /// The tables of the query's variables and traversals, each at the version that the snapshot pins.
    pub(crate) async fn open(snapshot: &Snapshot, read: &ReadQuery) -> Result<Self, QueryError> {
        let mut tables = Self::default();
        let nodes_and_edges = read.variables.iter().map(|variable| variable.type_id);
        let hops = read.traversals.iter().map(|traversal| traversal.edge);
        for id in nodes_and_edges.chain(hops) {
            if tables.by_id.contains_key(&id) {
                continue;
            }
            let rows = snapshot.table(id).ok_or(QueryError::TypeMissing { table: id })?.row_count;
            tables.insert(id, snapshot.open_table(id).await?.provider(), rows);
        }
        Ok(tables)
    }

    pub(crate) fn insert(&mut self, id: TableId, provider: Arc<dyn TableProvider>, rows: u64) {
        self.by_id.insert(id, TableData { source: provider_as_source(provider), rows });
    }

    pub(crate) fn get(&self, id: TableId) -> Result<&TableData, QueryError> {
        self.by_id.get(&id).ok_or(QueryError::TypeMissing { table: id })
    }
}
