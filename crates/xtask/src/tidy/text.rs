//! Rules about the text of one file.

use super::finding::Finding;
use super::source::is_tests;

/// Files that package managers write.
const LOCK_FILES: [&str; 5] = ["Cargo.lock", "package-lock.json", "go.sum", "uv.lock", "buf.lock"];

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
pub(super) fn check(name: &str, content: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lock = LOCK_FILES.contains(&name.rsplit('/').next().unwrap_or(name));
    let is_rust = name.ends_with(".rs");
    for (index, line) in content.lines().enumerate() {
        let mut find = |what: String| findings.push(Finding::at(name, index + 1, what));
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
    }
    findings
}

/// A Rust file that does not open by saying what it is. A file of tests is named after what it tests.
fn opening(name: &str, content: &str) -> Option<Finding> {
    let opens = is_tests(name) || content.starts_with("//!") || content.starts_with("#![doc = include_str!(");
    (!opens).then(|| Finding::at(name, 1, "opens without `//!`: say what it is, why, and its invariants"))
}

/// Whether a line has a word with no letter beside it.
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
        assert_eq!((findings[0].line, findings[1].line), (Some(2), Some(3)));
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
}
