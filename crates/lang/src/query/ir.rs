//! A checked read query: every name resolved against the schema, every type known. What runs it only translates.
//!
//! # Meaning
//! A read yields a bag of rows, each assigning every variable of `variables`; then filters, then grouping, then order, skip, limit.
//!
//! - Each node variable ranges over all nodes of its type. Variables without a traversal between them form a cross product.
//! - A traversal without an edge variable is a **set**: per pair of assigned nodes at most one row, however many parallel edges join
//!   them. It is a join with the *distinct* pairs `(src, dst)` of the edge table. With an edge variable it yields one row per edge.
//! - `Predicate`s follow SQL's three-valued logic: a comparison with null is unknown, `And` / `Or` / `Not` propagate it, and a row stays only
//!   where the conjunction of all filters is true.
//! - Comparison is by exact value: integers of any width against each other and against floats, strings by bytes.
//! - Aggregates skip nulls. `sum` over integers fails on overflow. Without keys there is one row even over no input, with keys
//!   none; null is a group of its own.
//! - Null sorts first ascending and last descending. Ties are broken by `tie_break` ascending, so an ordered result is total.
//!   Without `order` the order of rows is unspecified.
//! - `skip` and `limit` count result rows.

use omnigraph_types::{PropertyId, TableId};

use crate::schema::{Nullability, PropertyType, Scalar};
use crate::value::Value;

/// A declared parameter. Its type is never an enum.
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    /// Name, without `$`.
    pub name: String,
    /// Declared type.
    pub ty: PropertyType,
    /// Whether it may be null or left out.
    pub nullability: Nullability,
}

/// One query that passed every check.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedQuery {
    /// Declared name.
    pub name: String,
    /// `@description`.
    pub description: Option<String>,
    /// `@instruction`.
    pub instruction: Option<String>,
    /// Declared parameters, in order.
    pub params: Vec<Param>,
    /// What it reads.
    pub read: ReadQuery,
}

/// The body of a read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadQuery {
    /// Node and edge variables, anonymous ones included; a `VarId` is an index here.
    pub variables: Vec<Variable>,
    /// How node variables are joined by edges, in the order of the text.
    pub traversals: Vec<Traversal>,
    /// All of them must be true. Inline matches of bindings are among them.
    pub filters: Vec<Predicate>,
    /// Output columns, in order, with distinct names; at least one.
    pub projections: Vec<Projection>,
    /// Whether rows are grouped, and by which columns.
    pub grouping: Grouping,
    /// Order keys; empty if the order is unspecified.
    pub order: Vec<OrderKey>,
    /// What makes an order total; see [`TieBreak`].
    pub tie_break: TieBreak,
    /// Result rows to leave out at the start.
    pub skip: Option<RowCount>,
    /// Result rows to return at most.
    pub limit: Option<RowCount>,
}

impl ReadQuery {
    /// The variable of this id.
    pub fn variable(&self, id: VarId) -> &Variable {
        // A VarId is only made together with its entry in `variables`.
        &self.variables[id.0]
    }
}

/// A node or edge variable: an index into `ReadQuery::variables`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VarId(pub usize);

/// What a pattern assigns.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Name without `$`; `None` for an anonymous end of a traversal.
    pub name: Option<String>,
    /// Node or edge.
    pub kind: VariableKind,
    /// The node or edge type.
    pub type_id: TableId,
    /// Its declared name.
    pub type_name: String,
}

/// Whether a variable is a node or an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableKind {
    /// A node.
    Node,
    /// An edge.
    Edge,
}

/// One hop: rows of the edge table with `edge.src = src.id` and `edge.dst = dst.id`. The direction is already resolved. `src` and `dst` may be
/// the same variable: then only self-loops match.
#[derive(Debug, Clone, PartialEq)]
pub struct Traversal {
    /// Edge type.
    pub edge: TableId,
    /// Its declared name.
    pub edge_name: String,
    /// `Some`: one row per edge. `None`: distinct pairs.
    pub edge_var: Option<VarId>,
    /// The node at the source end.
    pub src: VarId,
    /// The node at the target end.
    pub dst: VarId,
}

