//! `model`: the search of the write protocol's model, at sizes that a test run has no time for.

use crate::error::Result;
use crate::workspace::{Workspace, run};

/// Searches the large scenarios, or what the arguments say.
pub(crate) fn search(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    // The whole workspace is selected, so that the storage stack has the features of every other build of it.
    let mut search = workspace.cargo(["test", "--quiet", "--workspace", "--test", "model", "--"]);
    if arguments.is_empty() {
        search.args(["--size", "large"]);
    }
    run(search.args(arguments), "read the counterexample above, step by step")
}
