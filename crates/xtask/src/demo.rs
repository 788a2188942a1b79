//! `demo`: from a clean machine to a server with airports and flights in it.

use crate::error::Result;
use crate::test::build_binary;
use crate::tools;
use crate::workspace::{Workspace, say};

/// How much the demo loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// What is committed: airports and routes.
    Small,
    /// Three million flights as well.
    Full,
}

/// Builds the binary and fetches the data that the demo needs.
pub(crate) fn run(workspace: &Workspace, size: Size) -> Result<()> {
    let binary = build_binary(workspace)?;
    say(&format!("built {}", binary.display()));
    if size == Size::Full {
        say(&format!("flights are in {}", tools::flights(workspace)?.display()));
    }
    Ok(())
}
