//! Declarations to a schema: names resolved, rules checked, ids allocated as for a new graph.
//!
//! Every finding is collected; a schema is made only if there is none.

mod annotations;
mod constraints;
mod context;
mod draft;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use omnigraph_types::{Diagnostic, PropertyId, TableId};

use crate::error::LangError;
use crate::findings::Findings;
use crate::schema::ast::{Declarations, InterfaceAst, KindAst, Name, PropertyAst, TypeAst};
use crate::schema::canonical::sort_type;
use crate::schema::check::annotations::{header_marks, property_marks};
use crate::schema::check::context::Checker;
use crate::schema::check::draft::{Draft, PropertyMarks, draft};
use crate::schema::model::{Cardinality, Embed, InterfaceDef, InterfaceProperty, Origin, Schema, TypeDef, TypeKind};
use crate::schema::parse::parse_declarations;
use crate::schema::types::{PropertyType, Scalar};

pub use context::Rename;

/// Property names that storage or the languages keep for themselves.
const RESERVED_EVERYWHERE: [&str; 12] = [
    "id",
    "src",
    "dst",
    "_rowid",
    "_rowaddr",
    "_rowoffset",
    "_row_created_at_version",
    "_row_last_updated_at_version",
    "_distance",
    "_score",
    "_relevance_score",
    "_tombstone",
];
/// Property names that edges cannot have.
const RESERVED_ON_EDGES: [&str; 2] = ["from", "to"];

/// A schema text that passed every check.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedSchema {
    /// The schema, with ids as for a new graph.
    pub(crate) schema: Schema,
    /// Every `@rename_from`, for matching against an accepted schema.
    pub renames: Vec<Rename>,
    /// Findings that do not stop the schema, in the order of the text.
    pub warnings: Vec<Diagnostic>,
}

/// Parses and checks a schema text. Warnings are in the result. Time and memory follow the length of the text, which the caller bounds.
pub fn parse_schema(text: &str) -> Result<ParsedSchema, LangError> {
    let mut findings = Findings::new(text);
    let declarations = parse_declarations(text, &mut findings)
        .map_err(|failure| LangError::Schema { diagnostics: vec![failure.diagnostic(text)] })?;
    let mut checker = Checker { findings, warnings: Findings::new(text), renames: Vec::new() };
    let schema = checker.schema(&declarations);
    if !checker.findings.is_empty() {
        return Err(LangError::Schema { diagnostics: checker.findings.into_sorted() });
    }
    Ok(ParsedSchema { schema, renames: checker.renames, warnings: checker.warnings.into_sorted() })
}

impl Schema {
    /// The schema of a new graph. `@rename_from` has no effect.
    pub fn accept_first(parsed: &ParsedSchema) -> Self {
        parsed.schema.clone()
    }
}

/// What a name is declared as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Declared {
    Interface,
    Node,
    Edge,
}

impl fmt::Display for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interface => "interface",
            Self::Node => "node type",
            Self::Edge => "edge type",
        })
    }
}

/// Interfaces and ids that declarations refer to.
struct Scope<'d, 'a> {
    interfaces: BTreeMap<&'a str, (&'d InterfaceAst<'a>, Vec<PropertyMarks>)>,
    nodes: BTreeMap<&'a str, TableId>,
    edges: BTreeMap<&'a str, TableId>,
}

impl<'a> Checker<'a> {
    fn schema(&mut self, declarations: &Declarations<'a>) -> Schema {
        self.check_names(declarations);
        let mut interfaces = BTreeMap::new();
        for ast in &declarations.interfaces {
            interfaces.entry(ast.name.text).or_insert((ast, Vec::new())).1 = self.interface_marks(ast);
        }
        let (nodes, edges) = allocate(declarations);
        let next = u32::try_from(nodes.len() + edges.len()).map_or(u32::MAX, |count| count.saturating_add(1));
        let scope = Scope { interfaces, nodes, edges };
        let types = declarations.types.iter().map(|ast| self.type_def(ast, &scope)).collect();
        let interface_defs = scope.interfaces.into_values().map(|(ast, marks)| interface_def(ast, &marks)).collect();
        Schema::new(types, interface_defs, next)
    }

