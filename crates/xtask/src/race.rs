//! `race` and `soak`: builds the server and the program that tests it under load and faults, starts the store for the run, and runs the program.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::error::{Error, Result};
use crate::test::BINARY_VARIABLE;
use crate::tools;
use crate::workspace::{Workspace, run, say};

/// Starts emulated stores, and ends them when its standard input ends.
const EMULATORS: &str = "crates/testkit/python/emulators.py";
/// The bucket, and the container, that they make.
const BUCKET: &str = "graphs";

/// Runs one command of the program with these arguments.
pub(crate) fn run_program(workspace: &Workspace, command: &str, arguments: &[String]) -> Result<()> {
    // A debug build, because fail points exist in no other. The whole workspace is selected, as everywhere.
    let programs = ["--bin", "omnigraph", "--bin", "omnigraph-race"];
    run(workspace.cargo(["build", "--workspace"]).args(programs), "see the messages above")?;
    let built = workspace.target().join("debug");
    let mut program = workspace.command(built.join("omnigraph-race"));
    program.env(BINARY_VARIABLE, built.join("omnigraph")).arg(command).args(arguments);
    let emulated = match scheme_without_root(arguments) {
        Some(scheme) => Some(Emulated::start(workspace, scheme)?),
        None => None,
    };
    if let Some(emulated) = &emulated {
        program.args(&emulated.arguments);
    }
    run(&mut program, "see the violations above, and the folder that the run kept")
}

/// The scheme of a store that is given without a root: it means an emulated store on this machine.
fn scheme_without_root(arguments: &[String]) -> Option<&'static str> {
    let given = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).map(String::as_str)
    };
    match (given("--store"), given("--root")) {
        (Some("s3"), None) => Some("s3"),
        (Some("azure"), None) => Some("az"),
        _ => None,
    }
}

/// Stores that run while this value lives.
struct Emulated {
    process: Child,
    /// The program's arguments that name them.
    arguments: Vec<String>,
}

impl Emulated {
    fn start(workspace: &Workspace, scheme: &str) -> Result<Self> {
        let failed =
            |what: String| Error::new(format!("start the emulated stores: {what}")).way_out("run `cargo xtask setup`");
        let mut command = workspace.command(tools::python(workspace)?);
        command.arg("-B").arg(workspace.path(EMULATORS)).arg(tools::azurite(workspace)?).arg(BUCKET);
        say("start moto and azurite");
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut process = started.map_err(|source| failed(source.to_string()))?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(|source| failed(source.to_string()))?;
        }
        let printed: Value = serde_json::from_str(&line).map_err(|source| failed(format!("{source}: {line:?}")))?;
        let root = format!("{scheme}://{BUCKET}/race-{}", std::process::id());
        let mut arguments = vec!["--root".to_owned(), root];
        for (name, value) in printed["variables"].as_object().into_iter().flatten() {
            arguments.push("--env".to_owned());
            arguments.push(format!("{name}={}", value.as_str().unwrap_or_default()));
        }
        Ok(Self { process, arguments })
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        // The process ends when its standard input does; one that has ended already needs nothing.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_without_a_root_is_one_of_this_machine() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(scheme_without_root(&words("--minutes 2 --store azure")), Some("az"));
        assert_eq!(scheme_without_root(&words("--store s3 --root s3://b/p")), None);
        assert_eq!(scheme_without_root(&words("--minutes 2")), None);
    }
}
