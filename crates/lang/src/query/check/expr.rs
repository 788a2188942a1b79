//! Operands and conditions.

use crate::code::Code;
use crate::date::{parse_date, parse_datetime};
use crate::findings::At;
use crate::number::integer_as_float;
use crate::query::ast::{ConditionAst, ExprAst, ExprKindAst, LiteralAst, Name};
use crate::query::check::context::Checker;
use crate::query::ir::{Access, Column, CompareOp, Domain, Operand, Predicate, PropertyColumn, VarId, VariableKind};
use crate::schema::{PropertyType, Scalar};
use crate::text::{clip, list};
use crate::value::Value;

impl<'a> Checker<'a, '_> {
    /// The condition as a predicate; `None` after a finding, or where something unsupported is in it.
    pub(super) fn condition(&mut self, ast: &ConditionAst<'a>) -> Option<Predicate> {
        match ast {
            ConditionAst::And(parts) => self.conditions(parts).map(Predicate::And),
            ConditionAst::Or(parts) => self.conditions(parts).map(Predicate::Or),
            ConditionAst::Not(part) => self.condition(part).map(|part| Predicate::Not(Box::new(part))),
            ConditionAst::Compare { left, op, right } => self.comparison(left, *op, right),
            ConditionAst::Contains { left, right } => {
                let (container, item) = (self.operand(left), self.operand(right));
                self.contains(container?, item?, left.at.to(right.at))
            }
            ConditionAst::In { left, right } => {
                let (item, list) = (self.operand(left), self.operand(right));
                let (item, list, at) = (item?, list?, left.at.to(right.at));
                if !matches!(list.ty(), PropertyType::List(_)) {
                    self.error(
                        Code::IncompatibleTypes,
                        right.at,
                        format!("`in` needs a list on the right, this is a {}", list.ty()),
                    );
                    return None;
                }
                self.contains(list, item, at)
            }
            ConditionAst::StartsWith { left, right } => {
                let (text, prefix) = (self.operand(left), self.operand(right));
                let (text, prefix) = (text?, prefix?);
                if !(is_text(&text) && is_text(&prefix)) {
                    let message = format!("`starts_with` compares Strings, not {} and {}", text.ty(), prefix.ty());
                    self.error(Code::IncompatibleTypes, left.at.to(right.at), message);
                    return None;
                }
                Some(Predicate::StartsWith { text, prefix })
            }
            ConditionAst::IsNull { operand } => self.operand(operand).map(Predicate::IsNull),
            ConditionAst::IsNotNull { operand } => {
                self.operand(operand).map(|operand| Predicate::Not(Box::new(Predicate::IsNull(operand))))
            }
            ConditionAst::Unsupported => None,
        }
    }

    fn conditions(&mut self, parts: &[ConditionAst<'a>]) -> Option<Vec<Predicate>> {
        // Every part is checked before the first failure counts, so that all findings are reported.
        let parts: Vec<Option<Predicate>> = parts.iter().map(|part| self.condition(part)).collect();
        parts.into_iter().collect()
    }

    fn comparison(&mut self, left: &ExprAst<'a>, op: CompareOp, right: &ExprAst<'a>) -> Option<Predicate> {
        let at = left.at.to(right.at);
        let (left, right) = (self.operand(left), self.operand(right));
        let (left, right) = (left?, right?);
        let domain = match (left.ty().scalar(), right.ty().scalar()) {
            (Some(left), Some(right)) => Domain::of(left, right),
            _ => None,
        };
        let Some(domain) = domain else {
            self.incompatible(&left, &right, at);
            return None;
        };
        if matches!(op, CompareOp::Equal | CompareOp::NotEqual) {
            self.check_enum(&left, &right, at)?;
            self.check_enum(&right, &left, at)?;
        }
        Some(Predicate::Compare { left, op, right, domain })
    }

    fn incompatible(&mut self, left: &Operand, right: &Operand, at: At) {
        let message = format!("{} and {} cannot be compared", left.ty(), right.ty());
        let dated = |operand: &Operand| matches!(operand.ty().scalar(), Some(Scalar::Date | Scalar::DateTime));
        let listed = |operand: &Operand| matches!(operand.ty(), PropertyType::List(_));
        if (dated(left) && is_text(right)) || (is_text(left) && dated(right)) {
            self.findings.add_with_hint(
                Code::IncompatibleTypes,
                at,
                message,
                "write dates as `date(\"2024-05-01\")` or `datetime(\"…\")`",
            );
        } else if listed(left) || listed(right) {
            self.findings.add_with_hint(Code::IncompatibleTypes, at, message, "test lists with `contains` or `in`");
        } else {
            self.error(Code::IncompatibleTypes, at, message);
        }
    }

    /// A text literal compared with an enum must be one of its values.
    fn check_enum(&mut self, operand: &Operand, literal: &Operand, at: At) -> Option<()> {
        if let (PropertyType::Enum(values), Operand::Literal(Value::String(text), _)) = (operand.ty(), literal)
            && !values.contains(text)
        {
            let message = format!("\"{}\" is no value of {}", clip(text), PropertyType::Enum(values));
            self.error(Code::LiteralType, at, message);
            return None;
        }
        Some(())
    }

    /// `container contains item`: membership for lists, substring for texts.
    fn contains(&mut self, container: Operand, item: Operand, at: At) -> Option<Predicate> {
        if let PropertyType::List(scalar) = container.ty() {
            let Some(item_scalar) = item.ty().scalar() else {
                self.error(Code::IncompatibleTypes, at, format!("a list of {scalar} cannot contain a {}", item.ty()));
                return None;
            };
            let container = match container {
                Operand::Literal(Value::List(items), _) if items.is_empty() => {
                    Operand::Literal(Value::List(items), PropertyType::List(item_scalar))
                }
                other => other,
            };
            let PropertyType::List(scalar) = container.ty() else { return None };
            let Some(domain) = Domain::of(scalar, item_scalar) else {
                self.error(Code::IncompatibleTypes, at, format!("a list of {scalar} cannot contain a {}", item.ty()));
                return None;
            };
            return Some(Predicate::ListContains { list: container, item, domain });
        }
        if is_text(&container) && is_text(&item) {
            return Some(Predicate::TextContains { text: container, part: item });
        }
        let message =
            format!("a {} cannot contain a {}: the left side is a list or a String", container.ty(), item.ty());
        self.error(Code::IncompatibleTypes, at, message);
        None
    }

    /// `{ property: value }` of a binding.
    pub(super) fn inline_match(&mut self, var: Name<'a>, property: Name<'a>, value: &ExprAst<'a>) {
        // A finding about the binding itself was reported already.
        let Some(&id) = self.by_name.get(var.text).filter(|_| !var.is_anonymous()) else { return };
        let Some(column) = self.column(id, property.text) else {
            return self.no_property(Code::UnknownInlineProperty, id, property);
        };
        let operand = match &value.kind {
            ExprKindAst::Var(name) if !self.params.contains_key(name.text) => {
                let message =
                    format!("`${}` is not a parameter; compare variables in a filter of their own", name.text);
                return self.error(Code::Unbound, name.at, message);
            }
            ExprKindAst::Literal(LiteralAst::Null) => {
                return self.error(Code::LiteralType, value.at, "null matches nothing; use a filter with `is null`");
            }
            _ => self.operand(value),
        };
        let ty = column.ty();
        if ty == PropertyType::Blob {
            return self.error(Code::BlobInRead, property.at, "a Blob cannot be used in a read");
        }
        let Some(operand) = operand else { return };
        let column = Operand::Access(Access { var: id, column });
        let scalar = match ty {
            PropertyType::List(scalar) => Some(scalar),
            _ => ty.scalar(),
        };
        let domain = scalar.zip(operand.ty().scalar()).and_then(|(left, right)| Domain::of(left, right));
        let Some(domain) = domain else {
            let code =
                if matches!(value.kind, ExprKindAst::Literal(_)) { Code::LiteralType } else { Code::IncompatibleTypes };
            let message = format!("a {} does not fit the property `{}`, which is a {ty}", operand.ty(), property.text);
            return self.error(code, value.at, message);
        };
        if self.check_enum(&column, &operand, value.at).is_none() {
            return;
        }
        self.filters.push(match ty {
            PropertyType::List(_) => Predicate::ListContains { list: column, item: operand, domain },
            _ => Predicate::Compare { left: column, op: CompareOp::Equal, right: operand, domain },
        });
    }

    fn no_property(&mut self, code: Code, var: VarId, property: Name<'a>) {
        let variable = &self.variables[var.0];
        let message = format!("`{}` has no property `{}`", variable.type_name, property.text);
        let fixed: &[&str] = if variable.kind == VariableKind::Edge { &["id", "src", "dst"] } else { &["id"] };
        let declared = self.schema.type_by_id(variable.type_id).map_or(&[][..], |def| def.properties.as_slice());
        let names: Vec<&str> = fixed.iter().copied().chain(declared.iter().map(|def| def.name.as_str())).collect();
        self.findings.add_with_hint(code, property.at, message, format!("properties: {}", list(&names)));
    }

    /// The column of a variable by the name that queries use; `None` if no column has the name.
    pub(super) fn column(&self, var: VarId, name: &str) -> Option<Column> {
        let variable = &self.variables[var.0];
        match (name, variable.kind) {
            ("id", _) => return Some(Column::Id),
            ("src", VariableKind::Edge) => return Some(Column::Src),
            ("dst", VariableKind::Edge) => return Some(Column::Dst),
            _ => {}
        }
        let property = self.schema.type_by_id(variable.type_id)?.property(name)?;
        Some(Column::Property(PropertyColumn {
            id: property.id,
            name: property.name.clone(),
            ty: property.ty.clone(),
            nullability: property.nullability,
        }))
    }

    /// `$var.property` of a variable of the pattern.
    pub(super) fn access(&mut self, var: Name<'a>, property: Name<'a>) -> Option<Access> {
        let Some(&id) = self.by_name.get(var.text).filter(|_| !var.is_anonymous()) else {
            if self.params.contains_key(var.text) {
                let message = format!("`${}` is a parameter and has no properties", var.text);
                self.error(Code::Unbound, var.at, message);
            } else {
                self.unbound(var);
            }
            return None;
        };
        let Some(column) = self.column(id, property.text) else {
            self.no_property(Code::Unbound, id, property);
            return None;
        };
        if column.ty() == PropertyType::Blob {
            self.error(
                Code::BlobInRead,
                property.at,
                format!("the Blob `{}` cannot be used in a read; read it by the blob call", property.text),
            );
            return None;
        }
        Some(Access { var: id, column })
    }

    /// An expression that is one value per row, outside of aggregates.
    pub(super) fn operand(&mut self, ast: &ExprAst<'a>) -> Option<Operand> {
        match &ast.kind {
            ExprKindAst::Literal(literal) => {
                self.literal(literal, ast.at).map(|(value, ty)| Operand::Literal(value, ty))
            }
            ExprKindAst::Now => Some(Operand::Now),
            ExprKindAst::Access { var, property } => self.access(*var, *property).map(Operand::Access),
            ExprKindAst::Var(name) => {
                if let Some(param) = self.params.get(name.text) {
                    return Some(Operand::Param(param.clone()));
                }
                match self.by_name.get(name.text).map(|id| self.variables[id.0].kind) {
                    Some(VariableKind::Node) => {
                        let message = format!("`${}` is a node, not a value; compare `${}.id`", name.text, name.text);
                        self.error(Code::IncompatibleTypes, name.at, message);
                    }
                    Some(VariableKind::Edge) => {
                        let message = format!("the edge `${}` is not a value; use its properties", name.text);
                        self.error(Code::EdgeVariable, name.at, message);
                    }
                    None => self.unbound(*name),
                }
                None
            }
            ExprKindAst::Alias(name) => {
                let message = format!("unknown name `{}`: aliases are visible only in `order`", name.text);
                self.error(Code::UnknownAlias, name.at, message);
                None
            }
            ExprKindAst::Aggregate { function, .. } => {
                let message =
                    format!("`{}` is an aggregate, which only `return` takes, and not inside another", function.name());
                self.error(Code::Aggregate, ast.at, message);
                None
            }
            ExprKindAst::Unsupported => None,
        }
    }

    fn literal(&mut self, literal: &LiteralAst, at: At) -> Option<(Value, PropertyType)> {
        if let LiteralAst::List(items) = literal {
            return self.list_literal(items, at);
        }
        let (value, scalar) = match literal {
            LiteralAst::Bool(flag) => (Value::Bool(*flag), Scalar::Bool),
            LiteralAst::Integer(number) => match Value::integer_of(*number, Scalar::I64) {
                Some(value) => (value, Scalar::I64),
                // The parser keeps integers within -2^63 to 2^64-1.
                None => (Value::integer_of(*number, Scalar::U64)?, Scalar::U64),
            },
            LiteralAst::Float(number) => (Value::F64(*number), Scalar::F64),
            LiteralAst::Text(text) => (Value::String(text.clone()), Scalar::String),
            LiteralAst::Date(text) => match parse_date(text) {
                Ok(days) => (Value::Date(days), Scalar::Date),
                Err(error) => return self.bad_literal(at, error.to_string()),
            },
            LiteralAst::DateTime(text) => match parse_datetime(text) {
                Ok(ms) => (Value::DateTime(ms), Scalar::DateTime),
                Err(error) => return self.bad_literal(at, error.to_string()),
            },
            LiteralAst::Null => {
                self.findings.add_with_hint(
                    Code::IncompatibleTypes,
                    at,
                    "null cannot be compared",
                    "test for it with `is null`",
                );
                return None;
            }
            LiteralAst::List(_) => return None,
        };
        Some((value, PropertyType::Scalar(scalar)))
    }

    fn bad_literal(&mut self, at: At, message: String) -> Option<(Value, PropertyType)> {
        self.error(Code::LiteralType, at, message);
        None
    }

    /// A list of one scalar type; numbers of different types become F64 where every one of them is exact.
    fn list_literal(&mut self, items: &[LiteralAst], at: At) -> Option<(Value, PropertyType)> {
        let mut values = Vec::with_capacity(items.len());
        let mut scalars = Vec::with_capacity(items.len());
        for item in items {
            if matches!(item, LiteralAst::List(_) | LiteralAst::Null) {
                return self.bad_literal(at, "a list holds neither lists nor null".to_owned());
            }
            let (value, ty) = self.literal(item, at)?;
            values.push(value);
            scalars.push(ty.scalar()?);
        }
        let Some(&first) = scalars.first() else {
            return Some((Value::List(values), PropertyType::List(Scalar::String)));
        };
        if scalars.iter().all(|scalar| *scalar == first) {
            return Some((Value::List(values), PropertyType::List(first)));
        }
        if !scalars.iter().all(|scalar| scalar.is_numeric()) {
            return self.bad_literal(at, "the items of a list must be of one type".to_owned());
        }
        let common = if scalars.iter().any(|scalar| scalar.is_float()) { Scalar::F64 } else { Scalar::U64 };
        let convert = |value: &Value| match (value.as_integer(), common) {
            (Some(number), Scalar::F64) => integer_as_float(number).map(Value::F64),
            (Some(number), common) => Value::integer_of(number, common),
            (None, _) => Some(value.clone()),
        };
        match values.iter().map(convert).collect::<Option<Vec<_>>>() {
            Some(values) => Some((Value::List(values), PropertyType::List(common))),
            None => self.bad_literal(at, format!("not every number of the list is exact as {common}")),
        }
    }
}

/// Whether the operand is text: a String or a value of an enum.
fn is_text(operand: &Operand) -> bool {
    operand.ty().scalar() == Some(Scalar::String)
}
