//! `man`.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command};

use crate::error::CliError;
use crate::input::InputError;

/// Shown below the help.
pub(super) const EXAMPLES: &str = "\
Example:
  omnigraph man ~/.local/share/man/man1
  man omnigraph-load";

/// `man`
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// The folder; it is made if it does not exist, and pages of the same names in it are replaced
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Writes a page for each command of the grammar.
pub(crate) fn run(arguments: &ManArguments, command: Command) -> Result<(), CliError> {
    let folder = &arguments.folder;
    let failed = |source: io::Error| InputError::Open { file: folder.clone(), source };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let pages = write_pages(command, folder).map_err(failed)?;
    eprintln!("{pages} pages are in {}", folder.display());
    Ok(())
}

fn write_pages(command: Command, folder: &Path) -> io::Result<usize> {
    clap_mangen::generate_to(command, folder)?;
    Ok(std::fs::read_dir(folder)?.filter_map(Result::ok).filter(|entry| is_page(&entry.path())).count())
}

fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "1")
        && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("omnigraph"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[derive(clap::Parser)]
    #[command(name = "omnigraph")]
    enum Line {
        /// What it does
        Load,
    }

    #[test]
    fn every_command_has_its_page() {
        let folder = tempfile::tempdir().unwrap();
        let pages = folder.path().join("man1");
        run(&ManArguments { folder: pages.clone() }, Line::command()).unwrap();
        let page = std::fs::read_to_string(pages.join("omnigraph-load.1")).unwrap();
        assert!(page.contains("What it does"), "{page}");
        assert!(pages.join("omnigraph.1").is_file());
    }
}
