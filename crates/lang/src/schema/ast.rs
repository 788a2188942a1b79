//! Declarations as written, before names are resolved.

use std::borrow::Cow;

use crate::findings::At;
use crate::schema::model::{Argument, Cardinality};
use crate::schema::types::{Nullability, PropertyType};

/// A name with its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: At,
}

/// A whole schema text.
#[derive(Debug, Default)]
pub(crate) struct Declarations<'a> {
    pub(crate) interfaces: Vec<InterfaceAst<'a>>,
    pub(crate) types: Vec<TypeAst<'a>>,
}

/// `interface I { … }`
#[derive(Debug)]
pub(crate) struct InterfaceAst<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) properties: Vec<PropertyAst<'a>>,
}

/// `node N … { … }` or `edge E: A -> B … { … }`
#[derive(Debug)]
pub(crate) struct TypeAst<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) kind: KindAst<'a>,
    pub(crate) annotations: Vec<AnnotationAst<'a>>,
    pub(crate) properties: Vec<PropertyAst<'a>>,
    pub(crate) constraints: Vec<ConstraintAst<'a>>,
}

#[derive(Debug)]
pub(crate) enum KindAst<'a> {
    Node { implements: Vec<Name<'a>> },
    Edge { from: Name<'a>, to: Name<'a>, card: Cardinality },
}

/// `name: Type? @annotation …`
#[derive(Debug)]
pub(crate) struct PropertyAst<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) ty: PropertyType,
    pub(crate) nullability: Nullability,
    pub(crate) annotations: Vec<AnnotationAst<'a>>,
}

/// `@name(positional, key=value)`
#[derive(Debug)]
pub(crate) struct AnnotationAst<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) at: At,
    pub(crate) positional: Option<Argument>,
    pub(crate) named: Vec<(Name<'a>, Argument)>,
}

/// A constraint in a body.
#[derive(Debug)]
pub(crate) struct ConstraintAst<'a> {
    pub(crate) at: At,
    pub(crate) kind: ConstraintKindAst<'a>,
}

#[derive(Debug)]
pub(crate) enum ConstraintKindAst<'a> {
    Members { rule: MembersRule, members: Vec<Name<'a>> },
    Range { property: Name<'a>, min: Option<NumberAst<'a>>, max: Option<NumberAst<'a>> },
    Check { property: Name<'a>, pattern: Cow<'a, str> },
}

/// A rule that lists members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MembersRule {
    Key,
    Unique,
    Index,
}

impl MembersRule {
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        match name {
            "key" => Some(Self::Key),
            "unique" => Some(Self::Unique),
            "index" => Some(Self::Index),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Unique => "unique",
            Self::Index => "index",
        }
    }
}

/// A number token with its place.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NumberAst<'a> {
    Int(&'a str, At),
    Float(&'a str, At),
}
