//! Escapes: attributes and macros that hide code from the rules about sizes, circles and defaults.

use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ImplItem, Item, ItemMod, Lit, Macro, Meta};

use super::finding::Finding;
use super::source::{Source, attributes, is_test_only, is_test_only_member};

/// Attributes that switch a lint off.
const LEVELS: [&str; 2] = ["allow", "expect"];
/// Lints about sizes and defaults.
const LINTS: [&str; 5] =
    ["too_many_lines", "too_many_arguments", "cognitive_complexity", "match_wildcard", "wildcard_enum_match_arm"];
/// The macro that takes code from another file.
const INCLUDE: &str = "include";
/// The attribute that takes a module from another file.
const PATH: &str = "path";
/// Where generated modules lie, below the file that declares them.
const GENERATED: &str = "gen/";

/// Checks one file.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut escapes = Escapes { source, findings: Vec::new() };
    escapes.visit_file(&source.syntax);
    escapes.findings
}

struct Escapes<'a> {
    source: &'a Source,
    findings: Vec<Finding>,
}

impl Escapes<'_> {
    fn find(&mut self, line: usize, escape: &str) {
        let what = format!("hides code from a rule by `{escape}`: keep the rule");
        self.findings.push(Finding::at(&self.source.name, line, what));
    }
}

impl<'ast> Visit<'ast> for Escapes<'_> {
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

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let generated = module.attrs.iter().any(is_generated);
        if !generated {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let line = attribute.pound_token.span.start().line;
        match &attribute.meta {
            Meta::Path(path) if path.segments.first().is_some_and(|tool| tool.ident == "rustfmt") => {
                self.find(line, "rustfmt::skip");
            }
            Meta::NameValue(value) if value.path.is_ident(PATH) => self.find(line, PATH),
            Meta::List(list) if LEVELS.iter().any(|level| list.path.is_ident(level)) => {
                let lints = list.tokens.to_string();
                if let Some(lint) = LINTS.iter().find(|lint| lints.contains(**lint)) {
                    self.find(line, lint);
                }
            }
            Meta::Path(_) | Meta::NameValue(_) | Meta::List(_) => {}
        }
    }

    fn visit_macro(&mut self, found: &'ast Macro) {
        if found.path.is_ident(INCLUDE) {
            self.find(found.bang_token.span.start().line, "include!");
        }
        visit::visit_macro(self, found);
    }
}

/// Whether an attribute takes a module from the generated files.
fn is_generated(attribute: &Attribute) -> bool {
    let Meta::NameValue(value) = &attribute.meta else { return false };
    let Expr::Lit(literal) = &value.value else { return false };
    matches!(&literal.lit, Lit::Str(text) if value.path.is_ident(PATH) && text.value().starts_with(GENERATED))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(content: &str) -> usize {
        check(&Source::parse("crates/a/src/a.rs", content).unwrap()).len()
    }

    #[test]
    fn escape_from_a_rule_is_found() {
        for content in [
            "#[rustfmt::skip]\nfn f() {}",
            "#[path = \"other/x.rs\"]\nmod x;",
            "include!(\"x.rs\");",
            "#![allow(clippy::too_many_lines)]",
            "impl A { #[expect(clippy::too_many_arguments, reason = \"x\")] fn f() {} }",
        ] {
            assert_eq!(findings(content), 1, "{content}");
        }
    }

    #[test]
    fn generated_modules_tests_and_other_attributes_are_no_escape() {
        for content in [
            "#[rustfmt::skip]\n#[path = \"gen/mod.rs\"]\nmod x;",
            "#[cfg(test)]\n#[path = \"it/x.rs\"]\nmod tests;",
            "#[allow(clippy::large_enum_variant)]\nstruct A;",
            "const A: &str = include_str!(\"x\");",
        ] {
            assert_eq!(findings(content), 0, "{content}");
        }
    }
}
