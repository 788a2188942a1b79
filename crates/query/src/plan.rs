//! The whole query as one logical plan: matches, then groups, order, skip and limit.
//!
//! Inside the plan, columns have plain names of our own (`c0`, `c1_2`, `s0`), so nothing that a person wrote is ever read as
//! SQL. A node as a value is a run of flat columns here; `shape` builds the struct.

use datafusion::common::{Column, ScalarValue};
use datafusion::functions_aggregate::expr_fn::{count, max, min};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, SortExpr};
use omnigraph_columns::mapping::entity_fields;
use omnigraph_lang::query::ir::{
    Access, Aggregate, Direction, Grouping, Operand, OrderTarget, Projection, ProjectionExpr, RowCount, TieBreak,
};
use omnigraph_lang::schema::Scalar;

use crate::QueryError;
use crate::input::Input;
use crate::number::one_zero;
use crate::pattern::{Matches, Scope, plan_matches, planning};
use crate::predicate::{Columns, literal, operand};
use crate::sum::{finish_avg, finish_sum, scaled_total, total, values};

/// More rows than any result has; DataFusion adds skip and limit as signed numbers.
const ROWS_MAX: u64 = 1 << 48;

/// Plans the query. The plan's columns are the flat columns of every projection, in order.
pub(crate) fn plan_query(input: Input<'_>) -> Result<LogicalPlan, QueryError> {
    let matches = plan_matches(input)?;
    let plan = match &input.read.grouping {
        Grouping::None => plan_rows(input, matches)?,
        Grouping::By(keys) => plan_groups(input, matches, keys)?,
    };
    plan.build().map_err(planning)
}

/// Number of flat columns of a projection.
pub(crate) fn width(input: Input<'_>, projection: &Projection) -> Result<usize, QueryError> {
    Ok(match &projection.expr {
        ProjectionExpr::Entity(var) => entity_fields(input.type_def(input.read.variable(*var).type_id)?).len(),
        ProjectionExpr::Value(_) | ProjectionExpr::Aggregate(_) => 1,
    })
}

/// The names of a projection's flat columns; the first one is what it is sorted by.
fn names(input: Input<'_>, index: usize) -> Result<Vec<String>, QueryError> {
    let projection = &input.read.projections[index];
    Ok(match projection.expr {
        ProjectionExpr::Entity(_) => (0..width(input, projection)?).map(|field| format!("c{index}_{field}")).collect(),
        ProjectionExpr::Value(_) | ProjectionExpr::Aggregate(_) => vec![format!("c{index}")],
    })
}

fn named(name: impl Into<String>) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

/// One result row per match.
fn plan_rows(input: Input<'_>, matches: Matches) -> Result<LogicalPlanBuilder, QueryError> {
    let read = input.read;
    let mut columns = Vec::new();
    for index in 0..read.projections.len() {
        columns.extend(flat_columns(input, &matches.scope, index)?);
    }
    let output = columns.iter().map(|(_, name)| named(name)).collect::<Vec<_>>();
    let mut columns: Vec<Expr> = columns.into_iter().map(|(expr, name)| expr.alias(name)).collect();
    if read.order.is_empty() {
        return cut(input, matches.plan.project(columns).map_err(planning)?, Vec::new());
    }
    let mut order = Vec::new();
    let mut sort_by = |expr: Expr, direction: Direction| {
        let name = format!("s{}", order.len());
        columns.push(expr.alias(&name));
        order.push(sort_key(named(name), direction));
    };
    for key in &read.order {
        let expr = match &key.target {
            OrderTarget::Access(access) => sortable(&matches.scope, access)?,
            OrderTarget::Projection(index) => match &read.projections[*index].expr {
                ProjectionExpr::Value(Operand::Access(access)) => sortable(&matches.scope, access)?,
                ProjectionExpr::Value(constant) => operand(constant, &matches.scope)?,
                ProjectionExpr::Entity(var) => Expr::Column(matches.scope.id(*var)?),
                ProjectionExpr::Aggregate(_) => return Err(misplaced_aggregate()),
            },
        };
        sort_by(expr, key.direction);
    }
    if let TieBreak::Variables(vars) = &read.tie_break {
        for var in vars {
            sort_by(Expr::Column(matches.scope.id(*var)?), Direction::Ascending);
        }
    }
    let plan = matches.plan.project(columns).map_err(planning)?;
    cut(input, plan, order)?.project(output).map_err(planning)
}

/// The flat columns of a projection over matches, with their names.
fn flat_columns(input: Input<'_>, scope: &Scope, index: usize) -> Result<Vec<(Expr, String)>, QueryError> {
    let projection = &input.read.projections[index];
    let exprs = match &projection.expr {
        ProjectionExpr::Value(value) => vec![operand(value, scope)?],
        ProjectionExpr::Entity(var) => {
            let fields = entity_fields(input.type_def(input.read.variable(*var).type_id)?);
            let column = |name: &str| Ok(Expr::Column(scope.named(*var, name)?));
            fields.iter().map(|field| column(field.name())).collect::<Result<_, QueryError>>()?
        }
        ProjectionExpr::Aggregate(_) => return Err(misplaced_aggregate()),
    };
    Ok(exprs.into_iter().zip(names(input, index)?).collect())
}

