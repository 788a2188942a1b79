//! The accepted schema: node and edge types under stable ids, as every other crate reads it.
//!
//! A `Schema` is made by parsing a text for a new graph or by reading a stored contract, so its references always resolve:
//! S-1 every `TableId` and `PropertyId` in it names a type of it, or a property of the same type;
//! S-2 ids are unique and below the next id, which only grows;
//! S-3 enum values, constraint lists, annotations and unique members are in canonical order; key members and properties keep theirs.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use omnigraph_types::{PropertyId, TableId};
use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::schema::types::{Bound, Nullability, PropertyType};

/// The types of one graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    pub(crate) types: Vec<TypeDef>,
    pub(crate) interfaces: Vec<InterfaceDef>,
    pub(crate) next_table_id: u32,
    by_name: BTreeMap<String, usize>,
    edge_by_lower_name: BTreeMap<String, usize>,
}

impl Schema {
    /// Builds the look-up tables. The caller has checked S-1 to S-3.
    pub(crate) fn new(mut types: Vec<TypeDef>, interfaces: Vec<InterfaceDef>, next_table_id: u32) -> Self {
        types.sort_by_key(|def| def.id);
        let by_name = types.iter().enumerate().map(|(at, def)| (def.name.clone(), at)).collect();
        let edges = types.iter().enumerate().filter(|(_, def)| def.is_edge());
        let edge_by_lower_name = edges.map(|(at, def)| (def.name.to_ascii_lowercase(), at)).collect();
        Self { types, interfaces, next_table_id, by_name, edge_by_lower_name }
    }

    /// Every node and edge type, by id.
    pub fn types(&self) -> &[TypeDef] {
        &self.types
    }

    /// Every node type, by id.
    pub fn node_types(&self) -> impl Iterator<Item = &TypeDef> {
        self.types.iter().filter(|def| !def.is_edge())
    }

    /// Every edge type, by id.
    pub fn edge_types(&self) -> impl Iterator<Item = &TypeDef> {
        self.types.iter().filter(|def| def.is_edge())
    }

    /// Every interface, by name.
    pub fn interfaces(&self) -> &[InterfaceDef] {
        &self.interfaces
    }

    /// The node or edge type of exactly this name.
    pub fn type_by_name(&self, name: &str) -> Option<&TypeDef> {
        self.by_name.get(name).map(|&at| &self.types[at])
    }

    /// The node or edge type of this id.
    pub fn type_by_id(&self, id: TableId) -> Option<&TypeDef> {
        self.types.binary_search_by_key(&id, |def| def.id).ok().map(|at| &self.types[at])
    }

    /// The edge type of this name, ignoring ASCII case.
    pub fn edge_by_lower_name(&self, name: &str) -> Option<&TypeDef> {
        let found = self.edge_by_lower_name.get(name);
        found.or_else(|| self.edge_by_lower_name.get(&name.to_ascii_lowercase())).map(|&at| &self.types[at])
    }

    /// Edge types that start or end at the node type.
    pub fn edges_of(&self, node: TableId) -> impl Iterator<Item = &TypeDef> {
        self.types
            .iter()
            .filter(move |def| matches!(def.kind, TypeKind::Edge { from, to, .. } if from == node || to == node))
    }
}

/// One node or edge type, and so one table.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeDef {
    /// Stable id.
    pub id: TableId,
    /// Declared name.
    pub name: String,
    /// Node, or edge with its ends.
    pub kind: TypeKind,
    /// In column order: after `id` of a node, or `id`, `src`, `dst` of an edge.
    pub properties: Vec<PropertyDef>,
    /// `@key`: the members in the order that spells the id. `None`: ids are the client's or fresh.
    pub key: Option<Vec<Member>>,
    /// `@unique`: each a tuple that no two rows share.
    pub uniques: Vec<Vec<Member>>,
    /// `@index`, the key's own members left out: see [`TypeDef::indexed_members`].
    pub indexes: Vec<Member>,
    /// `@range`.
    pub ranges: Vec<Range>,
    /// `@check`.
    pub checks: Vec<Check>,
    /// Names of the interfaces of a node type, sorted.
    pub implements: Vec<String>,
    /// `@description`, `@instruction` and other annotations of the type.
    pub metadata: Metadata,
    pub(crate) next_property_id: u32,
}

