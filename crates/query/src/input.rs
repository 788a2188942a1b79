//! What every step of planning is handed: the query, the schema it was checked against, and the tables that it reads.

use omnigraph_lang::query::ir::ReadQuery;
use omnigraph_lang::schema::{Schema, TypeDef};
use omnigraph_types::TableId;

use crate::QueryError;
use crate::tables::Tables;

/// What a plan is made from.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) read: &'a ReadQuery,
    pub(crate) schema: &'a Schema,
    pub(crate) tables: &'a Tables,
}

impl<'a> Input<'a> {
    /// The type definition of a table.
    pub(crate) fn type_def(self, table: TableId) -> Result<&'a TypeDef, QueryError> {
        self.schema.type_by_id(table).ok_or(QueryError::TypeMissing { table })
    }
}
