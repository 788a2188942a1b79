//! Defaults that claim, and matching on text.
//!
//! A `_` arm in a match about effects, retries or decisions makes a claim about cases that are not written yet. A comparison of a kind with a text
//! makes one about texts that nobody listed. Both are found by the names that the code uses.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};
use syn::{Arm, BinOp, Expr, ExprBinary, ExprMatch, ImplItem, Item, Lit, Pat, Path, Type};

use super::finding::Finding;
use super::source::{Source, attributes, is_test_only, is_test_only_member};

/// Enums whose every case is written out wherever one is chosen or read.
const CLAIMS: [&str; 6] = ["Effect", "Retry", "Certainty", "Decision", "Observation", "PublicationKind"];
/// Names of values that belong to a closed set: an enum, and no text.
const CLOSED: [&str; 5] = ["kind", "member", "reason", "found", "state"];
/// Methods that return the text of a value and do not change what it names.
const AS_TEXT: [&str; 5] = ["as_str", "as_ref", "as_deref", "deref", "to_string"];

/// Checks the files of one package.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let mut constants = Constants::default();
    for source in sources {
        constants.visit_file(&source.syntax);
    }
    let of = |source: &Source| {
        let mut defaults = Defaults { source, texts: &constants.texts, findings: Vec::new() };
        defaults.visit_file(&source.syntax);
        defaults.findings
    };
    sources.iter().flat_map(of).collect()
}

/// Names of constants that are texts.
#[derive(Default)]
struct Constants {
    texts: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Constants {
    fn visit_item_const(&mut self, constant: &'ast syn::ItemConst) {
        if is_text(&constant.ty) {
            self.texts.insert(constant.ident.to_string());
        }
    }
}

fn is_text(kind: &Type) -> bool {
    matches!(kind, Type::Reference(reference) if matches!(&*reference.elem, Type::Path(path) if path.path.is_ident("str")))
}

struct Defaults<'a> {
    source: &'a Source,
    texts: &'a BTreeSet<String>,
    findings: Vec<Finding>,
}

impl Defaults<'_> {
    fn find(&mut self, line: usize, what: String) {
        self.findings.push(Finding::at(&self.source.name, line, what));
    }

    fn is_text(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Lit(literal) => matches!(literal.lit, Lit::Str(_)),
            Expr::Path(path) => {
                path.path.segments.last().is_some_and(|last| self.texts.contains(&last.ident.to_string()))
            }
            Expr::Reference(reference) => self.is_text(&reference.expr),
            _ => false,
        }
    }

    fn is_text_pattern(&self, pattern: &Pat) -> bool {
        match pattern {
            Pat::Lit(literal) => matches!(literal.lit, Lit::Str(_)),
            Pat::Path(path) => {
                path.path.segments.last().is_some_and(|last| self.texts.contains(&last.ident.to_string()))
            }
            // A constant alone is parsed as a name.
            Pat::Ident(name) => self.texts.contains(&name.ident.to_string()),
            Pat::Or(or) => or.cases.iter().any(|case| self.is_text_pattern(case)),
            _ => false,
        }
    }
}

impl<'ast> Visit<'ast> for Defaults<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test_only(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !is_test_only_member(item) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_expr_match(&mut self, found: &'ast ExprMatch) {
        let claims: BTreeSet<String> = found.arms.iter().flat_map(claims_of).collect();
        for arm in found.arms.iter().filter(|arm| is_default(&arm.pat)) {
            if let Some(claim) = claims.first() {
                let line = line_of(&arm.pat);
                self.find(
                    line,
                    format!(
                        "`_ =>` in a match about {claim}: write every case, so that a new one is decided by a person"
                    ),
                );
            }
        }
        if let Some(name) = closed_name(&found.expr)
            && found.arms.iter().any(|arm| self.is_text_pattern(&arm.pat))
        {
            self.find(found.match_token.span.start().line, format!("matches the text of {name}: make it an enum"));
        }
        visit::visit_expr_match(self, found);
    }

    fn visit_expr_binary(&mut self, found: &'ast ExprBinary) {
        if let BinOp::Eq(_) | BinOp::Ne(_) = found.op {
            let sides = [(&found.left, &found.right), (&found.right, &found.left)];
            let named =
                sides.into_iter().filter(|(_, text)| self.is_text(text)).find_map(|(name, _)| closed_name(name));
            if let Some(name) = named {
                self.find(line_of(&*found.left), format!("compares {name} with a text: make it an enum"));
            }
        }
        visit::visit_expr_binary(self, found);
    }
}

fn line_of(piece: &impl syn::spanned::Spanned) -> usize {
    piece.span().start().line
}

/// Whether a pattern takes everything that is left.
fn is_default(pattern: &Pat) -> bool {
    match pattern {
        Pat::Wild(_) => true,
        Pat::Tuple(tuple) => tuple.elems.iter().all(is_default),
        Pat::Or(or) => or.cases.iter().any(is_default),
        _ => false,
    }
}

/// The enums of `CLAIMS` whose cases an arm names.
fn claims_of(arm: &Arm) -> BTreeSet<String> {
    struct Claims(BTreeSet<String>);
    impl<'ast> Visit<'ast> for Claims {
        fn visit_path(&mut self, path: &'ast Path) {
            // The last segment is the case.
            for segment in path.segments.iter().rev().skip(1) {
                if CLAIMS.iter().any(|claim| segment.ident == claim) {
                    self.0.insert(segment.ident.to_string());
                }
            }
            visit::visit_path(self, path);
        }

        // A match inside an arm is judged by itself.
        fn visit_expr_match(&mut self, _inner: &'ast ExprMatch) {}
    }
    let mut claims = Claims(BTreeSet::new());
    claims.visit_arm(arm);
    claims.0
}

/// The name of a value that belongs to a closed set.
fn closed_name(expression: &Expr) -> Option<&'static str> {
    let of = |name: &syn::Ident| CLOSED.iter().find(|closed| name == **closed).copied();
    match expression {
        Expr::Path(path) => path.path.segments.last().and_then(|last| of(&last.ident)),
        Expr::Field(field) => match &field.member {
            syn::Member::Named(name) => of(name),
            syn::Member::Unnamed(_) => None,
        },
        Expr::MethodCall(call) if AS_TEXT.iter().any(|method| call.method == method) => closed_name(&call.receiver),
        Expr::MethodCall(call) if call.args.is_empty() => of(&call.method),
        Expr::Call(call) if call.args.is_empty() => closed_name(&call.func),
        Expr::Reference(reference) => closed_name(&reference.expr),
        Expr::Unary(unary) => closed_name(&unary.expr),
        Expr::Paren(paren) => closed_name(&paren.expr),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
