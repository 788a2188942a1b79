//! The workspace's own commands: `cargo xtask <command>`.
//!
//! It depends on no crate of the workspace, so that it builds in seconds on a fresh machine and can then build, fetch and check the rest.

mod ci;
mod demo;
mod error;
mod files;
mod fuzz;
mod generate;
mod model;
mod mutants;
mod race;
mod test;
mod tidy;
mod tools;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use error::Result;
use workspace::Workspace;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "Commands of this workspace: install tools, run the demo, tests, checks and benches, and generate code"
)]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install what the tests need: the linter of the contract, a Python with the tests' packages, and emulated stores.
    Setup,
    /// Build the server, load a small graph, query it, and let two clients collide.
    Demo {
        /// Also load three million flights.
        #[arg(long)]
        full: bool,
    },
    /// Install what the tests need, build the server, and run all tests.
    Test {
        /// Arguments of `cargo test`, instead of `--workspace`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Generate the Rust code of the contract from proto/.
    Gen {
        /// Write nothing; fail and name the files if the committed code differs.
        #[arg(long)]
        check: bool,
    },
    /// Check the rules of the code base.
    Tidy {
        /// Report only findings in these folders, such as `crates/types`.
        folders: Vec<String>,
    },
    /// Measure loads, commits, or requests to the store.
    Bench {
        /// What to measure.
        subject: Subject,
        /// Arguments of the bench.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Search the model of the write protocol for violations, at its large sizes unless the arguments say otherwise.
    Model {
        /// `--size ci|large|all`, `--scenario NAME`, `--without RULE`, `--list`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Try every numbered mutation of the source against the tests; a survivor is an error.
    Mutants {
        /// Numbers of mutations, instead of all.
        numbers: Vec<u32>,
    },
    /// Run the crash matrix: stop every writer at every point in every way, in real servers.
    Crash {
        /// Arguments of the matrix, such as `--part 1/4` or `--cell NAME`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Run many clients on several servers that are killed and paused, and check every answer.
    Race {
        /// Options of the race: --minutes, --servers, --clients, --seed, --store with --root and --env, --keep.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Run a steady mix of requests on one server, and check that its memory and files do not grow.
    Soak {
        /// Options of the soak: --minutes, --seed.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Fuzz every reader of bytes, guided by code coverage.
    Fuzz {
        /// Options: --minutes, --target, --seed, --input.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Install the data set that is too large to commit, and print its path.
    Data,
    /// Run every check, the cheap ones first.
    Ci,
}

/// What can be measured.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Subject {
    /// Loads, compared with writing the same rows with bare Lance.
    Load,
    /// Commits, compared with commits of bare Lance.
    Commit,
    /// Requests to the store per operation, and creation of branches on graphs of different sizes.
    Requests,
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
        Task::Setup => test::setup(&workspace),
        Task::Demo { full } => demo::run(&workspace, if *full { demo::Size::Full } else { demo::Size::Small }),
        Task::Test { arguments } => test::test(&workspace, arguments),
        Task::Gen { check } => {
            generate::run(&workspace, if *check { generate::Mode::Check } else { generate::Mode::Write })
        }
        Task::Tidy { folders } => tidy::run(&workspace, folders),
        Task::Bench { subject, arguments } => bench(&workspace, *subject, arguments),
        Task::Model { arguments } => model::search(&workspace, arguments),
        Task::Mutants { numbers } => mutants::run(&workspace, numbers),
        Task::Crash { arguments } => test::crash(&workspace, arguments),
        Task::Race { arguments } => race::run_program(&workspace, "race", arguments),
        Task::Soak { arguments } => race::run_program(&workspace, "soak", arguments),
        Task::Fuzz { arguments } => fuzz::run_program(&workspace, arguments),
        Task::Data => {
            println!("{}", tools::flights(&workspace)?.display());
            Ok(())
        }
        Task::Ci => ci::run_all(&workspace),
    }
}

fn bench(workspace: &Workspace, subject: Subject, arguments: &[String]) -> Result<()> {
    let subject = match subject {
        Subject::Load => "load",
        Subject::Commit => "commit",
        Subject::Requests => "requests",
    };
    // The whole workspace is selected, so that the storage stack has the features of every other build of it.
    let programs = ["--bin", "omnigraph", "--bin", "omnigraph-bench", "--example", "bare_flight"];
    let mut build = workspace.cargo(["build", "--release", "--workspace"]);
    workspace::run(build.args(programs), "see the messages above")?;
    let mut measure = workspace.command(workspace.target().join("release/omnigraph-bench"));
    workspace::run(measure.arg(subject).args(arguments), "see the messages above")
}
