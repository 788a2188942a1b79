//! Conditions of the checked query as DataFusion expressions.
//!
//! Invariant: every expression follows three-valued logic, and no comparison rounds a value.

use datafusion::common::ScalarValue;
use datafusion::functions_nested::expr_fn::array_has;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, cast, lit};
use omnigraph_columns::mapping::arrow_type;
use omnigraph_columns::values::column_of;
use omnigraph_lang::query::ir::{Access, CompareOp, Domain, Operand, Predicate};
use omnigraph_lang::schema::PropertyType;
use omnigraph_lang::value::Value;

use crate::QueryError;
use crate::number::{INTEGER_TYPE, list_holds_number, number_order};
use crate::text::{text_contains, text_starts_with};

/// Where the columns of variables are found.
pub(crate) trait Columns {
    /// The column that an access reads.
    fn column(&self, access: &Access) -> Result<Expr, QueryError>;
}

/// An operand as an expression.
pub(crate) fn operand(operand: &Operand, columns: &dyn Columns) -> Result<Expr, QueryError> {
    match operand {
        Operand::Literal(value, ty) => Ok(literal(constant(value, ty)?)),
        Operand::Access(access) => columns.column(access),
        Operand::Param(param) => Err(QueryError::Unbound { what: format!("${}", param.name) }),
        Operand::Now => Err(QueryError::Unbound { what: "now()".to_owned() }),
    }
}

/// A condition as an expression of type Boolean.
pub(crate) fn predicate(condition: &Predicate, columns: &dyn Columns) -> Result<Expr, QueryError> {
    Ok(match condition {
        Predicate::And(parts) => joined(parts, columns, Expr::and)?.unwrap_or_else(|| lit(true)),
        Predicate::Or(parts) => joined(parts, columns, Expr::or)?.unwrap_or_else(|| lit(false)),
        Predicate::Not(inner) => Expr::Not(Box::new(predicate(inner, columns)?)),
        Predicate::Compare { left, op, right, domain } => compare(left, *op, right, *domain, columns)?,
        Predicate::ListContains { list, item, domain } => list_contains(list, item, *domain, columns)?,
        Predicate::TextContains { text, part } => text_contains(operand(text, columns)?, operand(part, columns)?),
        Predicate::StartsWith { text, prefix } => text_starts_with(operand(text, columns)?, operand(prefix, columns)?),
        Predicate::IsNull(inner) => operand(inner, columns)?.is_null(),
        Predicate::Decided { operand: inner, holds } => decided(operand(inner, columns)?, Answer::of(*holds)),
    })
}

fn joined(
    parts: &[Predicate],
    columns: &dyn Columns,
    join: fn(Expr, Expr) -> Expr,
) -> Result<Option<Expr>, QueryError> {
    let parts = parts.iter().map(|part| predicate(part, columns)).collect::<Result<Vec<_>, _>>()?;
    Ok(parts.into_iter().reduce(join))
}

/// What a decided condition says of every value that is not null.
#[derive(Clone, Copy)]
enum Answer {
    True,
    False,
}

impl Answer {
    fn of(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

fn decided(value: Expr, answer: Answer) -> Expr {
    let unknown = literal(ScalarValue::Boolean(None));
    match answer {
        Answer::True => value.is_not_null().or(unknown),
        Answer::False => value.is_null().and(unknown),
    }
}

fn compare(
    left: &Operand,
    op: CompareOp,
    right: &Operand,
    domain: Domain,
    columns: &dyn Columns,
) -> Result<Expr, QueryError> {
    let same_type = arrow_type(&left.ty()) == arrow_type(&right.ty());
    let (l, r) = (operand(left, columns)?, operand(right, columns)?);
    let operator = operator(op);
    Ok(match domain {
        Domain::Same(_) => binary(l, operator, r),
        Domain::Integers if same_type => binary(l, operator, r),
        Domain::Integers => binary(cast(l, INTEGER_TYPE), operator, cast(r, INTEGER_TYPE)),
        // Arrow orders negative zero before zero, so only a constant other than zero may be compared by Arrow.
        Domain::Floats if same_type && (is_nonzero(left) || is_nonzero(right)) => binary(l, operator, r),
        Domain::Floats | Domain::IntegerAndFloat => {
            binary(number_order(l, r), operator, literal(ScalarValue::Int8(Some(0))))
        }
    })
}

fn is_nonzero(operand: &Operand) -> bool {
    match operand {
        Operand::Literal(Value::F32(number), _) => *number != 0.0,
        Operand::Literal(Value::F64(number), _) => *number != 0.0,
        _ => false,
    }
}

fn list_contains(list: &Operand, item: &Operand, domain: Domain, columns: &dyn Columns) -> Result<Expr, QueryError> {
    let exact = match (domain, list.ty()) {
        (Domain::Same(_), _) => true,
        (Domain::Integers, PropertyType::List(scalar)) => item.ty().scalar() == Some(scalar),
        _ => false,
    };
    let needle = operand(item, columns)?;
    if matches!(list, Operand::Literal(Value::List(values), _) if values.is_empty()) {
        return Ok(decided(needle, Answer::False));
    }
    let haystack = operand(list, columns)?;
    Ok(if exact { array_has(haystack, needle) } else { list_holds_number(haystack, needle) })
}

fn binary(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

fn operator(op: CompareOp) -> Operator {
    match op {
        CompareOp::Equal => Operator::Eq,
        CompareOp::NotEqual => Operator::NotEq,
        CompareOp::Less => Operator::Lt,
        CompareOp::LessOrEqual => Operator::LtEq,
        CompareOp::Greater => Operator::Gt,
        CompareOp::GreaterOrEqual => Operator::GtEq,
    }
}

/// A constant as DataFusion holds it: the only cell of a column of its type.
fn constant(value: &Value, ty: &PropertyType) -> Result<ScalarValue, QueryError> {
    let column = column_of(value.clone(), ty)?;
    ScalarValue::try_from_array(&column, 0).map_err(|source| QueryError::Engine { action: "build a constant", source })
}

/// A constant as an expression.
pub(crate) fn literal(value: ScalarValue) -> Expr {
    Expr::Literal(value, None)
}
