//! Parameter values and the request's instant put into a checked query, and comparisons brought to one type.
//!
//! Afterwards a comparison of a column with a constant has the constant in the column's own type, so the code that runs it needs no conversion;
//! only comparisons of two columns can still be of different numeric types. No step rounds a number: a constant that the column's
//! type cannot hold moves to its neighbour with another operator, or decides the comparison.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::number::{compare_integer_float, float_as_integer, integer_as_float};
use crate::params::ParamError;
use crate::query::ir::{CompareOp, Domain, Operand, Predicate, ProjectionExpr, ReadQuery, RowCount};
use crate::schema::{PropertyType, Scalar};
use crate::value::Value;

impl ReadQuery {
    /// The query with every parameter and `now()` replaced by literals. `values` is what [`crate::params::bind`] returned for the query's
    /// parameters, `now_ms` the instant of the request in milliseconds since 1970-01-01T00:00:00Z.
    pub fn with_values(&self, values: &BTreeMap<String, Value>, now_ms: i64) -> Result<Self, ParamError> {
        let binder = Binder { values, now_ms };
        let mut bound = self.clone();
        for filter in &mut bound.filters {
            *filter = binder.predicate(filter)?;
        }
        for projection in &mut bound.projections {
            if let ProjectionExpr::Value(operand) = &mut projection.expr {
                *operand = binder.operand(operand)?;
            }
        }
        for count in [&mut bound.skip, &mut bound.limit].into_iter().flatten() {
            *count = binder.count(count)?;
        }
        Ok(bound)
    }
}

struct Binder<'a> {
    values: &'a BTreeMap<String, Value>,
    now_ms: i64,
}

impl Binder<'_> {
    fn operand(&self, operand: &Operand) -> Result<Operand, ParamError> {
        Ok(match operand {
            Operand::Param(param) => {
                let Some(value) = self.values.get(&param.name) else {
                    return Err(ParamError::Missing { name: param.name.clone(), ty: param.ty.to_string() });
                };
                Operand::Literal(value.clone(), param.ty.clone())
            }
            Operand::Now => Operand::Literal(Value::DateTime(self.now_ms), PropertyType::Scalar(Scalar::DateTime)),
            Operand::Literal(..) | Operand::Access(_) => operand.clone(),
        })
    }

    fn count(&self, count: &RowCount) -> Result<RowCount, ParamError> {
        let RowCount::Param(name) = count else { return Ok(count.clone()) };
        let Some(actual) = self.values.get(name).and_then(Value::as_integer) else {
            return Err(ParamError::Missing { name: name.clone(), ty: "an integer".to_owned() });
        };
        match u64::try_from(actual) {
            Ok(rows) => Ok(RowCount::Literal(rows)),
            Err(_) => Err(ParamError::NegativeCount { name: name.clone(), actual }),
        }
    }

    fn predicate(&self, predicate: &Predicate) -> Result<Predicate, ParamError> {
        let all = |parts: &[Predicate]| parts.iter().map(|part| self.predicate(part)).collect::<Result<Vec<_>, _>>();
        Ok(match predicate {
            Predicate::And(parts) => Predicate::And(all(parts)?),
            Predicate::Or(parts) => Predicate::Or(all(parts)?),
            Predicate::Not(part) => Predicate::Not(Box::new(self.predicate(part)?)),
            Predicate::Compare { left, op, right, domain } => {
                compare(self.operand(left)?, *op, self.operand(right)?, *domain)
            }
            Predicate::ListContains { list, item, domain } => {
                list_contains(self.operand(list)?, self.operand(item)?, *domain)
            }
            Predicate::TextContains { text, part } => {
                Predicate::TextContains { text: self.operand(text)?, part: self.operand(part)? }
            }
            Predicate::StartsWith { text, prefix } => {
                Predicate::StartsWith { text: self.operand(text)?, prefix: self.operand(prefix)? }
            }
            Predicate::IsNull(operand) => Predicate::IsNull(self.operand(operand)?),
            Predicate::Decided { operand, holds } => {
                Predicate::Decided { operand: self.operand(operand)?, holds: *holds }
            }
        })
    }
}

/// The comparison with its constant, if it has one, on the right and in the type of the left side.
fn compare(left: Operand, op: CompareOp, right: Operand, domain: Domain) -> Predicate {
    let (left, op, right) = match (&left, &right) {
        (Operand::Literal(..), Operand::Access(_)) => (right, op.flipped(), left),
        _ => (left, op, right),
    };
    let (Some(ty), Operand::Literal(value, _)) = (left.ty().scalar(), &right) else {
        return Predicate::Compare { left, op, right, domain };
    };
    if matches!(value, Value::Null) {
        let right = Operand::Literal(Value::Null, PropertyType::Scalar(ty));
        return Predicate::Compare { left, op, right, domain: same(ty) };
    }
    match fit(value, ty) {
        Fit::Exact(value) => {
            let right = Operand::Literal(value, PropertyType::Scalar(ty));
            Predicate::Compare { left, op, right, domain: same(ty) }
        }
        Fit::Between(below) => between(left, op, below, ty),
        Fit::Beyond(order) => Predicate::Decided { operand: left, holds: holds(op, order) },
    }
}

fn same(ty: Scalar) -> Domain {
    if ty.is_float() { Domain::Floats } else { Domain::Same(ty) }
}

