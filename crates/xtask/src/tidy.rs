//! `tidy`: the rules of the code base that a machine can check.
//!
//! Each rule is a pure function that returns findings; all are told at once, so that one run is enough to mend them.

mod arrows;
mod text;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::files;
use crate::workspace::{Workspace, capture, say};

/// Folders whose every sub-folder has a README.
const README_FOLDERS: [&str; 2] = ["crates", "clients"];

/// Checks everything, and fails telling every finding.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut findings = arrows::check(&metadata(workspace)?);
    let listing = capture(
        workspace.command("git").args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]),
        "run tidy inside a git clone",
    )?;
    let mut checked = 0;
    for name in listing.split('\0').filter(|name| !name.is_empty()) {
        let path = workspace.path(name);
        if path.is_file()
            && let Ok(content) = String::from_utf8(files::read(&path)?)
        {
            findings.extend(text::check(name, &content));
            checked += 1;
        }
    }
    findings.extend(readmes(workspace)?);
    if findings.is_empty() {
        say(&format!("tidy: {checked} files"));
        return Ok(());
    }
    Err(Error::new(format!("{} rules are broken:\n  {}", findings.len(), findings.join("\n  "))))
}

fn metadata(workspace: &Workspace) -> Result<Value> {
    let json = capture(&mut workspace.cargo(["metadata", "--format-version", "1", "--no-deps"]), "mend Cargo.toml")?;
    serde_json::from_str(&json).map_err(|source| Error::new(format!("read what cargo metadata printed: {source}")))
}

/// Crates and clients without a README.
fn readmes(workspace: &Workspace) -> Result<Vec<String>> {
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
                findings.push(format!("{}: has no README.md: say what it is and must never do", path.display()));
            }
        }
    }
    findings.sort();
    Ok(findings)
}
