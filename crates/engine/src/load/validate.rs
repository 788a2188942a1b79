//! Validation of a whole load against the version that its commit will be based on: stages 4 to 7 of the language's order.
//!
//! Everything is a comparison of fingerprint sets. Committed rows come in by a filtered look-up where the load is small, else by one scan of
//! the columns compared; they are kept only if a filter over the load's own fingerprints lets them through.
//!
//! A check that passed is not repeated on a newer version unless a table that it read has other rows there.
//! Invariant: when `validate` returns, every rule holds on `base` with the load's rows applied (I-5).

mod cardinality;
mod committed;
mod endpoints;
mod keys;
mod naming;
mod uniques;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use omnigraph_catalog::Snapshot;
use omnigraph_storage::{StagedFiles, Table};
use omnigraph_types::{GraphVersion, Limits, TableId};

use crate::error::{EngineError, Result};
use crate::load::LoadMode;
use crate::load::fingerprint::Fingerprinter;
use crate::load::intake::TypeSets;
use crate::load::spill::{SetId, SpillPool};
use crate::schema::{GraphSchema, TypePlan};

/// Rows up to which committed rows are looked up by their ids instead of scanned.
pub(crate) const LOOKUP_ROWS_MAX: u64 = 10_000;
/// Bytes of ids up to which they are.
pub(crate) const LOOKUP_BYTES_MAX: usize = 8 * 1024 * 1024;

/// One type whose rows are in files.
#[derive(Debug)]
pub(crate) struct StagedType {
    /// The type.
    pub(crate) plan: Arc<TypePlan>,
    /// Its rows; at least one.
    pub(crate) rows: u64,
    /// Its fingerprints.
    pub(crate) sets: TypeSets,
    /// The files.
    pub(crate) files: StagedFiles,
}

/// One check, for remembering that it passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Check {
    Duplicates,
    Keys(TableId),
    LocalUniques,
    Uniques(TableId),
    Endpoints(TableId),
    KeptEdges(TableId),
    Cardinality(TableId),
}

/// A check that must be made, and the rows that it reads.
#[must_use]
#[derive(Debug)]
struct Due {
    check: Check,
    read: Vec<(TableId, GraphVersion)>,
}

/// A load's rows, and what is known of them.
#[derive(Debug)]
pub(crate) struct Validator {
    pub(crate) schema: Arc<GraphSchema>,
    pub(crate) mode: LoadMode,
    pub(crate) limits: Arc<Limits>,
    pub(crate) hasher: Fingerprinter,
    pub(crate) pool: SpillPool,
    pub(crate) types: BTreeMap<TableId, StagedType>,
    /// In mode merge: per type, how many of its ids are committed.
    pub(crate) replaced: BTreeMap<TableId, u64>,
    passed: HashMap<Check, Vec<(TableId, GraphVersion)>>,
}

/// What a validator is made of.
pub(crate) struct ValidatorParts {
    pub(crate) schema: Arc<GraphSchema>,
    pub(crate) mode: LoadMode,
    pub(crate) limits: Arc<Limits>,
    pub(crate) hasher: Fingerprinter,
    pub(crate) pool: SpillPool,
    pub(crate) types: BTreeMap<TableId, StagedType>,
}

/// The tables of one version, opened as they are asked for.
#[derive(Debug)]
pub(crate) struct Tables<'a> {
    base: &'a Snapshot,
    open: BTreeMap<TableId, Table>,
}

impl<'a> Tables<'a> {
    /// The tables of a version.
    pub(crate) fn new(base: &'a Snapshot) -> Self {
        Self { base, open: BTreeMap::new() }
    }

    /// One table.
    pub(crate) async fn get(&mut self, id: TableId) -> Result<Table> {
        if let Some(table) = self.open.get(&id) {
            return Ok(table.clone());
        }
        let table = self.base.open_table(id).await?;
        self.open.insert(id, table.clone());
        Ok(table)
    }

    /// Its committed rows.
    pub(crate) fn row_count(&self, id: TableId) -> u64 {
        self.base.table(id).map_or(0, |row| row.row_count)
    }
}

impl Validator {
    /// A validator that has checked nothing.
    pub(crate) fn new(parts: ValidatorParts) -> Self {
        let ValidatorParts { schema, mode, limits, hasher, pool, types } = parts;
        Self { schema, mode, limits, hasher, pool, types, replaced: BTreeMap::new(), passed: HashMap::new() }
    }

