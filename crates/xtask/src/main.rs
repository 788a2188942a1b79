//! The workspace's own commands: `cargo xtask <command>`.
//!
//! It depends on no crate of the workspace, so that it builds in seconds on a fresh machine and can then build, fetch and check the rest.

mod error;
mod files;
mod generate;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use error::Result;
use workspace::Workspace;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Set-up, demo, test, generated code, tidiness, benches and CI")]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Write the Rust code of the contract from proto/.
    Gen {
        /// Write nothing; fail, naming the files, if the committed code differs.
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    match execute(&Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn execute(task: &Task) -> Result<()> {
    let workspace = Workspace::find()?;
    match task {
        Task::Gen { check } => {
            let mode = if *check { generate::Mode::Check } else { generate::Mode::Write };
            generate::run(&workspace, mode)
        }
    }
}
