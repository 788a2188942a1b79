//! `completions`.

use std::io::{self, Write};

use clap::{Args, Command};
use clap_complete::Shell;

use crate::error::CliError;
use crate::output::OutputError;

/// Shown below the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  omnigraph completions bash > ~/.local/share/bash-completion/completions/omnigraph
  omnigraph completions zsh > ~/.zfunc/_omnigraph       with ~/.zfunc in $fpath
  omnigraph completions fish > ~/.config/fish/completions/omnigraph.fish";

/// `completions`
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script of a shell for the grammar of `command`.
pub(crate) fn run(arguments: &CompletionsArguments, mut command: Command) -> Result<(), CliError> {
    let name = command.get_name().to_owned();
    // The generator panics where its output ends, so that it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, name, &mut script);
    io::stdout().write_all(&script).map_err(OutputError::from)?;
    Ok(())
}
