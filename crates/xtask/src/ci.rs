//! `ci`: every check, the cheap ones first.

use crate::error::Result;
use crate::generate;
use crate::test;
use crate::tidy;
use crate::tools;
use crate::workspace::{Workspace, run, say};

/// The descriptor image of the last release, which the contract may not break.
const RELEASED: &str = "proto/released.binpb";
/// What to do about a failed check that says itself what is wrong.
const SEE_ABOVE: &str = "see the messages above";

/// Runs every check.
pub(crate) fn run_all(workspace: &Workspace) -> Result<()> {
    tidy::run(workspace, &[])?;
    run(&mut workspace.cargo(["fmt", "--all", "--", "--check"]), "run `cargo fmt --all`")?;
    contract(workspace)?;
    generate::run(workspace, generate::Mode::Check)?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    run(&mut workspace.cargo(clippy), SEE_ABOVE)?;
    let generator = ["clippy", "-p", "omnigraph-xtask", "--features", "gen", "--all-targets", "--", "-D", "warnings"];
    run(&mut workspace.cargo(generator), SEE_ABOVE)?;
    test::test(workspace, &[])
}

/// Lints the contract, and compares it with the last release if there is one.
fn contract(workspace: &Workspace) -> Result<()> {
    let buf = tools::buf(workspace)?;
    run(workspace.command(&buf).arg("lint"), "mend the proto files it names")?;
    if !workspace.path(RELEASED).is_file() {
        say(&format!("no {RELEASED}: there is no release to compare the contract with"));
        return Ok(());
    }
    run(workspace.command(&buf).args(["breaking", "--against", RELEASED]), "keep the contract compatible")
}
