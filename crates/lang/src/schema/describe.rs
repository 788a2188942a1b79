//! A schema as a reader sees it: names in place of ids, and constraints as the schema language writes them.
//!
//! `source` renders whole texts from these parts, and a server lists types with them, so both show a constraint in the same words.

use omnigraph_types::TableId;

use crate::schema::model::{Cardinality, Member, Schema, TypeDef};

impl Schema {
    /// Every type in the order of a listing: nodes before edges, each group by name.
    pub fn types_by_name(&self) -> Vec<&TypeDef> {
        let mut types: Vec<&TypeDef> = self.types.iter().collect();
        types.sort_by(|a, b| (a.is_edge(), &a.name).cmp(&(b.is_edge(), &b.name)));
        types
    }

    /// The name of a type of this schema.
    pub fn type_name(&self, id: TableId) -> &str {
        // S-1: ids in a schema resolve; an empty name is the name of no type.
        self.type_by_id(id).map_or("", |def| def.name.as_str())
    }
}

impl TypeDef {
    /// The columns of these members, in their order.
    pub fn columns(&self, members: &[Member]) -> Vec<&str> {
        members.iter().map(|member| self.column(*member)).collect()
    }

    /// The key as the schema language writes it; `None` for a type without a key.
    pub fn key_text(&self) -> Option<String> {
        self.key.as_ref().map(|members| format!("@key({})", self.columns(members).join(", ")))
    }

    /// The constraints besides the key, as the schema language writes them: `@unique`, `@index`, `@range`, then `@check`.
    pub fn constraint_texts(&self) -> Vec<String> {
        let property = |id| self.column(Member::Property(id));
        let uniques = self.uniques.iter().map(|members| format!("@unique({})", self.columns(members).join(", ")));
        let indexes = self.indexes.iter().map(|member| format!("@index({})", self.column(*member)));
        let ranges = self.ranges.iter().map(|range| format!("@range({}, {range})", property(range.property)));
        let checks = self
            .checks
            .iter()
            .map(|check| format!("@check({}, {})", property(check.property), string_literal(&check.pattern)));
        uniques.chain(indexes).chain(ranges).chain(checks).collect()
    }
}

impl Cardinality {
    /// Whether the schema sets a bound: `0..` is none.
    pub fn is_bounded(self) -> bool {
        self != Self::ANY
    }
}

/// A string literal: the five escapes of the language, everything else raw.
pub(crate) fn string_literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests;
