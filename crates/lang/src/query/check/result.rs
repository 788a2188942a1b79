//! What a read returns: columns, groups, order and count.

use crate::code::Code;
use crate::findings::At;
use crate::query::ast::{CountAst, ExprAst, ExprKindAst, FunctionAst, Name, OrderAst, ProjectionAst, ReadAst};
use crate::query::check::context::Checker;
use crate::query::ir::{
    Aggregate, Grouping, Operand, OrderKey, OrderTarget, OutputType, Projection, ProjectionExpr, RowCount, TieBreak,
    VarId, VariableKind,
};
use crate::schema::{Nullability, PropertyType, Scalar};

/// The part of a read after its pattern.
pub(super) struct ResultPart {
    pub(super) projections: Vec<Projection>,
    pub(super) grouping: Grouping,
    pub(super) order: Vec<OrderKey>,
    pub(super) tie_break: TieBreak,
    pub(super) skip: Option<RowCount>,
    pub(super) limit: Option<RowCount>,
}

impl<'a> Checker<'a, '_> {
    /// `None` after findings.
    pub(super) fn result(&mut self, ast: &ReadAst<'a>) -> Option<ResultPart> {
        let columns: Vec<Option<Projection>> = ast.projections.iter().map(|ast| self.projection(ast)).collect();
        self.check_names(&ast.projections, &columns);
        let skip = ast.skip.as_ref().map(|count| self.count(count, "skip"));
        let limit = ast.limit.as_ref().map(|count| self.count(count, "limit"));
        // Order refers to columns by position, so without all of them only their own findings are reported.
        let projections = columns.into_iter().collect::<Option<Vec<_>>>()?;
        let grouping = self.grouping(&ast.projections, &projections);
        let order: Vec<Option<OrderKey>> =
            ast.order.iter().map(|key| self.order_key(key, &ast.projections, &projections, &grouping)).collect();
        let order = order.into_iter().collect::<Option<Vec<_>>>()?;
        let tie_break = match &grouping {
            Grouping::By(keys) => TieBreak::Projections(keys.clone()),
            Grouping::None => TieBreak::Variables(self.by_name.values().copied().collect()),
        };
        let flatten = |count: Option<Option<RowCount>>| count.map_or(Some(None), |count| count.map(Some));
        Some(ResultPart { projections, grouping, order, tie_break, skip: flatten(skip)?, limit: flatten(limit)? })
    }

    fn projection(&mut self, ast: &ProjectionAst<'a>) -> Option<Projection> {
        let (expr, ty, nullability) = match &ast.expr.kind {
            ExprKindAst::Aggregate { function, argument } => {
                let (aggregate, ty, nullability) = self.aggregate(*function, argument)?;
                (ProjectionExpr::Aggregate(aggregate), OutputType::Value(ty), nullability)
            }
            ExprKindAst::Var(name) if self.node_of(*name).is_some() => {
                let id = self.node_of(*name)?;
                let ty = OutputType::Entity(self.variables[id.0].type_id);
                (ProjectionExpr::Entity(id), ty, Nullability::Required)
            }
            _ => {
                let operand = self.operand(&ast.expr)?;
                let (ty, nullability) = (operand.ty(), operand.nullability());
                (ProjectionExpr::Value(operand), OutputType::Value(ty), nullability)
            }
        };
        let name = ast.alias.map_or_else(|| default_name(&ast.expr), |alias| alias.text.to_owned());
        Some(Projection { name, expr, ty, nullability })
    }

    fn node_of(&self, name: Name<'a>) -> Option<VarId> {
        let id = *self.by_name.get(name.text)?;
        (self.variables[id.0].kind == VariableKind::Node).then_some(id)
    }

    fn aggregate(
        &mut self,
        function: FunctionAst,
        argument: &ExprAst<'a>,
    ) -> Option<(Aggregate, PropertyType, Nullability)> {
        let integer = PropertyType::Scalar(Scalar::I64);
        let access = match &argument.kind {
            ExprKindAst::Var(name) if function == FunctionAst::Count && self.node_of(*name).is_some() => {
                return Some((Aggregate::CountRows, integer, Nullability::Required));
            }
            ExprKindAst::Var(name) if self.by_name.contains_key(name.text) && self.node_of(*name).is_none() => {
                let message = format!("the edge `${}` cannot be aggregated; count `${}.id`", name.text, name.text);
                self.error(Code::EdgeVariable, argument.at, message);
                return None;
            }
            ExprKindAst::Access { var, property } => self.access(*var, *property)?,
            ExprKindAst::Var(name) if self.node_of(*name).is_none() && !self.params.contains_key(name.text) => {
                self.unbound(*name);
                return None;
            }
            _ => return self.wrong_argument(function, argument.at, "a property such as `$v.age`"),
        };
        let ty = access.column.ty();
        let scalar = ty.scalar();
        let float = PropertyType::Scalar(Scalar::F64);
        match function {
            FunctionAst::Count => Some((Aggregate::Count(access), integer, Nullability::Required)),
            FunctionAst::Sum => match scalar {
                Some(Scalar::I32 | Scalar::I64) => Some((Aggregate::Sum(access), integer, Nullability::Nullable)),
                Some(Scalar::U32 | Scalar::U64) => {
                    Some((Aggregate::Sum(access), PropertyType::Scalar(Scalar::U64), Nullability::Nullable))
                }
                Some(Scalar::F32 | Scalar::F64) => Some((Aggregate::Sum(access), float, Nullability::Nullable)),
                _ => self.wrong_argument(function, argument.at, "a number"),
            },
            FunctionAst::Avg => match scalar {
                Some(scalar) if scalar.is_numeric() => Some((Aggregate::Avg(access), float, Nullability::Nullable)),
                _ => self.wrong_argument(function, argument.at, "a number"),
            },
            FunctionAst::Min | FunctionAst::Max => match scalar {
                None | Some(Scalar::Bool) => {
                    self.wrong_argument(function, argument.at, "a number, String, Date or DateTime")
                }
                Some(_) if function == FunctionAst::Min => Some((Aggregate::Min(access), ty, Nullability::Nullable)),
                Some(_) => Some((Aggregate::Max(access), ty, Nullability::Nullable)),
            },
        }
    }

    fn wrong_argument<T>(&mut self, function: FunctionAst, at: At, needed: &str) -> Option<T> {
        self.error(Code::Aggregate, at, format!("`{}` needs {needed}", function.name()));
        None
    }

    fn check_names(&mut self, asts: &[ProjectionAst<'a>], columns: &[Option<Projection>]) {
        let mut seen = std::collections::BTreeSet::new();
        for (ast, column) in asts.iter().zip(columns) {
            if let Some(column) = column
                && !seen.insert(column.name.as_str())
            {
                let at = ast.alias.map_or(ast.expr.at, |alias| alias.at);
                let message = format!("two columns are called `{}`", column.name);
                self.findings.add_with_hint(Code::DuplicateColumn, at, message, "name one of them with `as`");
            }
        }
    }

    fn grouping(&mut self, asts: &[ProjectionAst<'a>], projections: &[Projection]) -> Grouping {
        if !projections.iter().any(|p| matches!(p.expr, ProjectionExpr::Aggregate(_))) {
            return Grouping::None;
        }
        let mut keys = Vec::new();
        for (index, (ast, projection)) in asts.iter().zip(projections).enumerate() {
            match &projection.expr {
                ProjectionExpr::Aggregate(_) => {}
                ProjectionExpr::Entity(_) | ProjectionExpr::Value(Operand::Access(_)) => keys.push(index),
                ProjectionExpr::Value(_) => {
                    let message = "beside an aggregate only properties and node variables can be returned";
                    self.error(Code::NotGrouped, ast.expr.at, message);
                }
            }
        }
        Grouping::By(keys)
    }

    fn order_key(
        &mut self,
        ast: &OrderAst<'a>,
        asts: &[ProjectionAst<'a>],
        projections: &[Projection],
        grouping: &Grouping,
    ) -> Option<OrderKey> {
        let at = ast.expr.at;
        let target = match &ast.expr.kind {
            ExprKindAst::Alias(name) => {
                let found = asts.iter().position(|p| p.alias.is_some_and(|alias| alias.text == name.text));
                let Some(index) = found else {
                    self.error(Code::UnknownAlias, name.at, format!("`return` has no alias `{}`", name.text));
                    return None;
                };
                let sortable = match &projections[index].ty {
                    OutputType::Value(ty) => ty.scalar().is_some(),
                    OutputType::Entity(_) => true,
                };
                if !sortable {
                    return self.unsortable(at);
                }
                OrderTarget::Projection(index)
            }
            ExprKindAst::Access { var, property } => {
                let access = self.access(*var, *property)?;
                if access.column.ty().scalar().is_none() {
                    return self.unsortable(at);
                }
                match grouping {
                    Grouping::None => OrderTarget::Access(access),
                    Grouping::By(keys) => {
                        let is_key = |index: &&usize| {
                            projections[**index].expr == ProjectionExpr::Value(Operand::Access(access.clone()))
                        };
                        let Some(index) = keys.iter().find(is_key) else {
                            let message = "beside an aggregate `order` takes aliases and returned group keys only";
                            self.error(Code::NotGrouped, at, message);
                            return None;
                        };
                        OrderTarget::Projection(*index)
                    }
                }
            }
            ExprKindAst::Unsupported => return None,
            ExprKindAst::Aggregate { .. } => {
                self.error(
                    Code::Aggregate,
                    at,
                    "`order` takes no aggregate; return it with `as` and order by the alias",
                );
                return None;
            }
            ExprKindAst::Literal(_) | ExprKindAst::Now | ExprKindAst::Var(_) => {
                self.error(Code::IncompatibleTypes, at, "`order` takes properties such as `$v.name` and aliases");
                return None;
            }
        };
        Some(OrderKey { target, direction: ast.direction })
    }

    fn unsortable(&mut self, at: At) -> Option<OrderKey> {
        self.error(Code::IncompatibleTypes, at, "lists and vectors have no order");
        None
    }

    /// `None` after a finding.
    fn count(&mut self, ast: &CountAst<'a>, section: &str) -> Option<RowCount> {
        let name = match ast {
            CountAst::Literal(rows) => return Some(RowCount::Literal(*rows)),
            CountAst::Param(name) => name,
        };
        match self.params.get(name.text) {
            Some(param) if param.ty.scalar().is_some_and(Scalar::is_integer) && !param.nullability.is_nullable() => {
                Some(RowCount::Param(name.text.to_owned()))
            }
            Some(_) => {
                let message = format!("`{section}` needs an integer parameter that is not nullable");
                self.error(Code::IncompatibleTypes, name.at, message);
                None
            }
            None => {
                self.error(Code::Unbound, name.at, format!("`${}` is not a parameter", name.text));
                None
            }
        }
    }
}

/// The name of a column without an alias.
fn default_name(expr: &ExprAst<'_>) -> String {
    match &expr.kind {
        ExprKindAst::Access { var, property } => format!("{}.{}", var.text, property.text),
        ExprKindAst::Var(name) | ExprKindAst::Alias(name) => name.text.to_owned(),
        ExprKindAst::Aggregate { function, argument } => format!("{}({})", function.name(), default_name(argument)),
        ExprKindAst::Now => "now".to_owned(),
        ExprKindAst::Literal(_) | ExprKindAst::Unsupported => "literal".to_owned(),
    }
}
