//! A schema's canonical contract, read for what GetSchema tells about each type.
//!
//! The contract's JSON is part of the API: it is what a graph stores and what GetSchema returns whole. The summary is made from that text and
//! from nothing else, so that the two cannot disagree.

use std::collections::BTreeMap;

use omnigraph_types::{Failure, Problem};
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::data_type::Kind;
use serde::Deserialize;

#[derive(Deserialize)]
struct Contract {
    types: Vec<Type>,
}

#[derive(Deserialize)]
struct Type {
    id: u32,
    name: String,
    edge: Option<Edge>,
    properties: Vec<Property>,
    key: Option<Vec<Member>>,
    uniques: Vec<Vec<Member>>,
    indexes: Vec<Member>,
    ranges: Vec<Range>,
    checks: Vec<Check>,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Edge {
    from: u32,
    to: u32,
    card_min: u32,
    card_max: Option<u32>,
}

#[derive(Deserialize)]
struct Property {
    id: u32,
    name: String,
    #[serde(rename = "type")]
    ty: PropertyType,
    nullable: bool,
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum PropertyType {
    Scalar(String),
    List(String),
    Enum(Vec<String>),
    Vector(u32),
    Blob,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Member {
    Property(u32),
    Src,
    Dst,
}

#[derive(Deserialize)]
struct Range {
    property: u32,
    min: Option<Bound>,
    max: Option<Bound>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Bound {
    Integer(String),
    Single(String),
    Double(String),
}

#[derive(Deserialize)]
struct Check {
    property: u32,
    pattern: String,
}

#[derive(Deserialize)]
struct Metadata {
    description: Option<String>,
    instruction: Option<String>,
}

/// The types of a contract: nodes before edges, each sorted by name.
pub(crate) fn types(json: &[u8]) -> Result<Vec<wire::TypeSummary>, Failure> {
    let contract: Contract = serde_json::from_slice(json).map_err(|error| {
        let message = "the schema's contract cannot be read by this server: its log has more";
        Failure::new(Problem::Internal, message).with_source(error)
    })?;
    let names = contract.types.iter().map(|def| (def.id, def.name.clone())).collect();
    let mut types: Vec<_> = contract.types.into_iter().map(|def| def.summary(&names)).collect();
    types.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
    Ok(types)
}

impl Type {
    fn summary(self, type_names: &BTreeMap<u32, String>) -> wire::TypeSummary {
        let name_of = |id: u32| type_names.get(&id).cloned().unwrap_or_default();
        let kind = if self.edge.is_some() { wire::TypeKind::Edge } else { wire::TypeKind::Node };
        wire::TypeSummary {
            constraints: self.constraints(),
            key: self.key.as_deref().map(|members| self.names(members)).unwrap_or_default(),
            from_type: self.edge.as_ref().map(|edge| name_of(edge.from)).unwrap_or_default(),
            to_type: self.edge.as_ref().map(|edge| name_of(edge.to)).unwrap_or_default(),
            cardinality: self.edge.as_ref().and_then(Edge::cardinality),
            kind: kind.into(),
            type_id: self.id,
            name: self.name,
            properties: self.properties.into_iter().map(Property::encode).collect(),
            description: self.metadata.description.unwrap_or_default(),
            instruction: self.metadata.instruction.unwrap_or_default(),
        }
    }

    /// The constraints besides the key, as the schema language writes them.
    fn constraints(&self) -> Vec<String> {
        let uniques = self.uniques.iter().map(|members| format!("@unique({})", self.names(members).join(", ")));
        let indexes = self.indexes.iter().map(|member| format!("@index({})", self.name_of(member)));
        let ranges = self.ranges.iter().map(|range| {
            format!("@range({}, {}..{})", self.property_name(range.property), text(&range.min), text(&range.max))
        });
        let checks = self
            .checks
            .iter()
            .map(|check| format!("@check({}, {})", self.property_name(check.property), quoted(&check.pattern)));
        uniques.chain(indexes).chain(ranges).chain(checks).collect()
    }

    fn names(&self, members: &[Member]) -> Vec<String> {
        members.iter().map(|member| self.name_of(member)).collect()
    }

    fn name_of(&self, member: &Member) -> String {
        match member {
            Member::Property(id) => self.property_name(*id),
            Member::Src => "src".to_owned(),
            Member::Dst => "dst".to_owned(),
        }
    }

    fn property_name(&self, id: u32) -> String {
        self.properties
            .iter()
            .find(|property| property.id == id)
            .map(|property| property.name.clone())
            .unwrap_or_default()
    }
}

impl Edge {
    /// The bounds, where the schema sets any.
    fn cardinality(&self) -> Option<wire::Cardinality> {
        let bounded = self.card_min > 0 || self.card_max.is_some();
        bounded.then_some(wire::Cardinality { min: self.card_min, max: self.card_max })
    }
}

impl Property {
    fn encode(self) -> wire::Property {
        wire::Property {
            name: self.name,
            r#type: Some(self.ty.encode()),
            nullable: self.nullable,
            property_id: self.id,
            description: self.metadata.description.unwrap_or_default(),
        }
    }
}

impl PropertyType {
    fn encode(self) -> wire::DataType {
        let kind = match self {
            Self::Scalar(name) => Kind::Scalar(scalar(&name).into()),
            Self::List(name) => Kind::List(scalar(&name).into()),
            Self::Enum(values) => Kind::Enum(wire::EnumType { values }),
            Self::Vector(length) => Kind::VectorLength(length),
            Self::Blob => Kind::Scalar(wire::ScalarType::Blob.into()),
        };
        wire::DataType { kind: Some(kind) }
    }
}

/// A scalar by its name in the language.
fn scalar(name: &str) -> wire::ScalarType {
    match name {
        "String" => wire::ScalarType::String,
        "Bool" => wire::ScalarType::Bool,
        "I32" => wire::ScalarType::I32,
        "I64" => wire::ScalarType::I64,
        "U32" => wire::ScalarType::U32,
        "U64" => wire::ScalarType::U64,
        "F32" => wire::ScalarType::F32,
        "F64" => wire::ScalarType::F64,
        "Date" => wire::ScalarType::Date,
        "DateTime" => wire::ScalarType::DateTime,
        _ => wire::ScalarType::Unspecified,
    }
}

fn text(bound: &Option<Bound>) -> &str {
    match bound {
        Some(Bound::Integer(text) | Bound::Single(text) | Bound::Double(text)) => text,
        None => "",
    }
}

/// A text between quotes, as the schema language writes it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
