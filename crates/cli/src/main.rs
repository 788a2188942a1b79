#![doc = include_str!("../README.md")]

mod allocator;
mod command;
mod error;
mod input;
mod output;
mod progress;
mod report;
mod shell;

use std::process::ExitCode;

use command::{Arguments, Command, Outcome};
use error::CliError;

/// Exit code of a request that failed.
const FAILED: u8 = 1;
/// Exit code of a wrong command line; clap uses the same.
const USAGE: u8 = 2;
/// Exit codes of a check that found something, and of a repair that leaves something.
const MENDS_ITSELF: u8 = 3;
const NEEDS_PERSON: u8 = 4;

fn main() -> ExitCode {
    let arguments = Arguments::read();
    omnigraph_types::quiet_contained_panics();
    if matches!(arguments.command, Command::Serve(_)) {
        allocator::fix_threshold();
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: starting threads failed: {error}");
            return ExitCode::from(FAILED);
        }
    };
    let outcome = runtime.block_on(command::run(arguments));
    // A read that waits for the terminal must not hold the process.
    runtime.shutdown_background();
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::MendsItself) => ExitCode::from(MENDS_ITSELF),
        Ok(Outcome::NeedsPerson) => ExitCode::from(NEEDS_PERSON),
        Err(CliError::OutputClosed) => ExitCode::SUCCESS,
        Err(error) => {
            eprint!("{}", report::text(&error));
            ExitCode::from(match error {
                CliError::Usage { .. } => USAGE,
                CliError::Input(error) if error.misuse() == input::Misuse::CommandLine => USAGE,
                _ => FAILED,
            })
        }
    }
}
