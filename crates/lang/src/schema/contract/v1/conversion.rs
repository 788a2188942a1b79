//! The model to format 1 and back.
//!
//! Reading puts lists into canonical order (S-3) and refuses values that no model holds; whether references resolve is checked afterwards, over the
//! whole schema.

use crate::schema::canonical::{sort_metadata, sort_type};
use crate::schema::contract::v1::stored::{
    StoredAnnotation, StoredArgument, StoredBound, StoredCheck, StoredEdge, StoredEmbed, StoredInterface,
    StoredInterfaceProperty, StoredMember, StoredMetadata, StoredOrigin, StoredProperty, StoredPropertyType,
    StoredRange, StoredSchema, StoredType,
};
use crate::schema::invariants::Broken;
use crate::schema::model::{
    Annotation, Argument, Cardinality, Check, Embed, InterfaceDef, InterfaceProperty, Member, Metadata, Origin,
    PropertyDef, Range, Schema, TypeDef, TypeKind,
};
use crate::schema::types::{Bound, Nullability, PropertyType, Scalar};

/// The number that every contract of this format begins with.
pub(in crate::schema) const FORMAT: u32 = 1;

impl From<&Schema> for StoredSchema {
    fn from(schema: &Schema) -> Self {
        Self {
            format: FORMAT,
            next_table_id: schema.next_table_id,
            types: schema.types.iter().map(StoredType::from).collect(),
            interfaces: schema.interfaces.iter().map(StoredInterface::from).collect(),
        }
    }
}

impl TryFrom<StoredSchema> for Schema {
    type Error = Broken;

    fn try_from(stored: StoredSchema) -> Result<Self, Broken> {
        let types: Vec<TypeDef> = stored.types.into_iter().map(TypeDef::try_from).collect::<Result<_, _>>()?;
        let mut interfaces: Vec<InterfaceDef> =
            stored.interfaces.into_iter().map(InterfaceDef::try_from).collect::<Result<_, _>>()?;
        interfaces.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self::new(types, interfaces, stored.next_table_id))
    }
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
    type Error = Broken;

    fn try_from(stored: StoredType) -> Result<Self, Broken> {
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
            origin: property.origin.into(),
            embed: property
                .embed
                .as_ref()
                .map(|embed| StoredEmbed { source: embed.source, model: embed.model.clone() }),
            metadata: (&property.metadata).into(),
        }
    }
}

impl StoredProperty {
    fn read(self, place: &str) -> Result<PropertyDef, Broken> {
        Ok(PropertyDef {
            id: self.id,
            ty: self.ty.read(place)?,
            name: self.name,
            nullability: nullability(self.nullable),
            origin: self.origin.into(),
            embed: self.embed.map(|embed| Embed { source: embed.source, model: embed.model }),
            metadata: self.metadata.into(),
        })
    }
}

fn nullability(nullable: bool) -> Nullability {
    if nullable { Nullability::Nullable } else { Nullability::Required }
}

impl From<Origin> for StoredOrigin {
    fn from(origin: Origin) -> Self {
        match origin {
            Origin::Own => Self::Own,
            Origin::Interface => Self::Interface,
        }
    }
}

impl From<StoredOrigin> for Origin {
    fn from(stored: StoredOrigin) -> Self {
        match stored {
            StoredOrigin::Own => Self::Own,
            StoredOrigin::Interface => Self::Interface,
        }
    }
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
    fn read(self, place: &str) -> Result<PropertyType, Broken> {
        let scalar = |name: String| {
            Scalar::by_name(&name).ok_or(Broken { place: place.to_owned(), rule: "every scalar type is known" })
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
    fn read(self, place: &str) -> Result<Range, Broken> {
        let bound = |stored: Option<StoredBound>| {
            let read = |stored: StoredBound| match stored {
                StoredBound::Integer(text) => text.parse().ok().map(Bound::Integer),
                StoredBound::Single(text) => text.parse().ok().filter(|n: &f32| n.is_finite()).map(Bound::Single),
                StoredBound::Double(text) => text.parse().ok().filter(|n: &f64| n.is_finite()).map(Bound::Double),
            };
            let rule = "range bounds are finite numbers";
            stored.map(|stored| read(stored).ok_or(Broken { place: place.to_owned(), rule })).transpose()
        };
        Ok(Range { property: self.property, min: bound(self.min)?, max: bound(self.max)? })
    }
}

impl From<&Metadata> for StoredMetadata {
    fn from(metadata: &Metadata) -> Self {
        let annotation = |annotation: &Annotation| StoredAnnotation {
            name: annotation.name.clone(),
            positional: annotation.positional.as_ref().map(StoredArgument::from),
            named: annotation.named.iter().map(|(name, value)| (name.clone(), value.into())).collect(),
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
            positional: stored.positional.map(Argument::from),
            named: stored.named.into_iter().map(|(name, value)| (name, value.into())).collect(),
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

impl From<&Argument> for StoredArgument {
    fn from(argument: &Argument) -> Self {
        match argument {
            Argument::Text(text) => Self::Text(text.clone()),
            Argument::Identifier(name) => Self::Identifier(name.clone()),
            Argument::Number(number) => Self::Number(number.clone()),
            Argument::Bool(flag) => Self::Bool(*flag),
        }
    }
}

impl From<StoredArgument> for Argument {
    fn from(stored: StoredArgument) -> Self {
        match stored {
            StoredArgument::Text(text) => Self::Text(text),
            StoredArgument::Identifier(name) => Self::Identifier(name),
            StoredArgument::Number(number) => Self::Number(number),
            StoredArgument::Bool(flag) => Self::Bool(flag),
        }
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
    type Error = Broken;

    fn try_from(stored: StoredInterface) -> Result<Self, Broken> {
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
