//! The schema in force at a commit.

use omnigraph_lang::schema::{PropertyDef, Schema, TypeDef, TypeKind};
use omnigraph_types::{Cardinality, PropertyInfo, ReadAt, SchemaInfo, TypeShape, TypeSummary};

use crate::caller::Caller;
use crate::describe::column_type;
use crate::error::Result;
use crate::execute::{Access, Execute};
use crate::open_graphs::GraphHandle;
use crate::operations::pin_commit::pin;

/// Asks for the schema at a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetSchema {
    /// Which commit.
    pub at: ReadAt,
}

impl Execute for GetSchema {
    type Target = GraphHandle;
    type Answer = SchemaInfo;
    const NAME: &'static str = "get_schema";
    const ACCESS: Access = Access::Read;

    async fn execute(&self, on: &GraphHandle, _: &Caller) -> Result<SchemaInfo> {
        let pinned = pin(&on.graph, &self.at).await?;
        let schema = pinned.schema();
        Ok(SchemaInfo {
            source: schema.to_source(),
            contract_json: String::from_utf8_lossy(&schema.to_canonical_json()).into_owned(),
            hash: schema.hash().to_string(),
            types: schema.types_by_name().into_iter().map(|def| summary(schema, def)).collect(),
            commit: pinned.commit().clone(),
        })
    }
}

fn summary(schema: &Schema, def: &TypeDef) -> TypeSummary {
    let key = def.key.as_deref().map(|members| def.columns(members));
    TypeSummary {
        name: def.name.clone(),
        id: def.id,
        shape: shape(schema, def),
        properties: def.properties.iter().map(property).collect(),
        key: key.unwrap_or_default().into_iter().map(str::to_owned).collect(),
        constraints: def.constraint_texts(),
        description: def.metadata.description.clone(),
        instruction: def.metadata.instruction.clone(),
    }
}

fn shape(schema: &Schema, def: &TypeDef) -> TypeShape {
    match def.kind {
        TypeKind::Node => TypeShape::Node,
        TypeKind::Edge { from, to, card } => TypeShape::Edge {
            from_type: schema.type_name(from).to_owned(),
            to_type: schema.type_name(to).to_owned(),
            cardinality: card.is_bounded().then_some(Cardinality { min: card.min, max: card.max }),
        },
    }
}

fn property(property: &PropertyDef) -> PropertyInfo {
    PropertyInfo {
        name: property.name.clone(),
        id: property.id,
        ty: column_type(&property.ty),
        nullable: property.nullability.is_nullable(),
        description: property.metadata.description.clone(),
    }
}
