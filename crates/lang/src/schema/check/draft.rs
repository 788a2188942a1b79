//! A property on its way to a definition, with the annotations that its type still has to apply.

use omnigraph_types::PropertyId;

use crate::findings::At;
use crate::schema::ast::{Name, PropertyAst};
use crate::schema::model::{Metadata, Origin, PropertyDef};

/// `@embed` as written.
#[derive(Debug, Clone)]
pub(super) struct EmbedMark {
    pub(super) at: At,
    pub(super) source: String,
    pub(super) model: Option<String>,
}

/// The annotations of one property.
#[derive(Debug, Clone, Default)]
pub(super) struct PropertyMarks {
    pub(super) key: Option<At>,
    pub(super) unique: Option<At>,
    pub(super) index: Option<At>,
    pub(super) embed: Option<EmbedMark>,
    pub(super) rename_from: Option<String>,
    pub(super) metadata: Metadata,
}

impl PropertyMarks {
    /// Whether both mean the same, wherever they are written.
    pub(super) fn same_meaning(&self, other: &Self) -> bool {
        let embed = |marks: &Self| marks.embed.as_ref().map(|embed| (embed.source.clone(), embed.model.clone()));
        self.key.is_some() == other.key.is_some()
            && self.unique.is_some() == other.unique.is_some()
            && self.index.is_some() == other.index.is_some()
            && embed(self) == embed(other)
            && self.metadata == other.metadata
    }
}

/// A property with the content of its annotations.
pub(super) struct Draft<'a> {
    pub(super) def: PropertyDef,
    pub(super) name: Name<'a>,
    pub(super) marks: PropertyMarks,
}

/// The property before ids are allocated and constraints are read.
pub(super) fn draft<'a>(property: &PropertyAst<'a>, marks: PropertyMarks, origin: Origin) -> Draft<'a> {
    let def = PropertyDef {
        id: PropertyId(0),
        name: property.name.text.to_owned(),
        ty: property.ty.clone(),
        nullability: property.nullability,
        origin,
        embed: None,
        metadata: marks.metadata.clone(),
    };
    Draft { def, name: property.name, marks }
}
