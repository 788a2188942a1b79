//! The program: `omnigraph-race race` and `omnigraph-race soak`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use omnigraph_race::error::RaceError;
use omnigraph_race::race::{self, RaceOptions, RaceReport};
use omnigraph_race::soak::{self, SoakOptions};
use omnigraph_race::store::RaceStore;

/// Violations that are printed.
const VIOLATIONS_PRINTED_MAX: usize = 20;

#[derive(Debug, Parser)]
#[command(about = "Many clients against several servers that are killed and paused; the last line of output is JSON")]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Clients race on servers that are killed and paused, and every answer is checked.
    Race(RaceArguments),
    /// One server under a steady mix of requests, and whether what it holds grows.
    Soak(SoakArguments),
}

#[derive(Debug, Args)]
struct SoakArguments {
    /// How long, in minutes
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// What all draws begin with; drawn if none
    #[arg(long)]
    seed: Option<u64>,
}

#[derive(Debug, Args)]
struct RaceArguments {
    /// How long clients call, in minutes
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,
    /// Servers on the one root
    #[arg(long, default_value_t = 3)]
    servers: usize,
    /// Clients
    #[arg(long, default_value_t = 12)]
    clients: usize,
    /// What the store is called in the result: local, s3, azure
    #[arg(long, default_value = "local")]
    store: String,
    /// What `serve --root` is given; a fresh folder if none
    #[arg(long, required_if_eq_any([("store", "s3"), ("store", "azure")]))]
    root: Option<String>,
    /// A variable of the servers' environment, NAME=VALUE; may be given several times
    #[arg(long = "env", value_parser = variable)]
    environment: Vec<(String, String)>,
    /// What all draws begin with; drawn if none
    #[arg(long)]
    seed: Option<u64>,
    /// Keep root, logs and history even if nothing is found
    #[arg(long)]
    keep: bool,
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Task::Race(arguments) => run_race(arguments).await,
        Task::Soak(arguments) => run_soak(arguments).await,
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

fn work_folder() -> Result<tempfile::TempDir, RaceError> {
    tempfile::Builder::new().prefix("omnigraph-race-").tempdir().map_err(|source| RaceError::File {
        action: "make a folder in",
        path: std::env::temp_dir(),
        source,
    })
}

async fn run_race(arguments: RaceArguments) -> Result<ExitCode, RaceError> {
    let seed = arguments.seed.unwrap_or_else(rand::random);
    let work = work_folder()?;
    let store = match &arguments.root {
        Some(root) if arguments.store != "local" => {
            RaceStore::remote(&arguments.store, root, arguments.environment.clone())
        }
        root => {
            let folder = root.as_ref().map_or_else(|| work.path().join("root"), PathBuf::from);
            RaceStore { environment: arguments.environment.clone(), ..RaceStore::local(folder) }
        }
    };
    eprintln!("seed {seed}, root {}", store.root);
    let options = RaceOptions {
        time: Duration::from_secs_f64(arguments.minutes * 60.0),
        servers: arguments.servers,
        clients: arguments.clients,
        seed,
        store,
        work: work.path().to_owned(),
        keep: arguments.keep,
    };
    let report = race::run(&options).await?;
    let violations = report.findings.violations.len();
    print_report(&report);
    if violations > 0 || arguments.keep {
        eprintln!("seed {seed}; root and logs are kept in {}", work.keep().display());
    }
    let json = serde_json::json!({
        "race": true,
        "store": arguments.store,
        "seed": seed,
        "minutes": arguments.minutes,
        "servers": arguments.servers,
        "clients": arguments.clients,
        "operations": report.operations,
        "acknowledged": report.acknowledged,
        "unknown": report.unknown,
        "kills": report.deeds.kills.load(Ordering::Relaxed),
        "kills_with_ticket": report.deeds.kills_with_ticket.load(Ordering::Relaxed),
        "pauses": report.deeds.pauses.load(Ordering::Relaxed),
        "pauses_with_ticket": report.deeds.pauses_with_ticket.load(Ordering::Relaxed),
        "recoveries": report.settled.recoveries.values().sum::<usize>(),
        "max_blocked_ms": report.block.length() / 1_000,
        "heavy": report.heavy.json(),
        "violations": violations,
    });
    println!("{json}");
    Ok(if violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print_report(report: &RaceReport) {
    for (asked, ends) in &report.table {
        let ends: Vec<String> = ends.iter().map(|(end, count)| format!("{end} {count}")).collect();
        eprintln!("{asked:<18} {}", ends.join(", "));
    }
    let findings = &report.findings;
    eprintln!(
        "recoveries by outcome: {:?}; live branches at the end: {}",
        report.settled.recoveries, report.settled.branches
    );
    eprintln!(
        "reads held against the state of their commit: {}; sights of branches held in order: {}, beside a deletion: {}",
        findings.reads_compared, findings.sights_ordered, findings.sights_ambiguous
    );
    let block = &report.block;
    eprintln!("longest block: branch {:?}, microseconds {} to {} of the run", block.branch, block.from, block.until);
    for violation in findings.violations.iter().take(VIOLATIONS_PRINTED_MAX) {
        eprintln!("VIOLATION {violation}");
    }
}

async fn run_soak(arguments: SoakArguments) -> Result<ExitCode, RaceError> {
    let seed = arguments.seed.unwrap_or_else(rand::random);
    let work = work_folder()?;
    eprintln!("seed {seed}, folder {}", work.path().display());
    let time = Duration::from_secs_f64(arguments.minutes * 60.0);
    let report = soak::run(&SoakOptions { time, seed, work: work.path().to_owned() }).await?;
    let [warm, half_way, end] = &report.stored;
    let commits = end.commits.saturating_sub(warm.commits).max(1);
    for (kind, bytes) in &end.bytes {
        let since = bytes.saturating_sub(warm.bytes.get(kind).copied().unwrap_or(0));
        eprintln!("{kind:<26} {bytes:>12} bytes, {:>8} for each commit after the warm-up", since / commits);
    }
    let (early, late) = (half_way.per_commit_since(warm), end.per_commit_since(half_way));
    eprintln!("{early} bytes for each commit in the first half after the warm-up, {late} in the second");
    for violation in &report.violations {
        eprintln!("VIOLATION {violation}");
    }
    let json = serde_json::json!({
        "soak": true,
        "seed": seed,
        "minutes": arguments.minutes,
        "operations": report.operations,
        "rss_first": report.first.memory_bytes,
        "rss_last": report.last.memory_bytes,
        "fds_first": report.first.files,
        "fds_last": report.last.files,
        "threads_first": report.first.threads,
        "threads_last": report.last.threads,
        "commits": end.commits,
        "store_bytes": end.total(),
        "bytes_per_commit": end.per_commit_since(warm),
        "heavy": report.heavy.json(),
        "calls_ms": report.calls.json(),
        "violations": report.violations.len(),
    });
    println!("{json}");
    Ok(if report.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
