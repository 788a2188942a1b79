//! Canonical order of everything in a schema whose source order means nothing (S-3).

use crate::schema::model::{Metadata, TypeDef};

/// Sorts and collapses constraint lists. Key members and properties keep their order.
pub(crate) fn sort_type(def: &mut TypeDef) {
    for unique in &mut def.uniques {
        unique.sort();
        unique.dedup();
    }
    def.uniques.sort();
    def.uniques.dedup();
    let key = def.key.clone().unwrap_or_default();
    def.indexes.retain(|member| !key.contains(member));
    def.indexes.sort();
    def.indexes.dedup();
    let range_text = |range: &crate::schema::Range| (range.property, range.to_string());
    def.ranges.sort_by_key(range_text);
    def.ranges.dedup_by_key(|range| range_text(range));
    def.checks.sort_by(|a, b| (a.property, &a.pattern).cmp(&(b.property, &b.pattern)));
    def.checks.dedup();
    def.implements.sort();
    sort_metadata(&mut def.metadata);
    for property in &mut def.properties {
        sort_metadata(&mut property.metadata);
    }
}

/// Sorts annotations by name; equal names keep their order.
pub(crate) fn sort_metadata(metadata: &mut Metadata) {
    metadata.annotations.sort_by(|a, b| a.name.cmp(&b.name));
}
