//! Which columns a query needs of each variable, and what its filters state about it. Pure.

use std::collections::BTreeSet;

use omnigraph_columns::key::key_of_values;
use omnigraph_columns::mapping::entity_fields;
use omnigraph_lang::query::ir::{
    Access, Aggregate, Column, CompareOp, Domain, Operand, OrderTarget, Predicate, ProjectionExpr, ReadQuery, VarId,
};
use omnigraph_lang::schema::{Member, PropertyType, Scalar};
use omnigraph_lang::value::Value;

use crate::QueryError;
use crate::input::Input;

/// Share of rows that pass an equality with a constant, where nothing better is known.
const EQUAL_SHARE: f64 = 0.001;
/// Share of rows that pass any other condition.
const OTHER_SHARE: f64 = 0.3;

/// The variables of which more than the id is needed.
pub(crate) struct Uses {
    /// By a filter.
    pub(crate) in_filters: BTreeSet<VarId>,
    accesses: Vec<Access>,
    entities: BTreeSet<VarId>,
}

impl Uses {
    pub(crate) fn of(read: &ReadQuery) -> Self {
        let mut in_filters = BTreeSet::new();
        for filter in &read.filters {
            each_access(filter, &mut |access| {
                if access.column != Column::Id {
                    in_filters.insert(access.var);
                }
            });
        }
        let mut uses = Self { in_filters, accesses: Vec::new(), entities: BTreeSet::new() };
        for projection in &read.projections {
            match &projection.expr {
                ProjectionExpr::Value(Operand::Access(access)) => uses.accesses.push(access.clone()),
                ProjectionExpr::Value(_) | ProjectionExpr::Aggregate(Aggregate::CountRows) => {}
                ProjectionExpr::Entity(var) => {
                    uses.entities.insert(*var);
                }
                ProjectionExpr::Aggregate(
                    Aggregate::Count(access)
                    | Aggregate::Sum(access)
                    | Aggregate::Avg(access)
                    | Aggregate::Min(access)
                    | Aggregate::Max(access),
                ) => uses.accesses.push(access.clone()),
            }
        }
        for key in &read.order {
            if let OrderTarget::Access(access) = &key.target {
                uses.accesses.push(access.clone());
            }
        }
        uses
    }

    /// Columns other than ids that projections and order keys read.
    pub(crate) fn output_columns(&self, input: Input<'_>) -> Result<BTreeSet<(VarId, String)>, QueryError> {
        let accesses = self.accesses.iter().filter(|access| access.column != Column::Id);
        let mut columns: BTreeSet<_> = accesses.map(|access| (access.var, access.column.name().to_owned())).collect();
        for &var in &self.entities {
            let def = input.type_def(input.read.variable(var).type_id)?;
            let fields = entity_fields(def);
            // The first field is the id.
            columns.extend(fields.iter().skip(1).map(|field| (var, field.name().clone())));
        }
        Ok(columns)
    }
}

/// Calls `found` for every column that the condition reads.
pub(crate) fn each_access(condition: &Predicate, found: &mut dyn FnMut(&Access)) {
    let mut operand = |operand: &Operand| {
        if let Operand::Access(access) = operand {
            found(access);
        }
    };
    match condition {
        Predicate::And(parts) | Predicate::Or(parts) => parts.iter().for_each(|part| each_access(part, found)),
        Predicate::Not(inner) => each_access(inner, found),
        Predicate::Compare { left, right, .. } => [left, right].into_iter().for_each(operand),
        Predicate::ListContains { list, item, .. } => [list, item].into_iter().for_each(operand),
        Predicate::TextContains { text, part } => [text, part].into_iter().for_each(operand),
        Predicate::StartsWith { text, prefix } => [text, prefix].into_iter().for_each(operand),
        Predicate::IsNull(inner) | Predicate::Decided { operand: inner, .. } => operand(inner),
    }
}

/// The estimated share of rows assigning `vars` that pass the condition: all of them where it reads other variables too.
pub(crate) fn share(condition: &Predicate, vars: &[VarId]) -> f64 {
    let mut foreign = false;
    each_access(condition, &mut |access| foreign |= !vars.contains(&access.var));
    if foreign {
        return 1.0;
    }
    match condition {
        Predicate::Compare { op: CompareOp::Equal, left, right, .. } if one_constant(left, right) => EQUAL_SHARE,
        Predicate::And(parts) => parts.iter().map(|part| share(part, vars)).product(),
        Predicate::Compare { .. }
        | Predicate::Or(_)
        | Predicate::Not(_)
        | Predicate::ListContains { .. }
        | Predicate::TextContains { .. }
        | Predicate::StartsWith { .. }
        | Predicate::IsNull(_)
        | Predicate::Decided { .. } => OTHER_SHARE,
    }
}

fn one_constant(left: &Operand, right: &Operand) -> bool {
    matches!((left, right), (Operand::Literal(..), Operand::Access(_)) | (Operand::Access(_), Operand::Literal(..)))
}

/// For every filter that fixes the only member of a node's key, the same condition on the id, which edges hold too.
pub(crate) fn key_conditions(input: Input<'_>) -> Result<Vec<Predicate>, QueryError> {
    let mut conditions = Vec::new();
    for filter in &input.read.filters {
        let Predicate::Compare { left, op: CompareOp::Equal, right, .. } = filter else { continue };
        let (access, value, ty) = match (left, right) {
            (Operand::Access(access), Operand::Literal(value, ty))
            | (Operand::Literal(value, ty), Operand::Access(access)) => (access, value, ty),
            _ => continue,
        };
        let Column::Property(property) = &access.column else { continue };
        let def = input.type_def(input.read.variable(access.var).type_id)?;
        let is_key = def.key.as_deref() == Some(&[Member::Property(property.id)]);
        if !is_key || property.ty.scalar() != ty.scalar() {
            continue;
        }
        // No key has a value that cannot be spelled.
        let Ok(id) = key_of_values(&[value]) else { continue };
        let text = PropertyType::Scalar(Scalar::String);
        conditions.push(Predicate::Compare {
            left: Operand::Access(Access { var: access.var, column: Column::Id }),
            op: CompareOp::Equal,
            right: Operand::Literal(Value::String(id), text),
            domain: Domain::Same(Scalar::String),
        });
    }
    Ok(conditions)
}
