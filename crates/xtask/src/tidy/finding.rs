//! A broken rule, and how findings are printed: by package, so that each owner reads one block.

use std::collections::BTreeMap;

/// Folders whose sub-folders are packages.
const PACKAGE_FOLDERS: [&str; 3] = ["crates/", "tests/", "clients/"];

/// A broken rule in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    /// The file or folder, named from the top folder.
    pub(super) file: String,
    /// The line, where the rule is about one.
    pub(super) line: Option<usize>,
    /// Which rule is broken, and what to do.
    pub(super) what: String,
}

impl Finding {
    /// A finding about a whole file or folder.
    pub(super) fn of(file: impl Into<String>, what: impl Into<String>) -> Self {
        Self { file: file.into(), line: None, what: what.into() }
    }

    /// A finding about one line, counted from 1.
    pub(super) fn at(file: impl Into<String>, line: usize, what: impl Into<String>) -> Self {
        Self { file: file.into(), line: Some(line), what: what.into() }
    }

    /// The package that the file belongs to, or the top folder's entry.
    fn package(&self) -> &str {
        let below =
            PACKAGE_FOLDERS.iter().find(|folder| self.file.starts_with(**folder)).map_or(0, |folder| folder.len());
        let end = self.file[below..].find('/').map_or(self.file.len(), |at| below + at);
        &self.file[..end]
    }

    fn line(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}: {}", self.file, self.what),
            None => format!("{}: {}", self.file, self.what),
        }
    }
}

/// All findings as text: packages in order of their names, each with its count.
pub(super) fn report(mut findings: Vec<Finding>) -> String {
    findings.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    let mut packages: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
    for finding in &findings {
        packages.entry(finding.package()).or_default().push(finding);
    }
    let mut text = format!("{} findings", findings.len());
    for (package, findings) in packages {
        text.push_str(&format!("\n{package}: {}", findings.len()));
        for finding in findings {
            text.push_str(&format!("\n  {}", finding.line()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_grouped_by_package_and_sorted_by_line() {
        let findings = vec![
            Finding::at("crates/b/src/lib.rs", 9, "nine"),
            Finding::of("README.md", "root"),
            Finding::at("crates/b/src/lib.rs", 2, "two"),
            Finding::of("crates/a", "folder"),
        ];
        let expected = "4 findings\nREADME.md: 1\n  README.md: root\ncrates/a: 1\n  crates/a: folder\ncrates/b: 2\n  \
                        crates/b/src/lib.rs:2: two\n  crates/b/src/lib.rs:9: nine";
        assert_eq!(report(findings), expected);
    }
}
