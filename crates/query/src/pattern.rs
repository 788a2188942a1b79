//! A match pattern as a tree of scans and joins.
//!
//! Each edge traversal is a scan of its edge table, joined on the ids of its ends. A node table is scanned only where something other than
//! the node's id is needed, because an edge's ends always exist. Filters are planned above the joins: DataFusion moves each one down to
//! the scans, and along join keys to the tables on the other side.
//!
//! The ids of all its variables, anonymous ones included, identify a match. A traversal without an edge variable therefore needs one
//! distinct step over those ids, above the filters, where few rows are left, to have the meaning of a set. Node tables that only feed
//! the output are joined after it.

use std::collections::{BTreeMap, BTreeSet};

use datafusion::common::{Column, JoinType, TableReference};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder};
use omnigraph_lang::query::ir::{Access, Traversal, VarId, VariableKind};
use omnigraph_lang::schema::Member;
use omnigraph_types::TableId;

use crate::QueryError;
use crate::input::Input;
use crate::predicate::{Columns, predicate};
use crate::uses::{Uses, key_conditions, share};

/// All matches: one row each.
pub(crate) struct Matches {
    pub(crate) plan: LogicalPlanBuilder,
    pub(crate) scope: Scope,
}

/// Where each variable's columns are found in a plan.
#[derive(Default)]
pub(crate) struct Scope {
    ids: BTreeMap<VarId, Column>,
    tables: BTreeMap<VarId, TableReference>,
}

impl Scope {
    /// The column that holds a variable's id.
    pub(crate) fn id(&self, var: VarId) -> Result<Column, QueryError> {
        let missing = || QueryError::Unbound { what: format!("variable {}", var.0) };
        self.ids.get(&var).cloned().ok_or_else(missing)
    }

    /// A column of a variable by its name in the table.
    pub(crate) fn named(&self, var: VarId, name: &str) -> Result<Column, QueryError> {
        if name == "id" {
            return self.id(var);
        }
        let missing = || QueryError::Unbound { what: format!("column {name:?} of variable {}", var.0) };
        let table = self.tables.get(&var).ok_or_else(missing)?;
        Ok(Column::new(Some(table.clone()), name))
    }
}

impl Columns for Scope {
    fn column(&self, access: &Access) -> Result<Expr, QueryError> {
        Ok(Expr::Column(self.named(access.var, access.column.name())?))
    }
}

/// Plans the matches of the query's pattern.
pub(crate) fn plan_matches(input: Input<'_>) -> Result<Matches, QueryError> {
    let uses = Uses::of(input.read);
    let mut planner = Planner { input, scope: Scope::default(), plan: None, scans: 0 };
    let mut waiting = planner.relations(&uses);
    while let Some(next) = planner.choose(&waiting)? {
        let relation = waiting.swap_remove(next);
        planner.join(relation)?;
    }
    planner.filter()?;
    if planner.may_repeat()? {
        planner.distinct(&uses)?;
    }
    planner.join_output_tables(&uses)?;
    let plan = planner.plan.unwrap_or_else(|| LogicalPlanBuilder::empty(true));
    Ok(Matches { plan, scope: planner.scope })
}

/// A table that takes part in the pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// The table of a node variable.
    Node(VarId),
    /// The edge table of a traversal, by its index.
    Edge(usize),
}

struct Planner<'a> {
    input: Input<'a>,
    scope: Scope,
    plan: Option<LogicalPlanBuilder>,
    scans: usize,
}

impl<'a> Planner<'a> {
    /// Every traversal, and the nodes that a filter looks into or that no traversal reaches.
    fn relations(&self, uses: &Uses) -> Vec<Relation> {
        let read = self.input.read;
        let reached: BTreeSet<VarId> = read.traversals.iter().flat_map(|hop| [hop.src, hop.dst]).collect();
        let variables = read.variables.iter().enumerate().map(|(at, variable)| (VarId(at), variable));
        let nodes = variables
            .filter(|(_, variable)| variable.kind == VariableKind::Node)
            .filter(|(var, _)| uses.in_filters.contains(var) || !reached.contains(var))
            .map(|(var, _)| Relation::Node(var));
        (0..read.traversals.len()).map(Relation::Edge).chain(nodes).collect()
    }