impl TypeDef {
    /// Whether it is an edge type.
    pub fn is_edge(&self) -> bool {
        matches!(self.kind, TypeKind::Edge { .. })
    }

    /// Whether its ids are computed from key values.
    pub fn is_keyed(&self) -> bool {
        self.key.is_some()
    }

    /// The property of this name.
    pub fn property(&self, name: &str) -> Option<&PropertyDef> {
        self.properties.iter().find(|property| property.name == name)
    }

    /// The property of this id.
    pub fn property_by_id(&self, id: PropertyId) -> Option<&PropertyDef> {
        self.properties.iter().find(|property| property.id == id)
    }

    /// The position of a property in `properties`.
    pub fn position(&self, id: PropertyId) -> Option<usize> {
        self.properties.iter().position(|property| property.id == id)
    }

    /// The column of a member: `src`, `dst`, or the property's name.
    pub fn column(&self, member: Member) -> &str {
        match member {
            Member::Src => "src",
            Member::Dst => "dst",
            // S-1: the property exists; an empty name names no column.
            Member::Property(id) => self.property_by_id(id).map_or("", |property| property.name.as_str()),
        }
    }

    /// Members that should have an index: the key's and those of `@index`, without repetition.
    pub fn indexed_members(&self) -> Vec<Member> {
        let mut members: Vec<Member> = self.key.iter().flatten().chain(&self.indexes).copied().collect();
        members.sort();
        members.dedup();
        members
    }
}

/// What a type is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeKind {
    /// A node type.
    Node,
    /// An edge type.
    Edge {
        /// Node type of the source.
        from: TableId,
        /// Node type of the target.
        to: TableId,
        /// Bounds on the edges that leave one source node.
        card: Cardinality,
    },
}

/// `@card`: how many edges of the type may leave one source node. Both ends are inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cardinality {
    /// At least so many.
    pub min: u32,
    /// At most so many; `None` is unbounded.
    pub max: Option<u32>,
}

impl Cardinality {
    /// `0..`, what an edge type without `@card` has.
    pub const ANY: Self = Self { min: 0, max: None };
}

/// One property of a type.
#[derive(Debug, Clone, PartialEq)]
pub struct PropertyDef {
    /// Stable id within its type.
    pub id: PropertyId,
    /// Declared name, also the column's name.
    pub name: String,
    /// Type of its values.
    pub ty: PropertyType,
    /// Whether null is allowed.
    pub nullability: Nullability,
    /// Written in the type itself or copied from an interface.
    pub origin: Origin,
    /// `@embed`, on vectors.
    pub embed: Option<Embed>,
    /// `@description` and other annotations of the property.
    pub metadata: Metadata,
}

/// Where a property is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// In the type's own body.
    Own,
    /// In an interface that the type implements.
    Interface,
}

/// `@embed`: where a vector comes from. Nothing is computed from it when rows are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Embed {
    /// The text property that is embedded.
    pub source: PropertyId,
    /// The model's name, if it is stated.
    pub model: Option<String>,
}

/// A member of a key, a unique tuple or an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Member {
    /// A property of the type.
    Property(PropertyId),
    /// The source of an edge.
    Src,
    /// The target of an edge.
    Dst,
}

/// `@range`: both ends inclusive, null exempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// A property of a numeric scalar type.
    pub property: PropertyId,
    /// Lower end; `None` is open.
    pub min: Option<Bound>,
    /// Upper end; `None` is open.
    pub max: Option<Bound>,
}

impl Range {
    /// Whether the integer lies within, compared exactly.
    pub fn contains_i128(&self, value: i128) -> bool {
        self.min.is_none_or(|min| min.compare_integer(value).is_le())
            && self.max.is_none_or(|max| max.compare_integer(value).is_ge())
    }

