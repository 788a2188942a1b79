//! `race` and `soak`: builds the server and the program that tortures it, and runs that.

use crate::error::Result;
use crate::test::BINARY_VARIABLE;
use crate::workspace::{Workspace, run};

/// Runs one command of the program with these arguments.
pub(crate) fn run_program(workspace: &Workspace, command: &str, arguments: &[String]) -> Result<()> {
    // A debug build, because fail points exist in no other. The whole workspace is selected, as everywhere.
    let programs = ["--bin", "omnigraph", "--bin", "omnigraph-race"];
    run(workspace.cargo(["build", "--workspace"]).args(programs), "see the messages above")?;
    let built = workspace.target().join("debug");
    let mut program = workspace.command(built.join("omnigraph-race"));
    program.env(BINARY_VARIABLE, built.join("omnigraph")).arg(command).args(arguments);
    run(&mut program, "see the violations above, and the folder that is kept")
}
