//! Programs in Python that act as clients.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use omnigraph_e2e::server::path_of;

use super::{Server, workspace};

const PYTHON_VARIABLE: &str = "OMNIGRAPH_TEST_PYTHON";

/// A Python that has the packages of tests.
pub(crate) fn interpreter() -> Command {
    Command::new(path_of(PYTHON_VARIABLE))
}

fn program(name: &str, server: &Server, arguments: &[&str]) -> Command {
    let mut command = interpreter();
    command.arg("-B").arg(workspace().join("tests/e2e/python").join(name)).arg(&server.url).args(arguments);
    command
}

/// Runs a program to its end and returns its verdict: the JSON on the last line of its output.
pub(crate) fn verdict(name: &str, server: &Server, arguments: &[&str]) -> serde_json::Value {
    let output = program(name, server, arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} ended with {}:\n{errors}", output.status);
    let text = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

/// Starts a program and waits until it prints `line`.
pub(crate) fn start_until(name: &str, server: &Server, arguments: &[&str], line: &str) -> Child {
    let mut child = program(name, server, arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(first.trim_end(), line, "{name}");
    child
}