    /// One namespace for nodes, edges and interfaces; edges also differ by more than case.
    fn check_names(&mut self, declarations: &Declarations<'a>) {
        let mut seen: BTreeMap<&str, Declared> = BTreeMap::new();
        let mut folded: BTreeMap<String, &str> = BTreeMap::new();
        let interfaces = declarations.interfaces.iter().map(|ast| (ast.name, Declared::Interface));
        let types = declarations.types.iter().map(|ast| match ast.kind {
            KindAst::Node { .. } => (ast.name, Declared::Node),
            KindAst::Edge { .. } => (ast.name, Declared::Edge),
        });
        let mut names: Vec<(Name<'a>, Declared)> = interfaces.chain(types).collect();
        names.sort_by_key(|(name, _)| name.at.start);
        for (name, declared) in names {
            let reserved = ["Vector", "Enum", "Blob"].contains(&name.text) || Scalar::by_name(name.text).is_some();
            if reserved {
                self.error(name, format!("`{}` is the name of a built-in type; choose another name", name.text));
            }
            if let Some(other) = seen.insert(name.text, declared) {
                self.error(name, format!("duplicate name: `{}` is declared already, as {other}", name.text));
            } else if declared == Declared::Edge
                && let Some(other) = folded.insert(name.text.to_ascii_lowercase(), name.text)
            {
                let message =
                    format!("the edge names `{other}` and `{}` differ only by case, which queries ignore", name.text);
                self.error(name, message);
            }
        }
    }

    /// Checks the properties of an interface by themselves.
    fn interface_marks(&mut self, ast: &InterfaceAst<'a>) -> Vec<PropertyMarks> {
        self.check_property_names(&ast.properties, &RESERVED_EVERYWHERE);
        ast.properties.iter().map(|property| property_marks(self, property)).collect()
    }

    fn check_property_names(&mut self, properties: &[PropertyAst<'a>], reserved: &[&str]) {
        let mut seen = BTreeSet::new();
        for property in properties {
            let name = property.name;
            if reserved.contains(&name.text) {
                self.error(name, format!("`{}` is a reserved name; choose another name", name.text));
            } else if !seen.insert(name.text) {
                self.error(name, format!("duplicate property: `{}` is declared already", name.text));
            }
        }
    }

    fn type_def(&mut self, ast: &TypeAst<'a>, scope: &Scope<'_, 'a>) -> TypeDef {
        let reserved: Vec<&str> = match ast.kind {
            KindAst::Node { .. } => RESERVED_EVERYWHERE.to_vec(),
            KindAst::Edge { .. } => RESERVED_EVERYWHERE.into_iter().chain(RESERVED_ON_EDGES).collect(),
        };
        self.check_property_names(&ast.properties, &reserved);
        let metadata = header_marks(self, ast);
        let mut drafts: Vec<Draft<'a>> = Vec::new();
        for property in &ast.properties {
            let marks = property_marks(self, property);
            if let Some(from) = &marks.rename_from {
                let property = Some(property.name.text.to_owned());
                self.renames.push(Rename { type_name: ast.name.text.to_owned(), property, from: from.clone() });
            }
            drafts.push(draft(property, marks, Origin::Own));
        }
        let (kind, implements) = match &ast.kind {
            KindAst::Node { implements } => {
                self.inherit(&mut drafts, implements, scope);
                let names: BTreeSet<&str> = implements.iter().map(|name| name.text).collect();
                (Some(TypeKind::Node), names.into_iter().map(str::to_owned).collect())
            }
            KindAst::Edge { from, to, card } => {
                let (from, to) = (self.endpoint(*from, scope), self.endpoint(*to, scope));
                let kind = from.zip(to).map(|(from, to)| TypeKind::Edge { from, to, card: *card });
                (kind, Vec::new())
            }
        };
        for (draft, id) in drafts.iter_mut().zip(1..) {
            draft.def.id = PropertyId(id);
        }
        let ids = if matches!(ast.kind, KindAst::Node { .. }) { &scope.nodes } else { &scope.edges };
        // Without its ends an edge's own rules are still checked; the findings keep the result from being used.
        let unresolved = TypeKind::Edge { from: TableId(0), to: TableId(0), card: Cardinality::ANY };
        let mut def = TypeDef {
            id: ids.get(ast.name.text).copied().unwrap_or(TableId(0)),
            name: ast.name.text.to_owned(),
            kind: kind.unwrap_or(unresolved),
            properties: drafts.iter().map(|draft| draft.def.clone()).collect(),
            key: None,
            uniques: Vec::new(),
            indexes: Vec::new(),
            ranges: Vec::new(),
            checks: Vec::new(),
            implements,
            metadata,
            next_property_id: u32::try_from(drafts.len()).map_or(u32::MAX, |count| count.saturating_add(1)),
        };
        self.embeds(&mut def, &drafts);
        constraints::add(self, &mut def, ast, &drafts);
        sort_type(&mut def);
        def
    }

    /// Copies what the interfaces contribute and the type does not declare itself.
    fn inherit(&mut self, drafts: &mut Vec<Draft<'a>>, implements: &[Name<'a>], scope: &Scope<'_, 'a>) {
        let mut seen = BTreeSet::new();
        for name in implements {
            if !seen.insert(name.text) {
                self.error(*name, format!("the interface `{}` is listed twice", name.text));
                continue;
            }
            let Some((interface, marks)) = scope.interfaces.get(name.text) else {
                self.error(*name, format!("unknown interface `{}`", name.text));
                continue;
            };
            for (property, marks) in interface.properties.iter().zip(marks) {
                let inherited = draft(property, marks.clone(), Origin::Interface);
                match drafts.iter().find(|draft| draft.def.name == inherited.def.name) {
                    None => drafts.push(inherited),
                    Some(present) => {
                        let same_type =
                            present.def.ty == inherited.def.ty && present.def.nullability == inherited.def.nullability;
                        let own = present.def.origin == Origin::Own;
                        let (at, property) = (if own { present.name } else { *name }, property.name.text);
                        if !same_type {
                            let message = format!(
                                "type conflict: `{property}` has another type in the interface `{}`",
                                name.text
                            );
                            self.error(at, message);
                        } else if !own && !present.marks.same_meaning(&inherited.marks) {
                            let message = format!("two interfaces give `{property}` different annotations");
                            self.error(at, message);
                        }
                    }
                }
            }
        }
    }

    fn endpoint(&mut self, name: Name<'a>, scope: &Scope<'_, 'a>) -> Option<TableId> {
        if let Some(id) = scope.nodes.get(name.text) {
            return Some(*id);
        }
        let what = if scope.interfaces.contains_key(name.text) {
            "is an interface"
        } else if scope.edges.contains_key(name.text) {
            "is an edge type"
        } else {
            "is not declared"
        };
        self.error(name, format!("unknown endpoint: `{}` {what}; the ends of an edge are node types", name.text));
        None
    }

    /// Resolves the sources of `@embed`.
    fn embeds(&mut self, def: &mut TypeDef, drafts: &[Draft<'a>]) {
        for (at, draft) in drafts.iter().enumerate() {
            let Some(embed) = &draft.marks.embed else { continue };
            let place = Name { text: draft.name.text, at: embed.at };
            if def.is_edge() {
                self.error(place, "`@embed` is for nodes, not for edges");
                continue;
            }
            let source = def.property(&embed.source).filter(|p| p.ty == PropertyType::Scalar(Scalar::String));
            match source.map(|source| source.id) {
                Some(source) => def.properties[at].embed = Some(Embed { source, model: embed.model.clone() }),
                None => {
                    let message =
                        format!("`@embed`: `{}` is no String property of this type", crate::text::clip(&embed.source));
                    self.error(place, message);
                }
            }
        }
    }
}

type Ids<'a> = BTreeMap<&'a str, TableId>;

/// Ids of node types in order of name, then of edge types; so the order of declarations means nothing.
fn allocate<'a>(declarations: &Declarations<'a>) -> (Ids<'a>, Ids<'a>) {
    let (mut nodes, mut edges) = (Ids::new(), Ids::new());
    for ast in &declarations.types {
        let ids = if matches!(ast.kind, KindAst::Node { .. }) { &mut nodes } else { &mut edges };
        ids.insert(ast.name.text, TableId(0));
    }
    for (id, slot) in (1..).zip(nodes.values_mut().chain(edges.values_mut())) {
        *slot = TableId(id);
    }
    (nodes, edges)
}

fn interface_def(ast: &InterfaceAst<'_>, marks: &[PropertyMarks]) -> InterfaceDef {
    let property = |(property, marks): (&PropertyAst<'_>, &PropertyMarks)| InterfaceProperty {
        name: property.name.text.to_owned(),
        ty: property.ty.clone(),
        nullability: property.nullability,
        key: marks.key.is_some(),
        unique: marks.unique.is_some(),
        index: marks.index.is_some(),
        embed: marks.embed.as_ref().map(|embed| (embed.source.clone(), embed.model.clone())),
        metadata: marks.metadata.clone(),
    };
    InterfaceDef {
        name: ast.name.text.to_owned(),
        properties: ast.properties.iter().zip(marks).map(property).collect(),
    }
}

#[cfg(test)]
mod tests;
