//! The stored form of a schema: canonical JSON under a format number, and its hash.
//!
//! The form is made of its own data types, so that a change of the model cannot change stored bytes unnoticed. Equal schemas have
//! equal bytes. Reading checks S-1 and S-2 and puts lists into canonical order, so a contract from elsewhere cannot break the model.

use std::collections::{BTreeMap, BTreeSet};

use omnigraph_types::{PropertyId, TableId};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::schema::canonical::{sort_metadata, sort_type};
use crate::schema::model::{
    Annotation, Argument, Cardinality, Check, Embed, InterfaceDef, InterfaceProperty, Member, Metadata, Origin,
    PropertyDef, Range, Schema, SchemaHash, TypeDef, TypeKind,
};
use crate::schema::types::{Bound, Nullability, PropertyType, Scalar};

/// The format that is written and read.
const FORMAT: u32 = 1;

/// Why stored bytes are not a schema.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ContractError {
    /// Not the JSON of a contract.
    #[error("the stored schema cannot be read: {message}")]
    Json {
        /// What the reader says.
        message: String,
    },
    /// Written by another version.
    #[error("the stored schema has format {found}, this program reads format {FORMAT}")]
    Format {
        /// The format found.
        found: u32,
    },
    /// A reference or id that breaks an invariant of the model.
    #[error("the stored schema breaks a rule at {place}: {rule}")]
    Invariant {
        /// Type, or type and property.
        place: String,
        /// The rule.
        rule: &'static str,
    },
}

impl Schema {
    /// The canonical JSON: equal schemas have equal bytes.
    pub fn to_canonical_json(&self) -> Vec<u8> {
        let stored = StoredSchema {
            format: FORMAT,
            next_table_id: self.next_table_id,
            types: self.types.iter().map(StoredType::from).collect(),
            interfaces: self.interfaces.iter().map(StoredInterface::from).collect(),
        };
        // The stored types have string keys only and no value that serialization can refuse.
        serde_json::to_vec(&stored).unwrap_or_default()
    }

    /// SHA-256 of the canonical JSON.
    pub fn hash(&self) -> SchemaHash {
        SchemaHash(Sha256::digest(self.to_canonical_json()).into())
    }

    /// Reads what [`Schema::to_canonical_json`] wrote.
    pub fn from_json(bytes: &[u8]) -> Result<Self, ContractError> {
        let json = |error: serde_json::Error| ContractError::Json { message: error.to_string() };
        let StoredFormat { format } = serde_json::from_slice(bytes).map_err(json)?;
        if format != FORMAT {
            return Err(ContractError::Format { found: format });
        }
        let stored: StoredSchema = serde_json::from_slice(bytes).map_err(json)?;
        let types: Vec<TypeDef> = stored.types.into_iter().map(TypeDef::try_from).collect::<Result<_, _>>()?;
        let mut interfaces: Vec<InterfaceDef> =
            stored.interfaces.into_iter().map(InterfaceDef::try_from).collect::<Result<_, _>>()?;
        interfaces.sort_by(|a, b| a.name.cmp(&b.name));
        check_types(&types, stored.next_table_id)?;
        Ok(Self::new(types, interfaces, stored.next_table_id))
    }
}