    fn hop(&self, index: usize) -> &'a Traversal {
        // Made from the indexes of this list.
        &self.input.read.traversals[index]
    }

    /// The variables whose ids a relation's rows hold.
    fn assigns(&self, relation: Relation) -> Vec<VarId> {
        match relation {
            Relation::Node(var) => vec![var],
            Relation::Edge(index) => {
                let hop = self.hop(index);
                [Some(hop.src), Some(hop.dst), hop.edge_var].into_iter().flatten().collect()
            }
        }
    }

    /// About how many rows of a relation pass the filters on it alone.
    fn estimate(&self, relation: Relation) -> Result<f64, QueryError> {
        let table = match relation {
            Relation::Node(var) => self.input.read.variable(var).type_id,
            Relation::Edge(index) => self.hop(index).edge,
        };
        let rows = self.input.tables.get(table)?.rows as f64;
        let assigns = self.assigns(relation);
        let share: f64 = self.input.read.filters.iter().map(|filter| share(filter, &assigns)).product();
        Ok(rows * share)
    }

    /// The next relation to join: one that shares a variable with the plan if there is one, nodes before edges, edges with both ends known
    /// first, then the smallest.
    fn choose(&self, waiting: &[Relation]) -> Result<Option<usize>, QueryError> {
        let mut best: Option<(u8, f64, usize)> = None;
        for (at, &relation) in waiting.iter().enumerate() {
            let assigns = self.assigns(relation);
            let known = assigns.iter().filter(|var| self.scope.ids.contains_key(var)).count();
            let rank = match relation {
                _ if known == 0 => 3,
                Relation::Node(_) => 0,
                Relation::Edge(_) if known > 1 => 1,
                Relation::Edge(_) => 2,
            };
            let rows = self.estimate(relation)?;
            if best.is_none_or(|(best_rank, best_rows, _)| rank < best_rank || (rank == best_rank && rows < best_rows))
            {
                best = Some((rank, rows, at));
            }
        }
        Ok(best.map(|(_, _, at)| at))
    }

    fn scan(&mut self, table: TableId) -> Result<(LogicalPlanBuilder, TableReference), QueryError> {
        let name = TableReference::bare(format!("t{}", self.scans));
        self.scans += 1;
        let source = self.input.tables.get(table)?.source.clone();
        Ok((LogicalPlanBuilder::scan(name.clone(), source, None).map_err(planning)?, name))
    }

    /// Adds a relation to the plan, on the ids that both know, and takes note of what it assigns.
    fn join(&mut self, relation: Relation) -> Result<(), QueryError> {
        let (mut scan, ids) = match relation {
            Relation::Node(var) => {
                let (scan, table) = self.scan(self.input.read.variable(var).type_id)?;
                let id = Column::new(Some(table.clone()), "id");
                self.scope.tables.insert(var, table);
                (scan, vec![(var, id)])
            }
            Relation::Edge(index) => {
                let hop = self.hop(index);
                let (scan, table) = self.scan(hop.edge)?;
                let column = |name: &str| Column::new(Some(table.clone()), name);
                let mut ids = vec![(hop.src, column("src")), (hop.dst, column("dst"))];
                if let Some(edge_var) = hop.edge_var {
                    ids.push((edge_var, column("id")));
                    self.scope.tables.insert(edge_var, table.clone());
                }
                (scan, ids)
            }
        };
        let mut own: BTreeMap<VarId, Column> = BTreeMap::new();
        for (var, column) in ids {
            match own.get(&var) {
                // Both ends are one variable: only self-loops match.
                Some(first) => {
                    let loops = Expr::Column(first.clone()).eq(Expr::Column(column));
                    scan = scan.filter(loops).map_err(planning)?;
                }
                None => {
                    own.insert(var, column);
                }
            }
        }
        let shared: Vec<_> =
            own.iter().filter_map(|(var, column)| Some((self.scope.ids.get(var)?.clone(), column.clone()))).collect();
        self.plan = Some(match self.plan.take() {
            None => scan,
            Some(plan) => combine(plan, scan, shared).map_err(planning)?,
        });
        for (var, column) in own {
            self.scope.ids.entry(var).or_insert(column);
        }
        Ok(())
    }

    /// Keeps the matches for which every filter is true.
    fn filter(&mut self) -> Result<(), QueryError> {
        let keys = key_conditions(self.input)?;
        let filters = self.input.read.filters.iter().chain(&keys);
        let filters = filters.map(|filter| predicate(filter, &self.scope)).collect::<Result<Vec<_>, _>>()?;
        let Some(condition) = filters.into_iter().reduce(Expr::and) else { return Ok(()) };
        let plan = self.plan.take().unwrap_or_else(|| LogicalPlanBuilder::empty(true));
        self.plan = Some(plan.filter(condition).map_err(planning)?);
        Ok(())
    }

    /// Whether parallel edges can make one match appear several times.
    fn may_repeat(&self) -> Result<bool, QueryError> {
        for hop in self.input.read.traversals.iter().filter(|hop| hop.edge_var.is_none()) {
            let def = self.input.type_def(hop.edge)?;
            let ends_only = |members: &Vec<Member>| {
                !members.is_empty() && members.iter().all(|member| matches!(member, Member::Src | Member::Dst))
            };
            if !def.key.iter().chain(&def.uniques).any(ends_only) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Each match once, with the columns that the output still needs.
    fn distinct(&mut self, uses: &Uses) -> Result<(), QueryError> {
        let Some(plan) = self.plan.take() else { return Ok(()) };
        let mut columns: BTreeSet<Column> = self.scope.ids.values().cloned().collect();
        for (var, name) in uses.output_columns(self.input)? {
            if self.scope.tables.contains_key(&var) {
                columns.insert(self.scope.named(var, &name)?);
            }
        }
        let plan = plan.project(columns.into_iter().map(Expr::Column)).map_err(planning)?;
        self.plan = Some(plan.distinct().map_err(planning)?);
        Ok(())
    }

    /// Joins the node tables that only the output looks into.
    fn join_output_tables(&mut self, uses: &Uses) -> Result<(), QueryError> {
        let wanted: BTreeSet<VarId> = uses.output_columns(self.input)?.into_iter().map(|(var, _)| var).collect();
        for var in wanted {
            if !self.scope.tables.contains_key(&var) {
                self.join(Relation::Node(var))?;
            }
        }
        Ok(())
    }
}

/// Joins on equal ids, or every row with every row where no id is shared.
fn combine(
    plan: LogicalPlanBuilder,
    scan: LogicalPlanBuilder,
    shared: Vec<(Column, Column)>,
) -> Result<LogicalPlanBuilder, DataFusionError> {
    let scan = scan.build()?;
    if shared.is_empty() {
        return plan.cross_join(scan);
    }
    let keys: (Vec<Column>, Vec<Column>) = shared.into_iter().unzip();
    plan.join(scan, JoinType::Inner, keys, None)
}

pub(crate) fn planning(source: DataFusionError) -> QueryError {
    QueryError::Engine { action: "plan the query", source }
}
