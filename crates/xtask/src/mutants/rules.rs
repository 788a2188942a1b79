//! The rules, each with the test that guards it, and the switches in the source that break them.
//!
//! The table is a text, one rule a line, so that a hundred rules are read at a glance.

use std::path::Path;

use crate::error::{Error, Result};
use crate::files;
use crate::mutants::suites::SUITES;
use crate::workspace::Workspace;

/// Where switches may be.
const FOLDERS: [&str; 4] = ["crates/commit/src", "crates/catalog/src", "crates/storage/src", "crates/engine/src"];
/// The table: number, suite, test, rule.
const TABLE: &str = include_str!("rules.txt");
/// In place of a suite and its test: no test is named, all suites are tried.
const NONE: &str = "-";

/// The test that guards a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Guard {
    /// A name in `SUITES`.
    pub(super) suite: &'static str,
    pub(super) test: &'static str,
}

/// What a mutation breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) number: u32,
    pub(super) guard: Option<Guard>,
    pub(super) text: &'static str,
}

/// A switch in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Switch {
    pub(super) rule: Rule,
    pub(super) file: String,
}

/// Every rule of the table.
pub(super) fn rules() -> Result<Vec<Rule>> {
    TABLE.lines().filter(|line| !line.starts_with('#')).map(rule).collect()
}

fn rule(line: &'static str) -> Result<Rule> {
    let unreadable = || Error::new(format!("read the rules: no number, suite, test and rule in `{line}`"));
    let parts: Vec<&str> = line.splitn(4, '|').map(str::trim).collect();
    let [number, suite, test, text] = parts[..] else { return Err(unreadable()) };
    let guard = match (suite, test) {
        (NONE, NONE) => None,
        (suite, test) if SUITES.iter().any(|(known, ..)| *known == suite) => Some(Guard { suite, test }),
        _ => return Err(unreadable()),
    };
    Ok(Rule { number: number.parse().map_err(|_| unreadable())?, guard, text })
}

/// Every switch, by number. A number has one rule and one switch.
pub(super) fn switches(workspace: &Workspace) -> Result<Vec<Switch>> {
    let rules = rules()?;
    let mut found = Vec::new();
    for folder in FOLDERS {
        for path in files::below(&workspace.path(folder), &[])? {
            let text = String::from_utf8_lossy(&files::read(&path)?).into_owned();
            found.extend(in_source(&text, &name_of(workspace, &path), &rules)?);
        }
    }
    found.sort_by_key(|switch| switch.rule.number);
    let twice = found.windows(2).find(|pair| pair[0].rule.number == pair[1].rule.number);
    if let Some([first, second]) = twice {
        let number = first.rule.number;
        return Err(Error::new(format!("number the mutations: {number} is in {} and in {}", first.file, second.file)));
    }
    Ok(found)
}

fn name_of(workspace: &Workspace, path: &Path) -> String {
    path.strip_prefix(workspace.path("")).unwrap_or(path).display().to_string()
}

fn in_source(text: &str, file: &str, rules: &[Rule]) -> Result<Vec<Switch>> {
    let parse = |after: &str| {
        let number = after.split_once(',').and_then(|(number, _)| number.trim().parse().ok());
        let rule = rules.iter().find(|rule| Some(rule.number) == number);
        rule.map(|rule| Switch { rule: *rule, file: file.to_owned() })
            .ok_or_else(|| Error::new(format!("read the mutations of {file}: one has no rule")))
    };
    text.split("mutant!(").skip(1).map(parse).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn line_of_the_table_is_a_rule_with_or_without_a_guard() {
        let guarded =
            Rule { number: 7, guard: Some(Guard { suite: "commit", test: "a::b" }), text: "I-8: at most | once" };
        assert_eq!(rule("7 | commit | a::b | I-8: at most | once").unwrap(), guarded);
        assert_eq!(rule("7 | - | - | x").unwrap().guard, None);
        assert!(rule("7 | nowhere | a::b | x").is_err() && rule("x | - | - | x").is_err() && rule("7 | x").is_err());
    }

    #[test]
    fn switches_are_read_from_the_source_and_each_has_a_rule() {
        let rules = [rule("7 | - | - | x").unwrap(), rule("12 | - | - | y").unwrap()];
        let found = in_source("let a = mutant!(7, x, y);\nlet b = mutant!(\n    12,\n    x,\n);", "f", &rules).unwrap();
        assert_eq!(found.iter().map(|switch| switch.rule.number).collect::<Vec<_>>(), [7, 12]);
        assert!(in_source("mutant!(0, x, y)", "f", &rules).is_err());
    }

    #[test]
    fn every_rule_has_one_number_and_one_switch() {
        let found = switches(&Workspace::find().unwrap()).unwrap();
        let numbers: Vec<u32> = found.iter().map(|switch| switch.rule.number).collect();
        let rules: Vec<u32> = rules().unwrap().iter().map(|rule| rule.number).collect();
        assert!(rules.is_sorted_by(|a, b| a < b), "the table is in the order of its numbers: {rules:?}");
        assert_eq!(numbers, rules);
    }

    /// The run itself compares with what the binaries list.
    #[test]
    fn every_guard_is_a_test_in_the_source_of_its_suite() {
        let workspace = Workspace::find().unwrap();
        let mut sources = BTreeMap::new();
        for (suite, _, _, folder) in SUITES {
            let files = files::below(&workspace.path(folder), &[]).unwrap();
            let texts = files.iter().map(|path| String::from_utf8(files::read(path).unwrap()).unwrap());
            sources.insert(suite, texts.collect::<Vec<_>>());
        }
        for Rule { number, guard, .. } in rules().unwrap() {
            let Some(Guard { suite, test }) = guard else { continue };
            let function = format!("fn {}()", test.rsplit("::").next().unwrap());
            assert!(sources[suite].iter().any(|text| text.contains(&function)), "{number}: {suite} has no {test}");
        }
    }
}