#[derive(Deserialize)]
struct StoredFormat {
    format: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredSchema {
    format: u32,
    next_table_id: u32,
    types: Vec<StoredType>,
    interfaces: Vec<StoredInterface>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredType {
    id: TableId,
    name: String,
    edge: Option<StoredEdge>,
    implements: Vec<String>,
    next_property_id: u32,
    properties: Vec<StoredProperty>,
    key: Option<Vec<StoredMember>>,
    uniques: Vec<Vec<StoredMember>>,
    indexes: Vec<StoredMember>,
    ranges: Vec<StoredRange>,
    checks: Vec<StoredCheck>,
    metadata: StoredMetadata,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredEdge {
    from: TableId,
    to: TableId,
    card_min: u32,
    card_max: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredProperty {
    id: PropertyId,
    name: String,
    #[serde(rename = "type")]
    ty: StoredPropertyType,
    nullable: bool,
    origin: Origin,
    embed: Option<StoredEmbed>,
    metadata: StoredMetadata,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredEmbed {
    source: PropertyId,
    model: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredPropertyType {
    Scalar(String),
    List(String),
    Enum(Vec<String>),
    Vector(u32),
    Blob,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredMember {
    Property(PropertyId),
    Src,
    Dst,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRange {
    property: PropertyId,
    min: Option<StoredBound>,
    max: Option<StoredBound>,
}

/// Numbers as text: JSON readers may round them.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredBound {
    Integer(String),
    Single(String),
    Double(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredCheck {
    property: PropertyId,
    pattern: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredMetadata {
    description: Option<String>,
    instruction: Option<String>,
    annotations: Vec<StoredAnnotation>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredAnnotation {
    name: String,
    positional: Option<Argument>,
    named: BTreeMap<String, Argument>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredInterface {
    name: String,
    properties: Vec<StoredInterfaceProperty>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredInterfaceProperty {
    name: String,
    #[serde(rename = "type")]
    ty: StoredPropertyType,
    nullable: bool,
    key: bool,
    unique: bool,
    index: bool,
    embed: Option<(String, Option<String>)>,
    metadata: StoredMetadata,
}

impl From<&TypeDef> for StoredType {
    fn from(def: &TypeDef) -> Self {
        let members = |members: &Vec<Member>| members.iter().copied().map(StoredMember::from).collect::<Vec<_>>();
        Self {
            id: def.id,
            name: def.name.clone(),
            edge: match def.kind {
                TypeKind::Node => None,
                TypeKind::Edge { from, to, card } => {
                    Some(StoredEdge { from, to, card_min: card.min, card_max: card.max })
                }
            },
            implements: def.implements.clone(),
            next_property_id: def.next_property_id,
            properties: def.properties.iter().map(StoredProperty::from).collect(),
            key: def.key.as_ref().map(members),
            uniques: def.uniques.iter().map(members).collect(),
            indexes: members(&def.indexes),
            ranges: def.ranges.iter().map(StoredRange::from).collect(),
            checks: def
                .checks
                .iter()
                .map(|check| StoredCheck { property: check.property, pattern: check.pattern.clone() })
                .collect(),
            metadata: (&def.metadata).into(),
        }
    }
}

impl TryFrom<StoredType> for TypeDef {
    type Error = ContractError;

    fn try_from(stored: StoredType) -> Result<Self, ContractError> {
        let members = |members: Vec<StoredMember>| members.into_iter().map(Member::from).collect::<Vec<_>>();
        let place = stored.name.clone();
        let mut def = Self {
            id: stored.id,
            name: stored.name,
            kind: match stored.edge {
                None => TypeKind::Node,
                Some(StoredEdge { from, to, card_min, card_max }) => {
                    TypeKind::Edge { from, to, card: Cardinality { min: card_min, max: card_max } }
                }
            },
            properties: stored
                .properties
                .into_iter()
                .map(|property| property.read(&place))
                .collect::<Result<_, _>>()?,
            key: stored.key.map(members),
            uniques: stored.uniques.into_iter().map(members).collect(),
            indexes: members(stored.indexes),
            ranges: stored.ranges.into_iter().map(|range| range.read(&place)).collect::<Result<_, _>>()?,
            checks: stored
                .checks
                .into_iter()
                .map(|check| Check { property: check.property, pattern: check.pattern })
                .collect(),
            implements: stored.implements,
            metadata: stored.metadata.into(),
            next_property_id: stored.next_property_id,
        };
        sort_type(&mut def);
        Ok(def)
    }
}

impl From<&PropertyDef> for StoredProperty {
    fn from(property: &PropertyDef) -> Self {
        Self {
            id: property.id,
            name: property.name.clone(),
            ty: (&property.ty).into(),
            nullable: property.nullability.is_nullable(),
            origin: property.origin,
            embed: property
                .embed
                .as_ref()
                .map(|embed| StoredEmbed { source: embed.source, model: embed.model.clone() }),
            metadata: (&property.metadata).into(),
        }
    }
}

impl StoredProperty {
    fn read(self, place: &str) -> Result<PropertyDef, ContractError> {
        Ok(PropertyDef {
            id: self.id,
            ty: self.ty.read(place)?,
            name: self.name,
            nullability: nullability(self.nullable),
            origin: self.origin,
            embed: self.embed.map(|embed| Embed { source: embed.source, model: embed.model }),
            metadata: self.metadata.into(),
        })
    }
}

fn nullability(nullable: bool) -> Nullability {
    if nullable { Nullability::Nullable } else { Nullability::Required }
}

impl From<&PropertyType> for StoredPropertyType {
    fn from(ty: &PropertyType) -> Self {
        match ty {
            PropertyType::Scalar(scalar) => Self::Scalar(scalar.name().to_owned()),
            PropertyType::List(scalar) => Self::List(scalar.name().to_owned()),
            PropertyType::Enum(values) => Self::Enum(values.clone()),
            PropertyType::Vector(length) => Self::Vector(*length),
            PropertyType::Blob => Self::Blob,
        }
    }
}

impl StoredPropertyType {
    fn read(self, place: &str) -> Result<PropertyType, ContractError> {
        let scalar = |name: String| {
            Scalar::by_name(&name)
                .ok_or(ContractError::Invariant { place: place.to_owned(), rule: "every scalar type is known" })
        };
        Ok(match self {
            Self::Scalar(name) => PropertyType::Scalar(scalar(name)?),
            Self::List(name) => PropertyType::List(scalar(name)?),
            Self::Enum(mut values) => {
                values.sort();
                values.dedup();
                PropertyType::Enum(values)
            }
            Self::Vector(length) => PropertyType::Vector(length),
            Self::Blob => PropertyType::Blob,
        })
    }
}

impl From<Member> for StoredMember {
    fn from(member: Member) -> Self {
        match member {
            Member::Property(id) => Self::Property(id),
            Member::Src => Self::Src,
            Member::Dst => Self::Dst,
        }
    }
}

impl From<StoredMember> for Member {
    fn from(member: StoredMember) -> Self {
        match member {
            StoredMember::Property(id) => Self::Property(id),
            StoredMember::Src => Self::Src,
            StoredMember::Dst => Self::Dst,
        }
    }
}

impl From<&Range> for StoredRange {
    fn from(range: &Range) -> Self {
        let bound = |bound: Bound| match bound {
            Bound::Integer(number) => StoredBound::Integer(number.to_string()),
            Bound::Single(number) => StoredBound::Single(format!("{number:?}")),
            Bound::Double(number) => StoredBound::Double(format!("{number:?}")),
        };
        Self { property: range.property, min: range.min.map(bound), max: range.max.map(bound) }
    }
}

impl StoredRange {
    fn read(self, place: &str) -> Result<Range, ContractError> {
        let bound = |stored: Option<StoredBound>| {
            let read = |stored: StoredBound| match stored {
                StoredBound::Integer(text) => text.parse().ok().map(Bound::Integer),
                StoredBound::Single(text) => text.parse().ok().filter(|n: &f32| n.is_finite()).map(Bound::Single),
                StoredBound::Double(text) => text.parse().ok().filter(|n: &f64| n.is_finite()).map(Bound::Double),
            };
            let rule = "range bounds are finite numbers";
            stored
                .map(|stored| read(stored).ok_or(ContractError::Invariant { place: place.to_owned(), rule }))
                .transpose()
        };
        Ok(Range { property: self.property, min: bound(self.min)?, max: bound(self.max)? })
    }
}

impl From<&Metadata> for StoredMetadata {
    fn from(metadata: &Metadata) -> Self {
        let annotation = |annotation: &Annotation| StoredAnnotation {
            name: annotation.name.clone(),
            positional: annotation.positional.clone(),
            named: annotation.named.clone(),
        };
        Self {
            description: metadata.description.clone(),
            instruction: metadata.instruction.clone(),
            annotations: metadata.annotations.iter().map(annotation).collect(),
        }
    }
}

impl From<StoredMetadata> for Metadata {
    fn from(stored: StoredMetadata) -> Self {
        let annotation = |stored: StoredAnnotation| Annotation {
            name: stored.name,
            positional: stored.positional,
            named: stored.named,
        };
        let mut metadata = Self {
            description: stored.description,
            instruction: stored.instruction,
            annotations: stored.annotations.into_iter().map(annotation).collect(),
        };
        sort_metadata(&mut metadata);
        metadata
    }
}

impl From<&InterfaceDef> for StoredInterface {
    fn from(interface: &InterfaceDef) -> Self {
        let property = |property: &InterfaceProperty| StoredInterfaceProperty {
            name: property.name.clone(),
            ty: (&property.ty).into(),
            nullable: property.nullability.is_nullable(),
            key: property.key,
            unique: property.unique,
            index: property.index,
            embed: property.embed.clone(),
            metadata: (&property.metadata).into(),
        };
        Self { name: interface.name.clone(), properties: interface.properties.iter().map(property).collect() }
    }
}

impl TryFrom<StoredInterface> for InterfaceDef {
    type Error = ContractError;

    fn try_from(stored: StoredInterface) -> Result<Self, ContractError> {
        let place = stored.name.clone();
        let property = |property: StoredInterfaceProperty| {
            Ok(InterfaceProperty {
                ty: property.ty.read(&place)?,
                name: property.name,
                nullability: nullability(property.nullable),
                key: property.key,
                unique: property.unique,
                index: property.index,
                embed: property.embed,
                metadata: property.metadata.into(),
            })
        };
        let properties = stored.properties.into_iter().map(property).collect::<Result<_, _>>()?;
        Ok(Self { name: stored.name, properties })
    }
}

/// S-1 and S-2 over everything that was read.
fn check_types(types: &[TypeDef], next_table_id: u32) -> Result<(), ContractError> {
    let require = |holds: bool, place: &str, rule: &'static str| {
        if holds { Ok(()) } else { Err(ContractError::Invariant { place: place.to_owned(), rule }) }
    };
    let mut ids = BTreeSet::new();
    let mut names = BTreeSet::new();
    let mut folded_names = BTreeSet::new();
    let nodes: BTreeSet<TableId> = types.iter().filter(|def| !def.is_edge()).map(|def| def.id).collect();
    for def in types {
        require(ids.insert(def.id) && def.id.0 < next_table_id, &def.name, "S-2: type ids are unique and allocated")?;
        require(names.insert(&def.name), &def.name, "type names are unique")?;
        let distinct = !def.is_edge() || folded_names.insert(def.name.to_ascii_lowercase());
        require(distinct, &def.name, "edge names differ by more than case")?;
        if let TypeKind::Edge { from, to, .. } = def.kind {
            require(nodes.contains(&from) && nodes.contains(&to), &def.name, "S-1: edge ends are node types")?;
        }
        let mut property_ids = BTreeSet::new();
        let mut property_names = BTreeSet::new();
        for property in &def.properties {
            let allocated = property_ids.insert(property.id) && property.id.0 < def.next_property_id;
            require(allocated, &property.name, "S-2: property ids are unique and allocated")?;
            require(property_names.insert(&property.name), &property.name, "property names are unique")?;
        }
        let known = |member: &Member| match member {
            Member::Property(id) => property_ids.contains(id),
            Member::Src | Member::Dst => def.is_edge(),
        };
        let mut members = def.key.iter().flatten().chain(def.uniques.iter().flatten()).chain(&def.indexes);
        let referred = members.all(known)
            && def.ranges.iter().all(|range| property_ids.contains(&range.property))
            && def.checks.iter().all(|check| property_ids.contains(&check.property))
            && def.properties.iter().flat_map(|p| &p.embed).all(|embed| property_ids.contains(&embed.source));
        require(referred, &def.name, "S-1: constraint members are properties of the type")?;
    }
    Ok(())
}
