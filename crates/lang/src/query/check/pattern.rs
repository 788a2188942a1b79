//! The pattern: bindings, traversals with their directions, and filters.

use omnigraph_types::{FeatureName, TableId};

use crate::code::Code;
use crate::query::ast::{ClauseAst, Name, ShapeAst, TraversalAst};
use crate::query::check::context::Checker;
use crate::query::ir::{Traversal, VarId, Variable, VariableKind};
use crate::schema::{TypeDef, TypeKind};
use crate::text::list;

/// A traversal whose edge is known.
struct Hop<'t, 'a> {
    ast: &'t TraversalAst<'a>,
    edge: TableId,
    edge_name: String,
    from: TableId,
    to: TableId,
    /// Position in the text.
    index: usize,
}

/// Which types a name may be of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kinds {
    Nodes,
    Edges,
}

impl<'a> Checker<'a, '_> {
    pub(super) fn pattern(&mut self, clauses: &[ClauseAst<'a>]) {
        for clause in clauses {
            if let ClauseAst::Binding { var, type_name, .. } = clause {
                self.bind(*var, *type_name);
            }
        }
        self.traverse(clauses);
        for clause in clauses {
            match clause {
                ClauseAst::Binding { var, matches, .. } => {
                    for (property, value) in matches {
                        self.inline_match(*var, *property, value);
                    }
                }
                ClauseAst::Filter(condition) => {
                    if let Some(predicate) = self.condition(condition) {
                        self.filters.push(predicate);
                    }
                }
                ClauseAst::Traversal(_) | ClauseAst::Unsupported => {}
            }
        }
    }

    fn bind(&mut self, var: Name<'a>, type_name: Name<'a>) {
        if var.is_anonymous() {
            return self.error(Code::Unbound, var.at, "`$_` cannot be bound; give the variable a name");
        }
        let Some(def) = self.schema.type_by_name(type_name.text).filter(|def| !def.is_edge()) else {
            self.undeclared.insert(var.text);
            let message = format!("unknown node type `{}`", type_name.text);
            let hint = self.known_types(Kinds::Nodes);
            return self.findings.add_with_hint(Code::UnknownNodeType, type_name.at, message, hint);
        };
        match self.by_name.get(var.text) {
            Some(&id) if self.variables[id.0].type_id != def.id => {
                let other = self.variables[id.0].type_name.clone();
                let message = format!("`${}` is bound already, to `{other}`", var.text);
                self.error(Code::DuplicateName, var.at, message);
            }
            Some(_) => {}
            None => {
                self.declare(var, VariableKind::Node, def);
            }
        }
    }

    /// A new variable. An anonymous one is declared anew each time.
    fn declare(&mut self, name: Name<'a>, kind: VariableKind, def: &TypeDef) -> VarId {
        let id = VarId(self.variables.len());
        let named = !name.is_anonymous();
        self.variables.push(Variable {
            name: named.then(|| name.text.to_owned()),
            kind,
            type_id: def.id,
            type_name: def.name.clone(),
        });
        if named {
            if self.params.contains_key(name.text) {
                let message = format!("`${}` is a parameter and cannot be a variable of the pattern too", name.text);
                self.error(Code::DuplicateName, name.at, message);
            }
            self.by_name.insert(name.text, id);
        }
        id
    }

    /// Decides all traversals: first those that a known end decides, else the next in the text from its left end.
    fn traverse(&mut self, clauses: &[ClauseAst<'a>]) {
        let mut pending = Vec::new();
        for clause in clauses {
            if let ClauseAst::Traversal(ast) = clause
                && let Some(hop) = self.hop(ast, pending.len())
            {
                pending.push(hop);
            }
        }
        let mut decided: Vec<(usize, Traversal)> = Vec::new();
        while !pending.is_empty() {
            let known = pending.iter().position(|hop| self.known(hop.ast.left).or(self.known(hop.ast.right)).is_some());
            let hop = pending.remove(known.unwrap_or(0));
            if let Some(traversal) = self.decide(&hop) {
                decided.push((hop.index, traversal));
            }
        }
        decided.sort_by_key(|(index, _)| *index);
        self.traversals = decided.into_iter().map(|(_, traversal)| traversal).collect();
    }

    /// The edge of a traversal, with the checks that do not need the types of its ends.
    fn hop<'t>(&mut self, ast: &'t TraversalAst<'a>, index: usize) -> Option<Hop<'t, 'a>> {
        let Some(def) = self.schema.edge_by_lower_name(ast.edge.text) else {
            self.undeclared.extend([ast.left.text, ast.right.text]);
            self.undeclared.extend(ast.edge_var.map(|name| name.text));
            let message = format!("unknown edge `{}`", ast.edge.text);
            let hint = self.known_types(Kinds::Edges);
            self.findings.add_with_hint(Code::UnknownEdge, ast.edge.at, message, hint);
            return None;
        };
        let TypeKind::Edge { from, to, .. } = def.kind else { return None };
        let (edge, edge_name) = (def.id, def.name.clone());
        if ast.left.is_anonymous() && ast.right.is_anonymous() {
            self.error(Code::Unbound, ast.left.at.to(ast.right.at), "`$_` cannot be both ends");
            return None;
        }
        if ast.shape == ShapeAst::Undirected {
            if from == to {
                self.unsupported.push((FeatureName::Undirected, ast.edge.at));
            } else {
                self.error(
                    Code::UndirectedBetweenTypes,
                    ast.edge.at,
                    format!("`{edge_name}` joins different types and cannot be undirected"),
                );
            }
        }
        if let Some(hops) = ast.hops {
            if hops.min < 1 || hops.max < hops.min {
                self.error(Code::HopBounds, hops.at, "hop bounds are `{m,n}` with 1 <= m <= n");
            } else if ast.edge_var.is_some() {
                self.error(Code::EdgeVariable, hops.at, "an edge variable takes no hop bounds");
            } else if hops.max > 1 && from != to {
                self.error(
                    Code::HopBounds,
                    hops.at,
                    format!("`{edge_name}` joins different types and takes one hop only"),
                );
            } else if hops.max > 1 {
                self.unsupported.push((FeatureName::Hops, hops.at));
            }
        }
        Some(Hop { ast, edge, edge_name, from, to, index })
    }

    /// The type of a named variable that is declared already.
    fn known(&self, name: Name<'a>) -> Option<TableId> {
        let id = self.by_name.get(name.text).filter(|_| !name.is_anonymous())?;
        Some(self.variables[id.0].type_id)
    }

    /// The node or edge types of the schema, as a hint.
    fn known_types(&self, kinds: Kinds) -> String {
        let wanted = self.schema.types().iter().filter(|def| def.is_edge() == (kinds == Kinds::Edges));
        let names: Vec<&str> = wanted.map(|def| def.name.as_str()).collect();
        match (kinds, names.is_empty()) {
            (Kinds::Nodes, true) => "the schema has no node types".to_owned(),
            (Kinds::Edges, true) => "the schema has no edge types".to_owned(),
            (Kinds::Nodes, false) => format!("node types: {}", list(&names)),
            (Kinds::Edges, false) => format!("edge types, whose names ignore case here: {}", list(&names)),
        }
    }

    fn decide(&mut self, hop: &Hop<'_, 'a>) -> Option<Traversal> {
        let (left, right) = (hop.ast.left, hop.ast.right);
        let undeclared = |name: Name<'a>| self.undeclared.contains(name.text) && self.known(name).is_none();
        if undeclared(left) || undeclared(right) {
            // The direction may depend on the type that is unknown, so the other end stays open as well.
            self.undeclared.extend([left.text, right.text]);
            self.undeclared.extend(hop.ast.edge_var.map(|name| name.text));
            return None;
        }
        let forward = if hop.from == hop.to {
            true
        } else if let Some(ty) = self.known(left) {
            ty != hop.to
        } else {
            self.known(right).is_none_or(|ty| ty != hop.from)
        };
        let (left_type, right_type) = if forward { (hop.from, hop.to) } else { (hop.to, hop.from) };
        let left = self.end(left, left_type, &hop.edge_name);
        let right = self.end(right, right_type, &hop.edge_name);
        let edge_var = hop.ast.edge_var.and_then(|name| self.edge_variable(name, hop.edge));
        let (left, right) = (left?, right?);
        let (src, dst) = if forward { (left, right) } else { (right, left) };
        Some(Traversal { edge: hop.edge, edge_name: hop.edge_name.clone(), edge_var, src, dst })
    }

    /// The node variable at one end, declared if it is new.
    fn end(&mut self, name: Name<'a>, ty: TableId, edge: &str) -> Option<VarId> {
        let def = self.schema.type_by_id(ty)?;
        let Some(&id) = self.by_name.get(name.text).filter(|_| !name.is_anonymous()) else {
            return Some(self.declare(name, VariableKind::Node, def));
        };
        let variable = &self.variables[id.0];
        if variable.kind == VariableKind::Edge {
            self.error(
                Code::EdgeVariable,
                name.at,
                format!("`${}` is an edge and cannot be the end of one", name.text),
            );
            return None;
        }
        if variable.type_id != ty {
            let message =
                format!("`${}` is a `{}`, but `{edge}` needs a `{}` here", name.text, variable.type_name, def.name);
            self.error(Code::EndpointType, name.at, message);
            return None;
        }
        Some(id)
    }

    fn edge_variable(&mut self, name: Name<'a>, edge: TableId) -> Option<VarId> {
        if name.is_anonymous() {
            self.error(
                Code::EdgeVariable,
                name.at,
                "an edge variable needs a name of its own; leave it out to ignore the edge",
            );
            return None;
        }
        let def = self.schema.type_by_id(edge)?;
        if self.by_name.contains_key(name.text) {
            self.error(
                Code::DuplicateName,
                name.at,
                format!("`${}` is used already; an edge variable needs a fresh name", name.text),
            );
            return None;
        }
        Some(self.declare(name, VariableKind::Edge, def))
    }
}
