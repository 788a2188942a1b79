//! `setup` and `test`: what the tests need, and the tests.

use std::path::PathBuf;

use crate::error::Result;
use crate::tools;
use crate::workspace::{Workspace, run, say};

/// Names the built binary to tests that start it.
pub(crate) const BINARY_VARIABLE: &str = "OMNIGRAPH_TEST_BINARY";
/// Names a Python with the packages of tests to tests that start it.
const PYTHON_VARIABLE: &str = "OMNIGRAPH_TEST_PYTHON";

/// Installs what the tests need.
pub(crate) fn setup(workspace: &Workspace) -> Result<()> {
    let buf = tools::buf(workspace)?;
    let python = tools::python(workspace)?;
    say(&format!("buf is {}", buf.display()));
    say(&format!("python is {}", python.display()));
    Ok(())
}

/// Builds the product's binary and returns its path. `--workspace` unites the features of all packages, as the tests have them: with others
/// the whole storage stack would be compiled a second time.
pub(crate) fn build_binary(workspace: &Workspace) -> Result<PathBuf> {
    run(&mut workspace.cargo(["build", "--workspace", "--bin", "omnigraph"]), "see the messages above")?;
    Ok(workspace.target().join("debug").join(format!("omnigraph{}", std::env::consts::EXE_SUFFIX)))
}

/// Runs the tests: all of them, or what the arguments say.
pub(crate) fn test(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    setup(workspace)?;
    let binary = build_binary(workspace)?;
    let mut command = workspace.cargo(["test"]);
    command.env(BINARY_VARIABLE, binary).env(PYTHON_VARIABLE, tools::python(workspace)?);
    if arguments.is_empty() {
        command.arg("--workspace");
    }
    command.args(arguments);
    run(&mut command, "see the messages above")
}
