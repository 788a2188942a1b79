//! Codes of findings: the stable part of a diagnostic, which clients compare. Messages may change, codes do not.

use std::fmt;

/// Which rule a text breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// The grammar.
    Parse,
    /// A rule of the schema language.
    Schema,
    /// A binding names no node type.
    UnknownNodeType,
    /// An inline match names no property of its type.
    UnknownInlineProperty,
    /// A literal is no value of the type that it is used as.
    LiteralType,
    /// A traversal names no edge type.
    UnknownEdge,
    /// A variable is not of the type that the end of an edge needs.
    EndpointType,
    /// A variable is not bound, or its type has no such property.
    Unbound,
    /// Two types cannot be compared, or a type does not fit its place.
    IncompatibleTypes,
    /// An aggregate has another argument than it takes, or another place.
    Aggregate,
    /// A value beside an aggregate is no group key.
    NotGrouped,
    /// The bounds of a traversal.
    HopBounds,
    /// An undirected traversal of an edge between different types.
    UndirectedBetweenTypes,
    /// An edge variable is used as something else.
    EdgeVariable,
    /// A read uses a Blob.
    BlobInRead,
    /// Two columns of a result have one name.
    DuplicateColumn,
    /// A name is no alias of the result.
    UnknownAlias,
    /// A mutation deletes, and inserts or updates as well.
    MixedMutation,
    /// A query, parameter or variable has a name that is used already.
    DuplicateName,
}

impl Code {
    /// The code as clients receive it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Parse => "ParseError",
            Self::Schema => "SchemaError",
            Self::UnknownNodeType => "T1",
            Self::UnknownInlineProperty => "T2",
            Self::LiteralType => "T3",
            Self::UnknownEdge => "T4",
            Self::EndpointType => "T5",
            Self::Unbound => "T6",
            Self::IncompatibleTypes => "T7",
            Self::Aggregate => "T8",
            Self::NotGrouped => "T9",
            Self::HopBounds => "T15",
            Self::UndirectedBetweenTypes => "T22",
            Self::EdgeVariable => "T23",
            Self::BlobInRead => "T24",
            Self::DuplicateColumn => "T25",
            Self::UnknownAlias => "T26",
            Self::MixedMutation => "T27",
            Self::DuplicateName => "T28",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
