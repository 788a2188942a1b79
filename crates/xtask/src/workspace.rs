//! Where things are, and how child processes are started.
//!
//! Every child gets `PROTOC`, because build scripts of Lance need a protobuf compiler and a fresh machine has none, and
//! `CARGO_TARGET_DIR`, so that all children agree on one target folder.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Error, Result};

/// Variables that describe the package that cargo runs, beside those that begin with `CARGO_PKG_`.
const OWN_BUILD: [&str; 5] =
    ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_BIN_NAME", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE"];

/// The workspace and the tools that every child process needs.
pub(crate) struct Workspace {
    root: PathBuf,
    target: PathBuf,
    protoc: PathBuf,
    cargo: PathBuf,
}

impl Workspace {
    /// Finds the workspace that xtask was built from.
    pub(crate) fn find() -> Result<Self> {
        let manifest =
            env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
        let root = manifest
            .ancestors()
            .nth(2)
            .filter(|root| root.join("Cargo.lock").is_file())
            .ok_or_else(|| {
                Error::new("find the workspace").way_out("run xtask as `cargo xtask` inside the repository")
            })?
            .to_path_buf();
        let target = match env::var_os("CARGO_TARGET_DIR") {
            Some(target) => root.join(target),
            None => root.join("target"),
        };
        let protoc = protoc_bin_vendored::protoc_bin_path().map_err(|source| {
            Error::new(format!("find protoc for this machine: {source}"))
                .way_out("protoc is vendored for Linux, macOS and Windows; build on one of those")
        })?;
        let cargo = env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from);
        Ok(Self { root, target, protoc, cargo })
    }

    /// A file or folder of the repository.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Cargo's target folder.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Where fetched tools and data live: in the target folder, so that they outlast clones that share it.
    pub(crate) fn tools(&self) -> PathBuf {
        self.target.join("tools")
    }

    /// The protobuf compiler.
    #[cfg_attr(not(feature = "gen"), allow(dead_code, reason = "only the generator calls it itself"))]
    pub(crate) fn protoc(&self) -> &Path {
        &self.protoc
    }

    /// A command that runs in the top folder with the variables that every child needs.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(&self.root).env("PROTOC", &self.protoc).env("CARGO_TARGET_DIR", &self.target);
        // Variables that cargo set for xtask's own package. Build scripts watch these variables: with them in the environment, cargo would rebuild
        // half of the tree whenever it is called from here and from a shell in turn.
        for (name, _) in env::vars_os() {
            let begins = |prefix: &str| name.to_string_lossy().starts_with(prefix);
            if begins("CARGO_PKG_") || OWN_BUILD.iter().any(|own| name == *own) {
                command.env_remove(&name);
            }
        }
        command
    }

    /// A cargo command with these arguments.
    pub(crate) fn cargo<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = self.command(&self.cargo);
        command.args(arguments);
        command
    }
}

/// Prints the command, runs it with its output shown, and fails if it fails.
pub(crate) fn run(command: &mut Command, way_out: &str) -> Result<()> {
    let text = text(command);
    say(&text);
    let status = command.status().map_err(|source| Error::new(format!("start `{text}`: {source}")).way_out(way_out))?;
    if status.success() { Ok(()) } else { Err(Error::new(format!("`{text}` failed: {status}")).way_out(way_out)) }
}

/// Runs the command and returns its standard output.
pub(crate) fn capture(command: &mut Command, way_out: &str) -> Result<String> {
    let text = text(command);
    let output = command
        .stderr(Stdio::piped())
        .output()
        .map_err(|source| Error::new(format!("start `{text}`: {source}")).way_out(way_out))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(Error::new(format!("`{text}` failed: {}\n{stderr}", output.status)).way_out(way_out));
    }
    String::from_utf8(output.stdout).map_err(|_| Error::new(format!("`{text}` printed text that is not UTF-8")))
}

/// Prints what xtask is doing.
pub(crate) fn say(text: &str) {
    eprintln!("xtask: {text}");
}

fn text(command: &Command) -> String {
    let mut text = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}
