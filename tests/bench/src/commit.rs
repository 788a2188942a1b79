//! One-row commits: the engine against staging and exactly committing the same row to a bare table of the same age.

mod floor;
pub(crate) mod ours;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use omnigraph_storage::Durability;
use serde_json::{Value, json};

use crate::error::BenchError;
use crate::report::{machine, median_us, profile, rounded};
use crate::trace::{CallTrace, Requests};
use floor::BareTable;
use ours::{Ours, SCHEMA, Table};

/// Commits before the first window: everything is open and cached then.
const EARLY: u64 = 10;
/// Commits before the one whose requests are counted.
const COMMITS_BEFORE: u64 = 20;
/// Most commits of one measurement.
const COMMITS_MAX: u64 = 100_000;

/// How the numbers are counted, for the result.
const COUNTED: &str = "store calls, ours and Lance's, of one keyless one-row load by the engine, from its first call to its receipt; sequential: the \
     longest chain of calls of which each began after the one before had ended";

#[derive(Debug, Args)]
pub(crate) struct CommitArguments {
    /// Commits before the last window of keyless appends.
    #[arg(long, default_value_t = 2_000)]
    commits: u64,
    /// Commits in a window; its median is compared.
    #[arg(long, default_value_t = 100)]
    window: u64,
    /// Folder to write into; a folder of the system's for temporary files if not given.
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

/// Durations of commits, ours and the floor's, in the order they were made.
#[derive(Debug, Default)]
struct Series {
    ours: Vec<Duration>,
    floor: Vec<Duration>,
}

/// The medians of one window.
#[derive(Debug, Clone, Copy)]
struct Window {
    ours_us: f64,
    floor_us: f64,
}

impl Window {
    fn ratio(self) -> f64 {
        self.ours_us / self.floor_us.max(f64::MIN_POSITIVE)
    }
}

impl Series {
    /// The medians of the `length` commits from `first` on.
    fn window(&self, first: u64, length: u64) -> Window {
        let part = |durations: &[Duration]| {
            let durations: Vec<Duration> =
                durations.iter().copied().skip(first as usize).take(length as usize).collect();
            median_us(&durations)
        };
        Window { ours_us: part(&self.ours), floor_us: part(&self.floor) }
    }
}

/// Measures and returns the result.
pub(crate) async fn run(arguments: &CommitArguments) -> Result<Value, BenchError> {
    check(arguments)?;
    let folder = match &arguments.dir {
        Some(folder) => tempfile::Builder::new().prefix("omnigraph-bench-").tempdir_in(folder),
        None => tempfile::Builder::new().prefix("omnigraph-bench-").tempdir(),
    };
    let folder = folder.map_err(BenchError::io("make a folder for the data"))?;
    let (full, os) = (Durability::Full, Durability::Os);
    let requests = counted_load(&folder.path().join("counted"), full).await?;
    let (window, late) = (arguments.window, arguments.commits);

    let unsynced = Ours::open(&folder.path().join("ours_os"), os, SCHEMA, Vec::new()).await?;
    let mut bare = BareTable::create(&folder.path().join("floor_os"), "keyless", os).await?;
    let unsynced = series(&unsynced, Table::Keyless, &mut bare, EARLY + window).await?;

    let ours = Ours::open(&folder.path().join("ours"), full, SCHEMA, Vec::new()).await?;
    let mut bare = BareTable::create(&folder.path().join("floor"), "keyless", full).await?;
    let keyless = series(&ours, Table::Keyless, &mut bare, late + window).await?;
    let mut bare = BareTable::create(&folder.path().join("floor"), "keyed", full).await?;
    let keyed = series(&ours, Table::Keyed, &mut bare, EARLY + window).await?;

    let (first, last) = (keyless.window(EARLY, window), keyless.window(late, window));
    let (keyed, unsynced) = (keyed.window(EARLY, window), unsynced.window(EARLY, window));
    eprintln!("{:<28} {:>12} {:>12} {:>8}", "one-row append", "ours µs", "floor µs", "ratio");
    for (what, window) in [
        ("keyless, after 10 commits".to_owned(), first),
        (format!("keyless, after {late} commits"), last),
        ("keyed, after 10 commits".to_owned(), keyed),
        ("keyless, --durability os".to_owned(), unsynced),
    ] {
        eprintln!("{what:<28} {:>12.0} {:>12.0} {:>8.3}", window.ours_us, window.floor_us, window.ratio());
    }
    eprintln!("requests per commit: {} ({} one after another)", requests.total, requests.sequential);
    Ok(json!({
        "bench": "commit",
        "p50_ratio": rounded(first.ratio()),
        "p50_us": first.ours_us.round(),
        "floor_p50_us": first.floor_us.round(),
        "p50_ratio_late": rounded(last.ratio()),
        "p50_us_late": last.ours_us.round(),
        "floor_p50_us_late": last.floor_us.round(),
        "growth_ratio": rounded(last.ratio() / first.ratio().max(f64::MIN_POSITIVE)),
        "keyed_p50_ratio": rounded(keyed.ratio()),
        "os_p50_us": unsynced.ours_us.round(),
        "os_floor_p50_us": unsynced.floor_us.round(),
        "os_p50_ratio": rounded(unsynced.ratio()),
        "sync_cost_ratio": rounded(first.ours_us / unsynced.ours_us.max(f64::MIN_POSITIVE)),
        "requests_per_commit": requests.total,
        "requests_sequential": requests.sequential,
        "requests_by_call": requests.by_call,
        "counted": COUNTED,
        "commits": late,
        "window": window,
        "durability": "full, where no key says os",
        "machine": machine(),
        "profile": profile(),
    }))
}

/// Counts the requests of one load of a graph that has had a few.
async fn counted_load(root: &Path, durability: Durability) -> Result<Requests, BenchError> {
    let trace = CallTrace::new();
    let ours = Ours::open(root, durability, SCHEMA, vec![Arc::new(trace.clone())]).await?;
    for number in 0..COMMITS_BEFORE {
        ours.append(Table::Keyless, number).await?;
    }
    trace.start();
    ours.append(Table::Keyless, COMMITS_BEFORE).await?;
    Ok(trace.finish())
}

fn check(arguments: &CommitArguments) -> Result<(), BenchError> {
    let wrong = |option, value, rule| Err(BenchError::Option { option, value, rule });
    if arguments.window == 0 {
        return wrong("window", 0, "give at least one commit");
    }
    if arguments.commits < EARLY + arguments.window {
        return wrong(
            "commits",
            arguments.commits,
            "give at least 10 more than the window, so that the windows are apart",
        );
    }
    if arguments.commits > COMMITS_MAX {
        return wrong("commits", arguments.commits, "give at most 100000");
    }
    Ok(())
}

/// `count` commits of one row, ours and the floor's in turn.
async fn series(ours: &Ours, table: Table, floor: &mut BareTable, count: u64) -> Result<Series, BenchError> {
    let mut series = Series::default();
    for commit in 0..count {
        series.ours.push(ours.append(table, commit).await?);
        series.floor.push(floor.append(commit).await?);
    }
    Ok(series)
}
