use super::*;

/// The circles of a crate of these files.
fn circles(files: &[(&str, &str)]) -> Vec<String> {
    let parse = |(name, content): &(&str, &str)| Source::parse(&format!("crates/a/src/{name}"), content).unwrap();
    let sources: Vec<Source> = files.iter().map(parse).collect();
    check(&sources).into_iter().map(|finding| finding.what).collect()
}

fn is_circle(files: &[(&str, &str)]) -> bool {
    !circles(files).is_empty()
}

#[test]
fn two_files_that_use_one_another_are_named_with_their_lines() {
    let found = circles(&[
        ("lib.rs", "mod x; mod y;"),
        ("x.rs", "use crate::y::Y;\npub struct X(Y);"),
        ("y.rs", "pub struct Y;\n\nfn f() { crate::x::X(Y); }"),
    ]);
    assert_eq!(
        found,
        [
            "circle of 2 files, x.rs, y.rs; the shortest: x.rs uses crate::y::Y of y.rs (line 1), y.rs uses crate::x::X of x.rs (line 3)"
        ]
    );
}

#[test]
fn files_in_floors_are_no_circle() {
    assert!(!is_circle(&[
        ("lib.rs", "mod x; mod y; mod z; pub use x::X; fn f() { x::X; }"),
        ("x.rs", "use crate::y::Y; use crate::z::Z; pub struct X;"),
        ("y.rs", "use crate::z::Z; pub struct Y;"),
        ("z.rs", "pub struct Z;"),
    ]));
}

#[test]
fn detour_through_the_root_hides_nothing() {
    assert!(is_circle(&[
        ("lib.rs", "mod x; mod y; pub use x::X; pub use crate::y::*;"),
        ("x.rs", "use crate::Y; pub struct X;"),
        ("y.rs", "use crate::X; pub struct Y;"),
    ]));
}

#[test]
fn longer_circle_is_one_finding() {
    let found = circles(&[
        ("lib.rs", "mod x; mod y; mod z;"),
        ("x.rs", "use crate::y::Y; pub struct X;"),
        ("y.rs", "use crate::z::Z; pub struct Y;"),
        ("z.rs", "pub struct Z(super::x::X);"),
    ]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("circle of 3 files, x.rs, y.rs, z.rs;"), "{found:?}");
}

#[test]
fn parent_that_only_declares_and_exports_is_above_nobody() {
    let child = ("x/y.rs", "use super::z::Z; pub struct Y;");
    let sibling = ("x/z.rs", "pub struct Z;");
    let root = ("lib.rs", "mod x;");
    assert!(!is_circle(&[root, ("x.rs", "mod y; mod z; pub use y::Y; pub(crate) use self::z::Z;"), child, sibling]));
}

#[test]
fn child_that_uses_its_parent_is_a_circle_once_the_parent_uses_it() {
    let root = ("lib.rs", "mod x;");
    let child = ("x/y.rs", "use super::X; pub struct Y(X);");
    assert!(!is_circle(&[root, ("x.rs", "mod y; pub use y::Y; pub struct X;"), child]));
    assert!(is_circle(&[root, ("x.rs", "mod y; pub use y::Y; pub struct X; fn f(y: Y) {}"), child]));
    assert!(is_circle(&[root, ("x.rs", "mod y; pub struct X; fn f() { y::Y::new(); }"), child]));
    assert!(is_circle(&[
        root,
        ("x.rs", "mod y; use y::Y; pub struct X;"),
        ("x/y.rs", "use super::*; pub struct Y(X);")
    ]));
}

#[test]
fn parents_import_is_followed_to_its_file() {
    let files = [
        ("lib.rs", "mod error; mod x;"),
        ("error.rs", "pub struct Error;"),
        ("x.rs", "mod y; use crate::error::Error; use y::Y; fn f(y: Y) -> Error {}"),
        ("x/y.rs", "use super::Error; pub struct Y(Error);"),
    ];
    assert!(!is_circle(&files));
}

#[test]
fn tests_visibility_and_attributes_are_no_arrows() {
    assert!(!is_circle(&[
        ("lib.rs", "mod x; mod y;"),
        ("x.rs", "use crate::y::Y; pub(super) struct X; pub(crate) fn f() {}"),
        (
            "y.rs",
            "pub struct Y;\n#[cfg(test)] use crate::x::X;\n#[cfg(test)] mod tests { use crate::x::X; }\nimpl Y { #[cfg(test)] fn f() { crate::x::X; } }"
        ),
    ]));
}

#[test]
fn path_inside_a_macro_is_an_arrow() {
    assert!(is_circle(&[
        ("lib.rs", "mod x; mod y;"),
        ("x.rs", "use crate::y::Y; pub struct X; pub const MAX: u64 = 1;"),
        ("y.rs", "pub struct Y; fn f() { println!(\"{}\", crate::x::MAX); }"),
    ]));
    assert!(is_circle(&[
        ("lib.rs", "mod x; mod y;"),
        ("x.rs", "use crate::y::Y; pub struct X;"),
        ("y.rs", "use super::x; pub struct Y; fn f() { assert!(matches!(a, x::X)); }"),
    ]));
}

#[test]
fn module_or_variable_of_the_same_name_is_no_arrow() {
    assert!(!is_circle(&[
        ("lib.rs", "mod x;"),
        ("x.rs", "mod plan; pub struct X; fn f(plan: u64) -> u64 { plan + x.plan }"),
        ("x/plan.rs", "use super::X; pub struct Plan(X);"),
    ]));
    assert!(!is_circle(&[
        ("lib.rs", "mod x; mod bytes;"),
        ("x.rs", "use bytes::Bytes; pub struct X;"),
        ("bytes.rs", "use crate::x::X; pub struct Mine;"),
    ]));
}

#[test]
fn module_and_function_of_one_name_are_two_things() {
    assert!(!is_circle(&[
        ("lib.rs", "mod x;"),
        ("x.rs", "mod open; mod csv; pub fn open() { csv::read() }"),
        ("x/open.rs", "pub fn file() {}"),
        ("x/csv.rs", "use super::open::file; pub fn read() { file() }"),
    ]));
}
