//! Tools and data from package registries, installed once per pinned version.
//!
//! A folder is named by the hash of its lock file and holds `COMPLETE` once its installation has ended; one without is installed again. So a
//! broken installation never looks like a complete one, and clones that share a target folder share its tools.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::files;
use crate::workspace::{Workspace, capture, run, say};

/// Written into a folder last.
const COMPLETE: &str = "COMPLETE";
/// Characters of a hash in a folder's name.
const HASH_CHARACTERS: usize = 16;
/// The packages of tests that play a Python client.
const REQUIREMENTS: &str = "tests/e2e/requirements.txt";
/// The dataset that is too large to commit.
const FLIGHTS_SHA256: &str = "dbeb920c90f59b6ccaff823dcc3d08f25a97fa1ce128d93f40be4e931f5900b0";

/// The contract's linter.
pub(crate) fn buf(workspace: &Workspace) -> Result<PathBuf> {
    Ok(npm(workspace, "proto")?.join(".bin/buf"))
}

/// The emulated store of Azure: its main program.
pub(crate) fn azurite(workspace: &Workspace) -> Result<PathBuf> {
    Ok(npm(workspace, "crates/testkit")?.join("azurite/dist/src/blob/main.js"))
}

/// A Python that has the packages of tests.
pub(crate) fn python(workspace: &Workspace) -> Result<PathBuf> {
    let requirements = workspace.path(REQUIREMENTS);
    let version = python_with_venv(workspace)?;
    let key = hash(&[&files::read(&requirements)?, version.as_bytes()]);
    let folder = workspace.tools().join(format!("python-{key}"));
    let python = folder.join("bin/python");
    install(&folder, || {
        let way_out = "install python3 with its venv module, and see that pip reaches its package index";
        run(workspace.command("python3").args(["-m", "venv"]).arg(&folder), way_out)?;
        let mut pip = workspace.command(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
            .arg(&requirements);
        run(&mut pip, way_out)
    })?;
    Ok(python)
}

/// Three million flights as Parquet: see tests/data/README.md.
pub(crate) fn flights(workspace: &Workspace) -> Result<PathBuf> {
    let path = npm(workspace, "tests/data")?.join("vega-datasets/data/flights-3m.parquet");
    let digest = hexadecimal(&Sha256::digest(files::read(&path)?));
    if digest == FLIGHTS_SHA256 {
        return Ok(path);
    }
    Err(Error::new(format!("{} has SHA-256 {digest}, expected {FLIGHTS_SHA256}", path.display()))
        .way_out(format!("remove {} and run the command again", workspace.tools().display())))
}

/// The `node_modules` of a folder of the repository that holds a package.json and its lock file.
fn npm(workspace: &Workspace, folder: &str) -> Result<PathBuf> {
    let manifest = files::read(&workspace.path(folder).join("package.json"))?;
    let lock = files::read(&workspace.path(folder).join("package-lock.json"))?;
    let target = workspace.tools().join(format!("npm-{}", hash(&[&manifest, &lock])));
    install(&target, || {
        files::write(&target.join("package.json"), &manifest)?;
        files::write(&target.join("package-lock.json"), &lock)?;
        let mut npm = workspace.command("npm");
        npm.current_dir(&target).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
        let way_out = "install node and npm, and see that npm reaches its package registry";
        capture(&mut npm, way_out).map(drop)
    })?;
    Ok(target.join("node_modules"))
}

/// Runs `make` on an empty folder unless an earlier run completed it.
fn install(folder: &Path, make: impl FnOnce() -> Result<()>) -> Result<()> {
    let complete = folder.join(COMPLETE);
    if complete.is_file() {
        return Ok(());
    }
    say(&format!("install into {}", folder.display()));
    files::remove_folder(folder)?;
    files::make_folder(folder)?;
    make()?;
    files::write(&complete, b"")
}

/// Makes sure that python3 can make virtual environments, and returns the version and path of that python3.
fn python_with_venv(workspace: &Workspace) -> Result<String> {
    let probe = "import sys, venv, ensurepip; print(sys.version, sys.executable)";
    let way_out = "install python3 with its venv module (Debian: apt-get install python3 python3-venv)";
    let ask = || capture(workspace.command("python3").args(["-c", probe]), way_out);
    let first = ask();
    if first.is_ok() || !is_root() || !Path::new("/usr/bin/apt-get").exists() {
        return first;
    }
    run(workspace.command("apt-get").args(["update", "-qq"]), way_out)?;
    let mut install = workspace.command("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive").args(["install", "-y", "-qq", "python3", "python3-venv"]);
    run(&mut install, way_out)?;
    ask()
}

/// Whether this process may install system packages: `/proc/self` belongs to the user that runs it.
fn is_root() -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
    }
    #[cfg(not(unix))]
    {
        false
    }
}

fn hash(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hexadecimal(&hasher.finalize())[..HASH_CHARACTERS].to_owned()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installation_that_failed_is_made_anew() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("tool");
        let broken = install(&folder, || {
            files::write(&folder.join("half"), b"")?;
            Err(Error::new("no network"))
        });
        assert!(broken.is_err());
        install(&folder, || files::write(&folder.join("whole"), b"")).unwrap();
        assert!(folder.join("whole").exists() && !folder.join("half").exists());
        install(&folder, || Err(Error::new("not called"))).unwrap();
    }

    #[test]
    fn hash_tells_parts_apart() {
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
        assert_eq!(hexadecimal(&[0, 255]), "00ff");
    }
}
