#![doc = include_str!("../README.md")]

mod commit;
mod error;
mod load;
mod report;
mod requests;
mod trace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::BenchError;

#[derive(Debug, Parser)]
#[command(about = "Measures loads, commits and requests against bare Lance; the last line of output is JSON")]
struct Arguments {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// Bulk loads of nodes and edges over Flight against a bare Lance writer behind Flight.
    Load(load::LoadArguments),
    /// One-row commits against a bare stage and exact append.
    Commit(commit::CommitArguments),
    /// Store calls of operations, and branches of a large graph against branches of a small one.
    Requests(requests::RequestsArguments),
}

#[tokio::main]
async fn main() -> ExitCode {
    let result = match Arguments::parse().bench {
        Bench::Load(arguments) => load::run(&arguments).await,
        Bench::Commit(arguments) => commit::run(&arguments).await,
        Bench::Requests(arguments) => requests::run(&arguments).await,
    };
    match result {
        Ok(json) => {
            println!("{json}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {}", chain(&error));
            ExitCode::FAILURE
        }
    }
}

/// The error with its causes.
fn chain(error: &BenchError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
