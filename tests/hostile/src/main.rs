//! The program behind `cargo xtask fuzz`: every target, or one, for some minutes; or one target with one input.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use omnigraph_hostile::drive::{Budget, Folder, Report, drive};
use omnigraph_hostile::target::{Target, handle};
use omnigraph_hostile::{cover, targets};
use thiserror::Error;

#[derive(Debug, Parser)]
#[command(about = "Hostile bytes for everything that reads bytes; the last line of output is JSON")]
struct Arguments {
    /// How long, in minutes, all targets together
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,
    /// One target alone: intent, rows, flight, words, requests
    #[arg(long)]
    target: Option<String>,
    /// What all draws begin with; drawn if none
    #[arg(long)]
    seed: Option<u64>,
    /// Handle the bytes of this file once, with --target
    #[arg(long, requires = "target")]
    input: Option<PathBuf>,
}

#[derive(Debug, Error)]
enum FuzzError {
    #[error("there is no target {name:?}: there are {there}")]
    NoTarget { name: String, there: String },
    #[error("{action} {path}: {source}")]
    File { action: &'static str, path: PathBuf, source: std::io::Error },
}

fn main() -> ExitCode {
    run(&Arguments::parse()).unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

fn run(arguments: &Arguments) -> Result<ExitCode, FuzzError> {
    let all = targets::all();
    let chosen: Vec<&dyn Target> = match &arguments.target {
        None => all.iter().map(AsRef::as_ref).collect(),
        Some(name) => {
            let found = all.iter().find(|target| target.name() == name);
            let there = || all.iter().map(|target| target.name()).collect::<Vec<_>>().join(", ");
            let found = found.ok_or_else(|| FuzzError::NoTarget { name: name.clone(), there: there() })?;
            vec![found.as_ref()]
        }
    };
    match &arguments.input {
        Some(path) => once(chosen[0], path),
        None => all_of(&chosen, arguments),
    }
}

/// Handles one file and prints every detail of its outcome.
fn once(target: &dyn Target, path: &Path) -> Result<ExitCode, FuzzError> {
    let failed = |source| FuzzError::File { action: "read", path: path.to_owned(), source };
    let input = std::fs::read(path).map_err(failed)?;
    let handled = handle(target, &input);
    eprintln!("{} bytes: {:?}, {} bytes held at most", input.len(), handled.outcome, handled.peak);
    for place in &handled.contained {
        eprintln!("panic caught by the shipped code: {place}");
    }
    let violations = usize::from(handled.outcome.is_err());
    println!(
        "{}",
        serde_json::json!({ "fuzz": true, "violations": violations, "cells": 1, "inputs": 1, "peak_bytes": handled.peak })
    );
    Ok(if violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn all_of(chosen: &[&dyn Target], arguments: &Arguments) -> Result<ExitCode, FuzzError> {
    let seed = arguments.seed.unwrap_or_else(rand::random);
    let folder = std::env::temp_dir().join(format!("omnigraph-fuzz-{}", std::process::id()));
    let failed = |action| move |source| FuzzError::File { action, path: std::env::temp_dir(), source };
    std::fs::create_dir_all(&folder).map_err(failed("make a folder in"))?;
    let counters = cover::Coverage::of_this_process().map(|coverage| coverage.counters());
    match counters {
        Some(counters) => eprintln!("seed {seed}, {counters} edges are counted, inputs in {}", folder.display()),
        None => eprintln!("seed {seed}, without coverage, inputs in {}", folder.display()),
    }
    eprintln!("if the process dies, the input is NAME.current in that folder: run it with --target NAME --input FILE");
    let time = Duration::from_secs_f64(arguments.minutes * 60.0 / chosen.len() as f64);
    let mut reports = Vec::new();
    for target in chosen {
        let report =
            drive(*target, seed, Budget { inputs: u64::MAX, time }, Folder { path: &folder, keep_current: true });
        report.lines().iter().for_each(|line| eprintln!("{line}"));
        report.contained.iter().for_each(|(place, count)| eprintln!("  caught {count} times: {place}"));
        reports.push(report);
    }
    let violations: usize = reports.iter().map(|report| report.violations.len()).sum();
    if violations == 0 {
        std::fs::remove_dir_all(&folder).map_err(failed("remove a folder in"))?;
    }
    println!("{}", json(&reports, seed, counters));
    Ok(if violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn json(reports: &[Report], seed: u64, counters: Option<usize>) -> serde_json::Value {
    let peaks: serde_json::Map<_, _> = reports.iter().map(|report| (report.name.clone(), report.peak.into())).collect();
    serde_json::json!({
        "fuzz": true,
        "violations": reports.iter().map(|report| report.violations.len()).sum::<usize>(),
        "cells": reports.len(),
        "inputs": reports.iter().map(|report| report.inputs).sum::<u64>(),
        "seconds": reports.iter().map(|report| report.took.as_secs()).sum::<u64>(),
        "seed": seed,
        "counters": counters,
        "edges": reports.iter().filter_map(|report| report.edges).max(),
        "kept": reports.iter().map(|report| report.kept).sum::<usize>(),
        "contained_panics": reports.iter().map(|report| report.contained.values().sum::<u64>()).sum::<u64>(),
        "peak_bytes": peaks,
    })
}