fn misplaced_aggregate() -> QueryError {
    QueryError::Unbound { what: "an aggregate without grouping".to_owned() }
}

fn is_float(access: &Access) -> bool {
    access.column.ty().scalar().is_some_and(Scalar::is_float)
}

fn sortable(scope: &Scope, access: &Access) -> Result<Expr, QueryError> {
    let column = scope.column(access)?;
    Ok(if is_float(access) { one_zero(column) } else { column })
}

/// One result row per group.
fn plan_groups(input: Input<'_>, matches: Matches, keys: &[usize]) -> Result<LogicalPlanBuilder, QueryError> {
    let read = input.read;
    let mut group_by = Vec::new();
    for &index in keys {
        for (expr, name) in flat_columns(input, &matches.scope, index)? {
            let float_key = matches!(&read.projections[index].expr,
                ProjectionExpr::Value(Operand::Access(access)) if is_float(access));
            let expr = if float_key { one_zero(expr) } else { expr };
            group_by.push(expr.alias(name));
        }
    }
    let (mut aggregates, mut output) = (Vec::new(), Vec::new());
    for (index, projection) in read.projections.iter().enumerate() {
        match &projection.expr {
            ProjectionExpr::Aggregate(aggregate) => {
                let (steps, result) = aggregate_steps(aggregate, projection, index, &matches.scope)?;
                aggregates.extend(steps);
                output.push(result.alias(format!("c{index}")));
            }
            ProjectionExpr::Value(_) | ProjectionExpr::Entity(_) => {
                output.extend(names(input, index)?.into_iter().map(named));
            }
        }
    }
    let plan = matches.plan.aggregate(group_by, aggregates).map_err(planning)?;
    let plan = plan.project(output).map_err(planning)?;
    let mut order = Vec::new();
    for key in &read.order {
        let OrderTarget::Projection(index) = key.target else {
            return Err(QueryError::Unbound { what: "an order key outside the groups".to_owned() });
        };
        order.push(sort_key(sort_column(input, index)?, key.direction));
    }
    if let (TieBreak::Projections(ties), false) = (&read.tie_break, order.is_empty()) {
        for &index in ties {
            order.push(sort_key(sort_column(input, index)?, Direction::Ascending));
        }
    }
    cut(input, plan, order)
}

/// The column that a projection of a grouped query is sorted by.
fn sort_column(input: Input<'_>, index: usize) -> Result<Expr, QueryError> {
    // A projection has at least one flat column.
    Ok(named(names(input, index)?.swap_remove(0)))
}

/// The aggregates to compute, and the result made from them.
fn aggregate_steps(
    aggregate: &Aggregate,
    projection: &Projection,
    index: usize,
    scope: &Scope,
) -> Result<(Vec<Expr>, Expr), QueryError> {
    let step = format!("a{index}");
    let one = |expr: Expr| (vec![expr.alias(&step)], named(&step));
    let scalar = |access: &Access| access.column.ty().scalar().unwrap_or(Scalar::String);
    Ok(match aggregate {
        Aggregate::CountRows => one(count(literal(ScalarValue::Int64(Some(1))))),
        Aggregate::Count(access) => one(count(scope.column(access)?)),
        Aggregate::Min(access) => one(min(scope.column(access)?)),
        Aggregate::Max(access) => one(max(scope.column(access)?)),
        Aggregate::Sum(access) => {
            let (steps, sum) = one(total(scope.column(access)?, scalar(access)));
            (steps, finish_sum(sum, scalar(access), &projection.name))
        }
        Aggregate::Avg(access) => {
            let divisor = format!("a{index}_n");
            let (mut steps, sum) = one(total(scope.column(access)?, scalar(access)));
            let scaled = format!("a{index}_s");
            steps.push(values(scope.column(access)?).alias(&divisor));
            steps.push(scaled_total(scope.column(access)?).alias(&scaled));
            let mean = finish_avg(sum, named(scaled), named(divisor), &projection.name).map_err(planning)?;
            (steps, mean)
        }
    })
}

/// Null sorts first ascending and last descending.
fn sort_key(expr: Expr, direction: Direction) -> SortExpr {
    match direction {
        Direction::Ascending => expr.sort(true, true),
        Direction::Descending => expr.sort(false, false),
    }
}

/// Orders, skips and limits.
fn cut(input: Input<'_>, plan: LogicalPlanBuilder, order: Vec<SortExpr>) -> Result<LogicalPlanBuilder, QueryError> {
    let skip = input.read.skip.as_ref().map(rows).transpose()?.unwrap_or(0);
    let limit = input.read.limit.as_ref().map(rows).transpose()?;
    let plan = if order.is_empty() { plan } else { plan.sort(order).map_err(planning)? };
    if skip == 0 && limit.is_none() {
        return Ok(plan);
    }
    plan.limit(skip, limit).map_err(planning)
}

fn rows(count: &RowCount) -> Result<usize, QueryError> {
    match count {
        RowCount::Literal(rows) => Ok(usize::try_from((*rows).min(ROWS_MAX)).unwrap_or(usize::MAX)),
        RowCount::Param(name) => Err(QueryError::Unbound { what: format!("${name}") }),
    }
}
