//! `setup`, `test` and `crash`: what the tests need, the tests, and the crash matrix.

use std::path::PathBuf;
use std::process::Command;

use crate::error::Result;
use crate::tools;
use crate::workspace::{Workspace, run, say};

/// Names the built binary to tests that start it.
pub(crate) const BINARY_VARIABLE: &str = "OMNIGRAPH_TEST_BINARY";
/// Names a Python with the packages of tests to tests that start it.
const PYTHON_VARIABLE: &str = "OMNIGRAPH_TEST_PYTHON";
/// Names the emulated store of Azure to tests that need it.
const AZURITE_VARIABLE: &str = "OMNIGRAPH_TEST_AZURITE";

/// Installs what the tests need.
pub(crate) fn setup(workspace: &Workspace) -> Result<()> {
    let buf = tools::buf(workspace)?;
    let python = tools::python(workspace)?;
    say(&format!("buf is {}", buf.display()));
    let azurite = tools::azurite(workspace)?;
    say(&format!("python is {}", python.display()));
    say(&format!("azurite is {}", azurite.display()));
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
    command.env(BINARY_VARIABLE, binary);
    with_tools(workspace, &mut command)?;
    if arguments.is_empty() {
        command.arg("--workspace");
    }
    command.args(arguments);
    run(&mut command, "see the messages above")
}

/// Names what `setup` has installed to tests that start it.
pub(crate) fn with_tools(workspace: &Workspace, command: &mut Command) -> Result<()> {
    command.env(PYTHON_VARIABLE, tools::python(workspace)?).env(AZURITE_VARIABLE, tools::azurite(workspace)?);
    Ok(())
}

/// Runs the crash matrix, or what of it the arguments name. Debug builds alone have fail points.
pub(crate) fn crash(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    // One selection for both programs, so that the storage stack is built once.
    let programs = ["--bin", "omnigraph", "--bin", "omnigraph-crash"];
    run(workspace.cargo(["build", "--workspace"]).args(programs), "see the messages above")?;
    let built = |name: &str| workspace.target().join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let mut matrix = workspace.command(built("omnigraph-crash"));
    matrix.env(BINARY_VARIABLE, built("omnigraph")).args(arguments);
    run(&mut matrix, "run one cell alone by --cell NAME; the messages above name them")
}
