//! Which crate may depend on which, and that one crate alone knows the storage library.

use serde_json::Value;

use super::finding::Finding;

/// Prefix of the workspace's packages.
const PREFIX: &str = "omnigraph-";
/// The crate that may name Lance and the object store.
const STORAGE: &str = "storage";
/// The crate that every other may use in its tests.
const TESTKIT: &str = "testkit";

/// Each crate and the crates that it may depend on. Packages under `tests/` may use them all.
const ARROWS: [(&str, &[&str]); 16] = [
    ("types", &[]),
    ("lang", &["types"]),
    ("columns", &["types", "lang"]),
    ("wire", &["types"]),
    ("storage", &["types"]),
    ("catalog", &["types", "storage"]),
    ("commit", &["types", "storage", "catalog"]),
    ("query", &["types", "lang", "columns", "storage", "catalog"]),
    ("engine", &["types", "lang", "columns", "storage", "catalog", "commit", "query"]),
    ("call", &["types", "wire"]),
    ("flight", &["types", "wire", "engine", "call"]),
    ("server", &["types", "lang", "columns", "wire", "engine", "call", "flight"]),
    ("client", &["types", "wire"]),
    ("cli", &["types", "lang", "columns", "wire", "client", "server"]),
    ("testkit", &["types", "storage"]),
    ("xtask", &[]),
];

/// Checks what `cargo metadata --no-deps` printed.
pub(super) fn check(metadata: &Value) -> Vec<Finding> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    packages.iter().flat_map(package).collect()
}

fn package(package: &Value) -> Vec<Finding> {
    let manifest = text(&package["manifest_path"]);
    if manifest.replace('\\', "/").contains("/tests/") {
        return Vec::new();
    }
    let name = short(text(&package["name"]));
    let Some((_, allowed)) = ARROWS.iter().find(|(listed, _)| *listed == name) else {
        return vec![Finding::of(
            manifest,
            format!("crate {name} is not in the table of crates: add it with its arrows"),
        )];
    };
    let dependencies = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    dependencies.iter().filter_map(|dependency| arrow(name, allowed, dependency)).collect()
}

fn arrow(name: &str, allowed: &[&str], dependency: &Value) -> Option<Finding> {
    let target = text(&dependency["name"]);
    let file = format!("crates/{name}");
    let for_tests = text(&dependency["kind"]) == "dev";
    if target.starts_with(PREFIX) {
        let target = short(target);
        let legal = allowed.contains(&target) || (for_tests && target == TESTKIT);
        return (!legal)
            .then(|| Finding::of(file, format!("may not depend on {target}: the arrows allow {allowed:?}")));
    }
    let stores = target == "object_store" || target == "lance" || target.starts_with("lance-");
    (stores && name != STORAGE)
        .then(|| Finding::of(file, format!("names {target}: only {STORAGE} may, use what it offers")))
}

fn short(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn findings(name: &str, dependency: &str, kind: Option<&str>) -> usize {
        let manifest = format!("/w/crates/{name}/Cargo.toml");
        let dependencies = [json!({ "name": dependency, "kind": kind })];
        let package =
            json!({ "name": format!("{PREFIX}{name}"), "manifest_path": manifest, "dependencies": dependencies });
        check(&json!({ "packages": [package] })).len()
    }

    #[test]
    fn arrow_outside_the_table_is_found() {
        assert_eq!(findings("engine", "omnigraph-query", None), 0);
        assert_eq!(findings("query", "omnigraph-engine", None), 1);
        assert_eq!(findings("wire", "omnigraph-lang", Some("dev")), 1);
        assert_eq!(findings("commit", "omnigraph-testkit", Some("dev")), 0);
        assert_eq!(findings("commit", "omnigraph-testkit", None), 1);
        assert_eq!(findings("novel", "serde", None), 1);
        assert_eq!(findings("flight", "omnigraph-call", None), 0);
        assert_eq!(findings("call", "omnigraph-engine", None), 1);
        assert_eq!(findings("columns", "omnigraph-lang", None), 0);
        assert_eq!(findings("columns", "omnigraph-storage", None), 1);
    }

    #[test]
    fn table_names_each_crate_once_and_only_crates_above_it() {
        for (position, (name, allowed)) in ARROWS.iter().enumerate() {
            let above: Vec<&str> = ARROWS[..position].iter().map(|(listed, _)| *listed).collect();
            assert!(!above.contains(name), "{name} is listed twice");
            assert!(allowed.iter().all(|target| above.contains(target)), "{name}: {allowed:?} are not all above it");
        }
    }

    #[test]
    fn storage_library_outside_storage_is_found() {
        assert_eq!(findings("storage", "lance-table", None), 0);
        assert_eq!(findings("catalog", "lance-table", None), 1);
        assert_eq!(findings("query", "object_store", Some("dev")), 1);
        assert_eq!(findings("query", "lancelot", None), 0);
    }
}
