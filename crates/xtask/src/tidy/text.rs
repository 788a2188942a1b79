//! Rules about the text of one file.

/// Lines of code that a Rust file may have, tests apart.
const LINES_MAX: usize = 600;
/// Files that package managers write.
const LOCK_FILES: [&str; 5] = ["Cargo.lock", "package-lock.json", "go.sum", "uv.lock", "buf.lock"];
/// Folders of generated or vendored text.
const FOREIGN: [&str; 2] = ["crates/wire/src/gen/", "proto/google/"];

/// Words that say that something is not finished. In two parts, so that this file keeps its own rule.
const UNFINISHED: [[&str; 2]; 4] = [["TO", "DO"], ["FIX", "ME"], ["XX", "X"], ["for", " now"]];
/// Hosts of package registries: which one is used is the machine's affair.
const REGISTRIES: [[&str; 2]; 8] = [
    ["crates", ".io"],
    ["pypi", ".org"],
    ["pythonhosted", ".org"],
    ["npmjs", ".org"],
    ["npmjs", ".com"],
    ["proxy.golang", ".org"],
    ["maven.apache", ".org"],
    ["deb.debian", ".org"],
];
/// How a test is switched off. In two parts, so that this file keeps its own rule.
const SWITCHED_OFF: [&str; 2] = ["#[ig", "nore"];

/// Checks one file, given its name from the top folder.
pub(super) fn check(name: &str, content: &str) -> Vec<String> {
    if FOREIGN.iter().any(|folder| name.starts_with(folder)) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let lock = LOCK_FILES.contains(&name.rsplit('/').next().unwrap_or(name));
    let is_rust = name.ends_with(".rs");
    for (index, line) in content.lines().enumerate() {
        let mut find = |what: String| findings.push(format!("{name}:{}: {what}", index + 1));
        if lock {
            continue;
        }
        for word in UNFINISHED.map(|parts| parts.concat()) {
            if has_word(line, &word) {
                find(format!("says {word:?}: finish it, or say what holds"));
            }
        }
        for host in REGISTRIES.map(|parts| parts.concat()) {
            if line.contains(&host) {
                find(format!("names the package registry {host:?}: leave that to the machine"));
            }
        }
        if is_rust && line.contains(&SWITCHED_OFF.concat()) {
            find("switches a test off: mend or remove it".to_owned());
        }
    }
    if is_rust {
        findings.extend(opening(name, content));
        findings.extend(length(name, content));
    }
    findings
}

/// A Rust file that does not open by saying what it is. A file of tests is named after what it tests.
fn opening(name: &str, content: &str) -> Option<String> {
    let opens = is_tests(name) || content.starts_with("//!") || content.starts_with("#![doc = include_str!(");
    (!opens).then(|| format!("{name}:1: opens without `//!`: say what it is, why, and its invariants"))
}

/// A Rust file that is too long.
fn length(name: &str, content: &str) -> Option<String> {
    let code = content.find("\n#[cfg(test)]\nmod tests {").map_or(content, |at| &content[..at]);
    let lines = code.lines().count();
    let long = !is_tests(name) && lines > LINES_MAX;
    long.then(|| format!("{name}: has {lines} lines without tests, at most {LINES_MAX}: a second idea lives there"))
}

/// Whether a file holds the tests of another.
fn is_tests(name: &str) -> bool {
    name.ends_with("/tests.rs") || name.contains("/tests/")
}

/// Whether a word stands in a line with no letter beside it.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_word_and_registry_are_found_with_their_line() {
        let unfinished = UNFINISHED[0].concat();
        let text = format!("//! A file.\n// {unfinished}: more\n// see https://{}/x\n", REGISTRIES[0].concat());
        let findings = check("a.rs", &text);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[0].starts_with("a.rs:2:") && findings[1].starts_with("a.rs:3:"));
        assert!(check("Cargo.lock", &text).is_empty());
        assert!(check("a.md", &format!("MY{unfinished}S and for nowhere")).is_empty());
    }

    #[test]
    fn rust_file_without_opening_or_with_a_test_switched_off_is_found() {
        assert_eq!(check("a.rs", "use std::fmt;\n").len(), 1);
        assert!(check("src/a/tests.rs", "use super::*;\n").is_empty());
        assert!(check("a.rs", "#![doc = include_str!(\"../README.md\")]\n").is_empty());
        assert_eq!(check("a.rs", &format!("//! A file.\n{}]\n", SWITCHED_OFF.concat())).len(), 1);
    }

    #[test]
    fn long_file_is_found_and_its_tests_do_not_count() {
        let long = format!("//! A file.\n{}", "// line\n".repeat(LINES_MAX));
        assert_eq!(check("src/a.rs", &long).len(), 1);
        assert!(check("src/a/tests.rs", &long).is_empty());
        let tested = format!("//! A file.\n\n#[cfg(test)]\nmod tests {{\n{}}}\n", "// line\n".repeat(LINES_MAX));
        assert!(check("src/a.rs", &tested).is_empty());
    }
}
