//! `fuzz`: builds the program that feeds hostile bytes to everything that reads bytes, with the compiler's counters, and runs it.

use crate::error::Result;
use crate::workspace::{Workspace, run};

/// Adds the counters. Only the workspace's own crates are compiled through it, so that the storage stack is not compiled a second time.
const INSTRUMENT: &str = "tests/hostile/instrument.sh";

/// Runs the program with these arguments.
pub(crate) fn run_program(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let mut build = workspace.cargo(["build", "--workspace", "--bin", "omnigraph-hostile"]);
    if cfg!(unix) {
        build.env("RUSTC_WORKSPACE_WRAPPER", workspace.path(INSTRUMENT));
    }
    run(&mut build, "see the messages above")?;
    let program = workspace.target().join("debug").join(format!("omnigraph-hostile{}", std::env::consts::EXE_SUFFIX));
    run(
        workspace.command(program).args(arguments),
        "the messages above name each input and the command that runs it alone",
    )
}
