//! The state of one check: findings, and what the pattern and the parameters declare.

use std::collections::{BTreeMap, BTreeSet};

use omnigraph_types::FeatureName;

use crate::code::Code;
use crate::findings::{At, Findings};
use crate::query::ast::Name;
use crate::query::ir::{Param, Predicate, Traversal, VarId, Variable};
use crate::schema::Schema;
use crate::text::list;

pub(super) struct Checker<'a, 's> {
    pub(super) findings: Findings<'a>,
    pub(super) schema: &'s Schema,
    pub(super) params: BTreeMap<&'a str, Param>,
    pub(super) variables: Vec<Variable>,
    pub(super) by_name: BTreeMap<&'a str, VarId>,
    /// Variables that a finding keeps from being declared: what uses them gets no finding of its own.
    pub(super) undeclared: BTreeSet<&'a str>,
    pub(super) traversals: Vec<Traversal>,
    pub(super) filters: Vec<Predicate>,
    /// Uses that only the schema identifies as unsupported, such as undirected edges.
    pub(super) unsupported: Vec<(FeatureName, At)>,
}

impl<'a, 's> Checker<'a, 's> {
    pub(super) fn new(findings: Findings<'a>, schema: &'s Schema) -> Self {
        Self {
            findings,
            schema,
            params: BTreeMap::new(),
            variables: Vec::new(),
            by_name: BTreeMap::new(),
            undeclared: BTreeSet::new(),
            traversals: Vec::new(),
            filters: Vec::new(),
            unsupported: Vec::new(),
        }
    }

    pub(super) fn error(&mut self, code: Code, at: At, message: impl Into<String>) {
        self.findings.add(code, at, message);
    }

    /// Adds the finding about a name that is no variable and no parameter.
    pub(super) fn unbound(&mut self, name: Name<'_>) {
        if self.undeclared.contains(name.text) {
            return;
        }
        let mut known: Vec<&str> = self.by_name.keys().copied().chain(self.params.keys().copied()).collect();
        known.sort_unstable();
        let hint = if known.is_empty() { "bind it first".to_owned() } else { format!("known here: {}", list(&known)) };
        self.findings.add_with_hint(Code::Unbound, name.at, format!("`${}` is not bound", name.text), hint);
    }
}
