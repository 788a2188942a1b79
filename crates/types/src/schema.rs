//! Schemas as answers describe them.

use crate::{ColumnType, Commit, PropertyId, TableId, TypeKind};

/// The schema in force at a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaInfo {
    /// The source text, as it was accepted.
    pub source: String,
    /// The canonical contract: JSON with the stable ids of types and properties.
    pub contract_json: String,
    /// SHA-256 of the contract, in lower-case hexadecimal.
    pub hash: String,
    /// The types, nodes before edges, each sorted by name.
    pub types: Vec<TypeSummary>,
    /// The commit that it was read from.
    pub commit: Commit,
}

/// One node or edge type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeSummary {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: TableId,
    /// What its rows are.
    pub shape: TypeShape,
    /// The properties in the order of their columns.
    pub properties: Vec<PropertyInfo>,
    /// Members of the key, in its order; empty for a type without a key.
    pub key: Vec<String>,
    /// The other constraints, as the schema language writes them.
    pub constraints: Vec<String>,
    /// `@description`, if there is one.
    pub description: Option<String>,
    /// `@instruction`, if there is one.
    pub instruction: Option<String>,
}

/// What the rows of a type are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeShape {
    /// Nodes.
    Node,
    /// Edges.
    Edge {
        /// The node type that edges leave.
        from_type: String,
        /// The node type that edges reach.
        to_type: String,
        /// The bounds on edges that leave one node, where the schema sets them.
        cardinality: Option<Cardinality>,
    },
}

impl TypeShape {
    /// Whether the rows are nodes or edges.
    pub fn kind(&self) -> TypeKind {
        match self {
            Self::Node => TypeKind::Node,
            Self::Edge { .. } => TypeKind::Edge,
        }
    }
}

/// How many edges of one type may leave one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cardinality {
    /// At least so many.
    pub min: u32,
    /// At most so many; none if there is no bound.
    pub max: Option<u32>,
}

/// One property of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertyInfo {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: PropertyId,
    /// The type of its values.
    pub ty: ColumnType,
    /// Whether values may be null.
    pub nullable: bool,
    /// `@description`, if there is one.
    pub description: Option<String>,
}
