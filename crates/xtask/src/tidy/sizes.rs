//! Sizes: a function fits a screen, and a file holds one idea. Tests do not count.

use syn::visit::{self, Visit};
use syn::{Block, ImplItem, ImplItemFn, Item, ItemFn, Signature, TraitItemFn};

use super::finding::Finding;
use super::source::{Source, attributes, is_test_only, is_test_only_member, lines_of};

/// Lines that a function may have, from its signature to its last brace.
const FUNCTION_LINES_MAX: usize = 70;
/// Lines that a file may have, tests apart.
const FILE_LINES_MAX: usize = 450;

/// Checks one file.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut sizes = Sizes { source, findings: Vec::new(), test_lines: 0 };
    sizes.visit_file(&source.syntax);
    let lines = source.lines.saturating_sub(sizes.test_lines);
    if lines > FILE_LINES_MAX {
        let what = format!("has {lines} lines without tests, at most {FILE_LINES_MAX}: move its second idea to a file");
        sizes.findings.push(Finding::of(&source.name, what));
    }
    sizes.findings
}

struct Sizes<'a> {
    source: &'a Source,
    findings: Vec<Finding>,
    test_lines: usize,
}

impl Sizes<'_> {
    fn function(&mut self, signature: &Signature, block: &Block) {
        let start = signature.fn_token.span.start().line;
        let lines = block.brace_token.span.close().end().line - start + 1;
        if lines > FUNCTION_LINES_MAX {
            let what =
                format!("function {} has {lines} lines, at most {FUNCTION_LINES_MAX}: split it", signature.ident);
            self.findings.push(Finding::at(&self.source.name, start, what));
        }
    }
}

impl<'ast> Visit<'ast> for Sizes<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_test_only(attributes(item)) {
            self.test_lines += lines_of(item);
        } else {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if is_test_only_member(item) {
            self.test_lines += lines_of(item);
        } else {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(block) = &function.default {
            self.function(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(content: &str) -> Vec<Finding> {
        check(&Source::parse("crates/a/src/a.rs", content).unwrap())
    }

    fn function(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    call();\n".repeat(lines - 2))
    }

    #[test]
    fn long_function_is_found_with_its_line() {
        let found = findings(&format!("//! A file.\n\n{}", function(FUNCTION_LINES_MAX + 1)));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].line, Some(3));
        assert!(findings(&format!("//! A file.\n\n{}", function(FUNCTION_LINES_MAX))).is_empty());
        assert_eq!(findings(&format!("impl A {{\n{}}}", function(FUNCTION_LINES_MAX + 1))).len(), 1);
        assert_eq!(findings(&format!("trait A {{\n{}}}", function(FUNCTION_LINES_MAX + 1))).len(), 1);
    }

    #[test]
    fn long_file_is_found_and_its_tests_do_not_count() {
        let long = "// line\n".repeat(FILE_LINES_MAX);
        assert!(findings(&long).is_empty());
        assert_eq!(findings(&format!("{long}// line\n")).len(), 1);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{long}{}}}\n", function(FUNCTION_LINES_MAX + 1));
        assert!(findings(&format!("//! A file.\n{tests}")).is_empty());
    }
}