    /// Whether the float lies within, compared exactly. NaN never does.
    pub fn contains_f64(&self, value: f64) -> bool {
        self.min.is_none_or(|min| min.compare_float(value).is_some_and(|order| order.is_le()))
            && self.max.is_none_or(|max| max.compare_float(value).is_some_and(|order| order.is_ge()))
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |bound: Option<Bound>| bound.map(|bound| bound.to_string()).unwrap_or_default();
        write!(f, "{}..{}", end(self.min), end(self.max))
    }
}

/// `@check`: the pattern matches somewhere in the text; null exempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// A property of type `String`.
    pub property: PropertyId,
    /// In the syntax of the `regex` crate.
    pub pattern: String,
}

/// The compiled pattern of a check. Patterns are compiled once when a schema is parsed, so this fails only on a contract that
/// another version wrote.
pub fn compile_check(check: &Check) -> Result<Regex, regex::Error> {
    Regex::new(&check.pattern)
}

/// An interface: properties that node types copy.
#[derive(Debug, Clone, PartialEq)]
pub struct InterfaceDef {
    /// Declared name.
    pub name: String,
    /// In the order of declaration.
    pub properties: Vec<InterfaceProperty>,
}

/// One property of an interface.
#[derive(Debug, Clone, PartialEq)]
pub struct InterfaceProperty {
    /// Declared name.
    pub name: String,
    /// Type of its values.
    pub ty: PropertyType,
    /// Whether null is allowed.
    pub nullability: Nullability,
    /// `@key` on the property.
    pub key: bool,
    /// `@unique` on the property.
    pub unique: bool,
    /// `@index` on the property.
    pub index: bool,
    /// `@embed` on the property: the source property's name and the model.
    pub embed: Option<(String, Option<String>)>,
    /// `@description` and other annotations.
    pub metadata: Metadata,
}

/// Annotations that change nothing about the data.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Metadata {
    /// `@description`.
    pub description: Option<String>,
    /// `@instruction`; types only.
    pub instruction: Option<String>,
    /// Annotations that this program gives no meaning, by name.
    pub annotations: Vec<Annotation>,
}

/// An annotation without a meaning of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Annotation {
    /// Name, without `@`.
    pub name: String,
    /// The one argument without a name.
    pub positional: Option<Argument>,
    /// Arguments written `name=value`.
    pub named: BTreeMap<String, Argument>,
}

/// An argument of an annotation.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// `"text"`.
    Text(String),
    /// A bare identifier.
    Identifier(String),
    /// A number, as written.
    Number(String),
    /// `true` or `false`.
    Bool(bool),
}

/// SHA-256 of a schema's canonical JSON.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SchemaHash(pub(crate) [u8; 32]);

/// A text that is not 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a schema hash: expected 64 lower-case hexadecimal digits")]
pub struct SchemaHashError {
    /// The text, clipped.
    pub text: String,
}

impl fmt::Display for SchemaHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for SchemaHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SchemaHash({self})")
    }
}

impl FromStr for SchemaHash {
    type Err = SchemaHashError;

    fn from_str(text: &str) -> Result<Self, SchemaHashError> {
        let error = || SchemaHashError { text: crate::text::clip(text) };
        let digit = |b: u8| match b {
            b'0'..=b'9' => Ok(b - b'0'),
            b'a'..=b'f' => Ok(b - b'a' + 10),
            _ => Err(error()),
        };
        let bytes = text.as_bytes();
        if bytes.len() != 64 {
            return Err(error());
        }
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(bytes.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(hash))
    }
}

impl TryFrom<String> for SchemaHash {
    type Error = SchemaHashError;
    fn try_from(text: String) -> Result<Self, SchemaHashError> {
        text.parse()
    }
}

impl From<SchemaHash> for String {
    fn from(hash: SchemaHash) -> Self {
        hash.to_string()
    }
}
