//! The JSON of format 1, field by field. Nothing here changes once a graph is stored in it: another form is another format.

use std::collections::BTreeMap;

use omnigraph_types::{PropertyId, TableId};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::schema) struct StoredSchema {
    pub(super) format: u32,
    pub(super) next_table_id: u32,
    pub(super) types: Vec<StoredType>,
    pub(super) interfaces: Vec<StoredInterface>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredType {
    pub(super) id: TableId,
    pub(super) name: String,
    pub(super) edge: Option<StoredEdge>,
    pub(super) implements: Vec<String>,
    pub(super) next_property_id: u32,
    pub(super) properties: Vec<StoredProperty>,
    pub(super) key: Option<Vec<StoredMember>>,
    pub(super) uniques: Vec<Vec<StoredMember>>,
    pub(super) indexes: Vec<StoredMember>,
    pub(super) ranges: Vec<StoredRange>,
    pub(super) checks: Vec<StoredCheck>,
    pub(super) metadata: StoredMetadata,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredEdge {
    pub(super) from: TableId,
    pub(super) to: TableId,
    pub(super) card_min: u32,
    pub(super) card_max: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredProperty {
    pub(super) id: PropertyId,
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) ty: StoredPropertyType,
    pub(super) nullable: bool,
    pub(super) origin: StoredOrigin,
    pub(super) embed: Option<StoredEmbed>,
    pub(super) metadata: StoredMetadata,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoredOrigin {
    Own,
    Interface,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredEmbed {
    pub(super) source: PropertyId,
    pub(super) model: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoredPropertyType {
    Scalar(String),
    List(String),
    Enum(Vec<String>),
    Vector(u32),
    Blob,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoredMember {
    Property(PropertyId),
    Src,
    Dst,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredRange {
    pub(super) property: PropertyId,
    pub(super) min: Option<StoredBound>,
    pub(super) max: Option<StoredBound>,
}

/// Numbers as text: JSON readers may round them.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoredBound {
    Integer(String),
    Single(String),
    Double(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredCheck {
    pub(super) property: PropertyId,
    pub(super) pattern: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredMetadata {
    pub(super) description: Option<String>,
    pub(super) instruction: Option<String>,
    pub(super) annotations: Vec<StoredAnnotation>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredAnnotation {
    pub(super) name: String,
    pub(super) positional: Option<StoredArgument>,
    pub(super) named: BTreeMap<String, StoredArgument>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoredArgument {
    Text(String),
    Identifier(String),
    Number(String),
    Bool(bool),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredInterface {
    pub(super) name: String,
    pub(super) properties: Vec<StoredInterfaceProperty>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredInterfaceProperty {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) ty: StoredPropertyType,
    pub(super) nullable: bool,
    pub(super) key: bool,
    pub(super) unique: bool,
    pub(super) index: bool,
    pub(super) embed: Option<(String, Option<String>)>,
    pub(super) metadata: StoredMetadata,
}
