//! The test binaries that notice mutations: built once, listed, and run with one mutation in force.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::error::{Error, Result};
use crate::test::{setup, with_tools};
use crate::workspace::{Workspace, say};

/// Where a suite's tests are: the name in the table of rules, the folder of the package, the target, and the folder of the source.
pub(super) const SUITES: [(&str, &str, &str, &str); 5] = [
    ("commit", "crates/commit", LIBRARY, "crates/commit/src"),
    ("catalog", "crates/catalog", LIBRARY, "crates/catalog/src"),
    ("protocol", "crates/commit", "protocol", "crates/commit/tests/protocol"),
    ("storage", "crates/storage", "it", "crates/storage/tests/it"),
    ("engine", "crates/engine", "engine", "crates/engine/tests/engine"),
];
/// The target whose tests are inside the library.
const LIBRARY: &str = "";
/// The variable that chooses a mutation.
const VARIABLE: &str = "OMNIGRAPH_MUTANT";
/// One test binary, at most: several times what the slowest takes.
const BINARY_MAX: Duration = Duration::from_secs(1_200);
/// One test alone, at most.
const TEST_MAX: Duration = Duration::from_secs(60);
/// Pause between two looks at a running binary.
const POLL: Duration = Duration::from_millis(20);

/// How a test binary ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    Passed,
    /// A test failed, or the binary did not end by itself; in words.
    Failed(String),
}

/// A test binary that is built.
pub(super) struct Suite {
    pub(super) name: &'static str,
    binary: PathBuf,
    folder: PathBuf,
    tests: Vec<String>,
}

/// Which tests of a suite run.
#[derive(Clone, Copy)]
pub(super) enum Chosen<'a> {
    All,
    These(&'a [&'a str]),
}

/// Builds every suite. One selection for all, with the features of the whole workspace, so that the storage stack is not compiled again.
pub(super) fn build(workspace: &Workspace) -> Result<Vec<Suite>> {
    setup(workspace)?;
    say("build the tests");
    let mut command = workspace.cargo(["test", "--no-run", "--workspace", "--lib", "--message-format", "json"]);
    for (.., target, _) in SUITES.iter().filter(|(.., target, _)| *target != LIBRARY) {
        command.args(["--test", target]);
    }
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|source| Error::new(format!("build the tests: {source}")))?;
    if !output.status.success() {
        return Err(Error::new("build the tests: see the messages above"));
    }
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    let artifacts: Vec<Value> = messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    SUITES.iter().map(|suite| built(workspace, &artifacts, *suite)).collect()
}

fn built(
    workspace: &Workspace,
    artifacts: &[Value],
    (name, folder, target, _): (&'static str, &str, &str, &str),
) -> Result<Suite> {
    let folder = workspace.path(folder);
    let manifest = folder.join("Cargo.toml");
    let is_it = |artifact: &&Value| {
        let kind = if target == LIBRARY { "lib" } else { "test" };
        artifact["profile"]["test"] == Value::Bool(true)
            && artifact["manifest_path"].as_str().is_some_and(|path| Path::new(path) == manifest)
            && artifact["target"]["kind"][0] == kind
            && (target == LIBRARY || artifact["target"]["name"] == target)
    };
    let binary = artifacts.iter().find(is_it).and_then(|artifact| artifact["executable"].as_str()).map(PathBuf::from);
    let binary = binary.ok_or_else(|| Error::new(format!("build the tests: {name} has no binary")))?;
    let tests = listed(workspace, &binary, &folder)?;
    Ok(Suite { name, binary, folder, tests })
}

fn listed(workspace: &Workspace, binary: &Path, folder: &Path) -> Result<Vec<String>> {
    let output = workspace.command(binary).current_dir(folder).args(["--list", "--format", "terse"]).output();
    let output = output.map_err(|source| Error::io("run", binary, &source))?;
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(lines.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

impl Suite {
    /// Whether the suite has a test of this name.
    pub(super) fn has(&self, test: &str) -> bool {
        self.tests.iter().any(|known| known == test)
    }

    /// Runs it with one mutation, up to the first test that fails; number 0 is none. A binary that does not end in time has failed.
    pub(super) fn run(&self, workspace: &Workspace, number: u32, chosen: Chosen<'_>) -> Result<Ended> {
        let failed = |source: std::io::Error| Error::new(format!("run the suite {}: {source}", self.name));
        let mut command = workspace.command(&self.binary);
        with_tools(workspace, &mut command)?;
        command.current_dir(&self.folder).env(VARIABLE, number.to_string());
        let bound = match chosen {
            Chosen::All => BINARY_MAX,
            Chosen::These(tests) => {
                command.arg("--exact").args(tests);
                TEST_MAX.saturating_mul(u32::try_from(tests.len()).unwrap_or(u32::MAX)).min(BINARY_MAX)
            }
        };
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(failed)?;
        let first = first_failed(&mut child);
        let until = Instant::now() + bound;
        loop {
            if let Ok(test) = first.try_recv() {
                end(&mut child).map_err(failed)?;
                return Ok(Ended::Failed(test));
            }
            match child.try_wait().map_err(failed)? {
                Some(status) if status.success() => return Ok(Ended::Passed),
                // The reader ends with the binary.
                Some(status) => {
                    return Ok(Ended::Failed(first.recv().unwrap_or_else(|_| format!("no test, {status}"))));
                }
                None if Instant::now() >= until => {
                    end(&mut child).map_err(failed)?;
                    return Ok(Ended::Failed(format!("no test, still running after {} s", bound.as_secs())));
                }
                None => thread::sleep(POLL),
            }
        }
    }
}

/// The first test that a running binary reports as failed.
fn first_failed(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(output) = child.stdout.take() {
        thread::spawn(move || {
            // All is read, so that the binary never waits for a reader.
            for line in BufReader::new(output).lines().map_while(|line| line.ok()) {
                if let Some(test) = failed_test(&line) {
                    let _first = sender.send(test.to_owned());
                }
            }
        });
    }
    receiver
}

/// The test that a line of a binary reports as failed.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

fn end(child: &mut Child) -> std::io::Result<()> {
    child.kill()?;
    child.wait().map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_test_is_read_from_its_line_and_no_other() {
        assert_eq!(failed_test("test rounds::one_commit ... FAILED"), Some("rounds::one_commit"));
        assert_eq!(failed_test("test rounds::one_commit ... ok"), None);
        assert_eq!(failed_test("test result: FAILED. 1 passed; 1 failed"), None);
    }
}
