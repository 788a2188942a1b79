//! Validation of a whole load against the version that its commit will be based on: stages 4 to 7 of the language's order.
//!
//! Every check compares sets of fingerprints. Committed rows are read by a filtered look-up where the load is small, else by one scan of the
//! columns compared; a row is kept only if it passes a filter over the load's own fingerprints.
//!
//! A check that passed is repeated on a newer version only if the rows of the table that it read have changed.
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
use omnigraph_types::mutant;
use omnigraph_types::{CommitId, Limits, LoadMode, TableId};

use crate::cause::Defect;
use crate::error::{EngineError, Result};
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

/// The table that a check reads, if any, with the commit that last changed its rows.
type Content = Option<(TableId, CommitId)>;

/// One check. Its argument is the only table whose committed rows it reads.
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

impl Check {
    fn reads(self) -> Option<TableId> {
        match self {
            Self::Duplicates | Self::LocalUniques => None,
            Self::Keys(id) | Self::Uniques(id) | Self::Endpoints(id) | Self::KeptEdges(id) | Self::Cardinality(id) => {
                Some(id)
            }
        }
    }
}

/// A check that must be made, and the rows that it reads.
#[must_use]
#[derive(Debug)]
struct Due {
    check: Check,
    read: Content,
}

/// A load's rows, and the checks that they passed.
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
    passed: HashMap<Check, Content>,
}

/// The parts of a new validator.
pub(crate) struct ValidatorParts {
    pub(crate) schema: Arc<GraphSchema>,
    pub(crate) mode: LoadMode,
    pub(crate) limits: Arc<Limits>,
    pub(crate) hasher: Fingerprinter,
    pub(crate) pool: SpillPool,
    pub(crate) types: BTreeMap<TableId, StagedType>,
}

/// The tables of one version, opened on first use.
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
                Some(ends) => tables.extend(mutant!(1, vec![ends.from, ends.to], Vec::new())),
                None if mutant!(138, self.mode == LoadMode::Overwrite, false) => {
                    tables.extend(self.schema.schema.edges_of(staged.plan.def.id).map(|edge| edge.id));
                }
                None => {}
            }
        }
        tables.sort();
        tables.dedup();
        tables
    }

    /// Checks everything that is not known to hold.
    pub(crate) async fn validate(&mut self, tables: &mut Tables<'_>) -> Result<()> {
        for check in self.checks() {
            if let Some(due) = self.due(check, tables)? {
                self.run(check, tables).await?;
                self.pass(due);
            }
        }
        Ok(())
    }

    /// Every check of the load, in the order of the stages.
    fn checks(&self) -> Vec<Check> {
        let loaded = || self.types.keys().copied();
        let mut checks = vec![Check::Duplicates];
        checks.extend(loaded().map(Check::Keys));
        checks.push(Check::LocalUniques);
        checks.extend(loaded().map(Check::Uniques));
        checks.extend(self.schema.schema.node_types().map(|def| Check::Endpoints(def.id)));
        checks.extend(self.kept_edge_types().into_iter().map(Check::KeptEdges));
        checks.extend(loaded().map(Check::Cardinality));
        checks
    }

    async fn run(&mut self, check: Check, tables: &mut Tables<'_>) -> Result<()> {
        match check {
            Check::Duplicates => self.duplicate_ids(tables).await,
            Check::Keys(id) => self.committed_ids(id, tables).await,
            Check::LocalUniques => self.duplicate_tuples(tables).await,
            Check::Uniques(id) => self.committed_tuples(id, tables).await,
            Check::Endpoints(node) => self.added_edges(node, tables).await,
            Check::KeptEdges(edge) => self.kept_edges(edge, tables).await,
            Check::Cardinality(id) => self.cardinality(id, tables).await,
        }
    }

    /// The check with the rows that it reads on this version, unless it passed on the same rows.
    fn due(&self, check: Check, tables: &Tables<'_>) -> Result<Option<Due>> {
        let read = match check.reads() {
            None => None,
            Some(id) => {
                let row = tables.base.table(id).ok_or(EngineError::from(Defect::TypeWithoutTable))?;
                Some((id, row.content_commit))
            }
        };
        let is_due = mutant!(21, self.passed.get(&check) != Some(&read), !self.passed.contains_key(&check));
        Ok(is_due.then_some(Due { check, read }))
    }

    /// Records that a check passed. A check that failed stays due: a load that failed on a version which was only presumed newest is
    /// validated again on the newest one.
    fn pass(&mut self, due: Due) {
        self.passed.insert(due.check, due.read);
    }

    /// Edge types without rows in the load, one of whose node types is replaced.
    fn kept_edge_types(&self) -> Vec<TableId> {
        if mutant!(139, self.mode != LoadMode::Overwrite, true) {
            return Vec::new();
        }
        let touched = |from: &TableId, to: &TableId| self.types.contains_key(from) || self.types.contains_key(to);
        let edges = self.schema.types().filter(|plan| plan.ends.is_some_and(|ends| touched(&ends.from, &ends.to)));
        edges.map(|plan| plan.def.id).filter(|id| !self.types.contains_key(id)).collect()
    }

    /// Whether the load replaces all rows of the type.
    fn is_replaced(&self, id: TableId) -> bool {
        mutant!(140, self.mode == LoadMode::Overwrite, true) && self.types.contains_key(&id)
    }

    fn staged(&self, id: TableId) -> Result<&StagedType> {
        self.types.get(&id).ok_or(EngineError::from(Defect::TypeWithoutRows))
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