/// The comparison with a constant that lies strictly between `below` and the next value of the type.
fn between(left: Operand, op: CompareOp, below: Value, ty: Scalar) -> Predicate {
    let op = match op {
        CompareOp::Equal => return Predicate::Decided { operand: left, holds: false },
        CompareOp::NotEqual => return Predicate::Decided { operand: left, holds: true },
        CompareOp::Less | CompareOp::LessOrEqual => CompareOp::LessOrEqual,
        CompareOp::Greater | CompareOp::GreaterOrEqual => CompareOp::Greater,
    };
    Predicate::Compare { left, op, right: Operand::Literal(below, PropertyType::Scalar(ty)), domain: same(ty) }
}

/// The result of the operator for sides in this order.
fn holds(op: CompareOp, order: Ordering) -> bool {
    match op {
        CompareOp::Equal => order.is_eq(),
        CompareOp::NotEqual => order.is_ne(),
        CompareOp::Less => order.is_lt(),
        CompareOp::LessOrEqual => order.is_le(),
        CompareOp::Greater => order.is_gt(),
        CompareOp::GreaterOrEqual => order.is_ge(),
    }
}

/// The position of a constant among the values of a type.
enum Fit {
    /// It is this value.
    Exact(Value),
    /// It lies between this value and the next.
    Between(Value),
    /// Every value of the type compares to it in this order.
    Beyond(Ordering),
}

fn fit(value: &Value, ty: Scalar) -> Fit {
    if let Some(integer) = value.as_integer() {
        return if ty.is_integer() { integer_in_integer(integer, ty) } else { integer_in_float(integer, ty) };
    }
    match value.as_float() {
        Some(float) if ty.is_integer() => float_in_integer(float, ty),
        Some(float) if ty == Scalar::F32 => float_in_f32(float),
        Some(float) if ty == Scalar::F64 => Fit::Exact(Value::F64(float)),
        _ => Fit::Exact(value.clone()),
    }
}

fn integer_in_integer(integer: i128, ty: Scalar) -> Fit {
    match Value::integer_of(integer, ty) {
        Some(value) => Fit::Exact(value),
        None => Fit::Beyond(if integer > 0 { Ordering::Less } else { Ordering::Greater }),
    }
}

fn float_in_integer(float: f64, ty: Scalar) -> Fit {
    if let Some(integer) = float_as_integer(float) {
        return integer_in_integer(integer, ty);
    }
    match float_as_integer(float.floor()).and_then(|below| Value::integer_of(below, ty)) {
        Some(below) => Fit::Between(below),
        // Just below the smallest value, or far out on either side.
        None => Fit::Beyond(if float > 0.0 { Ordering::Less } else { Ordering::Greater }),
    }
}

fn integer_in_float(integer: i128, ty: Scalar) -> Fit {
    let float = match integer_as_float(integer) {
        Some(float) => float,
        None => {
            let near = integer as f64;
            let above = compare_integer_float(integer, near) == Some(Ordering::Less);
            let below = if above { near.next_down() } else { near };
            return match ty {
                Scalar::F32 => float_in_f32_between(below),
                _ => Fit::Between(Value::F64(below)),
            };
        }
    };
    if ty == Scalar::F32 { float_in_f32(float) } else { Fit::Exact(Value::F64(float)) }
}

fn float_in_f32(float: f64) -> Fit {
    let near = float as f32;
    if f64::from(near) == float {
        return Fit::Exact(Value::F32(near));
    }
    float_in_f32_between(float)
}

/// `float` is no F32, or lies below the constant without an F32 between them.
fn float_in_f32_between(float: f64) -> Fit {
    let near = float as f32;
    let below = if f64::from(near) > float { near.next_down() } else { near };
    if below == f32::NEG_INFINITY {
        Fit::Beyond(Ordering::Greater)
    } else if below.is_infinite() || below == f32::MAX {
        Fit::Beyond(Ordering::Less)
    } else {
        Fit::Between(Value::F32(below))
    }
}

/// The membership test with a constant list in the type of the item; members that no item can equal are left out.
fn list_contains(list: Operand, item: Operand, domain: Domain) -> Predicate {
    match (&list, &item) {
        (Operand::Literal(Value::List(values), _), Operand::Access(access)) => {
            let Some(ty) = access.column.ty().scalar() else {
                return Predicate::ListContains { list, item, domain };
            };
            let values: Vec<Value> = values.iter().filter_map(|value| exact(value, ty)).collect();
            if values.is_empty() {
                return Predicate::Decided { operand: item, holds: false };
            }
            let list = Operand::Literal(Value::List(values), PropertyType::List(ty));
            Predicate::ListContains { list, item, domain: same(ty) }
        }
        (Operand::Access(access), Operand::Literal(value, _)) if !matches!(value, Value::Null) => {
            let PropertyType::List(ty) = access.column.ty() else {
                return Predicate::ListContains { list, item, domain };
            };
            match exact(value, ty) {
                Some(value) => {
                    let item = Operand::Literal(value, PropertyType::Scalar(ty));
                    Predicate::ListContains { list, item, domain: same(ty) }
                }
                None => Predicate::Decided { operand: list, holds: false },
            }
        }
        _ => Predicate::ListContains { list, item, domain },
    }
}

fn exact(value: &Value, ty: Scalar) -> Option<Value> {
    match fit(value, ty) {
        Fit::Exact(value) => Some(value),
        Fit::Between(_) | Fit::Beyond(_) => None,
    }
}

#[cfg(test)]
mod tests;
