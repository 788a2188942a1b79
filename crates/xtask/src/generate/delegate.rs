//! Without the generator: xtask runs itself again with it.

use super::Mode;
use crate::error::Result;
use crate::workspace::{Workspace, run as run_command};

/// Generates, or compares.
pub(crate) fn run(workspace: &Workspace, mode: Mode) -> Result<()> {
    let mut command =
        workspace.cargo(["run", "--quiet", "-p", "omnigraph-xtask", "--features", "gen", "--bin", "xtask"]);
    command.args(["--", "gen"]);
    if mode == Mode::Check {
        command.arg("--check");
    }
    run_command(&mut command, "see the messages above")
}
