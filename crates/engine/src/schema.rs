//! A graph's schema, prepared once for all operations: Arrow schemas, compiled checks, column positions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::datatypes::SchemaRef;
use omnigraph_columns::mapping::{DST, ID, SRC, table_schema};
use omnigraph_lang::LangError;
use omnigraph_lang::schema::{Cardinality, Member, Range, Schema, TypeDef, TypeKind, compile_check};
use omnigraph_types::{Recent, TableId};
use regex::Regex;

use crate::cause::Defect;
use crate::error::{EngineError, Result};

/// A check of one column.
#[derive(Debug, Clone)]
pub(crate) struct CompiledCheck {
    /// Position of the column.
    pub(crate) column: usize,
    /// As written.
    pub(crate) pattern: String,
    /// Compiled.
    pub(crate) regex: Regex,
}

/// A range of one column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnRange {
    /// Position of the column.
    pub(crate) column: usize,
    /// The bounds.
    pub(crate) range: Range,
}

/// An edge type's ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    /// Node type of `src`.
    pub(crate) from: TableId,
    /// Node type of `dst`.
    pub(crate) to: TableId,
    /// Bounds on the edges that leave one source.
    pub(crate) card: Cardinality,
}

/// One node or edge type, prepared.
#[derive(Debug)]
pub(crate) struct TypePlan {
    /// The type.
    pub(crate) def: TypeDef,
    /// The columns of its table.
    pub(crate) arrow: SchemaRef,
    /// `@check`.
    pub(crate) checks: Vec<CompiledCheck>,
    /// `@range`.
    pub(crate) ranges: Vec<ColumnRange>,
    /// Columns of the key, in its order; empty without a key.
    pub(crate) key: Vec<usize>,
    /// Columns of each `@unique`.
    pub(crate) uniques: Vec<Vec<usize>>,
    /// The ends of an edge type.
    pub(crate) ends: Option<Ends>,
}

impl TypePlan {
    fn new(def: &TypeDef) -> Result<Self> {
        let ends = match def.kind {
            TypeKind::Node => None,
            TypeKind::Edge { from, to, card } => Some(Ends { from, to, card }),
        };
        let first_property = if ends.is_some() { DST + 1 } else { ID + 1 };
        let position = |property| {
            let at = def.position(property).ok_or(EngineError::from(Defect::ConstraintWithoutProperty));
            at.map(|at| at + first_property)
        };
        let member = |member: &Member| match member {
            Member::Src => Ok(SRC),
            Member::Dst => Ok(DST),
            Member::Property(property) => position(*property),
        };
        let members = |list: &Vec<Member>| list.iter().map(member).collect::<Result<Vec<_>>>();
        let check = |check| {
            let regex = compile_check(check).map_err(|_| EngineError::from(Defect::CheckNotCompiled))?;
            Ok(CompiledCheck { column: position(check.property)?, pattern: check.pattern.clone(), regex })
        };
        let range = |range: &Range| Ok(ColumnRange { column: position(range.property)?, range: *range });
        Ok(Self {
            arrow: table_schema(def)?,
            checks: def.checks.iter().map(check).collect::<Result<_>>()?,
            ranges: def.ranges.iter().map(range).collect::<Result<_>>()?,
            key: def.key.as_ref().map(members).transpose()?.unwrap_or_default(),
            uniques: def.uniques.iter().map(members).collect::<Result<_>>()?,
            ends,
            def: def.clone(),
        })
    }

    /// The type's name.
    pub(crate) fn name(&self) -> &str {
        &self.def.name
    }

    /// Position of the first property.
    pub(crate) fn first_property(&self) -> usize {
        if self.ends.is_some() { DST + 1 } else { ID + 1 }
    }

    /// Name of a column.
    pub(crate) fn column_name(&self, column: usize) -> &str {
        self.arrow.field(column).name()
    }

    /// Names of columns.
    pub(crate) fn column_names(&self, columns: &[usize]) -> Vec<String> {
        columns.iter().map(|&column| self.column_name(column).to_owned()).collect()
    }

    /// Whether ids are computed from key values.
    pub(crate) fn is_keyed(&self) -> bool {
        !self.key.is_empty()
    }
}

/// A graph's schema, prepared.
#[derive(Debug)]
pub(crate) struct GraphSchema {
    /// The schema.
    pub(crate) schema: Arc<Schema>,
    /// Its hash, in hexadecimal.
    pub(crate) hash: String,
    types: BTreeMap<TableId, Arc<TypePlan>>,
}

impl GraphSchema {
    /// Prepares a schema. `Unimplemented` names the first Blob property.
    pub(crate) fn new(schema: Schema) -> Result<Self> {
        let types =
            schema.types().iter().map(|def| Ok((def.id, Arc::new(TypePlan::new(def)?)))).collect::<Result<_>>()?;
        Ok(Self { hash: schema.hash().to_string(), schema: Arc::new(schema), types })
    }

    /// Every type, by id.
    pub(crate) fn types(&self) -> impl Iterator<Item = &Arc<TypePlan>> {
        self.types.values()
    }

    /// One type by id.
    pub(crate) fn by_id(&self, id: TableId) -> Result<&Arc<TypePlan>> {
        self.types.get(&id).ok_or(EngineError::from(Defect::TableWithoutType))
    }

    /// One type by exact name.
    pub(crate) fn by_name(&self, name: &str) -> Result<&Arc<TypePlan>> {
        let found = self.schema.type_by_name(name).and_then(|def| self.types.get(&def.id));
        found.ok_or_else(|| EngineError::TypeNotFound {
            name: name.to_owned(),
            defined: self.schema.types().iter().map(|def| def.name.clone()).collect(),
        })
    }
}

/// The prepared schemas that were used last, by hash. Contracts are content-addressed, so an entry never goes stale.
#[derive(Debug)]
pub(crate) struct SchemaCache {
    by_hash: Mutex<Recent<String, Arc<GraphSchema>>>,
}

impl SchemaCache {
    /// At most so many.
    pub(crate) fn at_most(max: u64) -> Self {
        Self { by_hash: Mutex::new(Recent::at_most(usize::try_from(max).unwrap_or(usize::MAX))) }
    }

    fn lock(&self) -> MutexGuard<'_, Recent<String, Arc<GraphSchema>>> {
        self.by_hash.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The schema of this hash, if it is kept.
    pub(crate) fn get(&self, hash: &str) -> Option<Arc<GraphSchema>> {
        self.lock().get(&hash.to_owned()).map(|schema| schema.clone())
    }

    /// Reads a contract and keeps it.
    pub(crate) fn read(&self, contract: &[u8]) -> Result<Arc<GraphSchema>> {
        let schema = Schema::from_json(contract).map_err(LangError::from)?;
        let prepared = Arc::new(GraphSchema::new(schema)?);
        self.lock().insert(prepared.hash.clone(), prepared.clone());
        Ok(prepared)
    }
}
