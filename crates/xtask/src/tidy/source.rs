//! A Rust file as syntax, with its test code marked off.
//!
//! Rules about code read this instead of text, so that a string or a comment never looks like code.

use syn::spanned::Spanned;
use syn::{Attribute, ImplItem, Item, Meta};

use super::finding::Finding;

/// The name of the attribute that compiles an item under a condition.
const CONDITION: &str = "cfg";
/// The condition that holds in tests alone.
const TEST: &str = "test";

/// A parsed Rust file of the product or of a test program.
pub(super) struct Source {
    /// The file, named from the top folder.
    pub(super) name: String,
    /// What it holds, tests included.
    pub(super) syntax: syn::File,
    /// Its lines, tests included.
    pub(super) lines: usize,
}

impl Source {
    /// Parses a file.
    ///
    /// # Errors
    /// A finding, if it is not Rust.
    pub(super) fn parse(name: &str, content: &str) -> Result<Self, Finding> {
        let syntax = syn::parse_file(content);
        let syntax = syntax.map_err(|error| {
            Finding::at(name, error.span().start().line, format!("cannot be parsed as Rust: {error}"))
        })?;
        Ok(Self { name: name.to_owned(), syntax, lines: content.lines().count() })
    }
}

/// Whether a Rust file holds code that is no test: `src` of a package, but not its files of tests.
pub(super) fn is_code(name: &str) -> bool {
    let Some(package) = name.strip_prefix("crates/").or_else(|| name.strip_prefix("tests/")) else { return false };
    let in_source = package.split_once('/').is_some_and(|(_, below)| below.starts_with("src/"));
    in_source && name.ends_with(".rs") && !is_tests(package)
}

/// Whether a file holds the tests of another.
pub(super) fn is_tests(name: &str) -> bool {
    name.ends_with("/tests.rs") || name.contains("/tests/")
}

/// Whether these attributes leave an item to tests.
pub(super) fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.segments.last().is_some_and(|segment| segment.ident == TEST),
        Meta::List(list) => {
            let condition = list.tokens.to_string();
            list.path.is_ident(CONDITION) && !condition.contains("not") && has_word(&condition, TEST)
        }
        Meta::NameValue(_) => false,
    })
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
}

/// The attributes of an item.
pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        // syn may learn new items; none of them has attributes that this can read.
        _ => &[],
    }
}

/// Whether an item of an `impl` is left to tests.
pub(super) fn is_test_only_member(item: &ImplItem) -> bool {
    match item {
        ImplItem::Fn(item) => is_test_only(&item.attrs),
        ImplItem::Const(item) => is_test_only(&item.attrs),
        ImplItem::Type(item) => is_test_only(&item.attrs),
        ImplItem::Macro(item) => is_test_only(&item.attrs),
        _ => false,
    }
}

/// Lines of a piece of syntax.
pub(super) fn lines_of(piece: &impl Spanned) -> usize {
    let span = piece.span();
    span.end().line - span.start().line + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_packages_is_code_and_tests_are_not() {
        for name in ["crates/a/src/lib.rs", "tests/e2e/src/x/y.rs"] {
            assert!(is_code(name), "{name}");
        }
        for name in
            ["crates/a/tests/it/main.rs", "crates/a/src/x/tests.rs", "crates/a/examples/x.rs", "crates/a/src/x.md"]
        {
            assert!(!is_code(name), "{name}");
        }
        assert!(!is_code("tests/e2e/tests/main.rs") && !is_code("crates/a/src/x/tests/y.rs"));
    }

    #[test]
    fn test_only_is_read_from_conditions() {
        let of = |text: &str| is_test_only(attributes(&syn::parse_str::<Item>(text).unwrap()));
        assert!(
            of("#[cfg(test)] mod tests {}") && of("#[cfg(all(test, unix))] mod tests {}") && of("#[test] fn f() {}")
        );
        assert!(!of("#[cfg(unix)] mod a {}") && !of("#[cfg(not(test))] mod a {}") && !of("#[derive(Debug)] struct A;"));
    }

    #[test]
    fn file_that_is_not_rust_is_a_finding() {
        assert_eq!(Source::parse("a.rs", "fn {").err().and_then(|finding| finding.line), Some(1));
    }
}