    /// The tables that validation reads, and those that the load writes.
    pub(crate) fn read_set(&self) -> Vec<TableId> {
        let mut tables: Vec<TableId> = self.types.keys().copied().collect();
        for staged in self.types.values() {
            match staged.plan.ends {
                Some(ends) => tables.extend([ends.from, ends.to]),
                None if self.mode == LoadMode::Overwrite => {
                    tables.extend(self.schema.schema.edges_of(staged.plan.def.id).map(|edge| edge.id));
                }
                None => {}
            }
        }
        tables.sort();
        tables.dedup();
        tables
    }

    /// Checks everything that does not hold already.
    pub(crate) async fn validate(&mut self, tables: &mut Tables<'_>) -> Result<()> {
        let loaded: Vec<TableId> = self.types.keys().copied().collect();
        if let Some(due) = self.due(Check::Duplicates, &[], tables)? {
            self.duplicate_ids(tables).await?;
            self.pass(due);
        }
        for &id in &loaded {
            if let Some(due) = self.due(Check::Keys(id), &[id], tables)? {
                self.committed_ids(id, tables).await?;
                self.pass(due);
            }
        }
        if let Some(due) = self.due(Check::LocalUniques, &[], tables)? {
            self.duplicate_tuples(tables).await?;
            self.pass(due);
        }
        for &id in &loaded {
            if let Some(due) = self.due(Check::Uniques(id), &[id], tables)? {
                self.committed_tuples(id, tables).await?;
                self.pass(due);
            }
        }
        let nodes: Vec<TableId> = self.schema.schema.node_types().map(|def| def.id).collect();
        for node in nodes {
            if let Some(due) = self.due(Check::Endpoints(node), &[node], tables)? {
                self.added_edges(node, tables).await?;
                self.pass(due);
            }
        }
        for edge in self.kept_edge_types() {
            if let Some(due) = self.due(Check::KeptEdges(edge), &[edge], tables)? {
                self.kept_edges(edge, tables).await?;
                self.pass(due);
            }
        }
        for &id in &loaded {
            if let Some(due) = self.due(Check::Cardinality(id), &[id], tables)? {
                self.cardinality(id, tables).await?;
                self.pass(due);
            }
        }
        Ok(())
    }

    /// A check that must be made on this version.
    fn due(&self, check: Check, read: &[TableId], tables: &Tables<'_>) -> Result<Option<Due>> {
        let version = |id: &TableId| {
            let row = tables.base.table(*id).ok_or(EngineError::Defect("a type of the schema has no table"))?;
            Ok((*id, row.content_version))
        };
        let read = read.iter().map(version).collect::<Result<Vec<_>>>()?;
        let is_due = self.passed.get(&check) != Some(&read);
        Ok(is_due.then_some(Due { check, read }))
    }

    /// Remembers a check that was made and found nothing. One that failed must stay due: a load that failed on a version which was only
    /// presumed newest is validated again on the newest one.
    fn pass(&mut self, due: Due) {
        self.passed.insert(due.check, due.read);
    }

    /// Edge types that stay as they are while a node type that they touch is replaced.
    fn kept_edge_types(&self) -> Vec<TableId> {
        if self.mode != LoadMode::Overwrite {
            return Vec::new();
        }
        let touched = |from: &TableId, to: &TableId| self.types.contains_key(from) || self.types.contains_key(to);
        let edges = self.schema.types().filter(|plan| plan.ends.is_some_and(|ends| touched(&ends.from, &ends.to)));
        edges.map(|plan| plan.def.id).filter(|id| !self.types.contains_key(id)).collect()
    }

    /// Whether the load replaces all rows of the type.
    fn is_replaced(&self, id: TableId) -> bool {
        self.mode == LoadMode::Overwrite && self.types.contains_key(&id)
    }

    fn staged(&self, id: TableId) -> Result<&StagedType> {
        self.types.get(&id).ok_or(EngineError::Defect("a type without rows is validated"))
    }

    /// Violations that one error lists.
    fn most(&self) -> usize {
        usize::try_from(self.limits.error_items_max).unwrap_or(usize::MAX).max(1)
    }

    /// Runs work on the sets outside of the async threads.
    async fn with_pool<R: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut SpillPool) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let mut pool = std::mem::replace(&mut self.pool, SpillPool::new(None, 0));
        let worked = tokio::task::spawn_blocking(move || {
            let result = work(&mut pool);
            (pool, result)
        });
        let (pool, result) = worked.await?;
        self.pool = pool;
        result
    }

    /// All fingerprints of a set, in memory. For sets of a bounded size: those of a merge.
    async fn in_memory(&mut self, set: SetId) -> Result<HashSet<u128>> {
        self.with_pool(move |pool| {
            let mut all = HashSet::new();
            pool.for_each_record(set, |record| {
                all.insert(record.fingerprint);
            })?;
            Ok(all)
        })
        .await
    }
}