/// A column of a variable's table.
#[derive(Debug, Clone, PartialEq)]
pub struct Access {
    /// Whose.
    pub var: VarId,
    /// Which.
    pub column: Column,
}

/// A column by meaning.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// `id` of a node or edge.
    Id,
    /// `src` of an edge.
    Src,
    /// `dst` of an edge.
    Dst,
    /// A property.
    Property(PropertyColumn),
}

/// A property as a query uses it.
#[derive(Debug, Clone, PartialEq)]
pub struct PropertyColumn {
    /// Stable id.
    pub id: PropertyId,
    /// Name of the column.
    pub name: String,
    /// Type of the values.
    pub ty: PropertyType,
    /// Whether they may be null.
    pub nullability: Nullability,
}

impl Column {
    /// The column's name in the table.
    pub fn name(&self) -> &str {
        match self {
            Self::Id => "id",
            Self::Src => "src",
            Self::Dst => "dst",
            Self::Property(property) => &property.name,
        }
    }

    /// The type of its values.
    pub fn ty(&self) -> PropertyType {
        match self {
            Self::Id | Self::Src | Self::Dst => PropertyType::Scalar(Scalar::String),
            Self::Property(property) => property.ty.clone(),
        }
    }

    /// Whether its values may be null.
    pub fn nullability(&self) -> Nullability {
        match self {
            Self::Id | Self::Src | Self::Dst => Nullability::Required,
            Self::Property(property) => property.nullability,
        }
    }
}

/// A value in a predicate or projection.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// A constant and its type. An empty list literal has the item type of what it is compared with, or `String`.
    Literal(Value, PropertyType),
    /// A parameter. [`ReadQuery::with_values`] replaces it by a literal.
    Param(Param),
    /// The request's instant, a `DateTime`. [`ReadQuery::with_values`] replaces it by a literal.
    Now,
    /// A column of a variable.
    Access(Access),
}

impl Operand {
    /// The type of its value.
    pub fn ty(&self) -> PropertyType {
        match self {
            Self::Literal(_, ty) => ty.clone(),
            Self::Param(param) => param.ty.clone(),
            Self::Now => PropertyType::Scalar(Scalar::DateTime),
            Self::Access(access) => access.column.ty(),
        }
    }

    /// Whether its value may be null.
    pub fn nullability(&self) -> Nullability {
        match self {
            Self::Literal(Value::Null, _) => Nullability::Nullable,
            Self::Literal(..) | Self::Now => Nullability::Required,
            Self::Param(param) => param.nullability,
            Self::Access(access) => access.column.nullability(),
        }
    }
}

/// A condition of three values: true, false, unknown.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// All of them.
    And(Vec<Predicate>),
    /// Any of them.
    Or(Vec<Predicate>),
    /// The opposite; unknown stays unknown.
    Not(Box<Predicate>),
    /// A comparison of two scalars; unknown if either is null.
    Compare {
        /// Left side.
        left: Operand,
        /// Operator.
        op: CompareOp,
        /// Right side.
        right: Operand,
        /// How values are compared.
        domain: Domain,
    },
    /// The list holds the item; unknown if either is null. Covers `contains` on lists, `in`, and inline matches of list properties.
    ListContains {
        /// A list.
        list: Operand,
        /// A scalar.
        item: Operand,
        /// How items are compared.
        domain: Domain,
    },
    /// Case-sensitive substring, no wildcards; unknown if either is null.
    TextContains {
        /// Where to look.
        text: Operand,
        /// What to find.
        part: Operand,
    },
    /// Case-sensitive prefix, no wildcards; unknown if either is null.
    StartsWith {
        /// Where to look.
        text: Operand,
        /// What it begins with.
        prefix: Operand,
    },
    /// True or false, never unknown.
    IsNull(Operand),
    /// The same answer for every value: `holds` if the operand is not null, unknown if it is. Made by [`ReadQuery::with_values`] from
    /// comparisons that no value of the operand's type can decide otherwise, such as an integer with 2.7.
    Decided {
        /// Whose null makes it unknown.
        operand: Operand,
        /// The answer otherwise.
        holds: bool,
    },
}

