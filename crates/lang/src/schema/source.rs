//! A schema as text that parses to the same schema.

use crate::schema::describe::string_literal;
use crate::schema::model::{Argument, InterfaceDef, Member, Metadata, Origin, PropertyDef, Schema, TypeDef, TypeKind};
use crate::schema::types::{Nullability, PropertyType};
use crate::text::put;

impl Schema {
    /// The schema in the schema language: interfaces, nodes, then edges, each group by name.
    pub fn to_source(&self) -> String {
        let mut out = String::new();
        for interface in &self.interfaces {
            write_interface(&mut out, interface);
        }
        for def in self.types_by_name() {
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
                put(out, format_args!("edge {}: {} -> {}", def.name, self.type_name(from), self.type_name(to)));
                if card.is_bounded() {
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
    out.push_str(&string_literal(source));
    if let Some(model) = model {
        out.push_str(", model=");
        out.push_str(&string_literal(model));
    }
    out.push(')');
}

/// Every constraint of the type, also those that an interface's annotations give it: repeating a constraint changes nothing.
fn write_constraints(out: &mut String, def: &TypeDef) {
    for text in def.key_text().into_iter().chain(def.constraint_texts()) {
        put(out, format_args!("  {text}\n"));
    }
}

fn write_metadata(out: &mut String, metadata: &Metadata) {
    for (name, text) in [("description", &metadata.description), ("instruction", &metadata.instruction)] {
        if let Some(text) = text {
            put(out, format_args!(" @{name}("));
            out.push_str(&string_literal(text));
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
        Argument::Text(text) => out.push_str(&string_literal(text)),
        Argument::Identifier(name) => out.push_str(name),
        Argument::Number(number) => out.push_str(number),
        Argument::Bool(flag) => put(out, format_args!("{flag}")),
    }
}

#[cfg(test)]
mod tests;
