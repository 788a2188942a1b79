//! Queries as written, before names are resolved.

use omnigraph_types::FeatureName;

use crate::findings::At;
use crate::query::ir::{CompareOp, Direction};
use crate::schema::{Nullability, PropertyType};

/// A name with its place; `$` is not part of it, but of the place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: At,
}

impl Name<'_> {
    /// Whether it is `$_`, which is another variable at every use.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.text == "_"
    }
}

#[derive(Debug)]
pub(crate) struct QueryAst<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) description: Option<String>,
    pub(crate) instruction: Option<String>,
    pub(crate) params: Vec<ParamAst<'a>>,
    pub(crate) body: BodyAst<'a>,
    /// Parts of the language that are recognized and not run.
    pub(crate) unsupported: Vec<Unsupported>,
}

/// A use of something that is recognized and not run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unsupported {
    pub(crate) feature: FeatureName,
    pub(crate) at: At,
}

#[derive(Debug)]
pub(crate) struct ParamAst<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) ty: PropertyType,
    pub(crate) nullability: Nullability,
}

#[derive(Debug)]
pub(crate) enum BodyAst<'a> {
    Read(ReadAst<'a>),
    /// The place where inserts or updates and deletes are mixed, if they are.
    Mutation {
        mixed: Option<At>,
    },
}

#[derive(Debug)]
pub(crate) struct ReadAst<'a> {
    pub(crate) clauses: Vec<ClauseAst<'a>>,
    pub(crate) projections: Vec<ProjectionAst<'a>>,
    pub(crate) order: Vec<OrderAst<'a>>,
    pub(crate) skip: Option<CountAst<'a>>,
    pub(crate) limit: Option<CountAst<'a>>,
}

#[derive(Debug)]
pub(crate) enum ClauseAst<'a> {
    Binding {
        var: Name<'a>,
        type_name: Name<'a>,
        matches: Vec<(Name<'a>, ExprAst<'a>)>,
    },
    Traversal(TraversalAst<'a>),
    Filter(ConditionAst<'a>),
    /// Recognized, not run, and listed in `QueryAst::unsupported`.
    Unsupported,
}

#[derive(Debug)]
pub(crate) struct TraversalAst<'a> {
    pub(crate) left: Name<'a>,
    pub(crate) edge_var: Option<Name<'a>>,
    pub(crate) edge: Name<'a>,
    pub(crate) shape: ShapeAst,
    pub(crate) hops: Option<HopsAst>,
    pub(crate) right: Name<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShapeAst {
    Directed,
    Undirected,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct HopsAst {
    pub(crate) min: u64,
    pub(crate) max: u64,
    pub(crate) at: At,
}

#[derive(Debug)]
pub(crate) enum ConditionAst<'a> {
    And(Vec<ConditionAst<'a>>),
    Or(Vec<ConditionAst<'a>>),
    Not(Box<ConditionAst<'a>>),
    Compare {
        left: ExprAst<'a>,
        op: CompareOp,
        right: ExprAst<'a>,
    },
    Contains {
        left: ExprAst<'a>,
        right: ExprAst<'a>,
    },
    StartsWith {
        left: ExprAst<'a>,
        right: ExprAst<'a>,
    },
    In {
        left: ExprAst<'a>,
        right: ExprAst<'a>,
    },
    IsNull {
        operand: ExprAst<'a>,
    },
    IsNotNull {
        operand: ExprAst<'a>,
    },
    /// A search call; listed in `QueryAst::unsupported`.
    Unsupported,
}

#[derive(Debug)]
pub(crate) struct ExprAst<'a> {
    pub(crate) kind: ExprKindAst<'a>,
    pub(crate) at: At,
}

#[derive(Debug)]
pub(crate) enum ExprKindAst<'a> {
    Literal(LiteralAst),
    Now,
    Var(Name<'a>),
    Access {
        var: Name<'a>,
        property: Name<'a>,
    },
    Alias(Name<'a>),
    Aggregate {
        function: FunctionAst,
        argument: Box<ExprAst<'a>>,
    },
    /// A search or rank call; listed in `QueryAst::unsupported`.
    Unsupported,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FunctionAst {
    Count,
    Sum,
    Avg,
    Min,
    Max,
}

impl FunctionAst {
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        match name {
            "count" => Some(Self::Count),
            "sum" => Some(Self::Sum),
            "avg" => Some(Self::Avg),
            "min" => Some(Self::Min),
            "max" => Some(Self::Max),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum => "sum",
            Self::Avg => "avg",
            Self::Min => "min",
            Self::Max => "max",
        }
    }
}

#[derive(Debug)]
pub(crate) enum LiteralAst {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    Date(String),
    DateTime(String),
    List(Vec<LiteralAst>),
}

#[derive(Debug)]
pub(crate) struct ProjectionAst<'a> {
    pub(crate) expr: ExprAst<'a>,
    pub(crate) alias: Option<Name<'a>>,
}

#[derive(Debug)]
pub(crate) struct OrderAst<'a> {
    pub(crate) expr: ExprAst<'a>,
    pub(crate) direction: Direction,
}

#[derive(Debug)]
pub(crate) enum CountAst<'a> {
    Literal(u64),
    Param(Name<'a>),
}