/// Comparison operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl CompareOp {
    /// The operator with its sides exchanged.
    pub fn flipped(self) -> Self {
        match self {
            Self::Equal | Self::NotEqual => self,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Both of one type, which is not a float: bytes for text, else by value.
    Same(Scalar),
    /// Integers of different types, by exact value: the whole range is -2^63 to 2^64-1.
    Integers,
    /// Floats of either width, by exact value: F32 widens to F64. Zeros are equal.
    Floats,
    /// An integer and a float, by exact value: neither may be rounded.
    IntegerAndFloat,
}

impl Domain {
    /// The domain of two scalars; `None` if they cannot be compared.
    pub fn of(left: Scalar, right: Scalar) -> Option<Self> {
        match (left, right) {
            (left, right) if left.is_float() && right.is_float() => Some(Self::Floats),
            (left, right) if left == right => Some(Self::Same(left)),
            (left, right) if left.is_integer() && right.is_integer() => Some(Self::Integers),
            (left, right) if left.is_numeric() && right.is_numeric() => Some(Self::IntegerAndFloat),
            _ => None,
        }
    }
}

/// One output column.
#[derive(Debug, Clone, PartialEq)]
pub struct Projection {
    /// Name of the column.
    pub name: String,
    /// What it holds.
    pub expr: ProjectionExpr,
    /// Type of its values.
    pub ty: OutputType,
    /// Whether they may be null, by the schema.
    pub nullability: Nullability,
}

/// What an output column holds.
#[derive(Debug, Clone, PartialEq)]
pub enum ProjectionExpr {
    /// A value per row; a group key if the query aggregates.
    Value(Operand),
    /// A node: `id` and every property that is not a Blob, in schema order. As a group key it groups by id.
    Entity(VarId),
    /// An aggregate over the rows of a group.
    Aggregate(Aggregate),
}

/// Type of an output column.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputType {
    /// A value.
    Value(PropertyType),
    /// A struct of a node type's `id` and non-Blob properties.
    Entity(TableId),
}

/// An aggregate function with its argument.
#[derive(Debug, Clone, PartialEq)]
pub enum Aggregate {
    /// `count($v)`: rows. I64.
    CountRows,
    /// `count($v.p)`: values that are not null. I64.
    Count(Access),
    /// `sum`: I64 for signed, U64 for unsigned, F64 for floats; integer overflow is an error; null over no values.
    Sum(Access),
    /// `avg`: F64; null over no values.
    Avg(Access),
    /// `min`: the argument's type; null over no values.
    Min(Access),
    /// `max`: the argument's type; null over no values.
    Max(Access),
}

/// Whether rows are grouped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grouping {
    /// No aggregate: one result row per matched row.
    None,
    /// One result row per distinct tuple of these projections (indexes); without any, one row in all.
    By(Vec<usize>),
}

/// One order key.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderKey {
    /// What to sort by.
    pub target: OrderTarget,
    /// Which way.
    pub direction: Direction,
}

/// What an order key sorts by.
#[derive(Debug, Clone, PartialEq)]
pub enum OrderTarget {
    /// A column of a variable; only without grouping.
    Access(Access),
    /// An output column, by index; one that holds a node sorts by its id.
    Projection(usize),
}

/// Direction of an order key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Smallest first, null before all.
    Ascending,
    /// Largest first, null after all.
    Descending,
}

/// What is compared, ascending with null first, where all order keys are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TieBreak {
    /// The ids of these variables: every named one, by name.
    Variables(Vec<VarId>),
    /// The group keys: these projections.
    Projections(Vec<usize>),
}

/// A number of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowCount {
    /// As written.
    Literal(u64),
    /// The value of a required integer parameter. [`ReadQuery::with_values`] replaces it by a literal.
    Param(String),
}
