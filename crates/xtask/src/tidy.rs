//! `tidy`: the rules of the code base that a machine can check.
//!
//! Each rule is a pure function that returns findings; one run reports all of them, grouped by package.

mod arrows;
mod circles;
mod contract;
mod defaults;
mod escapes;
mod finding;
mod sizes;
mod source;
mod text;
mod words;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::files;
use crate::workspace::{Workspace, capture, say};
use finding::Finding;
use source::Source;

/// Folders whose every sub-folder has a README.
const README_FOLDERS: [&str; 2] = ["crates", "clients"];
/// Generated or vendored text.
const FOREIGN: [&str; 2] = ["crates/wire/src/gen/", "proto/google/"];

/// Checks everything, and fails with every finding in the named folders; all of them if none is named.
pub(crate) fn run(workspace: &Workspace, folders: &[String]) -> Result<()> {
    let texts = texts(workspace)?;
    let mut findings = arrows::check(&metadata(workspace)?);
    findings.extend(check(&texts));
    findings.extend(readmes(workspace)?);
    let top = format!("{}/", workspace.path("").display().to_string().trim_end_matches('/'));
    for finding in &mut findings {
        if let Some(name) = finding.file.strip_prefix(&top) {
            finding.file = name.to_owned();
        }
    }
    findings.retain(|finding| folders.is_empty() || folders.iter().any(|folder| finding.file.starts_with(folder)));
    if findings.is_empty() {
        say(&format!("tidy: {} files", texts.len()));
        return Ok(());
    }
    Err(Error::new(finding::report(findings)))
}

/// A file of the repository: its name from the top folder, and its text.
type Text = (String, String);

/// Every file that is text and neither generated nor vendored.
fn texts(workspace: &Workspace) -> Result<Vec<Text>> {
    let listing = capture(
        workspace.command("git").args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]),
        "run tidy inside a git clone",
    )?;
    let mut texts = Vec::new();
    for name in listing.split('\0').filter(|name| !name.is_empty()) {
        let path = workspace.path(name);
        if FOREIGN.iter().any(|folder| name.starts_with(folder)) || !path.is_file() {
            continue;
        }
        if let Ok(content) = String::from_utf8(files::read(&path)?) {
            texts.push((name.to_owned(), content));
        }
    }
    Ok(texts)
}

/// The rules about texts, about syntax, and about all files of a package together.
fn check(texts: &[Text]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut packages: BTreeMap<&str, Vec<Source>> = BTreeMap::new();
    for (name, content) in texts {
        findings.extend(text::check(name, content));
        findings.extend(words::check(name, content));
        findings.extend(contract::check(name, content));
        if !source::is_code(name) {
            continue;
        }
        match Source::parse(name, content) {
            Ok(source) => {
                findings.extend(sizes::check(&source));
                findings.extend(escapes::check(&source));
                let package = name.split_once("/src/").map_or("", |(package, _)| package);
                packages.entry(package).or_default().push(source);
            }
            Err(finding) => findings.push(finding),
        }
    }
    for sources in packages.values() {
        findings.extend(circles::check(sources));
        findings.extend(defaults::check(sources));
    }
    findings
}

fn metadata(workspace: &Workspace) -> Result<Value> {
    let json = capture(&mut workspace.cargo(["metadata", "--format-version", "1", "--no-deps"]), "mend Cargo.toml")?;
    serde_json::from_str(&json).map_err(|source| Error::new(format!("read what cargo metadata printed: {source}")))
}

/// Crates and clients without a README.
fn readmes(workspace: &Workspace) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for name in README_FOLDERS {
        let folder = workspace.path(name);
        if !folder.is_dir() {
            continue;
        }
        for entry in folder.read_dir().map_err(|source| Error::io("list", &folder, &source))? {
            let path = entry.map_err(|source| Error::io("list", &folder, &source))?.path();
            let is_package = path.is_dir() && path.read_dir().is_ok_and(|mut entries| entries.next().is_some());
            if is_package && !path.join("README.md").is_file() {
                let what = "has no README.md: say what it is and must never do";
                findings.push(Finding::of(path.display().to_string(), what));
            }
        }
    }
    Ok(findings)
}
