//! Bulk loads: the real server against a bare Lance writer, both behind Flight, with the same client and rows.

mod client;
mod pair;
mod process;
mod rows;

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use crate::error::BenchError;
use crate::report::{machine, median, profile, rounded};
use pair::{Loaded, Measured, Place, measure_ours, measure_pair};
use process::Programs;

/// Most runs of one measurement.
const RUNS_MAX: u64 = 101;
/// Rows of the small load whose peak memory is compared with the large one's.
const SMALL_ROWS: u64 = 1_000_000;
/// Rows of the large load of `--rss`.
const LARGE_ROWS: u64 = 30_000_000;

/// What the numbers include.
const INCLUDES: &str = "from sending the stream to its last answer: making and encoding the rows in the client, gRPC on loopback, decoding, \
     writing, syncing to disk; ours also adds ids, checks every key and endpoint and publishes one commit; the floor is sent the ids, writes and \
     commits with plain Lance, and its files are synced afterwards";

#[derive(Debug, Args)]
pub(crate) struct LoadArguments {
    /// Nodes of a load, and edges of a load.
    #[arg(long, default_value_t = 10_000_000)]
    rows: u64,
    /// Runs of each side.
    #[arg(long, default_value_t = 3)]
    runs: u64,
    /// Measure the peak memory of 1 million and 30 million nodes instead of the throughput.
    #[arg(long)]
    rss: bool,
    /// The server to measure.
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// The bare Lance writer behind Flight.
    #[arg(long, value_name = "FILE")]
    floor: Option<PathBuf>,
    /// Folder to load into; a folder of the system's for temporary files if not given.
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

/// Measures and returns the result.
pub(crate) async fn run(arguments: &LoadArguments) -> Result<Value, BenchError> {
    if !(1..=RUNS_MAX).contains(&arguments.runs) {
        let rule = "give 1 to 101 runs";
        return Err(BenchError::Option { option: "runs", value: arguments.runs, rule });
    }
    if arguments.rows == 0 {
        return Err(BenchError::Option { option: "rows", value: 0, rule: "give at least one row" });
    }
    let programs = Programs::find(arguments.server.clone(), arguments.floor.clone())?;
    let place = Place::new(arguments.dir.clone());
    match arguments.rss {
        true => memory(&programs, &place, arguments.runs).await,
        false => throughput(&programs, &place, arguments).await,
    }
}

async fn throughput(programs: &Programs, place: &Place, arguments: &LoadArguments) -> Result<Value, BenchError> {
    let (rows, runs) = (arguments.rows, arguments.runs);
    eprintln!(
        "{:>3} {:>16} {:>14} {:>14} {:>8} {:>16} {:>8}",
        "run", "rows", "ours rows/s", "floor rows/s", "ratio", "unsynced floor", "ratio"
    );
    let mut pairs = Vec::new();
    for run in 1..=runs {
        let pair = measure_pair(programs, place, rows).await?;
        for (what, measured) in [("nodes", &pair.nodes), ("edges", &pair.edges)] {
            let ours = per_second(rows, measured.ours);
            let (floor, unsynced) =
                (per_second(rows, measured.floor.synced()), per_second(rows, measured.floor.loading));
            let load = format!("{rows} {what}");
            let (ratio, unsynced_ratio) = (measured.ratio(), measured.ratio_unsynced());
            eprintln!(
                "{run:>3} {load:>16} {ours:>14.0} {floor:>14.0} {ratio:>8.3} {unsynced:>16.0} {unsynced_ratio:>8.3}"
            );
        }
        pairs.push(pair);
    }
    let small = measure_ours(programs, place, SMALL_ROWS.min(rows)).await?;
    let middle = |value: fn(&Loaded) -> f64| median(&pairs.iter().map(value).collect::<Vec<_>>());
    let peak = pairs.iter().map(|pair| pair.rss_peak_bytes).max().unwrap_or(0);
    eprintln!("peak memory of the server: {peak} bytes; {} for {} rows", small, SMALL_ROWS.min(rows));
    Ok(json!({
        "bench": "load",
        "rows": rows,
        "ratio": rounded(middle(|pair| pair.nodes.ratio())),
        "edge_ratio": rounded(middle(|pair| pair.edges.ratio())),
        "ratio_unsynced_floor": rounded(middle(|pair| pair.nodes.ratio_unsynced())),
        "edge_ratio_unsynced_floor": rounded(middle(|pair| pair.edges.ratio_unsynced())),
        "rows_per_second": per_second(rows, middle(|pair| pair.nodes.ours)).round(),
        "floor_rows_per_second": per_second(rows, middle(|pair| pair.nodes.floor.synced())).round(),
        "edges_per_second": per_second(rows, middle(|pair| pair.edges.ours)).round(),
        "floor_edges_per_second": per_second(rows, middle(|pair| pair.edges.floor.synced())).round(),
        "rss_peak_bytes": peak,
        "rss_peak_bytes_1m": small,
        "machine": machine(),
        "profile": profile(),
        "runs": runs,
        "includes": INCLUDES,
    }))
}

async fn memory(programs: &Programs, place: &Place, runs: u64) -> Result<Value, BenchError> {
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        for (rows, peaks) in [(SMALL_ROWS, &mut small), (LARGE_ROWS, &mut large)] {
            let peak = measure_ours(programs, place, rows).await?;
            eprintln!("{rows:>10} nodes: peak {peak} bytes");
            peaks.push(peak);
        }
    }
    let middle = |peaks: &mut Vec<u64>| {
        peaks.sort_unstable();
        peaks[peaks.len() / 2]
    };
    let (small, large) = (middle(&mut small), middle(&mut large));
    let growth = large as f64 / small.max(1) as f64;
    eprintln!("growth of the medians: {growth:.3}");
    Ok(json!({
        "bench": "load_rss",
        "rows_small": SMALL_ROWS,
        "rows_large": LARGE_ROWS,
        "rss_peak_bytes_small": small,
        "rss_peak_bytes_large": large,
        "rss_growth": rounded(growth),
        "runs": runs,
        "machine": machine(),
        "profile": profile(),
        "includes": "VmHWM of a fresh server process that took one load of nodes: its whole memory, code and caches included; medians of the runs",
    }))
}

fn per_second(rows: u64, seconds: f64) -> f64 {
    rows as f64 / seconds.max(f64::MIN_POSITIVE)
}

impl Measured {
    /// Throughput of ours as a share of the floor's.
    fn ratio(&self) -> f64 {
        self.floor.synced() / self.ours.max(f64::MIN_POSITIVE)
    }

    /// The same against a floor that promises nothing: its files are not synced, ours are.
    fn ratio_unsynced(&self) -> f64 {
        self.floor.loading / self.ours.max(f64::MIN_POSITIVE)
    }
}
