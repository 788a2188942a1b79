//! A schema as text that parses to the same schema.

use std::fmt::Write;

use crate::schema::model::{
    Argument, Cardinality, InterfaceDef, Member, Metadata, Origin, PropertyDef, Schema, TypeDef, TypeKind,
};
use crate::schema::types::{Nullability, PropertyType};

impl Schema {
    /// The schema in the schema language: interfaces, nodes, then edges, each group by name.
    pub fn to_source(&self) -> String {
        let mut out = String::new();
        for interface in &self.interfaces {
            write_interface(&mut out, interface);
        }
        let mut types: Vec<&TypeDef> = self.types.iter().collect();
        types.sort_by(|a, b| (a.is_edge(), &a.name).cmp(&(b.is_edge(), &b.name)));
        for def in types {
            self.write_type(&mut out, def);
        }
        out
    }

    fn write_type(&self, out: &mut String, def: &TypeDef) {
        separate(out);
        match def.kind {
            TypeKind::Node => {
                put(out, format_args!("node {}", def.name));
            }
            TypeKind::Edge { from, to, card } => {
                let name = |id| self.type_by_id(id).map_or("", |def| def.name.as_str());
                put(out, format_args!("edge {}: {} -> {}", def.name, name(from), name(to)));
                if card != Cardinality::ANY {
                    let max = card.max.map(|max| max.to_string()).unwrap_or_default();
                    put(out, format_args!(" @card({}..{max})", card.min));
                }
            }
        }
        write_metadata(out, &def.metadata);
        if !def.implements.is_empty() {
            put(out, format_args!(" implements {}", def.implements.join(", ")));
        }
        out.push_str(" {\n");
        for property in def.properties.iter().filter(|property| property.origin == Origin::Own) {
            write_property(out, def, property);
        }
        write_constraints(out, def);
        out.push_str("}\n");
    }
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(text);
}

fn separate(out: &mut String) {
    if !out.is_empty() {
        out.push('\n');
    }
}

fn write_head(out: &mut String, name: &str, ty: &PropertyType, nullability: Nullability) {
    put(out, format_args!("  {name}: {ty}{}", nullability.mark()));
}

fn write_interface(out: &mut String, interface: &InterfaceDef) {
    separate(out);
    put(out, format_args!("interface {} {{\n", interface.name));
    for property in &interface.properties {
        write_head(out, &property.name, &property.ty, property.nullability);
        for (set, mark) in [(property.key, " @key"), (property.unique, " @unique"), (property.index, " @index")] {
            out.push_str(if set { mark } else { "" });
        }
        if let Some((source, model)) = &property.embed {
            write_embed(out, source, model.as_deref());
        }
        write_metadata(out, &property.metadata);
        out.push('\n');
    }
    out.push_str("}\n");
}

fn write_property(out: &mut String, def: &TypeDef, property: &PropertyDef) {
    write_head(out, &property.name, &property.ty, property.nullability);
    if let Some(embed) = &property.embed {
        write_embed(out, def.column(Member::Property(embed.source)), embed.model.as_deref());
    }
    write_metadata(out, &property.metadata);
    out.push('\n');
}

fn write_embed(out: &mut String, source: &str, model: Option<&str>) {
    out.push_str(" @embed(");
    write_text(out, source);
    if let Some(model) = model {
        out.push_str(", model=");
        write_text(out, model);
    }
    out.push(')');
}

/// Constraints of the type, those that an interface's annotations give it included: repetition means nothing.
fn write_constraints(out: &mut String, def: &TypeDef) {
    let names = |members: &[Member]| members.iter().map(|m| def.column(*m)).collect::<Vec<_>>().join(", ");
    if let Some(key) = &def.key {
        put(out, format_args!("  @key({})\n", names(key)));
    }
    for unique in &def.uniques {
        put(out, format_args!("  @unique({})\n", names(unique)));
    }
    for member in &def.indexes {
        put(out, format_args!("  @index({})\n", def.column(*member)));
    }
    for range in &def.ranges {
        put(out, format_args!("  @range({}, {range})\n", def.column(Member::Property(range.property))));
    }
    for check in &def.checks {
        put(out, format_args!("  @check({}, ", def.column(Member::Property(check.property))));
        write_text(out, &check.pattern);
        out.push_str(")\n");
    }
}

fn write_metadata(out: &mut String, metadata: &Metadata) {
    for (name, text) in [("description", &metadata.description), ("instruction", &metadata.instruction)] {
        if let Some(text) = text {
            put(out, format_args!(" @{name}("));
            write_text(out, text);
            out.push(')');
        }
    }
    for annotation in &metadata.annotations {
        put(out, format_args!(" @{}", annotation.name));
        let mut open = false;
        if let Some(argument) = &annotation.positional {
            out.push('(');
            open = true;
            write_argument(out, argument);
        }
        for (name, argument) in &annotation.named {
            out.push_str(if open { ", " } else { "(" });
            open = true;
            put(out, format_args!("{name}="));
            write_argument(out, argument);
        }
        out.push_str(if open { ")" } else { "" });
    }
}

fn write_argument(out: &mut String, argument: &Argument) {
    match argument {
        Argument::Text(text) => write_text(out, text),
        Argument::Identifier(name) => out.push_str(name),
        Argument::Number(number) => out.push_str(number),
        Argument::Bool(flag) => put(out, format_args!("{flag}")),
    }
}

/// A string literal: the five escapes of the language, everything else raw.
fn write_text(out: &mut String, text: &str) {
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
}

#[cfg(test)]
mod tests;
