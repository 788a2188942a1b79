//! Predicates S-1 and S-2 of the model, for schemas that come from stored bytes. A schema made from a text holds them by construction.

use std::collections::BTreeSet;

use omnigraph_types::{PropertyId, TableId};

use crate::schema::model::{Member, Schema, TypeDef, TypeKind};

/// A rule of the model that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Type or property.
    pub(crate) place: String,
    pub(crate) rule: &'static str,
}

fn require(holds: bool, place: &str, rule: &'static str) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken { place: place.to_owned(), rule }) }
}

/// S-1 and S-2 over every type, and that names are distinct.
pub(crate) fn check_types(schema: &Schema) -> Result<(), Broken> {
    let mut ids = BTreeSet::new();
    let mut names = BTreeSet::new();
    let mut folded_names = BTreeSet::new();
    let nodes: BTreeSet<TableId> = schema.node_types().map(|def| def.id).collect();
    for def in &schema.types {
        let allocated = ids.insert(def.id) && def.id.0 < schema.next_table_id;
        require(allocated, &def.name, "S-2: type ids are unique and allocated")?;
        require(names.insert(&def.name), &def.name, "type names are unique")?;
        let distinct = !def.is_edge() || folded_names.insert(def.name.to_ascii_lowercase());
        require(distinct, &def.name, "edge names differ by more than case")?;
        if let TypeKind::Edge { from, to, .. } = def.kind {
            require(nodes.contains(&from) && nodes.contains(&to), &def.name, "S-1: edge ends are node types")?;
        }
        check_properties(def)?;
    }
    Ok(())
}

/// S-2 over the properties of one type, and S-1 over everything that refers to them.
fn check_properties(def: &TypeDef) -> Result<(), Broken> {
    let mut ids: BTreeSet<PropertyId> = BTreeSet::new();
    let mut names = BTreeSet::new();
    for property in &def.properties {
        let allocated = ids.insert(property.id) && property.id.0 < def.next_property_id;
        require(allocated, &property.name, "S-2: property ids are unique and allocated")?;
        require(names.insert(&property.name), &property.name, "property names are unique")?;
    }
    let known = |member: &Member| match member {
        Member::Property(id) => ids.contains(id),
        Member::Src | Member::Dst => def.is_edge(),
    };
    let mut members = def.key.iter().flatten().chain(def.uniques.iter().flatten()).chain(&def.indexes);
    let resolve = members.all(known)
        && def.ranges.iter().all(|range| ids.contains(&range.property))
        && def.checks.iter().all(|check| ids.contains(&check.property))
        && def.properties.iter().flat_map(|p| &p.embed).all(|embed| ids.contains(&embed.source));
    require(resolve, &def.name, "S-1: constraint members are properties of the type")
}
