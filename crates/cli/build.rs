//! The text of `--version`: the version of the package, and the commit and its date where the sources are a git checkout.
//!
//! Why here and not in a crate below: only this one is compiled again when a commit is made.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let version = match checkout(package) {
        Some(commit) => format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
        None => env!("CARGO_PKG_VERSION").to_owned(),
    };
    println!("cargo::rustc-env=OMNIGRAPH_VERSION={version}");
    println!("cargo::rerun-if-changed=build.rs");
}

/// `commit 0123456789ab of 2026-05-01`; none if the sources are not the whole of a git checkout, or git is not there.
fn checkout(package: &Path) -> Option<String> {
    let top = PathBuf::from(git(package, &["rev-parse", "--show-toplevel"])?);
    // Sources inside another project's checkout are not that project's commit.
    let workspace = package.parent()?.parent()?;
    if top.canonicalize().ok()? != workspace.canonicalize().ok()? {
        return None;
    }
    // Each commit and each checkout changes these. A path that does not exist would run this again at every build.
    for name in ["HEAD", "logs/HEAD"] {
        let path = package.join(git(package, &["rev-parse", "--git-path", name])?);
        if path.is_file() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    git(package, &["log", "-1", "--abbrev=12", "--date=short", "--format=commit %h of %cd"])
}

fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).current_dir(folder).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
